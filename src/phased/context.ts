import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Prepare } from "../log/log.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import { nearest, parseSessionId, type SessionId } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { reportFailure } from "./announce.js";
import { notBelieved, type UnapprovedPass } from "./approval/ledger.js";
import type { EngineContext, LoadedSession, PhasedOutcome } from "./engine-context.js";
import type { PhasedCommand, PhasedSession } from "./pinned.js";
import { loadPlanned } from "./plan/load-planned.js";
import { phaseOutOfRange, type SessionCommand } from "./state/commands.js";
import type { SessionHead } from "./state/head.js";
import { begunBy, withBegun } from "./verify/snapshots.js";
/**
 * Loads a session by the id that a caller gave, as far as this host believes its log, once what is due in its plan is
 * written. Whatever shows a session begins here. Throws `INVALID_INPUT` or `SESSION_NOT_FOUND`.
 */
export async function loadSession(context: EngineContext, sessionId: string): Promise<LoadedSession> {
  const id = parseSessionId(sessionId);
  const session = await context.kernel.find(id);
  if (session === undefined) throw await sessionNotFound(context, id);
  checkWorkflow(context, session);
  const loaded = await believed(context, session);
  if (loaded.unapproved !== undefined || loaded.session.head.due === undefined) return loaded;
  const { settleTicks } = await loadPlanned();
  const settled = await settleTicks(context, session);
  return { ...settled, structure: await context.pinned.structure(settled.session) };
}

/** A session with its structure, as far as this host believes its log. */
export async function believed(context: EngineContext, session: PhasedSession): Promise<LoadedSession> {
  const structure = await context.pinned.structure(session);
  const unapproved = await context.approvalGuard.unapproved(session, structure);
  if (unapproved === undefined) return { session, structure };
  const before = await context.kernel.at(session.sessionId, unapproved.version - 1);
  return { session: before, structure: await context.pinned.structure(before), unapproved };
}

/** Throws `INVALID_INPUT` if a session was taken for one of another workflow. */
export function checkWorkflow({ workflowType }: EngineContext, { sessionId, head }: PhasedSession): void {
  if (workflowType === undefined || workflowType === head.workflowType) return;
  throw new PhasegateError("INVALID_INPUT", `session ${sessionId} is on ${head.workflowType}, not on ${workflowType}`, {
    remedy: "Ask for the session with the workflow that it was started on.",
    details: { field: "session_id", expected: workflowType },
  });
}

/**
 * Carries out a command that depends on nothing but the state; repeated under its key, if it has one.
 * `check` may refuse the state that it is decided on, by throwing.
 */
export async function executeCommand(
  context: EngineContext,
  sessionId: string,
  command: Exclude<SessionCommand, { type: "start" }>,
  idempotencyKey?: string,
  check: (session: PhasedSession) => void = () => {},
): Promise<PhasedOutcome> {
  const id = parseSessionId(sessionId);
  const request = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, command);
  const prepare = async (session: PhasedSession | undefined) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
    checkWorkflow(context, session);
    check(session);
    const structure = await context.pinned.structure(session);
    const begun = await begunBy(context, session, structure, command);
    const undone = command.type === "rollback" ? await context.approvalGuard.unapproved(session, structure) : undefined;
    const decided = undone === undefined ? command : { ...command, reopens: true };
    return withBegun({ command: decided, structure, limits: context.options.limits }, begun);
  };
  return execute(context, id, prepare, request, {
    // What is about to be deleted is not worked on first: nobody would find it stale then.
    settlesFirst: command.type !== "delete",
    mayUndo: ({ position }, { phases }) => {
      if (command.type !== "rollback") return command.type === "delete";
      return phases.findIndex(({ number }) => number === command.to) <= position;
    },
  });
}

/** How a command is executed, where it is not as most are. */
interface Execution {
  /** Whether what is due in the session's plan is written first; it is, if not given. */
  readonly settlesFirst?: boolean;
  /** Whether the command takes back what an approval has let through that this host does not believe; no, if not given. */
  readonly mayUndo?: (pass: UnapprovedPass, structure: WorkflowStructure) => boolean;
}

/**
 * As the kernel executes a command, with what is due in the session's plan written before it and after it. Throws
 * `APPROVAL_REFUSED` where the command, or the answer that is made again for a repeated one, stands behind an approval that
 * this host does not believe.
 */
