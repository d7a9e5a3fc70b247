/**
 * Applies one event to the head of a routed session. Events are trusted: decideRouted decides what may
 * happen.
 */
import type { DecisionContext } from "../../log/machine.js";
import { FINISH } from "../../workflow/routed-definition.js";
import {
  type PendingDecision,
  type RoutedCommand,
  type RoutedEvent,
  type RoutedFacts,
  type RoutedHead,
  visitsOf,
} from "./events.js";

/** Returns the head after one more event. */
export function applyEvent(
  head: RoutedHead,
  event: RoutedEvent,
  command: RoutedCommand,
  { at, version }: DecisionContext,
): RoutedHead {
  switch (event.type) {
    case "started":
      throw new Error("a session is started once");
    case "reported":
      return {
        ...factsOf(head),
        status: "RUNNING",
        context: contextOf(head, command),
        pending: pendingOf(command, version),
      };
    case "gate_refused":
      return { ...(event.uncounted ? factsOf(head) : refused(head)), status: "RUNNING" };
    case "continued":
      return head;
    case "approval_requested": {
      const { pending } = head;
      if (pending === undefined) throw new Error("a person is asked about a report");
      return { ...head, pending: { ...pending, awaiting: { version, evidenceHash: event.evidenceHash } } };
    }
    case "approved":
      return { ...head, ...(head.pending === undefined ? {} : { pending: approved(head.pending) }) };
    case "denied":
      return { ...refused(withoutPending(head)), status: "RUNNING" };
    case "decided":
      return decided(head, event, command, { at, version });
    case "failed":
      return { ...factsOf(head), status: "FAILED", completedAt: at, ...failureOf(event), retryable: true };
    case "suspended":
      return { ...factsOf(head), status: "SUSPENDED", ...reasonOf(event) };
    case "retried":
      return {
        ...factsOf(head),
        status: "RUNNING",
        attempts: 0,
        // The host grants the whole number of attempts again.
        ...(event.operator === undefined ? {} : { spent: 0 }),
        ...(event.snapshots === undefined ? {} : { baseline: version }),
      };
    case "released":
      return { ...factsOf(head), status: "RUNNING" };
    case "cancelled": {
      const reason = event.reason === undefined ? "cancelled" : `cancelled: ${event.reason}`;
      return { ...factsOf(head), status: "FAILED", completedAt: at, code: "CANCELLED", reason, retryable: false };
    }
    case "assigned":
      return { ...head, owner: event.owner };
    case "deleted":
      return { ...factsOf(head), status: "DELETED", ...reasonOf(event) };
  }
}

/** Returns the part of a head that every status has; the report and the snapshots may be others. */
function factsOf(
  head: RoutedFacts,
  { pending, baseline }: Pick<RoutedFacts, "pending" | "baseline"> = head,
): RoutedFacts {
  const { workflow, revision, total, context, visits, attempts, spent, createdAt } = head;
  const facts: RoutedFacts = { workflow, revision, total, context, visits, attempts, spent, createdAt };
  const { step, answered, owner } = head;
  if (step !== undefined) facts.step = step;
  if (pending !== undefined) facts.pending = pending;
  if (answered !== undefined) facts.answered = answered;
  if (baseline !== undefined) facts.baseline = baseline;
  if (owner !== undefined) facts.owner = owner;
  return facts;
}

/** The caller has merged and bounded the context. */
function contextOf(head: RoutedHead, command: RoutedCommand): RoutedFacts["context"] {
  return "context" in command ? command.context : head.context;
}

function pendingOf(command: RoutedCommand, version: number): PendingDecision {
  if (command.type !== "report") throw new Error("a report comes with a report");
  const { operation, assumedStep, digest } = command;
  return { operation, version, digest, assumedStep };
}

function refused(head: RoutedFacts): RoutedFacts {
  return { ...factsOf(head), attempts: head.attempts + 1, spent: head.spent + 1 };
}

function approved({ awaiting: _, ...pending }: PendingDecision): PendingDecision {
  return pending;
}

function withoutPending<H extends RoutedFacts>({ pending: _, ...rest }: H): Omit<H, "pending"> {
  return rest;
}

function decided(
  head: RoutedHead,
  event: Extract<RoutedEvent, { type: "decided" }>,
  command: RoutedCommand,
  { at, version }: DecisionContext,
): RoutedHead {
  const { next, status } = event;
  const { counted, stays } = command.type === "decide" ? command : { counted: false, stays: false };
  const baseline = event.snapshots === undefined ? (stays ? head.baseline : undefined) : version;
  const facts: RoutedFacts = {
    ...factsOf(head, { baseline }),
    context: contextOf(head, command),
    ...(head.pending === undefined ? {} : { answered: { digest: head.pending.digest, version } }),
    // FINISH is no step to be on: an instance that fails keeps its step.
    ...(next === FINISH && status !== "COMPLETED" ? {} : { step: next }),
    visits: counted ? { ...head.visits, [next]: visitsOf(next, head.visits) + 1 } : head.visits,
    attempts: 0,
    spent: 0,
  };
  switch (status) {
    case "COMPLETED":
      return { ...facts, status, completedAt: at };
    case "FAILED": {
      const reason = event.reasoning ?? "the decider said that it has failed";
      return { ...facts, status, completedAt: at, code: "DECIDED", reason, retryable: true };
    }
    case "SUSPENDED":
      return { ...facts, status, reason: event.reasoning ?? "the decider said that it has to wait" };
    case "RUNNING":
      return { ...facts, status };
  }
}

function failureOf({ code, reason }: Extract<RoutedEvent, { type: "failed" }>) {
  return { code, reason };
}

function reasonOf({ reason }: { readonly reason?: string | undefined }) {
  return reason === undefined ? {} : { reason };
}
