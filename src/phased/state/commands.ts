/**
 * The commands of a phased session, and the reasons for refusing them. A command is checked before
 * expensive work such as verifiers, and again by `transition` on the state that it is decided on.
 */
import { type AnyPhasegateError, isPhasegateError, PhasegateError } from "../../errors.js";
import type { Proof } from "../../gate/claims.js";
import type { AttemptLimits } from "../../gate/judge.js";
import type { Verdict } from "../../gate/verdict.js";
import { waivable } from "../../gate/waivers.js";
import type { Owner } from "../../ports/actor.js";
import type { JsonObject } from "../../workflow/json.js";
import type { PhaseDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type {
  ChildReceipt,
  EventOf,
  EvidenceRef,
  Parent,
  PlanChanges,
  SessionEvent,
  Snapshot,
  ValueRef,
  Verification,
  Waived,
} from "./events.js";
import { type SessionHead, spentAt } from "./head.js";
import type { Noted } from "./noted.js";
import { inRanges } from "./ranges.js";
import type { StepRefused, TaskNote, TaskPairs } from "./task-notes.js";

/** The caller: an agent through the tool, or the host's own code. */
export type Actor = "agent" | "host";

/** A call that may be repeated. */
export interface Keyed {
  /** A repeated call with the same key is executed once and gets the same answer. */
  readonly idempotencyKey?: string;
}

/** Who asks for a step on behalf of the host, and why: recorded in the log, and shown by `history`. */
export interface OperatorNote {
  /** The name of the person or program; at most 200 characters. */
  readonly operator?: string;
  /** Why; at most 2,000 characters. */
  readonly note?: string;
}

/** A person's answer to a question. The engine has already identified the person. */
interface PersonsAnswer<Question extends SessionEvent["type"]>
  extends Pick<EventOf<"approved">, "by" | "note" | "authenticated" | "signature" | "keyId"> {
  /** The question and the version of its commit; read from the log, since the head has only the version. */
  readonly asked: { readonly version: number; readonly event: EventOf<Question> };
}

/** A person's answer to a request for an approval. */
interface ApprovalDecision extends PersonsAnswer<"approval_requested"> {
  /** The hash of the evidence that the person has seen. */
  readonly evidenceHash: string;
}

/** A command to a phased session. */
export type SessionCommand =
  | {
      readonly type: "start";
      readonly target: string;
      readonly options: JsonObject;
      readonly owner?: Owner | undefined;
      readonly parent?: Parent | undefined;
    }
  | ({ readonly type: "startChild" } & Pick<EventOf<"child_claimed">, "child" | "assignment" | "item" | "by">)
  | { readonly type: "assign"; readonly owner: Owner; readonly by: string; readonly note?: string }
  | {
      readonly type: "completePhase";
      readonly phase: number;
      readonly evidence: EvidenceRef;
      readonly verdict: Verdict;
      readonly output?: ValueRef;
      /** What the host notes on the submission. */
      readonly noted?: Noted | undefined;
      /** The results of the gate's verifiers. */
      readonly verification?: readonly Verification[];
      /** The hash that a person's approval is bound to; required where the gate needs one. */
      readonly evidenceHash?: string;
      /** Tasks of the phase that were already ticked in the plan, as far as that is known. */
      readonly stood?: readonly string[];
      /** What the verdict does not require, since a person has waived it. */
      readonly waived?: readonly Waived[];
      /** What the evidence says can't be claimed, and why, by the names that a waiver has for it. */
      readonly unmet?: ReadonlyMap<string, string>;
      /** Where the claims can be seen. */
      readonly proofs?: readonly Proof[];
      /** Items of its validation gate that were already ticked there, by number. */
      readonly stoodItems?: readonly number[];
      /** The children that were completed, if the phase is a workflow. */
      readonly children?: readonly ChildReceipt[] | undefined;
      /** Set if a failure counts as no attempt: the phase is a workflow that is not completed. */
      readonly uncounted?: true | undefined;
    }
  | ({ readonly type: "completeTask"; readonly phase: number; readonly task?: number | undefined } & TaskNote)
  | ({ readonly type: "approve" } & ApprovalDecision)
  | ({ readonly type: "deny" } & ApprovalDecision)
  | {
      readonly type: "requestWaiver";
      readonly phase: number;
      readonly fields: readonly string[];
      readonly reason: string;
      /** The waivers that this host accepts, which need not be asked for again. Default: all. */
      readonly waived?: readonly Pick<Waived, "fields">[];
    }
  | ({ readonly type: "waive" } & PersonsAnswer<"waiver_requested">)
  | ({ readonly type: "denyWaiver" } & PersonsAnswer<"waiver_requested">)
  | { readonly type: "refuseStep"; readonly refused: StepRefused }
  | ({ readonly type: "pause" } & OperatorNote)
  | ({ readonly type: "resume" } & OperatorNote)
  | ({
      readonly type: "retryPhase";
      readonly phase: number;
      readonly resetEvidence: boolean;
      readonly by: Actor;
    } & OperatorNote)
  | {
      readonly type: "rollback";
      readonly to: number;
      readonly by: Actor;
      /** Allows a rollback of a completed or paused session, if the host does not accept the approvals in its log. */
      readonly reopens?: boolean;
    }
  | { readonly type: "overrideGate"; readonly phase: number; readonly by: string; readonly reason: string }
  | { readonly type: "skipPhase"; readonly phase: number; readonly by: string; readonly reason: string }
  | {
      readonly type: "migrate";
      readonly structure: WorkflowStructure;
      readonly by: string;
      /** Why the host accepts differences of phases, by the phases' names. */
      readonly accept?: ReadonlyMap<string, string>;
      /** See `syncPlan`. */
      readonly tasks?: TaskPairs | undefined;
    }
  | ({
      readonly type: "syncPlan";
      readonly structure: WorkflowStructure;
      readonly by: Actor;
      readonly changes: PlanChanges;
      /** The old and new positions of the phases that the plan still has, from the current one on. */
      readonly places: readonly (readonly [from: number, to: number])[];
      /** The old and new numbers of the current phase's tasks; missing if the phase is not from a plan. */
      readonly tasks?: TaskPairs | undefined;
    } & OperatorNote)
  | { readonly type: "planTicked"; readonly ticked: Omit<EventOf<"plan_ticked">, "type"> }
  | { readonly type: "takeSnapshots" }
  | { readonly type: "delete"; readonly reason?: string; readonly operator?: string };

/** A command by its type. */
export type CommandOf<T extends SessionCommand["type"]> = Extract<SessionCommand, { type: T }>;

/** Why a phase is skipped: the reason in the author's words, and the rule that holds. */
export interface SkippedBy {
  readonly reason: string;
  readonly rule: string;
}

/** What a transition needs in addition to head and command. */
export interface TransitionContext {
  /** The pinned structure of the session. */
  readonly structure: WorkflowStructure;
  readonly limits: AttemptLimits;
  /** Returns why the phase at a position is skipped when it is entered: of the new structure in a migration. No phase is if missing. */
  readonly skips?: ((position: number) => SkippedBy | undefined) | undefined;
  /** The verifiers' snapshots for the phase that the command enters. */
  readonly snapshots?: Snapshot[] | undefined;
  /** The snapshots that a migration keeps, as the new structure's checks look for them. */
  readonly kept?: Snapshot[] | undefined;
  /** The limit of active sessions, if as many are active: no other session becomes active. */
  readonly full?: number | undefined;
  /** The current time, ISO 8601, UTC. */
  readonly at: string;
  /** The version that the commit will have. */
  readonly version: number;
}

/** Returns the commands that are possible in this state, most usual first. */
export function allowedCommands(head: SessionHead, structure: WorkflowStructure): SessionCommand["type"][] {
  switch (head.status) {
    case "active":
      return [
        "completePhase",
        ...(hasTasks(head, structure) ? (["completeTask"] as const) : []),
        ...(head.awaiting === undefined ? [] : (["approve", "deny"] as const)),
        ...waiverCommands(head, structure),
        "pause",
        ...(head.attempts > 0 ? (["retryPhase"] as const) : []),
        ...(rollbackTargets(head, structure).length > 0 ? (["rollback"] as const) : []),
        "delete",
      ];
    case "paused":
      return ["resume", ...(isWaiverOpen(head) ? (["waive", "denyWaiver"] as const) : []), "delete"];
    case "failed":
      return [
        "retryPhase",
        ...waiverCommands(head, structure),
        ...(rollbackTargets(head, structure).length > 0 ? (["rollback"] as const) : []),
        "delete",
      ];
    case "completed":
      return ["delete"];
    case "deleted":
      return [];
  }
}

/** Returns the commands about waivers: a person can answer an open request, an agent can make one. */
function waiverCommands(head: SessionHead, structure: WorkflowStructure): SessionCommand["type"][] {
  if (isWaiverOpen(head)) return ["waive", "denyWaiver"];
  const gate = structure.phases[head.position]?.gate;
  if (head.awaiting !== undefined || asksNoMore(head) || gate === undefined) return [];
  return waivable(gate).names.length > 0 ? ["requestWaiver"] : [];
}

/** Returns true if a request for a waiver waits for a person. */
export function isWaiverOpen({ waiver, status }: SessionHead): boolean {
  return waiver !== undefined && waiver.denied !== true && status !== "deleted";
}

/** Limits the requests of one visit to a phase, since the last grant: each is a commit, and a question to a person. */
export const REQUESTS_MAX = 10;

/** Returns true if an agent has asked as often as it may. */
export function asksNoMore({ waiverRequests = 0 }: Pick<SessionHead, "waiverRequests">): boolean {
  return waiverRequests >= REQUESTS_MAX;
}

function hasTasks({ position }: SessionHead, { phases }: WorkflowStructure): boolean {
  return phases[position]?.tasks.length !== 0;
}

/** Returns the phases that a rollback may go to; in a completed session, all of them. */
export function rollbackTargets(head: SessionHead, structure: WorkflowStructure): number[] {
  const first = structure.phases.findIndex(({ number }) => number === structure.startPhase);
  const end = head.status === "completed" ? head.position + 1 : head.position;
  return structure.phases.slice(Math.max(first, 0), end).map(({ number }) => number);
}

/** Returns the position of a phase, from 0; -1 if there is no such phase. */
export function positionOf({ phases }: Pick<WorkflowStructure, "phases">, number: number): number {
  return phases.findIndex((phase) => phase.number === number);
}

/** Returns the first position from this one on whose phase is not skipped; the number of phases if there is none. */
export function landing(position: number, { phases }: WorkflowStructure, skips: TransitionContext["skips"]): number {
  let at = position;
  while (at < phases.length && skips?.(at) !== undefined) at += 1;
  return at;
}

/**
 * Returns the reason why evidence for a phase can't be submitted now; undefined if it can. `meanwhile` says what has happened to a
 * session that is no longer active since the checks of the evidence have begun.
 */
export function submissionRefusal(
  head: SessionHead,
  phase: number,
  structure: WorkflowStructure,
  limits: AttemptLimits,
  meanwhile?: string,
): AnyPhasegateError | undefined {
  const position = positionOf(structure, phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  if (head.status !== "active") {
    const refusal = invalidTransition(head, structure, "completePhase", { limits });
    return meanwhile === undefined ? refusal : uncounted(refusal, meanwhile);
  }
  return position === head.position ? exhausted(head, limits) : notCurrent(head, phase, structure);
}

function uncounted({ details, remedy }: PhasegateError<"INVALID_TRANSITION">, meanwhile: string) {
  return new PhasegateError(
    "INVALID_TRANSITION",
    `completePhase is not possible: ${meanwhile} while the checks ran, so the submission was not counted`,
    {
      remedy: details.status === "paused" ? "Submit the same evidence again once the session is resumed." : remedy,
      details: { ...details, submission: "uncounted" },
    },
  );
}

/** Returns the error for evidence while the checks of other evidence for the phase run. */
export function otherIsVerified(
  head: SessionHead,
  structure: WorkflowStructure,
  running: { readonly phase: number; readonly since: string; readonly idempotencyKey: string },
): PhasegateError<"INVALID_TRANSITION"> {
  if (head.status !== "active") return invalidTransition(head, structure, "completePhase");
  const why = `other evidence for phase ${running.phase} is being verified since ${running.since}`;
  const { message, details } = invalidTransition(head, structure, "completePhase", { why });
  const allowed = details.allowed.filter((command) => command !== "completePhase");
  return new PhasegateError("INVALID_TRANSITION", message, {
    remedy: `Wait for its result, which has the idempotency key ${running.idempotencyKey}. Submit this evidence afterwards, if it is still needed.`,
    details: { ...details, allowed, submission: "verifying" },
  });
}

/** Returns the error of a submission that was not counted as it is now: what is possible may have changed since. */
export function asOfNow(error: unknown, head: SessionHead, structure: WorkflowStructure): unknown {
  if (!isPhasegateError(error, "INVALID_TRANSITION")) return error;
  const { message, remedy, details } = error;
  const now = { status: head.status, allowed: allowedCommands(head, structure) };
  return new PhasegateError("INVALID_TRANSITION", message, { remedy, details: { ...details, ...now } });
}

/** Returns the reason why a task of a phase can't be noted as done now; undefined if it can. */
export function taskRefusal(
  head: SessionHead,
  phase: number,
  { task, skipped }: { readonly task?: number | undefined; readonly skipped: readonly number[] },
  structure: WorkflowStructure,
): AnyPhasegateError | undefined {
  if (positionOf(structure, phase) < 0) return phaseOutOfRange(structure, phase);
  if (head.status !== "active") return invalidTransition(head, structure, "completeTask");
  const current = structure.phases[head.position];
  if (current?.number !== phase) return notCurrent(head, phase, structure);
  const { tasks } = current;
  const named = task === undefined ? skipped : [task, ...skipped];
  const unknown = named.find((wanted) => tasks.every(({ number }) => number !== wanted));
  if (unknown !== undefined) return taskNotFound(current, unknown);
  const required = skipped.find((left) => tasks.some(({ number, plan }) => number === left && plan?.optional !== true));
  return required === undefined ? undefined : notOptional(required);
}

function notOptional(task: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `task ${task} can't be left out: it is not optional`, {
    remedy: "Do it. If it can't be done, note it as given up, with a note that says why.",
    details: { field: "skipped", expected: "numbers of optional tasks" },
  });
}

/** Returns the error for a task that its phase does not have. */
export function taskNotFound(
  { number: phase, tasks }: PhaseDefinition,
  task: number,
): PhasegateError<"TASK_NOT_FOUND"> {
  const valid = tasks.map(({ number }) => number);
  return new PhasegateError("TASK_NOT_FOUND", `phase ${phase} has no task ${task}`, {
    remedy:
      valid.length === 0 ? "This phase has no tasks: its content says what to do." : `Use one of: ${valid.join(", ")}.`,
    details: { phase, task, valid },
  });
}

/**
 * Returns the reason why a phase can't be read: it is ahead, before the session's first phase, or does not
 * exist.
 */
export function readingRefusal(
  head: SessionHead,
  phase: number,
  structure: WorkflowStructure,
): AnyPhasegateError | undefined {
  const position = positionOf(structure, phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  if (position > head.position) return phaseLocked(phase, head.phase);
  const done = inRanges(head.completed, position) || inRanges(head.skipped, position);
  return done || position === head.position ? undefined : notPartOf(head, structure, phase);
}

/**
 * Returns the error for a command that the session's state does not allow. With `limits`, it does not offer
 * a retry that an agent would be refused.
 */
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

/**
 * Returns the error for an agent that has used all its attempts at the current phase; undefined if it has
 * not.
 */
export function exhausted(head: SessionHead, limits: AttemptLimits): PhasegateError<"ATTEMPTS_EXHAUSTED"> | undefined {
  const attempts = spentAt(head, head.position);
  if (attempts < limits.maxAttemptsTotal) return undefined;
  return new PhasegateError("ATTEMPTS_EXHAUSTED", `phase ${head.phase} was tried ${attempts} times without passing`, {
    remedy:
      "Ask the person who runs this to look at the gate: only the host can grant more attempts (`phasegate retry`).",
    details: { phase: head.phase, attempts, limit: limits.maxAttemptsTotal },
  });
}

/** Returns the error for a phase that is not the current one. */
export function notCurrent(head: SessionHead, phase: number, structure: WorkflowStructure): AnyPhasegateError {
  const position = positionOf(structure, phase);
  if (position < 0) return phaseOutOfRange(structure, phase);
  return position > head.position ? phaseLocked(phase, head.phase) : behind(head, phase, structure);
}

/** Returns the error for a phase that does not exist. */
export function phaseOutOfRange(structure: WorkflowStructure, requested: number): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  const valid = structure.phases.map(({ number }) => number);
  return new PhasegateError("PHASE_OUT_OF_RANGE", `there is no phase ${requested} in ${structure.type}`, {
    remedy: `Use one of the phases ${valid.join(", ")}.`,
    details: { requested, valid, ...sourceOf(structure) },
  });
}

/** Limits notes and reasons, in characters: they are stored in the head, which must stay small. */
export const NOTE_MAX = 2000;
/** The longest name of whoever asks for a step on behalf of the host. */
const OPERATOR_MAX = 200;

/** Returns the error for the first of these texts that is too long; undefined if all fit. */
export function lengthRefusal(
  texts: Readonly<Partial<Record<"note" | "reason" | "operator" | "by", string>>>,
): PhasegateError<"INVALID_INPUT"> | undefined {
  for (const [field, text = ""] of Object.entries(texts)) {
    const limit = field === "operator" || field === "by" ? OPERATOR_MAX : NOTE_MAX;
    if (text.length > limit) return tooLong(field === "operator" ? "by" : field, limit);
  }
  return undefined;
}

/** Returns the error for a text that is too long for the head. */
export function tooLong(field: string, limit: number): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `'${field}' is longer than ${limit} characters`, {
    remedy: `Shorten it to ${limit} characters; what is longer belongs in a file.`,
    details: { field, expected: `at most ${limit} characters` },
  });
}

