/** How phased sessions are listed and watched, and the deletion of stale ones, which only the host's call of `cleanup` does. */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { pagesOf, type SessionQuery, type SessionStatus } from "../ports/storage-adapter.js";
import { requireAccess } from "../runtime/access.js";
import { anything, checkOptions, flag, type OptionChecks, optionally, text, texts } from "../workflow/host-options.js";
import { isSessionId, parseSessionId, type SessionId, shown } from "../workflow/names.js";
import { executeCommand } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { requireAccepted } from "./look.js";
import { LIVING, type LivingStatus, type Retention } from "./options.js";
import type { CommandOf } from "./state/commands.js";
import type { PhasedSession, SessionCommit } from "./state/machine.js";

/**
 * Returns true if a watched commit is not behind an approval that this host does not accept; otherwise reports that to the
 * host. Commits of a session that is gone can't be checked any more, and do not count.
 */
export async function isAccepted(context: EngineContext, commit: SessionCommit): Promise<boolean> {
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

/** Selects the sessions to delete. */
export interface CleanupRequest {
  /** Only sessions without a commit for this long, in milliseconds. Default: the engine's `retention`, else 7 days. */
  readonly olderThan?: number;
  /** Only sessions in one of these states. Default: those in the engine's `retention`, or all if it has none. */
  readonly status?: readonly Exclude<SessionStatus, "deleted">[];
  /** The name of the person or program that asks for it: recorded with each deletion. None if missing. */
  readonly by?: string;
  /** Why: recorded with each deletion. Default: `stale`. */
  readonly note?: string;
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
  by: optionally(text),
  note: optionally(text),
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
  const { by: operator, note: reason = "stale", preview = false } = request;
  const command = { type: "delete", reason, operator } as const;
  // Interrupted deletions are finished whatever their age.
  for await (const sessionId of phasedSessions(context, { status: ["deleted"] })) {
    if (!(await context.kernel.isTombstone(sessionId).catch(keepUnreadable(context)))) continue;
    if (!preview) await context.kernel.remove(sessionId);
    removed.push(sessionId);
  }
  for (const [olderThan, status] of ages) {
    const stale = { status, updatedBefore: new Date(Math.max(0, now - olderThan)).toISOString() };
    for await (const sessionId of phasedSessions(context, stale)) {
      if (await isAwaited(context, sessionId)) continue;
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

/** Returns true for a child that its parent still waits for, or has not left behind: its result would be lost. */
async function isAwaited(context: EngineContext, sessionId: SessionId): Promise<boolean> {
  const session = await context.kernel.find(sessionId).catch(keepUnreadable(context));
  const { parent } = (session || undefined)?.head ?? {};
  if (parent === undefined) return false;
  const above = await context.kernel.find(parseSessionId(parent.sessionId)).catch(keepUnreadable(context));
  return (above || undefined)?.head.children?.some((child) => child.sessionId === sessionId) === true;
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
    requireAge("olderThan", age);
    ages.set(age, [...(ages.get(age) ?? []), status]);
  }
  return ages;
}

/** Yields the ids of all matches, including sessions that a list can't show. */
async function* phasedSessions({ options }: EngineContext, query: SessionQuery): AsyncGenerator<SessionId> {
  const list = (one: SessionQuery) => options.storage.list(one);
  for await (const { items, damaged = [] } of pagesOf(list, { ...query, kind: "phased" })) {
    for (const { sessionId } of items) yield sessionId;
    yield* damaged.filter(isSessionId);
  }
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
    if (age !== undefined) requireAge(`retention.${status}`, age);
  }
}

/** Throws `INVALID_INPUT` for an age that is not a finite, non-negative number. */
function requireAge(field: string, age: number): void {
  if (Number.isFinite(age) && age >= 0) return;
  throw new PhasegateError("INVALID_INPUT", `${field} is ${age}: it must be a number of milliseconds`, {
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
