/**
 * Loads sessions and executes commands. Every operation that shows or changes a session starts here: ticks
 * that are due are first written into its plan. A session that passed a gate with an approval that this host does not accept
 * is shown as it was before that gate, and refuses commands.
 */
import { isPhasegateError, PhasegateError } from "../errors.js";
import { askForProofs } from "../gate/claims.js";
import { waive, waivedNames } from "../gate/waivers.js";
import type { Prepare, PreparedOr, Unwritten } from "../log/log.js";
import { type KeyedRequest, keyedRequest } from "../log/machine.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { listSeen } from "../runtime/access.js";
import { nearest, type SessionId } from "../workflow/names.js";
import type { GateDefinition, PhaseDefinition, WorkflowStructure } from "../workflow/structure.js";
import { notAccepted, type UnapprovedPass } from "./approval/ledger.js";
import type { EngineContext, LoadedSession, PhasedOutcome } from "./engine-context.js";
import { phaseOutOfRange, positionOf, type SessionCommand } from "./state/commands.js";
import type { SessionHead } from "./state/head.js";
import type { PhasedSession } from "./state/machine.js";
import type { PhasedCommand } from "./state/transition.js";
import { snapshotGaps } from "./verify/beginnings.js";
import { begunBy, withBegun } from "./verify/snapshots.js";

/**
 * Loads a session, up to the first approval that this host does not accept, after writing the ticks that are due in its
 * plan, and taking the snapshots that nobody has taken. Throws `SESSION_NOT_FOUND`.
 */
export async function loadSession(
  context: EngineContext,
  id: SessionId,
  { snapshotsFirst = true }: Pick<Execution, "snapshotsFirst"> = {},
): Promise<LoadedSession> {
  const session = await context.kernel.find(id);
  if (session === undefined) throw await sessionNotFound(context, id);
  checkWorkflow(context, session);
  const loaded = await acceptedState(context, session);
  if (loaded.unapproved !== undefined) return loaded;
  const ticked = loaded.session.head.due === undefined ? loaded : await withDueTicks(context, session);
  if (!snapshotsFirst || !(await lacksSnapshots(context, ticked.session))) return ticked;
  return withSnapshots(context, ticked);
}

async function withDueTicks(context: EngineContext, session: PhasedSession): Promise<LoadedSession> {
  const { writeDueTicks } = await loadPlanned();
  const written = await writeDueTicks(context, session);
  return { ...written, structure: await context.pinned.structure(written.session) };
}

/**
 * Takes the snapshots that nobody has taken when the phase was entered, for example because an approval was given where
 * its verifiers are not registered. Each is tried once; if it fails, a retry takes it.
 */
