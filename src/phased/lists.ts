/**
 * Lists of sessions, and the deletion of stale ones. No hash covers the summaries that a storage lists and filters by,
 * so each session on a page is read from its log, and omitted if it does not match the query after all. One that can't
 * be shown is reported as broken and never hides the others. Nothing is deleted unless the host calls `cleanup`.
 */
import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import { maySee } from "../ports/actor.js";
import {
  checkQuery,
  type Page,
  type SessionQuery,
  type SessionStatus,
  type SessionSummary,
  type StorageAdapter,
} from "../ports/storage-adapter.js";
import { listSeen, requireAccess, seenQuery } from "../runtime/access.js";
import { anything, checkOptions, flag, type OptionChecks, optionally, text, texts } from "../workflow/host-options.js";
import { isSessionId, type SessionId, shown } from "../workflow/names.js";
import { notAccepted } from "./approval/ledger.js";
import { executeCommand } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { LIVING, type LivingStatus, type Retention } from "./options.js";
import { type CommandOf, exhausted, isWaiverOpen } from "./state/commands.js";
import type { PhasedCommit, PhasedSession } from "./state/machine.js";

/** A listed session that can't be shown. */
export interface BrokenSession {
  /** Its id. */
  readonly sessionId: string;
  /**
   * `TAMPERED`: its log was changed or damaged. `FORMAT_TOO_NEW`: a newer version wrote it.
   * `APPROVAL_REFUSED`: it passed a gate with an approval that this host does not accept. `UNSUPPORTED`: it
   * is of a kind that can't be read here.
   */
  readonly code: ErrorCode;
  /** The error's message. */
  readonly message: string;
}

/** What a session waits for: a person's answer, or the host, which alone can grant more attempts. */
export type WaitsFor = "approval" | "waiver" | "host";

