/**
 * Applies one event to the head of a session. Events are trusted: `transition` decides what may happen, so
 * a log that was written once can always be read.
 */

import { addToRanges, cutRanges, type EventOf, type SessionEvent } from "./events.js";
import { dueAfterPass, dueAfterRollback, dueAfterTicks, type HeadFacts, type SessionHead, spentAt } from "./head.js";

/** The time of an event, and the version of its commit. */
interface EventContext {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly version: number;
}

/** Returns the head after one more event. */
export function applyEvent(head: SessionHead | undefined, event: SessionEvent, context: EventContext): SessionHead {
  if (event.type === "started") return start(event, context);
  if (head === undefined) throw new Error(`a log can't begin with '${event.type}'`);
  const { at, version } = context;
  const facts = factsOf(head);
  switch (event.type) {
    case "phase_entered":
      return { status: "active", ...facts, ...enter(event, context) };
    case "approval_requested": {
      const awaiting = { version, evidenceHash: event.evidenceHash };
      return { status: "active", ...facts, awaiting, submission: { version, merge: false } };
    }
    case "approved":
    case "denied":
      return { status: "active", ...facts };
    case "gate_passed":
      return {
        status: "active",
        ...facts,
        ...passed(facts, event.position),
        ...dueAfterPass(facts, event),
        submission: { version, merge: false },
      };
    case "gate_overridden":
      return { status: "active", ...facts, ...passed(facts, event.position) };
    case "gate_failed":
      return { status: "active", ...facts, ...failedOnce(facts), submission: { version, merge: false } };
    case "phase_skipped":
      return { status: "active", ...facts, skipped: addToRanges(facts.skipped, event.position), attempts: 0 };
    case "paused":
      return {
        status: "paused",
        ...facts,
        ...keepQuestion(head),
        pausedAt: at,
        ...(event.note === undefined ? {} : { note: event.note }),
      };
    case "resumed":
      return { status: "active", ...facts, ...keepQuestion(head) };
    case "retried":
      return {
        status: "active",
        ...facts,
        ...retried(facts, event.resetEvidence, event.by),
        ...rebased(event, context),
      };
    case "rolled_back":
      return { status: "active", ...facts, ...rolledBack(facts, event.position), ...dueAfterRollback(facts, event) };
    case "completed":
      return { status: "completed", ...facts, completedAt: at };
    case "failed":
      return { status: "failed", ...facts, failedAt: at };
    case "migrated":
      return { ...head, awaiting: undefined, ...migrated(facts, event, version), ...rebased(event, context) };
    case "plan_synced":
      return { ...head, awaiting: undefined, ...migrated(facts, event, version) };
    case "plan_ticked":
      return { ...head, ...dueAfterTicks(facts, event) };
    case "deleted":
      return {
        status: "deleted",
        ...facts,
        due: undefined,
        deletedAt: at,
        ...(event.reason === undefined ? {} : { reason: event.reason }),
      };
  }
}

function start(event: EventOf<"started">, { at, version }: EventContext): SessionHead {
  const { structure } = event;
  return {
    status: "active",
    workflowType: structure.type,
    revision: structure.revision,
    target: event.target,
    structureVersion: version,
    phase: structure.startPhase,
    position: 0,
    total: structure.phases.length,
    completed: [],
    skipped: [],
    attempts: 0,
    spent: [],
    createdAt: at,
    phaseStartedAt: at,
  };
}

/**
 * Returns the facts that an event keeps. `awaiting` is not among them: an approval is for one piece of
 * evidence in the current state of the phase, so any other event withdraws the question.
 */
function factsOf(head: SessionHead): HeadFacts {
  const { workflowType, revision, target, structureVersion, phase, position, total } = head;
  const { completed, skipped, attempts, spent, submission, due, baseline, createdAt, phaseStartedAt } = head;
  return {
    workflowType,
    revision,
    target,
    structureVersion,
    phase,
    position,
    total,
    completed,
    skipped,
    attempts,
    spent,
    ...(submission === undefined ? {} : { submission }),
    ...(due === undefined ? {} : { due }),
    ...(baseline === undefined ? {} : { baseline }),
    createdAt,
    phaseStartedAt,
  };
}

/** Enters a phase: no attempts, nothing submitted, new snapshots. */
function enter({ phase, position }: EventOf<"phase_entered">, { at, version }: EventContext) {
  return { phase, position, attempts: 0, submission: undefined, baseline: version, phaseStartedAt: at };
}

/** Completes a phase and forgets its failures. */
function passed(facts: HeadFacts, position: number) {
  return {
    completed: addToRanges(facts.completed, position),
    attempts: 0,
    spent: facts.spent.filter(([place]) => place !== position),
  };
}

/** Counts one more failed attempt, in a row and in total. */
function failedOnce(facts: HeadFacts) {
  const { position } = facts;
  const others = facts.spent.filter(([place]) => place !== position);
  const spent: HeadFacts["spent"] = [...others, [position, spentAt(facts, position) + 1]];
  return { attempts: facts.attempts + 1, spent };
}

/** Keeps the question across a pause. */
function keepQuestion({ awaiting }: SessionHead): Pick<HeadFacts, "awaiting"> {
  return awaiting === undefined ? {} : { awaiting };
}

/** Resets the attempts in a row; the total only if the host retries. */
function retried(facts: HeadFacts, resetEvidence: boolean, by: "agent" | "host") {
  const { submission, position } = facts;
  return {
    attempts: 0,
    ...(submission === undefined ? {} : { submission: { ...submission, merge: !resetEvidence } }),
    ...(by === "host" ? { spent: facts.spent.filter(([place]) => place !== position) } : {}),
  };
}

/** Snapshots in an event replace all earlier ones. */
function rebased({ snapshots }: EventOf<"retried"> | EventOf<"migrated">, { version }: EventContext) {
  return snapshots === undefined ? {} : { baseline: version };
}

/** Removes all phases from a position on from the completed and skipped ones. */
function rolledBack(facts: HeadFacts, position: number) {
  return { completed: cutRanges(facts.completed, position), skipped: cutRanges(facts.skipped, position) };
}

/**
 * Switches to another structure. The phases up to the current one are the same (see `migration` in
 * transition.ts); for those ahead, a sync says which are the same.
 */
function migrated(facts: HeadFacts, event: EventOf<"migrated"> | EventOf<"plan_synced">, version: number) {
  const { structure, position } = event;
  return {
    workflowType: structure.type,
    revision: structure.revision,
    structureVersion: version,
    position,
    total: structure.phases.length,
    spent: spentAfter(facts.spent, position, event.type === "plan_synced" ? (event.places ?? []) : []),
  };
}

/**
 * Moves failures with their phases: otherwise an edit and a sync would give an agent new attempts. Failures
 * of the current phase also count for a phase in its position.
 */
function spentAfter(
  spent: HeadFacts["spent"],
  position: number,
  places: readonly (readonly [number, number])[],
): HeadFacts["spent"] {
  const counts = new Map(spent.filter(([place]) => place <= position));
  for (const [place, count] of spent) {
    const to = places.find(([from]) => from === place)?.[1];
    if (to !== undefined) counts.set(to, Math.max(count, counts.get(to) ?? 0));
  }
  return [...counts];
}
