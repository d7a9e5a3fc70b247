/** The head of a session: all that the next transition needs. Events are trusted when they are applied. */
import * as z from "zod/mini";
import { ownedBy, ownerSchema } from "../../ports/actor.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import { type EventOf, parentSchema, type SessionEvent } from "./events.js";
import {
  addToRanges,
  cutRanges,
  dueAfterPass,
  dueAfterRollback,
  dueAfterTicks,
  dueTicksSchema,
  movedRanges,
  type Places,
  rangesSchema,
  spentAfter,
} from "./ranges.js";
import { refusalKey, taskNotesSchema, tasksAfter, tasksDecided, withTask } from "./task-notes.js";

const factsSchema = z.object({
  /** The type of the workflow. */
  workflowType: z.string(),
  /** The revision that the session has pinned. */
  revision: z.string(),
  /** What the work is about, as given at the start. */
  target: z.string(),
  /** Who the session belongs to. Missing if nobody was recorded. */
  owner: z.optional(ownerSchema),
  /** The session that it is a child of, if it is one. */
  parent: z.optional(parentSchema),
  /** The children of this visit to the current phase, each with what it was started with. Missing if there are none. */
  children: z.optional(z.array(z.object({ assignment: z.string(), sessionId: z.string() }))),
  /** The version of the commit that pins the structure. */
  structureVersion: z.int().check(z.positive()),
  /** The number of the current phase; of the last one if the session is completed. */
  phase: z.int(),
  /** Its position among the phases, from 0. */
  position: z.int().check(z.nonnegative()),
  /** The number of phases. */
  total: z.int().check(z.positive()),
  /** Positions of phases whose gates passed, as ranges. */
  completed: rangesSchema,
  /** Positions of phases that the host or the workflow's own rules skipped, as ranges. */
  skipped: rangesSchema,
  /** Failures in a row at the current phase's gate. */
  attempts: z.int().check(z.nonnegative()),
  /** Failures in total, by position, of phases that have not passed since. An agent's retry does not reset them. */
  spent: z.array(z.tuple([z.int(), z.int()])),
  /** The tasks of the current phase that are noted as done or given up. Missing if there are none. */
  tasks: z.optional(taskNotesSchema),
  /** Identifies the steps ahead that were refused since the phase was entered, as far as the log has them. */
  refused: z.optional(z.array(z.string())),
  /** The last submission at the current phase, whether the next one is merged over it, and whether an approval was asked for. */
  submission: z.optional(z.object({ version: z.int(), merge: z.boolean(), asked: z.optional(z.literal(true)) })),
  /** Ticks that are not written into the plan yet: positions of phases to tick and to untick. */
  due: z.optional(dueTicksSchema),
  /** The commit that asked a person to approve complete evidence, while the answer is awaited. */
  awaiting: z.optional(z.object({ version: z.int(), evidenceHash: z.string() })),
  /** The commit that asks for a waiver at the current phase, or the one in which a person has denied it. */
  waiver: z.optional(z.object({ version: z.int(), denied: z.optional(z.literal(true)) })),
  /** Requests for waivers in this visit to the phase, since one was granted. Missing if there are none. */
  waiverRequests: z.optional(z.int()),
  /** What is waived at the current phase, each with the commit that grants it. */
  waived: z.optional(z.array(z.object({ version: z.int(), fields: z.array(z.string()) }))),
  /** Positions of completed phases that passed with something waived. */
  withWaivers: z.optional(rangesSchema),
  /** The commit with the current phase's snapshots: usually the one that entered the phase. */
  baseline: z.optional(z.int().check(z.positive())),
  /** When the session was started. */
  createdAt: z.string(),
  /** When the current phase was entered. */
  phaseStartedAt: z.string(),
});

/** The part of a head that every status has. Times are ISO 8601, UTC. */
export type HeadFacts = z.infer<typeof factsSchema>;

/** Checks a stored head. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...factsSchema.shape }),
  z.object({
    status: z.literal("paused"),
    ...factsSchema.shape,
    pausedAt: z.string(),
    note: z.optional(z.string()),
    beforeDecision: z.optional(z.literal(true)),
  }),
  z.object({ status: z.literal("failed"), ...factsSchema.shape, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...factsSchema.shape, completedAt: z.string() }),
  z.object({
    status: z.literal("deleted"),
    ...factsSchema.shape,
    deletedAt: z.string(),
    reason: z.optional(z.string()),
  }),
]);

/** The state of a phased session. Names come from the pinned structure, payloads from the log. */
export type SessionHead = z.infer<typeof sessionHeadSchema>;

