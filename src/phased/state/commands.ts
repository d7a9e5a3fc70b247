import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import type { Verdict } from "../../gate/verdict.js";
import type { JsonObject } from "../../workflow/json.js";
import type { WorkflowStructure } from "../../workflow/structure.js";
import {
  type EventOf,
  type EvidenceRef,
  inRanges,
  type PlanChanges,
  type Snapshot,
  type ValueRef,
  type Verification,
} from "./events.js";
import { type SessionHead, spentAt } from "./head.js";
/** Who asks: an agent through the tool, or the host's own code. */
export type Actor = "agent" | "host";

/** What can be asked of a phased session. */
export type SessionCommand =
  | { readonly type: "start"; readonly target: string; readonly options: JsonObject }
  | {
      readonly type: "completePhase";
      readonly phase: number;
      readonly evidence: EvidenceRef;
      readonly verdict: Verdict;
      readonly output?: ValueRef;
      /** What the gate's verifiers have found. */
      readonly verification?: readonly Verification[];
      /** What a person's approval is bound to; needed where the gate asks for one. */
      readonly evidenceHash?: string;
      /** Tasks of the phase that stand as done in the plan already, as far as that is known. */
      readonly stood?: readonly string[];
    }
  | ({ readonly type: "approve"; readonly note?: string } & PersonsWord)
  | ({ readonly type: "deny"; readonly note: string } & PersonsWord)
  | { readonly type: "pause"; readonly note?: string }
  | { readonly type: "resume" }
  | { readonly type: "retryPhase"; readonly phase: number; readonly resetEvidence: boolean; readonly by: Actor }
  | {
      readonly type: "rollback";
      readonly to: number;
      readonly by: Actor;
      /** Also out of a session that is completed or paused: this host believes none of the approvals that it got there by. */
      readonly reopens?: boolean;
    }
  | { readonly type: "overrideGate"; readonly phase: number; readonly by: string; readonly reason: string }
  | { readonly type: "skipPhase"; readonly phase: number; readonly by: string; readonly reason: string }
  | { readonly type: "migrate"; readonly structure: WorkflowStructure; readonly by: string }
  | {
      readonly type: "syncPlan";
      readonly structure: WorkflowStructure;
      readonly by: Actor;
      readonly changes: PlanChanges;
      /** Where the phases lie now that the plan still has, from the current one on: places before and now. */
      readonly places: readonly (readonly [from: number, to: number])[];
    }
  | { readonly type: "planTicked"; readonly ticked: Omit<EventOf<"plan_ticked">, "type"> }
  | { readonly type: "delete"; readonly reason?: string };

/** What a person's approval and a denial have in common. Who it is has been found out before. */
export interface PersonsWord extends Pick<EventOf<"approved">, "by" | "authenticated" | "signature" | "keyId"> {
  /** The evidence that the person has seen. */
  readonly evidenceHash: string;
  /** What was asked, and in which commit: out of the log, for the head holds only its place. */
  readonly asked: { readonly version: number; readonly event: EventOf<"approval_requested"> };
}

/** A command by its name. */
export type CommandOf<T extends SessionCommand["type"]> = Extract<SessionCommand, { type: T }>;

/** How often a gate may be tried. */
export interface AttemptLimits {
  /** Failures in a row after which a session is `failed`. */
  readonly maxAttempts: number;
  /** Failures in all at one phase after which only the host can help. */
  readonly maxAttemptsTotal: number;
}

/** What a command brings along for the checks of the phase that it leads to. */
export function begunOf({ snapshots }: TransitionContext): { snapshots?: Snapshot[] } {
  return snapshots === undefined ? {} : { snapshots: [...snapshots] };
}

/** What a transition needs beside head and command. */
export interface TransitionContext {
  /** The pinned structure of the session. */
  readonly structure: WorkflowStructure;
  readonly limits: AttemptLimits;
  /** What the checks of the phase that the command leads to begin with. */
  readonly snapshots?: readonly Snapshot[] | undefined;
  /** Now, ISO 8601, UTC. */
  readonly at: string;
  /** The version that the commit will have. */
  readonly version: number;
}

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
