/**
 * The lifecycle of a routed session as a pure function. The engine has already checked against the pinned
 * structure that a step exists and may follow; here it is decided whether the session's state allows the
 * command, what follows from it, and when failures at a gate end the instance.
 */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { type AttemptLimits, attemptsLeft } from "../../gate/judge.js";
import type { Decision, DecisionContext } from "../../log/machine.js";
import type { SessionId } from "../../workflow/names.js";
import { FINISH } from "../../workflow/routed-definition.js";
import {
  type ReportFacts,
  type RoutedCommand,
  type RoutedEvent,
  type RoutedFacts,
  type RoutedHead,
  STORED,
  visitsOf,
} from "./events.js";

type Result = Decision<RoutedEvent, RoutedHead>;
/** A command to a session that was started. */
type LaterCommand = Exclude<RoutedCommand, { type: "start" }>;

/** Decides a command on a head. Pure. */
export function decideRouted(head: RoutedHead | undefined, command: RoutedCommand, context: DecisionContext): Result {
  if (command.type === "start") {
    return head === undefined ? start(command, context) : { ok: false, error: startedAlready(head) };
  }
  if (head === undefined) throw new Error("a routed session begins with a start");
  const error = commandRefusal(head, command);
  return error === undefined ? { ok: true, ...outcomeOf(head, command, context) } : { ok: false, error };
}

export type RoutedOperation = "advance" | "resume" | "suspend" | "cancel" | "retry" | "approve" | "deny" | "delete";

/** Returns the operations that a session's state allows, most usual first. */
export function allowedOperations(head: RoutedHead): RoutedOperation[] {
  switch (head.status) {
    case "active": {
      const answers: RoutedOperation[] = head.pending?.awaiting === undefined ? [] : ["approve", "deny"];
      return ["advance", ...answers, "resume", "suspend", "cancel", "delete"];
    }
    case "paused":
      return ["resume", "cancel", "delete"];
    case "failed":
      return head.retryable ? ["retry", "delete"] : ["delete"];
    case "completed":
      return ["delete"];
    case "deleted":
      return [];
  }
}

/** Returns the error for an operation that the session's state does not allow. */
export function notNow(head: RoutedHead, operation: RoutedOperation): PhasegateError<"INVALID_TRANSITION"> {
  const allowed = allowedOperations(head);
  const why = "reason" in head && head.reason !== undefined ? ` (${head.reason})` : "";
  const message = `${operation} is not possible: the workflow is ${STORED[head.status]}${why}`;
  return new PhasegateError("INVALID_TRANSITION", message, {
    remedy: allowed.length > 1 ? `Possible now: ${allowed.join(", ")}.` : "It is over: start a new instance for more.",
    details: { command: operation, status: head.status, allowed },
  });
}

function start(
  { type: _, digest, ...started }: Extract<RoutedCommand, { type: "start" }>,
  { at, version }: DecisionContext,
): Result {
  const { structure, context, firstStep, snapshots, owner } = started;
  const first = structure.steps.find(({ name }) => name === firstStep);
  return {
    ok: true,
    events: [{ type: "started", ...started }],
    head: {
      status: "active",
      workflow: structure.name,
      revision: structure.revision,
      step: firstStep,
      total: structure.steps.length,
      context,
      pending: firstStep === undefined ? { operation: "start", version, digest } : undefined,
      visits: first?.maxVisits === undefined ? {} : { [first.name]: 1 },
      attempts: 0,
      spent: 0,
      baseline: snapshots && version,
      owner,
      createdAt: at,
    },
  };
}

function startedAlready({ workflow }: RoutedHead): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `a session with this id already runs ${workflow}`, {
    remedy: "Ask for its status, or start another one.",
    details: { command: "start", status: "active", allowed: ["status"] },
  });
}

/** Returns the reason why a session can't take a command now; undefined if it can. */
function commandRefusal(head: RoutedHead, command: LaterCommand): AnyPhasegateError | undefined {
  const { status } = head;
  const unless = (isPossible: boolean, operation: RoutedOperation) =>
    isPossible ? undefined : notNow(head, operation);
  switch (command.type) {
    case "report":
    case "refuse": {
      const { operation } = command;
      return unless(status === "active" || (operation === "resume" && status === "paused"), operation);
    }
    case "continue":
      return unless(status !== "completed", command.operation);
    case "decide":
    case "fail":
      // The question was answered by another writer, or withdrawn.
      return status === "active" && head.pending?.version === command.pending ? undefined : overtaken(head);
    case "approve":
    case "deny":
      return unless(status === "active" && head.pending?.awaiting !== undefined, command.type);
    case "suspend":
      return unless(status === "active", "suspend");
    case "cancel":
      return unless(status === "active" || status === "paused", "cancel");
    case "retry":
      return retryRefusal(head, command);
    case "release":
      return unless(status === "paused", "resume");
    case "assign":
    case "delete":
      return unless(status !== "deleted", "delete");
  }
}

