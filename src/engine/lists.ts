/**
 * Lists of sessions of any kind. No hash covers the summaries that a storage lists and filters by, so each session on a page
 * is read from its log, and omitted if it does not match the query after all. One that can't be shown is reported as broken
 * and never hides the others.
 */
import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import type { Caller } from "../ports/actor.js";
import { systemClock, turns } from "../ports/clock.js";
import {
  checkQuery,
  type Page,
  type SessionQuery,
  type SessionSummary,
  type StorageAdapter,
} from "../ports/storage-adapter.js";
import { listSeen, seenQuery } from "../runtime/access.js";
import { isSessionId, type SessionId, shown } from "../workflow/names.js";

/** A listed session that can't be shown. */
export interface BrokenSession {
  readonly sessionId: string;
  /**
   * `TAMPERED`: its log was changed or damaged. `FORMAT_TOO_NEW`: a newer version wrote it.
   * `APPROVAL_REFUSED`: it passed a gate with an approval that this host does not accept. `UNSUPPORTED`: it
   * is of a kind that can't be read here.
   */
  readonly code: ErrorCode;
  readonly message: string;
}

/** A person's answer, or the host, which alone can grant more attempts. */
export type WaitsFor = "approval" | "waiver" | "host";

/** A session in a list. */
export interface ListedSession extends SessionSummary {
  /** What it waits for, if anything: `host` once its attempts at a gate are used up. */
  readonly waitsFor?: readonly WaitsFor[];
  /** The revision of its workflow that it is on, if it is a phased session. */
  readonly revision?: string;
  /** The name of its workflow, if it is a phased session. */
  readonly workflowName?: string;
  /** The name of its current phase, if it is a phased session. */
  readonly phaseName?: string;
  /** True if anything was waived in it, at a phase that it has passed or is in. */
  readonly waived?: true;
  /** How often its gate has refused in a row, of how many times, if the last submission at the current phase was refused. */
  readonly refused?: { readonly attempts: number; readonly limit: number };
}

/** A page of a list. Every session is shown as its log has it. */
export interface SessionPage extends Omit<Page<ListedSession>, "damaged" | "total" | "hashes"> {
  /** The sessions of this page that can't be shown, each with the reason; missing if there are none. */
  readonly broken?: readonly BrokenSession[];
  /**
   * The number of matches on all pages, with those that can't be shown. Unless the storage knows it without a scan, it is
   * missing if there are more than 10,000, and on a page with a cursor if there are more than 200.
   */
  readonly total?: number;
}

export interface Listing {
  readonly storage: Pick<StorageAdapter, "list">;
  readonly kind: string;
  /** The host itself if missing. */
  readonly caller?: Caller | undefined;
  readonly lookAt: LookAt;
  /** Called for each session that can't be shown. */
  readonly onBroken?: (error: AnyPhasegateError) => void;
}

/** Selects sessions, and a page of them. */
export interface ListQuery extends SessionQuery {
  /** False if the number of all matches is not wanted: some storages must read all sessions for it. Default: true. */
  readonly total?: boolean;
}

/** Lists the sessions that a caller may see as their logs have them, with the number of all matches. */
export async function listSessions(
  listing: Listing,
  { total: isCounted = true, ...query }: ListQuery,
): Promise<SessionPage> {
  checkQuery("listSessions", query);
  const { storage, kind, caller, lookAt, onBroken } = listing;
  const own = { ...query, kind };
  const page = await checkedPage(await listSeen(storage, caller, own), query, lookAt, onBroken);
  const counted = seenQuery(caller, own);
  return counted === undefined || !isCounted
    ? page
    : withTotal({ list: (part) => listSeen(storage, caller, part) }, counted, page);
}

/**
 * Limits the count for a first page, and for later ones, of which a host may ask for hundreds: a storage may have to read
 * each session.
 */
const COUNTED = { first: { pages: 10, limit: 1000 }, later: { pages: 1, limit: 200 } } as const;

