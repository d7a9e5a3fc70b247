import { revealOf } from "../../gate/check-gate.js";
import { evidenceNames } from "../../gate/format.js";
import type { SessionHead } from "../../phased/state/head.js";
import type { UnapprovedView } from "../../phased/views.js";
import type { PhaseDefinition } from "../../workflow/structure.js";
import type { WireObject } from "../wire-object.js";
/** A call of the tool, as its `next` shows it: the parameters, to be passed on as they are. */
export type NextCall = WireObject;

/** Where a session stands, as far as it decides what can be called. */
export interface Standing {
  readonly sessionId: string;
  readonly status: SessionHead["status"];
  readonly currentPhase: number;
  /** Whether the agent has used up its attempts at the current phase. */
  readonly exhausted: boolean;
  /** Whether complete evidence waits for a person's word. */
  readonly awaitingApproval: boolean;
  /** The gate that was passed on an approval that this host does not believe. */
  readonly unapproved?: UnapprovedView;
}

/**
 * The one place that says what comes next: what the work leads to while the session is active, else the
 * call that gets it going again. Null where no call of the agent's would: it must ask a person.
 */
export function nextCall(standing: Standing, whenActive: () => NextCall): NextCall | null {
  const { sessionId, status, currentPhase, exhausted, awaitingApproval, unapproved } = standing;
  if (unapproved !== undefined) return null;
  switch (status) {
    case "paused":
      return { action: "resume", session_id: sessionId };
    case "failed":
      return exhausted ? null : { action: "retry_phase", session_id: sessionId, phase: currentPhase };
    case "active":
      if (awaitingApproval) return waitCall(sessionId);
      return exhausted ? null : whenActive();
    default:
      return { action: "list_workflows" };
  }
}

/** What an agent must be told where nothing that it can call leads on. */
export function blockedBy({ exhausted, currentPhase, status, unapproved }: Standing): string | undefined {
  if (unapproved !== undefined) return `${unapproved.message}. ${unapproved.remedy}`;
  if (!exhausted || status === "completed") return undefined;
  return `All attempts at phase ${currentPhase} are used up. Ask the person who runs this: only the host can grant more.`;
}

/**
 * What is said beside an answer that is given once more under its key: that nothing was done now, and where the session is,
 * which may have moved since.
 */
export function replayNews(replayed: boolean, { currentPhase, status }: Standing): WireObject {
  return replayed ? { replayed, session_now: { current_phase: currentPhase, session_status: status } } : {};
}

/** What decides which task of a phase comes next, where they come out of a plan. */
interface TaskOrder {
  readonly number: number;
  readonly state: string;
  readonly ready: boolean;
}

/** What an agent calls in a phase that it reads: its first task, or its gate; the current phase from an earlier one. */
export function callInPhase(
  { sessionId, currentPhase }: Standing,
  phase: PhaseDefinition,
  tasks: readonly TaskOrder[] = [],
): NextCall {
  if (phase.number !== currentPhase) return phaseCall(sessionId);
  const isDone = tasks.length > 0 && tasks.every(({ state }) => state === "done");
  const first = tasks.find(({ ready }) => ready) ?? tasks.find(({ state }) => state !== "done");
  const task = isDone ? undefined : (first ?? phase.tasks[0]);
  return task === undefined ? gateCall(sessionId, phase) : taskCall(sessionId, phase.number, task.number);
}

/** What an agent calls when a task is done: the one after it, or the phase's gate. */
export function callAfterTask(
  { sessionId, currentPhase }: Standing,
  phase: PhaseDefinition,
  task: number,
  tasks: readonly TaskOrder[] = [],
): NextCall {
  if (phase.number !== currentPhase) return phaseCall(sessionId);
  const isDone = (number: number) => tasks.some((other) => other.number === number && other.state === "done");
  const position = phase.tasks.findIndex(({ number }) => number === task);
  const following = phase.tasks.slice(position + 1).find(({ number }) => !isDone(number));
  return following === undefined ? gateCall(sessionId, phase) : taskCall(sessionId, phase.number, following.number);
}

/**
 * The call that hands in evidence. The values say what is wanted and would not pass: a call that
 * could be sent as it stands would be an invitation to claim what was not done.
 */
function gateCall(sessionId: string, phase: PhaseDefinition): NextCall {
  return { action: "complete_phase", session_id: sessionId, phase: phase.number, evidence: blanks(phase) };
}

/** The call that shows a phase; the current one if none is named. */
export function phaseCall(sessionId: string, phase?: number): NextCall {
  return { action: "get_phase", session_id: sessionId, ...(phase === undefined ? {} : { phase }) };
}

/** The call that finds out whether a person has answered. */
export function waitCall(sessionId: string): NextCall {
  return { action: "get_state", session_id: sessionId, brief: true };
}

/** The call that takes over what has changed in the plan; a preview only says what would. */
export function syncCall(sessionId: string, preview = false): NextCall {
  return { action: "sync_plan", session_id: sessionId, ...(preview ? { preview } : {}) };
}

/** The call that shows all that was wrong at the gates. */
export function errorsCall(sessionId: string): NextCall {
  return { action: "get_errors", session_id: sessionId };
}

/** The call that shows a task. */
export function taskCall(sessionId: string, phase: number, task: number): NextCall {
  return { action: "get_task", session_id: sessionId, phase, task_number: task };
}

/** As many fields as the call that comes next shows; all of them stand in the checkpoint. */
export const BLANKS_MAX = 12;

function blanks({ gate }: PhaseDefinition): WireObject {
  switch (gate.kind) {
    case "open":
      return { "<what was done>": "<result>" };
    case "schema": {
      const names = evidenceNames(gate).slice(0, BLANKS_MAX);
      if (names.length === 0) return { "<see checkpoint.evidence_schema>": "<value>" };
      return named(names, "<see checkpoint.evidence_schema>");
    }
    case "fields": {
      if (revealOf(gate) === "none") return { "<what was done>": "<result>" };
      if (revealOf(gate) === "names") return named(evidenceNames(gate).slice(0, BLANKS_MAX), "<value>");
      const required = gate.fields.filter((field) => field.required).slice(0, BLANKS_MAX);
      return Object.fromEntries(required.map(({ name, type }) => [name, `<${type}>`]));
    }
    case "plan":
      return named(evidenceNames(gate), "<see checkpoint.evidence_schema>");
  }
}

function named(names: readonly string[], blank: string): WireObject {
  return Object.fromEntries(names.map((name) => [name, blank]));
}
