import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import type { AttemptLimits, SessionCommand } from "./commands.js";
import { inRanges } from "./events.js";
import { type SessionHead, spentAt } from "./head.js";
/** What may be asked of a session as it stands, in the order in which it is usually wanted. */
export function allowedCommands(head: SessionHead, structure: WorkflowStructure): SessionCommand["type"][] {
  switch (head.status) {
    case "active":
      return [
        "completePhase",
        ...(head.awaiting === undefined ? [] : (["approve", "deny"] as const)),
        "pause",
        ...(head.attempts > 0 ? (["retryPhase"] as const) : []),
        ...(rollbackTargets(head, structure).length > 0 ? (["rollback"] as const) : []),
        "delete",
      ];
    case "paused":
      return ["resume", "delete"];
    case "failed":
      return ["retryPhase", ...(rollbackTargets(head, structure).length > 0 ? (["rollback"] as const) : []), "delete"];
    case "completed":
      return ["delete"];
    case "deleted":
      return [];
  }
}

/** The numbers of the phases that a rollback may go to; where a session is completed, all of them are behind it. */
export function rollbackTargets(head: SessionHead, structure: WorkflowStructure): number[] {
  const first = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const end = head.status === "completed" ? head.position + 1 : head.position;
  return structure.phases.slice(Math.max(first, 0), end).map(({ number }) => number);
}

/** The session's state doesn't allow the command. With limits, no retry is offered that an agent would be refused. */
export function invalidTransition(
  head: SessionHead,
  structure: WorkflowStructure,
  command: SessionCommand["type"],
  { why, limits }: { readonly why?: string; readonly limits?: AttemptLimits } = {},
): PhasegateError<"INVALID_TRANSITION"> {
  const isSpent = limits !== undefined && exhausted(head, limits) !== undefined;
  const allowed = allowedCommands(head, structure).filter((other) => !isSpent || other !== "retryPhase");
  const because = why ?? `the session is ${head.status}`;
  return new PhasegateError("INVALID_TRANSITION", `${command} is not possible: ${because}`, {
    remedy: isOver(head) ? "It is over: start a new session for more." : `Possible now: ${allowed.join(", ")}.`,
    details: { command, status: head.status, allowed },
  });
}

/** Whether nothing but a deletion can follow, which nobody should be led to. */
function isOver({ status }: SessionHead): boolean {
  return status === "completed" || status === "deleted";
}

/**
 * Why evidence for a phase can't be taken now; undefined if it can. The engine asks before it runs
 * a check that costs something, and {@link transition} asks again on the state that it decides on.
 */
export function submissionRefusal(
  head: SessionHead,
  phase: number,
  structure: WorkflowStructure,
  limits: AttemptLimits,
): AnyPhasegateError | undefined {
  const position = structure.phases.findIndex(({ number }) => number === phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  if (head.status !== "active") return invalidTransition(head, structure, "completePhase", { limits });
  if (position > head.position) return phaseLocked(phase, head.phase);
  if (position < head.position) return behind(head, phase, structure);
  return exhausted(head, limits);
}

/** Why a phase can't be read: it lies ahead, before the first one of the session, or there is none of that number. */
export function readingRefusal(
  head: SessionHead,
  phase: number,
  structure: WorkflowStructure,
): AnyPhasegateError | undefined {
  const position = structure.phases.findIndex(({ number }) => number === phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  if (position > head.position) return phaseLocked(phase, head.phase);
  const done = inRanges(head.completed, position) || inRanges(head.skipped, position);
  return done || position === head.position ? undefined : notPartOf(structure, phase);
}

/** The agent has had all its attempts at the current phase. */
export function exhausted(head: SessionHead, limits: AttemptLimits): PhasegateError<"ATTEMPTS_EXHAUSTED"> | undefined {
  const attempts = spentAt(head, head.position);
  if (attempts < limits.maxAttemptsTotal) return undefined;
  return new PhasegateError("ATTEMPTS_EXHAUSTED", `phase ${head.phase} was tried ${attempts} times without passing`, {
    remedy: "Ask the person who runs this to look at the gate; only the host can grant more attempts.",
    details: { phase: head.phase, attempts, limit: limits.maxAttemptsTotal },
  });
}

/** A phase that is not the current one was named. */
export function notCurrent(head: SessionHead, phase: number, structure: WorkflowStructure): AnyPhasegateError {
  const position = structure.phases.findIndex(({ number }) => number === phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  return position > head.position ? phaseLocked(phase, head.phase) : behind(head, phase, structure);
}

/** There is no phase of that number. */
export function phaseOutOfRange(structure: WorkflowStructure, requested: number): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  const valid = structure.phases.map(({ number }) => number);
  return new PhasegateError("PHASE_OUT_OF_RANGE", `there is no phase ${requested} in ${structure.type}`, {
    remedy: `Use one of the phases ${valid.join(", ")}.`,
    details: { requested, valid, ...sourceOf(structure) },
  });
}

/** The session began behind the phase, at the workflow's start phase. */
function notPartOf(structure: WorkflowStructure, requested: number): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  const valid = structure.phases.map(({ number }) => number).filter((number) => number >= structure.startPhase);
  return new PhasegateError("PHASE_OUT_OF_RANGE", `phase ${requested} is before this session's first phase`, {
    remedy: `Use one of the phases ${valid.join(", ")}.`,
    details: { requested, valid, ...sourceOf(structure) },
  });
}

/** Where it stands which phases there are, if that is a plan. */
function sourceOf({ plan }: WorkflowStructure): { sourcePath?: string } {
  return plan === undefined ? {} : { sourcePath: plan.path };
}

function phaseLocked(requested: number, current: number): PhasegateError<"PHASE_LOCKED"> {
  return new PhasegateError("PHASE_LOCKED", `phase ${requested} is locked: the session is in phase ${current}`, {
    remedy: `Complete phase ${current} first.`,
    details: { requested, current },
  });
}

/** A phase before the first one of the session lies behind it too, but there is no way back to it. */
function behind(
  head: SessionHead,
  requested: number,
  structure: WorkflowStructure,
): PhasegateError<"PHASE_ALREADY_COMPLETED"> {
  const current = head.phase;
  const back = rollbackTargets(head, structure).includes(requested);
  return new PhasegateError(
    "PHASE_ALREADY_COMPLETED",
    `phase ${requested} is behind this session: it is in phase ${current} now`,
    {
      remedy: `Go on with phase ${current}${back ? `, or roll back to phase ${requested} to do it again` : ""}.`,
      details: { requested, current },
    },
  );
}

/** A text that would stand in the head is too long for it. */
export function tooLong(field: "note" | "reason", limit: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `the ${field} is longer than ${limit} characters`, {
    remedy: `Shorten it to ${limit} characters; what is longer belongs in a file.`,
    details: { field, expected: `at most ${limit} characters` },
  });
}
