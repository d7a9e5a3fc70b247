/** What events change in a head, each as the facts that are other ones then. */
import type { EventOf } from "./events.js";
import { type HeadFacts, spentAt } from "./head.js";
import { addToRanges, cutRanges } from "./ranges.js";

/** When and in which commit an event came to be. */
export interface EventContext {
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly version: number;
}

/** A phase begins: with no attempt, nothing submitted, and what its checks compare with. */
export function enter({ phase, position }: EventOf<"phase_entered">, { at, version }: EventContext) {
  return { phase, position, attempts: 0, submission: undefined, baseline: version, phaseStartedAt: at };
}

/** Where an event brings snapshots with it, they are all that count from then on. */
export function rebased({ snapshots }: EventOf<"retried"> | EventOf<"migrated">, { version }: EventContext) {
  return snapshots === undefined ? {} : { baseline: version };
}

/** A phase is done: its failures are forgotten. */
export function passed(facts: HeadFacts, position: number) {
  return {
    completed: addToRanges(facts.completed, position),
    attempts: 0,
    spent: facts.spent.filter(([place]) => place !== position),
  };
}

/** One attempt more has failed, in a row and in all. */
export function failedOnce(facts: HeadFacts) {
  const { position } = facts;
  const others = facts.spent.filter(([place]) => place !== position);
  const spent: HeadFacts["spent"] = [...others, [position, spentAt(facts, position) + 1]];
  return { attempts: facts.attempts + 1, spent };
}

/** Attempts in a row begin anew; those in all only where the host says so. */
export function retried(facts: HeadFacts, resetEvidence: boolean, by: "agent" | "host") {
  const { submission, position } = facts;
  return {
    attempts: 0,
    ...(submission === undefined ? {} : { submission: { ...submission, merge: !resetEvidence } }),
    ...(by === "host" ? { spent: facts.spent.filter(([place]) => place !== position) } : {}),
  };
}

/** Nothing from that place on is done any longer. */
export function rolledBack(facts: HeadFacts, position: number) {
  return { completed: cutRanges(facts.completed, position), skipped: cutRanges(facts.skipped, position) };
}

/** The phases up to this one are the same ones (see {@link migration}); of those ahead, a sync says which are. */
export function migrated(facts: HeadFacts, event: EventOf<"migrated"> | EventOf<"plan_synced">, version: number) {
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
 * Failures go with their phases: else an edit and a sync would give an agent new attempts. What was counted for the
 * current phase counts for the one in its place too.
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