/** A session in a list. */
export interface ListedSession extends SessionSummary {
  /** What it waits for, if anything: `host` once its attempts at a gate are used up. */
  readonly waitsFor?: readonly WaitsFor[];
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

/** Lists phased sessions with the number of all matches. */
export async function listAndCount(context: EngineContext, query: SessionQuery): Promise<SessionPage> {
  const page = await listSessions(context, query);
  const { caller, options } = context;
  const counted = seenQuery(caller, { ...query, kind: "phased" });
  const seen = { list: (part: SessionQuery) => listSeen(options.storage, caller, part) };
  return counted === undefined ? page : withTotal(seen, counted, page);
}

/** Lists phased sessions as their logs have them; reports those that can't be shown to the host. */
export async function listSessions(context: EngineContext, query: SessionQuery): Promise<SessionPage> {
  checkQuery("listSessions", query);
  const { options, notifications, caller } = context;
  const page = await listSeen(options.storage, caller, { ...query, kind: "phased" });
  const lookAt = (id: SessionId) => lookAtSession(context, id);
  return checkedPage(page, query, lookAt, (error) => notifications.report("listSessions", error));
}

/**
 * What is counted for a first page, and for later ones, of which a host may ask for hundreds: how many pages of which size.
 * A storage may have to read each session.
 */
const COUNTED = { first: { pages: 10, limit: 1000 }, later: { pages: 1, limit: 200 } } as const;

/** Adds the number of all matches to a page, on every storage. Lists them, if there is another page. */
export async function withTotal(
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

/** Returns a session's summary from its log; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtSession(context: EngineContext, id: SessionId): Promise<ListedSession | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  await requireAccepted(context, session);
  const { head, summary } = session;
  const isOpen = head.status === "active" || head.status === "failed";
  const waits = {
    approval: head.status === "active" && head.awaiting !== undefined,
    waiver: isWaiverOpen(head),
    host: isOpen && exhausted(head, context.options.limits) !== undefined,
  };
  return waitingAs(summary, waits);
}

/** Returns a session as it is listed, with what it waits for. */
export function waitingAs(summary: SessionSummary, waits: Readonly<Record<WaitsFor, boolean>>): ListedSession {
  const waitsFor = (["approval", "waiver", "host"] as const).filter((what) => waits[what]);
  return waitsFor.length === 0 ? summary : { ...summary, waitsFor };
}

/**
 * Returns true if the caller may see a watched commit, and it is not behind an approval that this host does not accept;
 * otherwise reports that to the host. Commits of a session that is gone can't be checked any more, and do not count.
 */
export async function isAccepted(context: EngineContext, commit: PhasedCommit): Promise<boolean> {
  if (context.caller !== undefined && !maySee(context.caller, "watch", commit.summary)) return false;
  try {
    await requireAccepted(context, commit);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) context.notifications.report("watch", error);
    else if (!isPhasegateError(error, "TAMPERED") || (await context.kernel.newest(commit.sessionId)) !== undefined)
      throw error;
    return false;
  }
}

/**
 * Reads a session's summary from its log; undefined if it is gone. Throws `TAMPERED`, `FORMAT_TOO_NEW` or
 * `APPROVAL_REFUSED` if it can't be shown.
 */
export type LookAt = (id: SessionId, listed: SessionSummary | undefined) => Promise<ListedSession | undefined>;

/** The number of sessions that are read in parallel. */
const AT_ONCE = 16;

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
  for (let start = 0; start < listed.length; start += AT_ONCE) {
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

async function requireAccepted({ pinned, approvalGuard }: EngineContext, session: PhasedSession): Promise<void> {
  const { status, completed } = session.head;
  // A deleted session shows nothing, and one without completed phases has passed no gate.
  if (status === "deleted" || completed.length === 0 || !approvalGuard.knowsApprovers) return;
  const unapproved = await approvalGuard.unapproved(session, await pinned.structure(session));
  if (unapproved !== undefined) throw notAccepted(unapproved);
}

/** The errors of a single session. */
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
  const reason = "its id is none that this library gives";
  return new PhasegateError("TAMPERED", `the session ${shown(sessionId)} can't be shown: ${reason}`, {
    remedy: "The store was changed by hand: restore it from a backup.",
    details: { sessionId, version: 0, reason },
  });
}

/**
 * The log may differ from the summary that the session was found by: it was tampered with, or the session
 * has changed since.
 */
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

/** Selects the sessions to delete. */
export interface CleanupRequest {
  /** Only sessions without a commit for this long, in milliseconds. Default: the engine's `retention`, else 7 days. */
  readonly olderThan?: number;
  /** Only sessions in one of these states. Default: those in the engine's `retention`, or all if it has none. */
  readonly status?: readonly Exclude<SessionStatus, "deleted">[];
  /** The name of the person or program that asks for it: recorded with each deletion. None if missing. */
  readonly operator?: string;
  /** Why: recorded with each deletion. Default: `stale`. */
  readonly reason?: string;
  /** Only tells which sessions would be deleted. Default: false. */
  readonly preview?: boolean;
}

/** The result of a cleanup. */
export interface CleanupResult {
  /** The ids of the deleted sessions; for a preview, of those that would be deleted. */
  readonly removed: readonly SessionId[];
}

const cleanupChecks: OptionChecks<CleanupRequest> = {
  olderThan: anything,
  status: optionally(texts),
  operator: optionally(text),
  reason: optionally(text),
  preview: optionally(flag),
};

/** Deletes stale sessions and finishes interrupted deletions. */
export async function cleanup(context: EngineContext, request: CleanupRequest): Promise<CleanupResult> {
  // A misspelt option must not delete more than the host has meant.
  checkOptions("cleanup", request, cleanupChecks);
  const now = context.options.clock.now();
  if (context.caller !== undefined) requireAccess(context.caller, "cleanup");
  checkRetention(context.options.retention ?? {});
  const ages = agesFor(request, context.options.retention);
  const removed: SessionId[] = [];
  const { operator, reason = "stale", preview = false } = request;
  const command = { type: "delete", reason, ...(operator === undefined ? {} : { operator }) } as const;
  // Interrupted deletions are finished whatever their age.
  for await (const sessionId of phasedSessions(context, { status: ["deleted"] })) {
    if (!(await context.kernel.isTombstone(sessionId).catch(keepUnreadable(context)))) continue;
    if (!preview) await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  for (const [olderThan, status] of ages) {
    const stale = { status, updatedBefore: new Date(Math.max(0, now - olderThan)).toISOString() };
    for await (const sessionId of phasedSessions(context, stale)) {
      const isMeant = preview
        ? isStaleNow(context, sessionId, stale)
        : writeTombstone(context, sessionId, stale, command);
      if (!(await isMeant)) continue;
      if (!preview) await context.kernel.remove(sessionId);
      removed.push(sessionId);
    }
  }
  return { removed };
}

const STALE_AFTER = 7 * 24 * 60 * 60 * 1000;

/** Groups the statuses by the age that applies to them. */
function agesFor(request: CleanupRequest, retention: Retention | undefined): Map<number, LivingStatus[]> {
  const { olderThan } = request;
  const ofRetention = olderThan === undefined && retention !== undefined;
  const statuses =
    request.status ?? (ofRetention ? LIVING.filter((status) => retention[status] !== undefined) : LIVING);
  const ages = new Map<number, LivingStatus[]>();
  for (const status of new Set(statuses)) {
    if (!LIVING.some((known) => known === status)) throw unknownStatus("status", status);
    const age = olderThan ?? retention?.[status] ?? STALE_AFTER;
    if (!isAge(age)) throw badAge("olderThan", age);
    ages.set(age, [...(ages.get(age) ?? []), status]);
  }
  return ages;
}

/** Yields the ids of all matches, including sessions that a list can't show. */
async function* phasedSessions({ options }: EngineContext, query: SessionQuery): AsyncGenerator<SessionId> {
  let cursor: string | undefined;
  do {
    const page = await options.storage.list({ ...query, kind: "phased", ...(cursor === undefined ? {} : { cursor }) });
    for (const { sessionId } of page.items) yield sessionId;
    yield* (page.damaged ?? []).filter(isSessionId);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Keeps a session that can't be read, and reports it to the host, so that it does not block the others. */
function keepUnreadable({ notifications }: EngineContext): (error: unknown) => false {
  return (error) => {
    if (!isPhasegateError(error, "TAMPERED") && !isPhasegateError(error, "FORMAT_TOO_NEW")) throw error;
    notifications.report("cleanup", error);
    return false;
  };
}

/** Sessions of some statuses without a commit since a time. */
interface Stale {
  readonly status: readonly SessionStatus[];
  readonly updatedBefore: string;
}

function isStale({ at, head }: Pick<PhasedSession, "at" | "head">, { status, updatedBefore }: Stale): boolean {
  return at < updatedBefore && status.includes(head.status);
}

async function isStaleNow(context: EngineContext, sessionId: SessionId, stale: Stale): Promise<boolean> {
  const session = await context.kernel.find(sessionId).catch(keepUnreadable(context));
  return session !== undefined && session !== false && isStale(session, stale);
}

/** Writes the tombstone; returns false if the session is gone, or was changed after it was found to be stale. */
async function writeTombstone(
  context: EngineContext,
  sessionId: SessionId,
  stale: Stale,
  command: CommandOf<"delete">,
): Promise<boolean> {
  try {
    const isMeant = (session: PhasedSession) => isStale(session, stale);
    return (await executeCommand(context, sessionId, command, undefined, isMeant)) !== undefined;
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) return false;
    return keepUnreadable(context)(error);
  }
}

/** Checks a host's retention. Throws `INVALID_INPUT`. */
function checkRetention(retention: Retention): void {
  for (const [status, age] of Object.entries(retention)) {
    if (!LIVING.some((known) => known === status)) throw unknownStatus(`retention.${shown(status)}`, status);
    if (age !== undefined && !isAge(age)) throw badAge(`retention.${status}`, age);
  }
}

/** Returns true for a finite, non-negative number. */
function isAge(age: number): boolean {
  return Number.isFinite(age) && age >= 0;
}

/** Returns the error for an invalid age in an option. */
function badAge(field: string, age: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field} is ${age}: it must be a number of milliseconds`, {
    remedy: "Give an age in milliseconds, 0 or more; leave it out for the default.",
    details: { field, expected: "milliseconds, 0 or more" },
  });
}

function unknownStatus(field: string, status: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `${field}: ${shown(status)} is no status of a session`, {
    remedy: `Use ${LIVING.join(", ")}.`,
    details: { field, expected: LIVING.join(", ") },
  });
}