/** Returns what lists show of a session. */
export function listedFacts(
  head: SessionHead,
): Omit<SessionSummary, "sessionId" | "kind" | "updatedAt" | "activeSince"> {
  return {
    workflowType: head.workflowType,
    target: head.target,
    ...(head.owner && ownedBy(head.owner)),
    status: head.status,
    current: head.phase,
    total: head.total,
    createdAt: head.createdAt,
    completedAt: head.status === "completed" ? head.completedAt : undefined,
  };
}

/** Returns the number of failures at a position that still count. */
export function spentAt(head: HeadFacts, position: number): number {
  return head.spent.find(([place]) => place === position)?.[1] ?? 0;
}

/** Returns true if the last submission at the current phase was refused, and nothing was waived since: that may have been all. */
export function isRefused({ submission, waived = [] }: Pick<SessionHead, "submission" | "waived">): boolean {
  return submission !== undefined && !submission.asked && !waived.some(({ version }) => version > submission.version);
}

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
      return enter(facts, event, context);
    case "child_claimed": {
      const { assignment, child: sessionId } = event;
      const others = (head.children ?? []).filter((one) => one.assignment !== assignment);
      return { ...head, children: [...others, { assignment, sessionId }] };
    }
    case "approval_requested": {
      const awaiting = { version, evidenceHash: event.evidenceHash };
      // Complete evidence needs no further waiver.
      return { ...facts, awaiting, submission: { version, merge: false, asked: true }, waiver: undefined };
    }
    case "waiver_requested":
      return { ...head, waiver: { version }, waiverRequests: (head.waiverRequests ?? 0) + 1 };
    case "waiver_granted": {
      const waived = [...(head.waived ?? []), { version, fields: event.fields }];
      return { ...decided(head), ...NO_WAIVERS, waiverRequests: undefined, waived };
    }
    case "waiver_denied":
      return { ...decided(head), waiver: { version, denied: true } };
    case "approved":
    case "denied":
      return facts;
    case "gate_passed":
      return {
        ...passed(facts, event.position),
        withWaivers: event.waived ? addToRanges(facts.withWaivers ?? [], event.position) : facts.withWaivers,
        due: event.ticks ? dueAfterPass(facts.due, event.position) : facts.due,
        submission: { version, merge: false },
      };
    case "gate_overridden":
      return passed(facts, event.position);
    case "gate_failed":
      return {
        ...(event.uncounted ? facts : failedOnce(facts)),
        submission: { version, merge: false },
      };
    case "step_refused":
      return { ...head, refused: [...(facts.refused ?? []), refusalKey(event)] };
    case "task_completed":
    case "task_given_up":
      // A question to a person stays: the note changes nothing that was asked.
      return { ...head, tasks: withTask(facts.tasks, event) };
    case "phase_skipped":
      return skipped(head, facts, event);
    case "paused":
      return { ...facts, status: "paused", awaiting: head.awaiting, pausedAt: at, note: event.note };
    case "resumed":
      return { ...facts, awaiting: head.awaiting };
    case "retried":
      return { ...retried(facts, event), baseline: event.snapshots ? version : facts.baseline };
    case "rolled_back":
      return { ...rolledBack(facts, event.position), due: dueAfterRollback(facts, event) };
    case "completed":
      return { ...facts, status: "completed", completedAt: at };
    case "failed":
      return { ...facts, status: "failed", failedAt: at };
    case "migrated":
      return {
        ...head,
        awaiting: undefined,
        ...migrated(facts, event, version),
        ...(event.places && inPlaces(facts, event.places)),
        baseline: event.snapshots ? version : head.baseline,
      };
    case "plan_synced":
      return { ...head, awaiting: undefined, ...migrated(facts, event, version, event.places) };
    case "plan_ticked":
      return { ...head, due: dueAfterTicks(facts, event) };
    case "snapshots_taken":
      return { ...head, baseline: version };
    case "assigned":
      return { ...head, owner: event.owner };
    case "deleted":
      return { ...facts, status: "deleted", due: undefined, deletedAt: at, reason: event.reason };
  }
}

