/**
 * The lifecycle of a routed session as a pure function. The engine has already checked against the pinned
 * structure that a step exists and may follow; here it is decided whether the session's state allows the
 * command, and when failures at a gate end the instance.
 */
import { type AnyPhasegateError, PhasegateError } from "../../errors.js";
import { type AttemptLimits, attemptsLeft } from "../../gate/judge.js";
import type { Decision, DecisionContext } from "../../log/machine.js";
import type { Snapshot } from "../../phased/state/events.js";
import type { SessionId } from "../../workflow/names.js";
import { applyEvent } from "./apply-event.js";
import type { RoutedCommand, RoutedEvent, RoutedHead } from "./events.js";

type Result = Decision<RoutedEvent, RoutedHead>;

/** Decides a command on a head. Pure. */
export function decideRouted(head: RoutedHead | undefined, command: RoutedCommand, context: DecisionContext): Result {
  if (command.type === "start") return start(head, command, context);
  if (head === undefined) throw new Error("a routed session begins with a start");
  const refusal = commandRefusal(head, command);
  if (refusal !== undefined) return { ok: false, error: refusal };
  const events = eventsOf(head, command);
  const next = events.reduce<RoutedHead>((before, event) => applyEvent(before, event, command, context), head);
  return { ok: true, events, head: next };
}

/** An operation on a routed session. */
export type RoutedOperation = "advance" | "resume" | "suspend" | "cancel" | "retry" | "approve" | "deny" | "delete";

/** Returns the operations that a session's state allows, most usual first. */
export function allowedOperations(head: RoutedHead): RoutedOperation[] {
  switch (head.status) {
    case "RUNNING":
      return [
        "advance",
        ...(head.pending?.awaiting === undefined ? [] : (["approve", "deny"] as const)),
        "resume",
        "suspend",
        "cancel",
        "delete",
      ];
    case "SUSPENDED":
      return ["resume", "cancel", "delete"];
    case "FAILED":
      return [...(head.retryable ? (["retry"] as const) : []), "delete"];
    case "COMPLETED":
      return ["delete"];
    case "DELETED":
      return [];
  }
}

/** Returns the error for an operation that the session's state does not allow. */
export function notNow(head: RoutedHead, operation: RoutedOperation): PhasegateError<"INVALID_TRANSITION"> {
  const allowed = allowedOperations(head);
  const why = "reason" in head && head.reason !== undefined ? ` (${head.reason})` : "";
  return new PhasegateError(
    "INVALID_TRANSITION",
    `${operation} is not possible: the workflow is ${head.status}${why}`,
    {
      remedy:
        allowed.length > 1 ? `Possible now: ${allowed.join(", ")}.` : "It is over: start a new instance for more.",
      details: { command: operation, status: head.status, allowed },
    },
  );
}

function start(
  head: RoutedHead | undefined,
  { structure, context, digest, firstStep, snapshots, owner }: Extract<RoutedCommand, { type: "start" }>,
  { at, version }: DecisionContext,
): Result {
  if (head !== undefined) return { ok: false, error: startedAlready(head) };
  const first = structure.steps.find(({ name }) => name === firstStep);
  return {
    ok: true,
    events: [
      {
        type: "started",
        structure,
        context,
        firstStep,
        ...begunWith(snapshots),
        owner,
      },
    ],
    head: {
      status: "RUNNING",
      workflow: structure.name,
      revision: structure.revision,
      total: structure.steps.length,
      context,
      visits: first?.maxVisits === undefined ? {} : { [first.name]: 1 },
      attempts: 0,
      spent: 0,
      createdAt: at,
      ...(snapshots === undefined ? {} : { baseline: version }),
      owner,
      ...(firstStep === undefined
        ? { pending: { operation: "start", version, digest } as const }
        : { step: firstStep }),
    },
  };
}

