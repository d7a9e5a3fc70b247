import { dueAfterPass, dueAfterRollback, dueAfterTicks } from "./due-ticks.js";
import type { EventOf, SessionEvent } from "./events.js";
import type { HeadFacts, SessionHead } from "./head.js";
import {
  type EventContext,
  enter,
  failedOnce,
  migrated,
  passed,
  rebased,
  retried,
  rolledBack,
} from "./head-changes.js";
import { addToRanges } from "./ranges.js";

/**
 * The head after one more event. It trusts the event: whether it may happen is decided by
 * {@link transition}, so a log that was written once can always be read.
 */
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
        ...waiting(head),
        pausedAt: at,
        ...(event.note === undefined ? {} : { note: event.note }),
      };
    case "resumed":
      return { status: "active", ...facts, ...waiting(head) };
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
 * What is carried on when something happens. Not what is waited for: a person's word is on one piece of
 * evidence, in a phase as it stands, so whatever else is done takes the question back.
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

/** What a pause leaves as it is. */
function waiting({ awaiting }: SessionHead): Pick<HeadFacts, "awaiting"> {
  return awaiting === undefined ? {} : { awaiting };
}