export async function execute(
  context: EngineContext,
  id: SessionId,
  prepare: Prepare<PhasedCommand, SessionHead>,
  request: KeyedRequest | undefined,
  { settlesFirst = true, mayUndo }: Execution = {},
): Promise<PhasedOutcome> {
  let settled = !settlesFirst;
  const guarded: typeof prepare = (session, confirm) => {
    if (session?.head.due !== undefined && !settled) throw new DueError();
    const checking = session && refuseUnapproved(context, session, mayUndo);
    return checking === undefined ? prepare(session, confirm) : checking.then(() => prepare(session, confirm));
  };
  try {
    const outcome = await context.kernel.execute(id, guarded, request);
    if (outcome.replayed) await refuseUnapproved(context, outcome);
    return outcome.head.due === undefined ? outcome : await withTicks(context, outcome);
  } catch (error) {
    if (!(error instanceof DueError)) throw error;
  }
  settled = true;
  const session = await context.kernel.find(id);
  if (session?.head.due !== undefined) await (await loadPlanned()).settleTicks(context, session);
  return withTicks(context, await context.kernel.execute(id, guarded, request));
}

/** Returns the session as it is now, as far as this host believes its log: a repeated call gets an outcome that may lie far behind it. */
export async function sessionNow(context: EngineContext, outcome: PhasedOutcome): Promise<PhasedSession> {
  if (!outcome.replayed) return outcome;
  const session = await context.kernel.find(outcome.sessionId);
  if (session === undefined || session.head.status === "deleted")
    throw await sessionNotFound(context, outcome.sessionId);
  return (await believed(context, session)).session;
}

/** Undefined, with nothing to wait for, where nothing is to be checked. */
function refuseUnapproved(
  { pinned, approvalGuard }: EngineContext,
  session: PhasedSession,
  mayUndo?: Execution["mayUndo"],
): Promise<void> | undefined {
  if (session.head.status === "deleted") return undefined;
  const check = (structure: WorkflowStructure) =>
    approvalGuard.unapproved(session, structure)?.then((pass) => {
      if (pass !== undefined && mayUndo?.(pass, structure) !== true) throw notBelieved(pass);
    });
  const structure = pinned.structure(session);
  return structure instanceof Promise ? structure.then(check) : check(structure);
}

/** Something is due in the plan of the session at hand. */
class DueError extends Error {}

/** Writes what an outcome has made due; or what is still due of it, where it was made again for a repeated call. */
async function withTicks(context: EngineContext, outcome: PhasedOutcome): Promise<PhasedOutcome> {
  if (outcome.head.due === undefined) return outcome;
  const session = outcome.replayed ? await context.kernel.find(outcome.sessionId) : outcome;
  if (session?.head.due === undefined) return outcome;
  const { settleTicks } = await loadPlanned();
  return { ...outcome, ticks: (await settleTicks(context, session, outcome)).ticks };
}

/** A phase of a structure by its number. Throws `PHASE_OUT_OF_RANGE`. */
export function requirePhase(structure: WorkflowStructure, number: number): PhaseDefinition {
  const { phases } = structure;
  // Numbers nearly always follow one another, and then tell the place.
  const there = phases[number - (phases[0]?.number ?? 0)];
  const phase = there?.number === number ? there : phases.find((candidate) => candidate.number === number);
  if (phase === undefined) throw phaseOutOfRange(structure, number);
  return phase;
}

/** For a hint: that the list can't be had says nothing about the session that was asked for. */
async function newestSessions({ options, notifications }: EngineContext): Promise<readonly string[]> {
  try {
    return (await options.storage.list({ limit: 50 })).items.map((summary) => summary.sessionId);
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    reportFailure(notifications, "list sessions", error);
    return [];
  }
}

/** There is no such session; the nearest of the newest ones may have been meant. */
export async function sessionNotFound(
  context: EngineContext,
  sessionId: SessionId,
): Promise<PhasegateError<"SESSION_NOT_FOUND">> {
  const similar = nearest(sessionId, await newestSessions(context));
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${sessionId}`, {
    remedy: similar === undefined ? "List the sessions, or start one." : `Did you mean ${similar}?`,
    details: { sessionId, ...(similar === undefined ? {} : { nearest: similar }) },
  });
}