/** Returns the error for a session that would be one more active session than the host allows. */
export function tooManyActive(limit: number): PhasegateError<"SESSION_LIMIT"> {
  return new PhasegateError("SESSION_LIMIT", `${limit} sessions are active, which is as many as this host allows`, {
    remedy: "Finish, pause or delete one, or raise limits.maxActiveSessions (`phasegate serve --max-sessions`).",
    details: { limit },
  });
}

/** Names the plan, where the phases come from one. */
function sourceOf({ plan }: WorkflowStructure): { sourcePath?: string } {
  return plan === undefined ? {} : { sourcePath: plan.path };
}

/** Returns true if nothing but a deletion is possible: it is not suggested. */
function isOver({ status }: SessionHead): boolean {
  return status === "completed" || status === "deleted";
}

function phaseLocked(requested: number, current: number): PhasegateError<"PHASE_LOCKED"> {
  return new PhasegateError("PHASE_LOCKED", `phase ${requested} is locked: the session is in phase ${current}`, {
    remedy: `Complete phase ${current} first.`,
    details: { requested, current },
  });
}

/**
 * Returns the error for a phase behind the current one. A phase before the session's first one is behind it
 * too, but a rollback can't reach it.
 */
function behind(
  head: SessionHead,
  requested: number,
  structure: WorkflowStructure,
): PhasegateError<"PHASE_ALREADY_COMPLETED"> {
  const back = rollbackTargets(head, structure).includes(requested);
  return new PhasegateError(
    "PHASE_ALREADY_COMPLETED",
    `phase ${requested} is behind this session: it is in phase ${head.phase} now`,
    {
      remedy: `Continue with phase ${head.phase}${back ? `, or roll back to phase ${requested} to do it again` : ""}.`,
      details: { requested, current: head.phase },
    },
  );
}

/** Returns the error for a phase before the one that the session started in. */
function notPartOf(
  { position }: SessionHead,
  structure: WorkflowStructure,
  requested: number,
): PhasegateError<"PHASE_OUT_OF_RANGE"> {
  // Those ahead are locked.
  const reached = structure.phases.slice(0, position + 1);
  const valid = reached.map(({ number }) => number).filter((number) => number >= structure.startPhase);
  return new PhasegateError("PHASE_OUT_OF_RANGE", `phase ${requested} is before this session's first phase`, {
    remedy: `Use one of the phases ${valid.join(", ")}.`,
    details: { requested, valid, ...sourceOf(structure) },
  });
}
