import { parseSessionId, type SessionId } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { PhaseDefinition, WorkflowStructure } from "../definition/structure.js";
import { isPhasegateError, PhasegateError } from "../errors.js";
import { keyedRequest } from "../kernel/idempotency.js";
import type { Executed } from "../kernel/recorded.js";
import type { SessionCommand } from "../session/commands.js";
import type { SessionEvent } from "../session/events.js";
import type { SessionHead } from "../session/head.js";
import { phaseOutOfRange } from "../session/refusals.js";
import type { ArtifactNames } from "./artifact-names.js";
import type { ResolvedOptions } from "./options.js";
import type { PhasedKernel, PhasedSession, Pinned } from "./pinned.js";

/** What the parts of an engine share. */
export interface EngineContext {
  readonly options: ResolvedOptions;
  readonly kernel: PhasedKernel;
  readonly pinned: Pinned;
  readonly artifactNames: ArtifactNames;
  /** The workflow that sessions must be on, where the host has said so. */
  readonly workflowType?: string;
}

/** What an operation led to. */
export type PhasedOutcome = Executed<SessionEvent, SessionHead>;

/** A session with the structure that it is bound to. */
export interface LoadedSession {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
}

/** Loads a session by the id that a caller gave. Throws `INVALID_INPUT` or `SESSION_NOT_FOUND`. */
export async function loadSession(context: EngineContext, sessionId: string): Promise<LoadedSession> {
  const id = parseSessionId(sessionId);
  const session = await context.kernel.find(id);
  if (session === undefined) throw await sessionNotFound(context, id);
  checkWorkflow(context, session);
  return { session, structure: await context.pinned.structure(session) };
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
    return { command: { command, structure: await context.pinned.structure(session), limits: context.options.limits } };
  };
  return context.kernel.execute(id, prepare, request);
}

/** A phase of a structure by its number. Throws `PHASE_OUT_OF_RANGE`. */
export function requirePhase(structure: WorkflowStructure, number: number): PhaseDefinition {
  const phase = structure.phases.find((candidate) => candidate.number === number);
  if (phase === undefined) throw phaseOutOfRange(structure, number);
  return phase;
}

/** For a hint: that the list can't be had says nothing about the session that was asked for. */
async function newestSessions({ storage }: ResolvedOptions): Promise<readonly string[]> {
  try {
    return (await storage.list({ limit: 50 })).items.map((summary) => summary.sessionId);
  } catch (error) {
    if (isPhasegateError(error)) return [];
    throw error;
  }
}

/** There is no such session; the nearest of the newest ones may have been meant. */
export async function sessionNotFound(
  { options }: EngineContext,
  sessionId: SessionId,
): Promise<PhasegateError<"SESSION_NOT_FOUND">> {
  const similar = nearest(sessionId, await newestSessions(options));
  return new PhasegateError("SESSION_NOT_FOUND", `there is no session ${sessionId}`, {
    remedy: similar === undefined ? "List the sessions, or start one." : `Did you mean ${similar}?`,
    details: { sessionId, ...(similar === undefined ? {} : { nearest: similar }) },
  });
}
