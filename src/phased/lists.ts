import { type AnyPhasegateError, type ErrorCode, isPhasegateError, PhasegateError } from "../errors.js";
import type { Page, SessionQuery, SessionSummary } from "../ports/storage-adapter.js";
import { isSessionId, type SessionId, shown } from "../workflow/names.js";
import { reportFailure } from "./announce.js";
import { notBelieved } from "./approval/ledger.js";
import type { EngineContext } from "./engine-context.js";
import type { PhasedCommit, PhasedSession } from "./pinned.js";
/** A page of phased sessions, each as its log has it; of those that can't be shown the host is told. */
export async function listSessions(context: EngineContext, query: SessionQuery): Promise<SessionPage> {
  const { options, notifications } = context;
  const page = await options.storage.list({ ...query, kind: "phased" });
  const lookAt = (id: SessionId) => lookAtSession(context, id);
  return checkedPage(page, query, lookAt, (error) => reportFailure(notifications, "listSessions", error));
}

/** How a session stands, out of its log; undefined if it is gone. Throws `TAMPERED` or `APPROVAL_REFUSED`. */
export async function lookAtSession(context: EngineContext, id: SessionId): Promise<SessionSummary | undefined> {
  const session = await context.kernel.newest(id);
  if (session === undefined) return undefined;
  await requireBelieved(context, session);
  return session.summary;
}

/**
 * Whether a commit that was watched stands behind no approval that this host does not believe; if it does, the host is
 * told. A session that is gone already can't be checked any more, and its commits count for nothing then.
 */
export async function isBelieved(context: EngineContext, commit: PhasedCommit): Promise<boolean> {
  try {
    await requireBelieved(context, commit);
    return true;
  } catch (error) {
    if (isPhasegateError(error, "APPROVAL_REFUSED")) reportFailure(context.notifications, "watch", error);
    else if (!isPhasegateError(error, "TAMPERED") || (await context.kernel.newest(commit.sessionId)) !== undefined)
      throw error;
    return false;
  }
}

async function requireBelieved({ pinned, approvalGuard }: EngineContext, session: PhasedSession): Promise<void> {
  const { status, completed } = session.head;
  // What is deleted claims nothing any more, and a session without a completed phase has passed no gate.
  if (status === "deleted" || completed.length === 0 || !approvalGuard.knowsApprovers) return;
  const unapproved = await approvalGuard.unapproved(session, await pinned.structure(session));
  if (unapproved !== undefined) throw notBelieved(unapproved);
}

/** A session that a list names and does not show, since what it would show can't be believed. */
export interface BrokenSession {
  readonly sessionId: string;
  /**
   * `TAMPERED`: its log was changed or damaged. `FORMAT_TOO_NEW`: a newer version wrote it. `APPROVAL_REFUSED`: it passed a
   * gate on an approval that this host does not believe. `UNSUPPORTED`: it is of a kind that can't be read here.
   */
  readonly code: ErrorCode;
  readonly message: string;
}

/** A page of a list, in which every session is shown as its log has it. */
export interface SessionPage extends Omit<Page<SessionSummary>, "damaged"> {
  /** Sessions of this page that are not shown, each with why; missing where there is none. */
  readonly broken?: readonly BrokenSession[];
}

/**
 * Reads how a session stands out of its log; undefined if it is gone. Throws `TAMPERED`, `FORMAT_TOO_NEW` or
 * `APPROVAL_REFUSED` for one that can't be shown.
 */
export type LookAt = (id: SessionId, listed: SessionSummary | undefined) => Promise<SessionSummary | undefined>;

/** What is wrong with one session alone. */
const BROKEN: ReadonlySet<ErrorCode> = new Set(["TAMPERED", "FORMAT_TOO_NEW", "APPROVAL_REFUSED", "UNSUPPORTED"]);
/** So many sessions are read at once. */
const AT_ONCE = 16;

/**
 * A page as the sessions' logs have it. No hash covers the summaries that a storage lists and filters by, so each session
 * is read, and left out where it does not match the query after all. `onBroken` is told of each session that is not shown.
 */
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

/** What a session's log may say otherwise than the summary that it was found by: it was changed, or has moved on since. */
function matches(summary: SessionSummary, { status, workflowType, target, updatedBefore }: SessionQuery): boolean {
  return (
    (status === undefined || status.includes(summary.status)) &&
    (workflowType === undefined || summary.workflowType === workflowType) &&
    (target === undefined || summary.target === target) &&
    (updatedBefore === undefined || summary.updatedAt < updatedBefore)
  );
}

function notAnId(sessionId: string): PhasegateError<"TAMPERED"> {
  const reason = "its id is none that this library gives";
  return new PhasegateError("TAMPERED", `the session ${shown(sessionId)} can't be shown: ${reason}`, {
    remedy: "The store was changed by hand: restore it from a backup.",
    details: { sessionId, version: 0, reason },
  });
}
