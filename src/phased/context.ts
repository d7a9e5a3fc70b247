/**
 * Loads sessions and executes commands. Every operation that shows or changes a session starts here: ticks
 * that are due are first written into its plan. A session that passed a gate with an approval that this host does not accept
 * is shown as it was before that gate, and refuses commands.
 */

import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Prepare, Unwritten } from "../log/log.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import { nearest, parseSessionId, type SessionId } from "../workflow/names.js";
import type { PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { notAccepted, type UnapprovedPass } from "./approval/ledger.js";
import type { EngineContext, LoadedSession, PhasedOutcome } from "./engine-context.js";
import type { PhasedCommand, PhasedSession } from "./pinned.js";
import { phaseOutOfRange, positionOf, type SessionCommand } from "./state/commands.js";
import type { SessionHead } from "./state/head.js";
import { begunBy, withBegun } from "./verify/snapshots.js";

/**
 * Loads a session by an id from a caller, up to the first approval that this host does not accept, after
 * writing the ticks that are due in its plan. Throws `INVALID_INPUT` or `SESSION_NOT_FOUND`.
 */
export async function loadSession(context: EngineContext, sessionId: string): Promise<LoadedSession> {
  const id = parseSessionId(sessionId);
  const session = await context.kernel.find(id);
  if (session === undefined) throw await sessionNotFound(context, id);
  checkWorkflow(context, session);
  const loaded = await acceptedState(context, session);
  if (loaded.unapproved !== undefined || loaded.session.head.due === undefined) return loaded;
  const { writeDueTicks } = await loadPlanned();
  const written = await writeDueTicks(context, session);
  return { ...written, structure: await context.pinned.structure(written.session) };
}

/** Returns a session with its structure, up to the first approval that this host does not accept. */
export async function acceptedState(context: EngineContext, session: PhasedSession): Promise<LoadedSession> {
  const structure = await context.pinned.structure(session);
  const unapproved = await context.approvalGuard.unapproved(session, structure);
  if (unapproved === undefined) return { session, structure };
  const before = await context.kernel.at(session.sessionId, unapproved.version - 1);
  return { session: before, structure: await context.pinned.structure(before), unapproved };
}

/** Throws `INVALID_INPUT` if the session is on another workflow than the caller expects. */
export function checkWorkflow({ workflowType }: EngineContext, { sessionId, head }: PhasedSession): void {
  if (workflowType === undefined || workflowType === head.workflowType) return;
  throw new PhasegateError("INVALID_INPUT", `session ${sessionId} is on ${head.workflowType}, not on ${workflowType}`, {
    remedy: "Ask for the session with the workflow that it was started on.",
    details: { field: "session_id", expected: workflowType },
  });
}

/** A command that depends on nothing but the state. */
type PlainCommand = Exclude<SessionCommand, { type: "start" }>;

/** Executes a command that depends on nothing but the state; once per key, if it has one. */
export function executeCommand(
  context: EngineContext,
  sessionId: string,
  command: PlainCommand,
  idempotencyKey?: string,
): Promise<PhasedOutcome>;
/** The same, unless `isMeant` is false for the state: then undefined, and nothing is written. */
export function executeCommand(
  context: EngineContext,
  sessionId: string,
  command: PlainCommand,
  idempotencyKey: string | undefined,
  isMeant: (session: PhasedSession) => boolean,
): Promise<PhasedOutcome | undefined>;
export async function executeCommand(
  context: EngineContext,
  sessionId: string,
  command: PlainCommand,
  idempotencyKey?: string,
  isMeant: (session: PhasedSession) => boolean = () => true,
): Promise<PhasedOutcome | undefined> {
  const id = parseSessionId(sessionId);
  const request = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, command);
  const prepare = async (session: PhasedSession | undefined) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
    checkWorkflow(context, session);
    if (!isMeant(session)) return { answer: undefined };
    const structure = await context.pinned.structure(session);
    const skips = await context.pinned.skips(session, structure);
    const begun = await begunBy(context, session, structure, command, skips);
    const undone = command.type === "rollback" ? await context.approvalGuard.unapproved(session, structure) : undefined;
    const decided = undone === undefined ? command : { ...command, reopens: true };
    return withBegun({ command: decided, structure, limits: context.options.limits, skips }, begun);
  };
  const outcome = await execute(context, id, prepare, request, {
    // Writing ticks before a deletion would add a commit, so that a cleanup no longer finds the session stale.
    ticksFirst: command.type !== "delete",
    mayUndo: ({ position }, { phases }) => {
      if (command.type !== "rollback") return command.type === "delete";
      return phases.findIndex(({ number }) => number === command.to) <= position;
    },
  });
  return "answer" in outcome ? undefined : outcome;
}

/** Options for commands that differ from the usual. */
interface Execution {
  /** Writes due ticks into the session's plan first. Default: true. */
  readonly ticksFirst?: boolean;
  /** Returns true if the command revokes an approval that this host does not accept. Default: false. */
  readonly mayUndo?: (pass: UnapprovedPass, structure: WorkflowStructure) => boolean;
}