/** Adds the number of all matches to a page; lists them if there is another page. */
async function withTotal(
  storage: Pick<StorageAdapter, "list">,
  query: SessionQuery,
  page: SessionPage,
): Promise<SessionPage> {
  if (page.total !== undefined) return page;
  if (query.cursor === undefined && page.cursor === undefined) {
    return { ...page, total: page.items.length + (page.broken?.length ?? 0) };
  }
  const { cursor: later, ...whole } = query;
  const { pages, limit } = later === undefined ? COUNTED.first : COUNTED.later;
  let from: SessionQuery = { ...whole, limit };
  for (let [total, counted] = [0, 0]; counted < pages; counted += 1) {
    const { items, damaged = [], cursor } = await storage.list(from);
    total += items.length + damaged.length;
    if (cursor === undefined) return { ...page, total };
    from = { ...from, cursor };
  }
  return page;
}

export function waitingAs(summary: SessionSummary, waits: Readonly<Record<WaitsFor, boolean>>): ListedSession {
  const waitsFor = (["approval", "waiver", "host"] as const).filter((what) => waits[what]);
  return waitsFor.length === 0 ? summary : { ...summary, waitsFor };
}

/**
 * Reads a session's summary from its log; undefined if it is gone. Throws `TAMPERED`, `FORMAT_TOO_NEW` or
 * `APPROVAL_REFUSED` if it can't be shown.
 */
export type LookAt = (id: SessionId, listed: SessionSummary | undefined) => Promise<ListedSession | undefined>;

/** The number of sessions that are read in parallel. */
const AT_ONCE = 16;
/** A storage may answer without waiting for anything: after this time, in milliseconds, other work gets its turn. */
const WORK_MS = 10;

/** Checks a page against the sessions' logs. Calls `onBroken` for each session that can't be shown. */
export async function checkedPage(
  { items, damaged = [], hashes: _, ...page }: Page<SessionSummary>,
  query: SessionQuery,
  lookAt: LookAt,
  onBroken: (error: AnyPhasegateError) => void = () => {},
): Promise<SessionPage> {
  const listed = [
    ...items.map((summary) => ({ sessionId: summary.sessionId, summary })),
    ...damaged.map((sessionId) => ({ sessionId, summary: undefined })),
  ];
  const shows: ListedSession[] = [];
  const broken: BrokenSession[] = [];
  const takeTurns = turns(systemClock, WORK_MS);
  for (let start = 0; start < listed.length; start += AT_ONCE) {
    if (start > 0) await takeTurns();
    const looks = listed.slice(start, start + AT_ONCE).map((one) => look(one, lookAt));
    for (const found of await Promise.all(looks)) {
      if (found === undefined) continue;
      if ("error" in found) {
        const { sessionId, error } = found;
        broken.push({ sessionId, code: error.code, message: error.message });
        onBroken(error);
      } else if (matches(found, query)) {
        shows.push(found);
      }
    }
  }
  return { items: shows, ...page, ...(broken.length === 0 ? {} : { broken }) };
}

/** Errors that affect a single session. */
export const BROKEN: ReadonlySet<ErrorCode> = new Set([
  "TAMPERED",
  "FORMAT_TOO_NEW",
  "APPROVAL_REFUSED",
  "UNSUPPORTED",
]);

async function look(
  { sessionId, summary }: { readonly sessionId: string; readonly summary: SessionSummary | undefined },
  lookAt: LookAt,
): Promise<ListedSession | { readonly sessionId: string; readonly error: AnyPhasegateError } | undefined> {
  if (!isSessionId(sessionId)) return { sessionId, error: notAnId(sessionId) };
  try {
    return await lookAt(sessionId, summary);
  } catch (error) {
    if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
    return { sessionId, error };
  }
}

function notAnId(sessionId: string): PhasegateError<"TAMPERED"> {
  const reason = "phasegate does not give such ids";
  return new PhasegateError("TAMPERED", `the session ${shown(sessionId)} can't be shown: ${reason}`, {
    remedy: "The store was changed by hand: restore it from a backup.",
    details: { sessionId, version: 0, reason },
  });
}

/** The session was found by a summary, which its log may contradict: it was tampered with, or has changed since. */
function matches(
  summary: SessionSummary,
  { status, workflowType, target, owner, updatedBefore }: SessionQuery,
): boolean {
  return (
    (status === undefined || status.includes(summary.status)) &&
    (workflowType === undefined || summary.workflowType === workflowType) &&
    (target === undefined || summary.target === target) &&
    (owner === undefined || summary.owner === owner) &&
    (updatedBefore === undefined || summary.updatedAt < updatedBefore)
  );
}
