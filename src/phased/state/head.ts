/** The head of a session: all that the next transition needs. Events are trusted when they are applied. */

import * as z from "zod/mini";
import { rangesSchema } from "./event-schemas.js";
import type { EventOf, SessionEvent } from "./events.js";

/** The state of a phased session. Names come from the pinned structure, payloads from the log. */
export type SessionHead =
  | (HeadFacts & { status: "active" })
  | (HeadFacts & { status: "paused"; pausedAt: string; note?: string | undefined })
  | (HeadFacts & { status: "failed"; failedAt: string })
  | (HeadFacts & { status: "completed"; completedAt: string })
  | (HeadFacts & { status: "deleted"; deletedAt: string; reason?: string | undefined });

/** The part of a head that every status has. Times are ISO 8601, UTC. */
export interface HeadFacts {
  /** The type of the workflow. */
  workflowType: string;
  /** The revision that the session has pinned. */
  revision: string;
  /** What the work is about, as given at the start. */
  target: string;
  /** The version of the commit that pins the structure. */
  structureVersion: number;
  /** The number of the current phase; of the last one if the session is completed. */
  phase: number;
  /** Its position among the phases, from 0. */
  position: number;
  /** The number of phases. */
  total: number;
  /** Positions of phases whose gates passed, as ranges. */
  completed: [from: number, to: number][];
  /** Positions of phases that the host or the workflow's own rules skipped, as ranges. */
  skipped: [from: number, to: number][];
  /** Failures in a row at the current phase's gate. */
  attempts: number;
  /** Failures in total, by position, of phases that have not passed since. An agent's retry does not reset them. */
  spent: [number, number][];
  /** The last submission at the current phase, and whether the next one is merged over it. */
  submission?: { version: number; merge: boolean } | undefined;
  /** Ticks that are not written into the plan yet: positions of phases to tick and to untick. */
  due?: { tick: [from: number, to: number][]; untick: [from: number, to: number][] } | undefined;
  /** The commit that asked a person to approve complete evidence, while the answer is awaited. */
  awaiting?: { version: number; evidenceHash: string } | undefined;
  /** The commit with the current phase's snapshots: usually the one that entered the phase. */
  baseline?: number | undefined;
  /** When the session was started. */
  createdAt: string;
  /** When the current phase was entered. */
  phaseStartedAt: string;
}

/** Ticks that are not written into a plan yet: positions of phases. */
export type DueTicks = NonNullable<HeadFacts["due"]>;

const common = {
  workflowType: z.string(),
  revision: z.string(),
  target: z.string(),
  structureVersion: z.int().check(z.positive()),
  phase: z.int(),
  position: z.int().check(z.nonnegative()),
  total: z.int().check(z.positive()),
  completed: rangesSchema,
  skipped: rangesSchema,
  attempts: z.int().check(z.nonnegative()),
  spent: z.array(z.tuple([z.int(), z.int()])),
  submission: z.optional(z.object({ version: z.int(), merge: z.boolean() })),
  due: z.optional(z.object({ tick: rangesSchema, untick: rangesSchema })),
  awaiting: z.optional(z.object({ version: z.int(), evidenceHash: z.string() })),
  baseline: z.optional(z.int().check(z.positive())),
  createdAt: z.string(),
  phaseStartedAt: z.string(),
};

/** Checks a stored head. */
export const sessionHeadSchema = z.discriminatedUnion("status", [
  z.object({ status: z.literal("active"), ...common }),
  z.object({ status: z.literal("paused"), ...common, pausedAt: z.string(), note: z.optional(z.string()) }),
  z.object({ status: z.literal("failed"), ...common, failedAt: z.string() }),
  z.object({ status: z.literal("completed"), ...common, completedAt: z.string() }),
  z.object({ status: z.literal("deleted"), ...common, deletedAt: z.string(), reason: z.optional(z.string()) }),
]);

/** Returns the number of failures at a position that still count. */
export function spentAt(head: HeadFacts, position: number): number {
  return head.spent.find(([place]) => place === position)?.[1] ?? 0;
}

interface Due {
  due: DueTicks | undefined;
}

const NOTHING: DueTicks = { tick: [], untick: [] };

/** Adds the ticks of a phase that has passed. */
function dueAfterPass({ due = NOTHING }: HeadFacts, { position }: EventOf<"gate_passed">): Due {
  return { due: { ...due, tick: addToRanges(due.tick, position) } };
}

/** Removes the ticks of phases that are no longer completed, including ticks that are not written yet. */
function dueAfterRollback(head: HeadFacts, { unticksFrom: from }: EventOf<"rolled_back">): Due {
  const { due = NOTHING, completed } = head;
  if (from === undefined) return withoutEmpty(due);
  return withoutEmpty({
    tick: cutRanges(due.tick, from),
    untick: joinRanges(due.untick, completed, (place) => place >= from || inRanges(due.untick, place)),
  });
}

/**
 * Removes the ticks that were written. If a phase was passed or rolled back meanwhile, ticks that were just removed are due
 * again, or ticks that were just written must be removed.
 */
export function dueAfterTicks(head: HeadFacts, { ticks, unticks }: EventOf<"plan_ticked">): Due {
  const { due = NOTHING, completed } = head;
  const late = joinRanges(ticks, [], (place) => !inRanges(completed, place));
  return withoutEmpty({
    tick: joinRanges(due.tick, unticks, (place) => inRanges(completed, place) && !inRanges(ticks, place)),
    untick: joinRanges(due.untick, late, (place) => !inRanges(unticks, place)),
  });
}

function withoutEmpty(due: DueTicks): Due {
  return { due: due.tick.length === 0 && due.untick.length === 0 ? undefined : due };
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
        ...(event.ticks === undefined ? {} : dueAfterPass(facts, event)),
        submission: { version, merge: false },
      };
    case "gate_overridden":
      return { status: "active", ...facts, ...passed(facts, event.position) };
    case "gate_failed":
      return { status: "active", ...facts, ...failedOnce(facts), submission: { version, merge: false } };
    case "phase_skipped":
      return { status: "active", ...facts, ...skipped(facts, event) };
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

/** Skips a phase, which a session may never have entered: a completed one is in its last phase, skipped or not. */
function skipped(facts: HeadFacts, { phase, position }: EventOf<"phase_skipped">) {
  return { phase, position, skipped: addToRanges(facts.skipped, position), attempts: 0 };
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

/** A set of integers as ascending, disjoint, inclusive ranges: compact for consecutive numbers. */
export type Ranges = [number, number][];

/** Returns true if a number is in the set. */
export function inRanges(ranges: Ranges, value: number): boolean {
  return ranges.some(([from, to]) => from <= value && value <= to);
}

/** Returns the set with one more number. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  // The usual case: phases are done in order.
  const last = ranges.at(-1);
  if (last !== undefined && value === last[1] + 1) return [...ranges.slice(0, -1), [last[0], value]];
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** Returns the numbers of both sets that pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean = () => true): Ranges {
  return [...numbersIn(one), ...numbersIn(other)].filter(test).reduce(addToRanges, []);
}

/** Returns all numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** Returns the numbers of the set below a limit. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}