async function withSnapshots(context: EngineContext, loaded: LoadedSession): Promise<LoadedSession> {
  const { sessionId } = loaded.session;
  // Another process may have taken them meanwhile.
  const commandFor = async (session: PhasedSession) =>
    (await lacksSnapshots(context, session)) ? ({ type: "takeSnapshots" } as const) : { answer: undefined };
  try {
    await context.kernel.execute(sessionId, preparing(context, sessionId, commandFor));
  } catch (error) {
    if (isPhasegateError(error, "SESSION_NOT_FOUND")) throw error;
    // The session can be read without its snapshots, and a retry takes them.
    context.notifications.report("take snapshots", error);
    return loaded;
  }
  const session = await context.kernel.find(sessionId);
  if (session === undefined) throw await sessionNotFound(context, sessionId);
  const structure = await context.pinned.structure(session);
  await snapshotGaps(context, session, structure);
  return { ...loaded, session, structure };
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

/**
 * Executes a command that depends on nothing but the state; once per key, if it has one. A key as a text belongs to the
 * whole command.
 */
export function executeCommand(
  context: EngineContext,
  id: SessionId,
  command: PlainCommand,
  key?: string | KeyedRequest,
): Promise<PhasedOutcome>;
/** The same, unless `isMeant` is false for the state: then undefined, and nothing is written. */
export function executeCommand(
  context: EngineContext,
  id: SessionId,
  command: PlainCommand,
  key: string | KeyedRequest | undefined,
  isMeant: (session: PhasedSession) => boolean,
): Promise<PhasedOutcome | undefined>;
export async function executeCommand(
  context: EngineContext,
  id: SessionId,
  command: PlainCommand,
  key?: string | KeyedRequest,
  isMeant: (session: PhasedSession) => boolean = () => true,
): Promise<PhasedOutcome | undefined> {
  const request = typeof key === "string" ? keyedRequest(key, command) : key;
  const prepare = preparing(context, id, async (session, structure) => {
    if (!isMeant(session)) return { answer: undefined };
    const undone = command.type === "rollback" ? await context.approvalGuard.unapproved(session, structure) : undefined;
    return undone === undefined ? command : { ...command, reopens: true };
  });
  const outcome = await execute(context, id, prepare, request, {
    // Writing ticks before a deletion would add a commit, so that a cleanup no longer finds the session stale.
    ticksFirst: command.type !== "delete",
    // A retry takes them itself.
    snapshotsFirst: command.type !== "delete" && command.type !== "retryPhase",
    mayUndo: ({ position }, { phases }) => {
      if (command.type !== "rollback") return command.type === "delete";
      return phases.findIndex(({ number }) => number === command.to) <= position;
    },
  });
  return "answer" in outcome ? undefined : outcome;
}

/**
 * Prepares a command on a session that exists and is on the right workflow, with the snapshots of the phase that it enters.
 * `commandFor` gives the command, or one that is prepared already.
 */
export function preparing<Answer = never>(
  context: EngineContext,
  id: SessionId,
  commandFor: (
    session: PhasedSession,
    structure: WorkflowStructure,
    confirm: () => Promise<void>,
  ) => Promise<SessionCommand | PreparedOr<PhasedCommand, Answer>>,
): Prepare<PhasedCommand, SessionHead, Answer> {
  return async (session, confirm) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, id);
    checkWorkflow(context, session);
    const structure = await context.pinned.structure(session);
    const command = await commandFor(session, structure, confirm);
    if (!("type" in command)) return command;
    const skips = await context.pinned.skips(session, command.type === "migrate" ? command.structure : structure);
    const begun = await begunBy(context, session, structure, command, skips, confirm);
    // A session that is active already takes no place of another one.
    const mayActivate = session.head.status !== "active" && !NEVER_ACTIVATE.has(command.type);
    const full = mayActivate ? await fullAt(context) : undefined;
    return withBegun({ command, structure, limits: context.options.limits, skips, full }, begun);
  };
}

/** Commands that make no session active: the active ones need not be counted for them. */
const NEVER_ACTIVATE: ReadonlySet<SessionCommand["type"]> = new Set(["waive", "denyWaiver", "assign", "delete"]);

/** Returns the limit of active sessions, if as many are active. */
export async function fullAt({
  options,
}: {
  readonly options: {
    readonly storage: Pick<StorageAdapter, "countActive">;
    readonly limits: { readonly maxActiveSessions: number };
  };
}): Promise<number | undefined> {
  const limit = options.limits.maxActiveSessions;
  if (limit === Number.POSITIVE_INFINITY) return undefined;
  return (await options.storage.countActive(limit)) < limit ? undefined : limit;
}

/** Options for commands that differ from the usual. */
interface Execution {
  /** Writes due ticks into the session's plan first. Default: true. */
  readonly ticksFirst?: boolean;
  /** Takes the snapshots first that nobody has taken. Default: true. */
  readonly snapshotsFirst?: boolean;
  /** Returns true if the command revokes an approval that this host does not accept. Default: false. */
  readonly mayUndo?: (pass: UnapprovedPass, structure: WorkflowStructure) => boolean;
}

/** Ticks must be written into the session's plan, or snapshots taken, before the command is prepared. */
const TICKS_DUE = Symbol("ticks due");
const SNAPSHOTS_DUE = Symbol("snapshots due");