/** Returns true if a command lets an instance run that does not run now. */
export function setsGoing(head: RoutedHead, command: RoutedCommand): boolean {
  if (head.status === "active" || command.type === "start") return false;
  const may = ["report", "refuse", "retry", "release"].includes(command.type);
  return may && commandRefusal(head, command) === undefined;
}

function overtaken(head: RoutedHead): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", "somebody else has decided this step meanwhile", {
    remedy: "Read the status and continue from there.",
    details: { command: "advance", status: head.status, allowed: allowedOperations(head) },
  });
}

function retryRefusal(
  head: RoutedHead,
  { maxAttemptsTotal, operator }: Extract<RoutedCommand, { type: "retry" }>,
): AnyPhasegateError | undefined {
  // A suspended question for the first step is resumed in the same way.
  if (head.status === "paused" && head.step === undefined && operator === undefined) return undefined;
  if (head.status !== "failed" || !head.retryable) return notNow(head, "retry");
  if (head.spent < maxAttemptsTotal || operator !== undefined) return undefined;
  const message = `the gate of ${head.step} was not passed in ${head.spent} attempts in total: there are no more`;
  return new PhasegateError("INVALID_TRANSITION", message, {
    remedy: "Ask the person who runs this to look at the gate: only the host can grant more (`phasegate retry`).",
    details: { command: "retry", status: head.status, allowed: ["delete"] },
  });
}

interface Outcome {
  readonly events: readonly RoutedEvent[];
  readonly head: RoutedHead;
}

/** Returns what follows from a command that the state allows. */
function outcomeOf(head: RoutedHead, command: LaterCommand, { at, version }: DecisionContext): Outcome {
  const facts = factsOf(head);
  switch (command.type) {
    case "report": {
      const { operation, assumedStep, digest, context, warnings = [], verification, approval } = command;
      const step = stepOf(head);
      const event: RoutedEvent = {
        ...{ type: "reported", ...reportOf(head, command), verification },
        warnings: warnings.length === 0 ? undefined : warnings,
      };
      const awaiting = approval && { version, evidenceHash: approval.evidenceHash };
      return {
        events: approval === undefined ? [event] : [event, { type: "approval_requested", step, ...approval }],
        head: { ...facts, status: "active", context, pending: { operation, version, assumedStep, digest, awaiting } },
      };
    }
    case "continue":
      return { events: [{ type: "continued", operation: command.operation, of: command.of }], head };
    case "refuse": {
      const { problems, verification, counted } = command;
      const attempt = head.attempts + 1;
      const uncounted = counted ? undefined : true;
      const event: RoutedEvent = {
        ...{ type: "gate_refused", ...reportOf(head, command) },
        ...{ attempt, uncounted, problems, verification },
      };
      return counted ? attempted(event, facts, command, at) : { events: [event], head: { ...facts, status: "active" } };
    }
    case "approve": {
      const pending = head.pending && { ...head.pending, awaiting: undefined };
      return { events: [{ type: "approved", ...answerOf(head, command) }], head: { ...head, pending } };
    }
    case "deny": {
      const event: RoutedEvent = { type: "denied", ...answerOf(head, command), note: command.note ?? "" };
      return attempted(event, { ...facts, pending: undefined }, command, at);
    }
    case "decide":
      return decided(head, command, { at, version });
    case "fail": {
      const { code, reason, milliseconds } = command;
      return {
        events: [{ type: "failed", step: head.step, code, reason, milliseconds }],
        head: failed(facts, { code, reason }, at),
      };
    }
    case "suspend": {
      const { reason, operator } = command;
      return { events: [{ type: "suspended", reason, operator }], head: { ...facts, status: "paused", reason } };
    }
    case "retry": {
      const { snapshots, operator, note } = command;
      return {
        events: [{ type: "retried", snapshots, operator, note }],
        head: {
          ...{ ...facts, status: "active", attempts: 0 },
          // The host grants the whole number of attempts again.
          spent: operator === undefined ? facts.spent : 0,
          baseline: snapshots === undefined ? facts.baseline : version,
        },
      };
    }
    case "release": {
      const { operator, note } = command;
      return { events: [{ type: "released", operator, note }], head: { ...facts, status: "active" } };
    }
    case "cancel": {
      const { reason } = command;
      const why = { code: "CANCELLED", reason: reason === undefined ? "cancelled" : `cancelled: ${reason}` };
      return { events: [{ type: "cancelled", reason }], head: { ...failed(facts, why, at), retryable: false } };
    }
    case "assign": {
      const { owner, by, note } = command;
      return { events: [{ type: "assigned", owner, by, note }], head: { ...head, owner } };
    }
    case "delete": {
      const { reason, operator } = command;
      return { events: [{ type: "deleted", reason, operator }], head: { ...facts, status: "deleted", reason } };
    }
  }
}