function start(event: EventOf<"started">, { at, version }: EventContext): SessionHead {
  const { structure } = event;
  return {
    status: "active",
    workflowType: structure.type,
    revision: structure.revision,
    target: event.target,
    owner: event.owner,
    parent: event.parent,
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
 * Returns the facts that an event keeps, as the head of an active session, which most events leave. `awaiting` is not among
 * them: an approval is for one piece of evidence in the current state of the phase, so any other event withdraws the question.
 */
function factsOf(head: HeadFacts & { readonly [Name in OfStatus]?: unknown }): Active {
  const { status, pausedAt, note, beforeDecision, failedAt, completedAt, deletedAt, reason, awaiting, ...facts } = head;
  return { ...facts, status: "active" };
}

/** What a head has besides the facts: all else survives every event. */
type OfStatus = "status" | "pausedAt" | "note" | "beforeDecision" | "failedAt" | "completedAt" | "deletedAt" | "reason";

/** Marks notes as older than a person's decision on a waiver: they may say that one is awaited. */
function decided(head: SessionHead): SessionHead {
  const now = { ...head, tasks: tasksDecided(head.tasks) };
  return now.status === "paused" && now.note !== undefined ? { ...now, beforeDecision: true } : now;
}

/** Waivers end with the visit to their phase; and when its gate may be another one. */
const NO_WAIVERS = { waiver: undefined, waived: undefined } as const;

/** The head of an active session. */
type Active = Extract<SessionHead, { status: "active" }>;

/** Enters a phase: no attempts, nothing submitted, no task done, no child, nothing refused, nothing waived, new snapshots. */
function enter(facts: Active, { phase, position }: EventOf<"phase_entered">, { at, version }: EventContext): Active {
  return {
    ...facts,
    ...NO_WAIVERS,
    waiverRequests: undefined,
    phase,
    position,
    attempts: 0,
    refused: undefined,
    tasks: undefined,
    children: undefined,
    submission: undefined,
    baseline: version,
    phaseStartedAt: at,
  };
}

/** Completes a phase and forgets its failures. */
function passed(facts: Active, position: number): Active {
  return {
    ...facts,
    completed: addToRanges(facts.completed, position),
    attempts: 0,
    tasks: undefined,
    spent: facts.spent.filter(([place]) => place !== position),
    ...NO_WAIVERS,
  };
}

/**
 * Skips a phase, which a session may never have entered: a completed one is in its last phase, skipped or not. One behind the
 * current phase, which a migration has added, moves nothing.
 */
function skipped(head: SessionHead, facts: Active, { phase, position }: EventOf<"phase_skipped">): SessionHead {
  const skipped = addToRanges(facts.skipped, position);
  if (position < facts.position) return { ...head, skipped };
  return { ...facts, ...NO_WAIVERS, phase, position, skipped, attempts: 0, tasks: undefined };
}

/** Counts one more failed attempt, in a row and in total. */
function failedOnce(facts: Active): Active {
  const { position, attempts } = facts;
  const others = facts.spent.filter(([place]) => place !== position);
  const spent: HeadFacts["spent"] = [...others, [position, spentAt(facts, position) + 1]];
  // A denied request is shown until the next attempt; an open one stays.
  const waiver = facts.waiver?.denied ? undefined : facts.waiver;
  return { ...facts, attempts: attempts + 1, spent, waiver };
}

/** Resets the attempts in a row; the total only if the host retries. */
function retried(facts: Active, { resetEvidence, by }: EventOf<"retried">): Active {
  const { submission, position, spent } = facts;
  return {
    ...facts,
    attempts: 0,
    submission: submission && { ...submission, merge: !resetEvidence },
    spent: by === "host" ? spent.filter(([place]) => place !== position) : spent,
  };
}

/** Removes all phases from a position on from the completed and skipped ones. */
function rolledBack(facts: Active, position: number): Active {
  const { completed, skipped, withWaivers } = facts;
  return {
    ...facts,
    completed: cutRanges(completed, position),
    skipped: cutRanges(skipped, position),
    withWaivers: withWaivers && cutRanges(withWaivers, position),
  };
}

/** Returns what a migration that moves phases keeps of them, by their new positions. */
function inPlaces({ completed, skipped, withWaivers, spent }: Active, places: Places) {
  return {
    completed: movedRanges(completed, places),
    skipped: movedRanges(skipped, places),
    withWaivers: withWaivers && movedRanges(withWaivers, places),
    spent: spent.flatMap(([from, count]): HeadFacts["spent"] => {
      const to = places.find(([place]) => place === from)?.[1];
      return to === undefined ? [] : [[to, count]];
    }),
  };
}

/**
 * Switches to another structure. If the event has no places, the phases up to the current one are in theirs (see migration.ts);
 * for those ahead, a sync says which are the same.
 */
function migrated(
  facts: Active,
  event: EventOf<"migrated" | "plan_synced">,
  version: number,
  places?: EventOf<"plan_synced">["places"],
) {
  const { structure, position } = event;
  return {
    workflowType: structure.type,
    revision: structure.revision,
    structureVersion: version,
    phase: Number(structure.phases[position]?.number),
    position,
    total: structure.phases.length,
    ...NO_WAIVERS,
    // They may have other numbers now.
    refused: undefined,
    tasks: tasksAfter(facts.tasks, event.tasks),
    spent: spentAfter(facts.spent, position, places),
  };
}