/**
 * Executes a command, and writes due ticks into the session's plan before and after it. Throws `APPROVAL_REFUSED` if
 * the command, or the repeated answer, is behind an approval that this host does not accept.
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
  { ticksFirst = true, snapshotsFirst = true, mayUndo }: Execution = {},
): Promise<PhasedOutcome | Unwritten<Answer>> {
  let mayBeDue = ticksFirst;
  let mayLack = snapshotsFirst;
  const guarded: Prepare<PhasedCommand, SessionHead, Answer | typeof TICKS_DUE | typeof SNAPSHOTS_DUE> = async (
    session,
    confirm,
  ) => {
    if (session === undefined || session.head.status === "deleted") return prepare(session, confirm);
    if (mayBeDue && session.head.due !== undefined) return { answer: TICKS_DUE };
    await refuseUnapproved(context, session, mayUndo);
    if (mayLack && (await lacksSnapshots(context, session))) return { answer: SNAPSHOTS_DUE };
    return prepare(session, confirm);
  };
  for (;;) {
    const outcome = await context.kernel.execute(id, guarded, request);
    if (!("answer" in outcome)) {
      if (outcome.replayed) await refuseUnapproved(context, outcome);
      return outcome.head.due === undefined ? outcome : withTicks(context, outcome);
    }
    const { answer } = outcome;
    if (answer !== TICKS_DUE && answer !== SNAPSHOTS_DUE) return { answer };
    const session = await context.kernel.find(id);
    if (answer === SNAPSHOTS_DUE) {
      mayLack = false;
      if (session !== undefined) {
        const structure = await context.pinned.structure(session);
        if (await lacksSnapshots(context, session)) await withSnapshots(context, { session, structure });
      }
      continue;
    }
    mayBeDue = false;
    if (session?.head.due !== undefined) await (await loadPlanned()).writeDueTicks(context, session);
  }
}

/** Returns true if there is a snapshot that nobody has tried to take. */
async function lacksSnapshots(context: EngineContext, session: PhasedSession): Promise<boolean> {
  const gaps = await snapshotGaps(context, session, await context.pinned.structure(session));
  return gaps.some(({ failed }) => failed === undefined);
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

/** Returns the gate that evidence is checked against and that an agent is shown: with proofs, without what is waived. */
export function gateAsked({ options }: EngineContext, gate: GateDefinition, waived: readonly string[]): GateDefinition {
  const left = waive(gate, waived);
  return options.claims === "backed" ? askForProofs(left) : left;
}

/** Returns a phase with the gate that an agent is asked to pass: the current one without what is `waived`. */
export function phaseAsked(
  context: EngineContext,
  { phase: current }: Pick<SessionHead, "phase">,
  phase: PhaseDefinition,
  waived: readonly { readonly fields: readonly string[] }[] = [],
): PhaseDefinition {
  const isWaived = phase.number === current && waived.length > 0;
  if (!isWaived && context.options.claims === "plain") return phase;
  const gate = gateAsked(context, phase.gate, isWaived ? waivedNames(waived) : []);
  return gate === phase.gate ? phase : { ...phase, gate };
}

/** Returns the error for a missing session, with the most similar of the newest ids. */
export async function sessionNotFound(
  context: EngineContext,
  sessionId: SessionId,
): Promise<PhasegateError<"SESSION_NOT_FOUND">> {
  const similar = nearest(sessionId, await newestSessions(context));
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${sessionId}`, {
    remedy: similar === undefined ? "List the sessions, or start one." : `Did you mean ${similar}?`,
    details: { sessionId, nearest: similar },
  });
}

/** Returns session ids for a hint; a failing list must not hide the actual error. */
async function newestSessions({ options, notifications, caller }: EngineContext): Promise<readonly string[]> {
  try {
    const { items } = await listSeen(options.storage, caller, { kind: "phased", limit: 50 });
    return items.map((summary) => summary.sessionId);
  } catch (error) {
    notifications.report("list sessions", error);
    return [];
  }
}

/** Throws `APPROVAL_REFUSED` if a session is behind an approval that this host does not accept. */
export async function refuseUnapproved(
  { pinned, approvalGuard }: EngineContext,
  session: PhasedSession,
  mayUndo?: Execution["mayUndo"],
): Promise<void> {
  if (session.head.status === "deleted" || !approvalGuard.knowsApprovers) return;
  const structure = await pinned.structure(session);
  const pass = await approvalGuard.unapproved(session, structure);
  if (pass !== undefined && mayUndo?.(pass, structure) !== true) throw notAccepted(pass);
}

/** Writes the ticks that an outcome made due; for a repeated call, those that are still due. */
async function withTicks(context: EngineContext, outcome: PhasedOutcome): Promise<PhasedOutcome> {
  const session = outcome.replayed ? await context.kernel.find(outcome.sessionId) : outcome;
  if (session?.head.due === undefined) return outcome;
  const { writeDueTicks } = await loadPlanned();
  return { ...outcome, ticks: (await writeDueTicks(context, session, outcome)).ticks };
}

/** Binds a key to its command, where a caller has given one. */
export function requestFor(key: string | undefined, command: unknown): KeyedRequest | undefined {
  return key === undefined ? undefined : keyedRequest(key, command);
}

/** Loads the operations on plans, which sessions without a plan never need. */
export function loadPlanned(): Promise<typeof import("./plan/planned.js")> {
  return import("./plan/planned.js");
}