/** Ticks must be written into the session's plan before the command is prepared. */
const TICKS_DUE = Symbol("ticks due");

/**
 * Executes a command, and writes due ticks into the session's plan before and after it. Throws
 * `APPROVAL_REFUSED` if the command, or the repeated answer, is behind an approval that this host does not
 * accept.
 */
export function execute(
  context: EngineContext,
  id: SessionId,
  prepare: Prepare<PhasedCommand, SessionHead>,
  request: KeyedRequest | undefined,
  execution?: Execution,
): Promise<PhasedOutcome>;
/** The same, for a command that may turn out to need no commit. */
export function execute<Answer>(
  context: EngineContext,
  id: SessionId,
  prepare: Prepare<PhasedCommand, SessionHead, Answer>,
  request: KeyedRequest | undefined,
  execution?: Execution,
): Promise<PhasedOutcome | Unwritten<Answer>>;
export async function execute<Answer>(
  context: EngineContext,
  id: SessionId,
  prepare: Prepare<PhasedCommand, SessionHead, Answer>,
  request: KeyedRequest | undefined,
  { ticksFirst = true, mayUndo }: Execution = {},
): Promise<PhasedOutcome | Unwritten<Answer>> {
  let mayBeDue = ticksFirst;
  const guarded: Prepare<PhasedCommand, SessionHead, Answer | typeof TICKS_DUE> = (session, confirm) => {
    if (mayBeDue && session?.head.due !== undefined) return { answer: TICKS_DUE };
    const checking = session && refuseUnapproved(context, session, mayUndo);
    return checking === undefined ? prepare(session, confirm) : checking.then(() => prepare(session, confirm));
  };
  for (;;) {
    const outcome = await context.kernel.execute(id, guarded, request);
    if (!("answer" in outcome)) {
      if (outcome.replayed) await refuseUnapproved(context, outcome);
      return outcome.head.due === undefined ? outcome : withTicks(context, outcome);
    }
    const { answer } = outcome;
    if (answer !== TICKS_DUE) return { answer };
    mayBeDue = false;
    const session = await context.kernel.find(id);
    if (session?.head.due !== undefined) await (await loadPlanned()).writeDueTicks(context, session);
  }
}

/** Returns the current session. The outcome of a repeated call may be far behind it. */
export async function sessionNow(context: EngineContext, outcome: PhasedOutcome): Promise<PhasedSession> {
  if (!outcome.replayed) return outcome;
  const session = await context.kernel.find(outcome.sessionId);
  if (session === undefined || session.head.status === "deleted")
    throw await sessionNotFound(context, outcome.sessionId);
  return (await acceptedState(context, session)).session;
}

/** Returns a phase by its number. Throws `PHASE_OUT_OF_RANGE`. */
export function requirePhase(structure: WorkflowStructure, number: number): PhaseDefinition {
  const phase = structure.phases[positionOf(structure, number)];
  if (phase === undefined) throw phaseOutOfRange(structure, number);
  return phase;
}

/** Returns the error for a missing session, with the most similar of the newest ids. */
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

/** Returns session ids for a hint; a failing list must not hide the actual error. */
async function newestSessions({ options, notifications }: EngineContext): Promise<readonly string[]> {
  try {
    return (await options.storage.list({ limit: 50 })).items.map((summary) => summary.sessionId);
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    notifications.report("list sessions", error);
    return [];
  }
}

/** Returns undefined, with nothing to await, if there is nothing to check. */
function refuseUnapproved(
  { pinned, approvalGuard }: EngineContext,
  session: PhasedSession,
  mayUndo?: Execution["mayUndo"],
): Promise<void> | undefined {
  if (session.head.status === "deleted" || !approvalGuard.knowsApprovers) return undefined;
  const check = (structure: WorkflowStructure) =>
    approvalGuard.unapproved(session, structure)?.then((pass) => {
      if (pass !== undefined && mayUndo?.(pass, structure) !== true) throw notAccepted(pass);
    });
  const structure = pinned.structure(session);
  return structure instanceof Promise ? structure.then(check) : check(structure);
}

/** Writes the ticks that an outcome made due; for a repeated call, those that are still due. */
async function withTicks(context: EngineContext, outcome: PhasedOutcome): Promise<PhasedOutcome> {
  const session = outcome.replayed ? await context.kernel.find(outcome.sessionId) : outcome;
  if (session?.head.due === undefined) return outcome;
  const { writeDueTicks } = await loadPlanned();
  return { ...outcome, ticks: (await writeDueTicks(context, session, outcome)).ticks };
}

type Planned = typeof import("./plan/planned.js");

let planned: Planned | undefined;

/**
 * Returns the operations; not a promise once they are loaded. They are cached here, since `import()` of a
 * loaded module costs as much as half a call.
 */
export function loadPlanned(): Planned | Promise<Planned> {
  return planned ?? load();
}

async function load(): Promise<Planned> {
  planned = await import("./plan/planned.js");
  return planned;
}
