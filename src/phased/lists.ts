/**
 * Lists of sessions. No hash covers the summaries that a storage lists and filters by, so each session on a
 * page is read from its log, and omitted if it does not match the query after all. One that can't be shown
 * is reported as broken and never hides the others.
 */

import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import type { Page, SessionQuery, SessionSummary } from "../ports/storage-adapter.js";
import { isSessionId, type SessionId, shown } from "../workflow/names.js";
import { notBelieved } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedCommit, PhasedSession } from "./pinned.js";

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

/** A page of a list. Every session is shown as its log has it. */
export interface SessionPage extends Omit<Page<SessionSummary>, "damaged"> {
  /** The sessions of this page that can't be shown, each with the reason; missing if there are none. */
  readonly broken?: readonly BrokenSession[];
}

/** Lists phased sessions as their logs have them; reports those that can't be shown to the host. */
export async function listSessions(context: EngineContext, query: SessionQuery): Promise<SessionPage> {
  const { options, notifications } = context;
  const page = await options.storage.list({ ...query, kind: "phased" });
  const lookAt = (id: SessionId) => lookAtSession(context, id);
  return checkedPage(page, query, lookAt, (error) => notifications.report("listSessions", error));
}

/**
 * Returns a session's summary from its log; undefined if it is gone. Throws `TAMPERED` or
 * `APPROVAL_REFUSED`.
 */
export async function lookAtSession(context: EngineContext, id: SessionId): Promise<SessionSummary | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  await requireBelieved(context, session);
  return session.summary;
}

/**
 * Returns true if a watched commit is not behind an approval that this host does not accept; otherwise
 * reports it to the host. Commits of a session that is gone can't be checked any more, and do not count.
 */
export async function isBelieved(context: EngineContext, commit: PhasedCommit): Promise<boolean> {
  try {
    await requireBelieved(context, commit);
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
export type LookAt = (id: SessionId, listed: SessionSummary | undefined) => Promise<SessionSummary | undefined>;

/** The number of sessions that are read in parallel. */
const AT_ONCE = 16;

/** Checks a page against the sessions' logs. Calls `onBroken` for each session that can't be shown. */
export async function checkedPage(
  { items, damaged = [], ...page }: Page<SessionSummary>,
  query: SessionQuery,
  lookAt: LookAt,
  onBroken: (error: AnyPhasegateError) => void = () => {},
): Promise<SessionPage> {
  const listed = [
    ...items.map((summary) => ({ sessionId: summary.sessionId, summary })),
    ...damaged.map((sessionId) => ({ sessionId, summary: undefined })),
  ];
  const shows: SessionSummary[] = [];
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

async function requireBelieved({ pinned, approvalGuard }: EngineContext, session: PhasedSession): Promise<void> {
  const { status, completed } = session.head;
  // A deleted session shows nothing, and one without completed phases has passed no gate.
  if (status === "deleted" || completed.length === 0 || !approvalGuard.knowsApprovers) return;
  const unapproved = await approvalGuard.unapproved(session, await pinned.structure(session));
  if (unapproved !== undefined) throw notBelieved(unapproved);
}

/** The errors of a single session. */
const BROKEN: ReadonlySet<ErrorCode> = new Set(["TAMPERED", "FORMAT_TOO_NEW", "APPROVAL_REFUSED", "UNSUPPORTED"]);

async function look(
  { sessionId, summary }: { readonly sessionId: string; readonly summary: SessionSummary | undefined },
  lookAt: LookAt,
): Promise<SessionSummary | { readonly sessionId: string; readonly error: AnyPhasegateError } | undefined> {
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
function matches(summary: SessionSummary, { status, workflowType, target, updatedBefore }: SessionQuery): boolean {
  return (
    (status === undefined || status.includes(summary.status)) &&
    (workflowType === undefined || summary.workflowType === workflowType) &&
    (target === undefined || summary.target === target) &&
    (updatedBefore === undefined || summary.updatedAt < updatedBefore)
  );
}