/** A head with the members of all statuses. */
type AnyHead = RoutedFacts & {
  readonly status: string;
  readonly reason?: string;
  readonly completedAt?: string;
  readonly code?: string;
  readonly retryable?: boolean;
};

function factsOf(head: RoutedHead): RoutedFacts {
  const { status, reason, completedAt, code, retryable, ...facts }: AnyHead = head;
  return facts;
}

function failed(facts: RoutedFacts, why: { readonly code: string; readonly reason: string }, at: string) {
  return { ...facts, status: "failed" as const, completedAt: at, ...why, retryable: true };
}

function stepOf({ step }: RoutedHead): string {
  if (step === undefined) throw new Error("nothing is reported before there is a first step");
  return step;
}

function reportOf(head: RoutedHead, command: ReportFacts) {
  const { operation, assumedStep, report, contextUpdates } = command;
  return { operation, step: stepOf(head), assumedStep, report, contextUpdates };
}

/** Adds a failed attempt. After `maxAttempts` in a row, or `maxAttemptsTotal` in total, the instance fails. */
function attempted(event: RoutedEvent, before: RoutedFacts, limits: AttemptLimits, at: string): Outcome {
  const facts = { ...before, attempts: before.attempts + 1, spent: before.spent + 1 };
  const { attempts: inARow, spent: inTotal, step } = facts;
  if (attemptsLeft({ inARow, inTotal }, limits) > 0) return { events: [event], head: { ...facts, status: "active" } };
  const failures = inTotal < limits.maxAttemptsTotal ? `${inARow} attempts in a row` : `${inTotal} attempts in total`;
  const why = { code: "ATTEMPTS_EXHAUSTED", reason: `the gate of ${step} was not passed in ${failures}` };
  return { events: [event, { type: "failed", step, ...why }], head: failed(facts, why, at) };
}

function answerOf(head: RoutedHead, command: Extract<RoutedCommand, { type: "approve" | "deny" }>) {
  const { by, note, evidenceHash, authenticated, signature, keyId } = command;
  const asked = head.pending?.awaiting?.version ?? 0;
  return { step: stepOf(head), by, note, evidenceHash, asked, authenticated, signature, keyId };
}

function decided(
  head: RoutedHead,
  { type: _, pending: __, context, counted, stays, ...decision }: Extract<RoutedCommand, { type: "decide" }>,
  { at, version }: DecisionContext,
): Outcome {
  const { next, status, reasoning, snapshots, notes = [] } = decision;
  const { step, pending, visits } = head;
  const facts: RoutedFacts = {
    ...factsOf(head),
    context,
    pending: undefined,
    answered: pending && { digest: pending.digest, version },
    // An instance can't be on FINISH: one that fails keeps its step.
    step: next === FINISH && status !== "completed" ? step : next,
    visits: counted ? { ...visits, [next]: visitsOf(next, visits) + 1 } : visits,
    baseline: snapshots === undefined ? (stays ? head.baseline : undefined) : version,
    attempts: 0,
    spent: 0,
  };
  const events: RoutedEvent[] = [
    { type: "decided", from: step, ...decision, notes: notes.length === 0 ? undefined : notes },
  ];
  switch (status) {
    case "completed":
      return { events, head: { ...facts, status, completedAt: at } };
    case "failed": {
      const reason = reasoning ?? "the decider said that it has failed";
      return { events, head: failed(facts, { code: "DECIDED", reason }, at) };
    }
    case "paused":
      return { events, head: { ...facts, status, reason: reasoning ?? "the decider said that it has to wait" } };
    case "active":
      return { events, head: { ...facts, status } };
  }
}

export function noInstance(id: SessionId): PhasegateError<"SESSION_NOT_FOUND"> {
  return new PhasegateError("SESSION_NOT_FOUND", `there is no workflow instance ${id}`, {
    remedy: "Use the instance_id as start gave it, or start a new instance.",
    details: { sessionId: id },
  });
}
