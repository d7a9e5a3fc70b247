/** What the gates ahead of a session would ask for no more, if it went on with its plan as it is now. Pure. */
import type { PhaseDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { PlanChange } from "../../session/plan-changes.js";

interface Asked {
  readonly phase: number;
  readonly id?: string;
  readonly name: string;
}

/**
 * Tasks that must be claimed and items of validation gates, from a place on, that a new structure doesn't ask for
 * from there on. A task may have another name or another id, but not both, and must not be one that may be left
 * out now; an item is its text. What moves to a later phase is asked for later.
 */
export function takenAway(before: WorkflowStructure, after: WorkflowStructure, position: number): PlanChange[] {
  const [old, now] = [before.phases.slice(position), after.phases.slice(position)];
  const tasks = unmatched(old.flatMap(requiredTasks), now.flatMap(requiredTasks), [
    ({ id, name }) => JSON.stringify([id, name]),
    ({ name }) => name,
    ({ id }) => id,
  ]);
  const items = unmatched(old.flatMap(gateItems), now.flatMap(gateItems), [({ name }) => name]);
  return [...tasks, ...items];
}

/** What has no counterpart of its own: one with the same key, by the first of the keys that finds one. */
function unmatched(
  before: readonly Asked[],
  after: readonly Asked[],
  keys: readonly ((asked: Asked) => string | undefined)[],
): Asked[] {
  let [left, free] = [before, after];
  for (const key of keys) {
    const found = new Map<string | undefined, Asked[]>();
    for (const asked of free) {
      const same = found.get(key(asked));
      if (same === undefined) found.set(key(asked), [asked]);
      else same.push(asked);
    }
    left = left.filter((asked) => found.get(key(asked))?.shift() === undefined);
    free = [...found.values()].flat();
  }
  return [...left];
}

function requiredTasks({ number: phase, tasks, gate }: PhaseDefinition): Asked[] {
  if (gate.kind !== "plan") return [];
  return tasks.flatMap(({ name, plan }) => (plan === undefined || plan.optional ? [] : [{ phase, id: plan.id, name }]));
}

function gateItems({ number: phase, gate }: PhaseDefinition): Asked[] {
  return gate.kind === "plan" ? gate.items.map((name) => ({ phase, name })) : [];
}