function startedAlready({ workflow }: RoutedHead): PhasegateError<"INVALID_TRANSITION"> {
  return new PhasegateError("INVALID_TRANSITION", `a session with this id already runs ${workflow}`, {
    remedy: "Ask for its status, or start another one.",
    details: { command: "start", status: "RUNNING", allowed: ["status"] },
  });
}

function begunWith(snapshots: readonly Snapshot[] | undefined) {
  return snapshots === undefined ? {} : { snapshots: [...snapshots] };
}

/** Returns the reason why a session can't take a command now; undefined if it can. */
function commandRefusal(
  head: RoutedHead,
  command: Exclude<RoutedCommand, { type: "start" }>,
): AnyPhasegateError | undefined {
  switch (command.type) {
    case "report":
    case "refuse":
      if (command.operation === "advance" && head.status !== "RUNNING") return notNow(head, "advance");
      if (command.operation === "resume" && head.status !== "RUNNING" && head.status !== "SUSPENDED") {
        return notNow(head, "resume");
      }
      return undefined;
    case "continue":
      return head.status === "COMPLETED" ? notNow(head, command.operation) : undefined;
    case "decide":
    case "fail":
      // The question was answered by another writer, or withdrawn.
      return head.status === "RUNNING" && head.pending?.version === command.pending ? undefined : overtaken(head);
    case "approve":
    case "deny":
      return head.status === "RUNNING" && head.pending?.awaiting !== undefined ? undefined : notNow(head, command.type);
    case "suspend":
      return head.status === "RUNNING" ? undefined : notNow(head, "suspend");
    case "cancel":
      return head.status === "RUNNING" || head.status === "SUSPENDED" ? undefined : notNow(head, "cancel");
    case "retry":
      return retryRefusal(head, command);
    case "release":
      return head.status === "SUSPENDED" ? undefined : notNow(head, "resume");
    case "assign":
    case "delete":
      return head.status === "DELETED" ? notNow(head, "delete") : undefined;
  }
}

/** Returns true if a command lets an instance run that does not run now. */
export function setsGoing(head: RoutedHead, command: RoutedCommand): boolean {
  if (head.status === "RUNNING" || command.type === "start") return false;
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
  if (head.status === "SUSPENDED" && head.step === undefined && operator === undefined) return undefined;
  if (head.status !== "FAILED" || !head.retryable) return notNow(head, "retry");
  if (head.spent < maxAttemptsTotal || operator !== undefined) return undefined;
  const message = `the gate of ${head.step} was not passed in ${head.spent} attempts in total: there are no more`;
  return new PhasegateError("INVALID_TRANSITION", message, {
    remedy: "Ask the person who runs this to look at the gate: only the host can grant more (`phasegate retry`).",
    details: { command: "retry", status: head.status, allowed: ["delete"] },
  });
}

function eventsOf(head: RoutedHead, command: Exclude<RoutedCommand, { type: "start" }>): RoutedEvent[] {
  switch (command.type) {
    case "report": {
      const { warnings, verification, approval } = command;
      const reported: RoutedEvent = {
        ...reportOf("reported", head, command),
        ...(warnings === undefined || warnings.length === 0 ? {} : { warnings: [...warnings] }),
        ...(verification === undefined ? {} : { verification: [...verification] }),
      };
      if (approval === undefined) return [reported];
      const { question, evidenceHash } = approval;
      return [reported, { type: "approval_requested", step: stepOf(head), ...question, evidenceHash }];
    }
    case "continue":
      return [{ type: "continued", operation: command.operation, of: command.of }];
    case "refuse": {
      const { problems, verification, counted, maxAttempts, maxAttemptsTotal } = command;
      const attempt = head.attempts + 1;
      const refused: RoutedEvent = {
        ...reportOf("gate_refused", head, command),
        attempt,
        ...(counted ? {} : { uncounted: true as const }),
        problems: [...problems],
        ...(verification === undefined ? {} : { verification: [...verification] }),
      };
      return [refused, ...(counted ? exhausted(head, attempt, { maxAttempts, maxAttemptsTotal }) : [])];
    }
    case "approve":
      return [{ type: "approved", ...decisionOf(head, command) }];
    case "deny": {
      const { note = "", ...decision } = decisionOf(head, command);
      return [{ type: "denied", ...decision, note }, ...exhausted(head, head.attempts + 1, command)];
    }
    case "decide": {
      const { next, contextUpdates, status, reasoning, usage, milliseconds, notes, snapshots } = command;
      return [
        {
          type: "decided",
          from: head.step,
          next,
          contextUpdates,
          status,
          milliseconds,
          reasoning,
          ...(usage === undefined ? {} : { usage: { ...usage } }),
          ...(notes.length === 0 ? {} : { notes: [...notes] }),
          ...begunWith(snapshots),
        },
      ];
    }
    case "fail": {
      const { code, reason, milliseconds } = command;
      return [{ type: "failed", step: head.step, code, reason, milliseconds }];
    }
    case "suspend":
      return [{ type: "suspended", ...reasonOf(command), ...operatorNote(command) }];
    case "retry":
      return [{ type: "retried", ...begunWith(command.snapshots), ...operatorNote(command) }];
    case "release":
      return [{ type: "released", operator: command.operator, note: command.note }];
    case "cancel":
      return [{ type: "cancelled", ...reasonOf(command) }];
    case "assign":
      return [{ type: "assigned", owner: command.owner, by: command.by, ...operatorNote({ note: command.note }) }];
    case "delete":
      return [{ type: "deleted", ...reasonOf(command), ...operatorNote(command) }];
  }
}

function reportOf<T extends "reported" | "gate_refused">(
  type: T,
  head: RoutedHead,
  command: Extract<RoutedCommand, { type: "report" | "refuse" }>,
) {
  const { operation, assumedStep, report, contextUpdates } = command;
  const assumed = assumedStep === undefined ? {} : { assumedStep };
  return { type, operation, step: stepOf(head), ...assumed, report, contextUpdates };
}

function stepOf({ step }: RoutedHead): string {
  if (step === undefined) throw new Error("nothing is reported before there is a first step");
  return step;
}

/** After `maxAttempts` failures in a row, or `maxAttemptsTotal` in total, the instance fails. */
function exhausted(head: RoutedHead, attempt: number, limits: AttemptLimits): RoutedEvent[] {
  const inTotal = head.spent + 1;
  if (attemptsLeft({ inARow: attempt, inTotal }, limits) > 0) return [];
  const failures = inTotal < limits.maxAttemptsTotal ? `${attempt} attempts in a row` : `${inTotal} attempts in total`;
  const reason = `the gate of ${stepOf(head)} was not passed in ${failures}`;
  return [{ type: "failed", step: stepOf(head), code: "ATTEMPTS_EXHAUSTED", reason }];
}

function decisionOf(head: RoutedHead, command: Extract<RoutedCommand, { type: "approve" | "deny" }>) {
  const { by, note, evidenceHash, authenticated, signature, keyId } = command;
  return {
    step: stepOf(head),
    by,
    note,
    evidenceHash,
    asked: head.pending?.awaiting?.version ?? 0,
    authenticated,
    ...(signature === undefined ? {} : { signature: { ...signature } }),
    keyId,
  };
}

/** Returns who asked for a command on behalf of the host, and why. */
function operatorNote({ operator, note }: { readonly operator?: string; readonly note?: string | undefined }) {
  return { operator, note };
}

function reasonOf({ reason }: { readonly reason?: string }) {
  return reason === undefined ? {} : { reason };
}

/** Returns the error for an instance that does not exist. */
export function noInstance(id: SessionId): PhasegateError<"SESSION_NOT_FOUND"> {
  return new PhasegateError("SESSION_NOT_FOUND", `there is no workflow instance ${id}`, {
    remedy: "Use the instance_id as start gave it, or start a new instance.",
    details: { sessionId: id },
  });
}
