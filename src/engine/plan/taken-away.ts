/** What a session would ask for no more, from its current phase on, if it went on with its plan as it is now. Pure. */
import type { PhaseDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { PlanChange } from "../../session/plan-changes.js";

interface Asked {
  readonly phase: number;
  readonly id?: string;
  readonly name: string;
}

interface AskedTask extends Asked {
  readonly id: string;
  readonly required: boolean;
  /** What the task's text says, in lines that must all stay: criteria, requirements, description. */
  readonly texts: readonly string[];
}

/**
 * Returns the tasks that must be claimed and the items of validation gates, from a place on, that a new structure doesn't
 * ask for from there on, and what else is gone of a task's text. A task is its name, with its acceptance criteria, its
 * requirements and its description; an item is its text. More may be added, ids may change, and what moves to a later
 * phase is asked for later.
 */
export function takenAway(before: WorkflowStructure, after: WorkflowStructure, position: number): PlanChange[] {
  const [old, now] = [before.phases.slice(position), after.phases.slice(position)];
  const required = old.flatMap(plannedTasks).filter((task) => task.required);
  const tasks = pairsOf(required, now.flatMap(plannedTasks), TASK_KEYS).flatMap(([task, found]) => lossOf(task, found));
  const items = pairsOf(old.flatMap(gateItems), now.flatMap(gateItems), [({ name }) => name]);
  return [...tasks, ...items.flatMap(([item, found]) => (found === undefined ? [item] : []))];
}

/** The best counterpart comes first, so that of two tasks with the same name each finds its own. */
const TASK_KEYS: readonly ((task: AskedTask) => string)[] = [
  ({ id, name, texts, required }) => JSON.stringify([id, name, texts, required]),
  ({ name, texts, required }) => JSON.stringify([name, texts, required]),
  ({ id, name, required }) => JSON.stringify([id, name, required]),
  ({ name, required }) => JSON.stringify([name, required]),
  ({ name }) => name,
  // Another name under the same id: not the same task, but what the refusal can show beside it.
  ({ id }) => id,
];

/** Each thing with its counterpart, which is nobody else's: one with the same key, by the first of the keys that finds one. */
function pairsOf<T extends Asked>(
  before: readonly T[],
  after: readonly T[],
  keys: readonly ((asked: T) => string)[],
): (readonly [T, T | undefined])[] {
  const pairs = new Map<T, T>();
  let free = [...after];
  for (const key of keys) {
    const found = new Map<string, T[]>();
    for (const asked of free) {
      const same = found.get(key(asked));
      if (same === undefined) found.set(key(asked), [asked]);
      else same.push(asked);
    }
    for (const asked of before) {
      if (pairs.has(asked)) continue;
      const counterpart = found.get(key(asked))?.shift();
      if (counterpart !== undefined) pairs.set(asked, counterpart);
    }
    free = [...found.values()].flat();
  }
  return before.map((asked) => [asked, pairs.get(asked)] as const);
}

/** What a task loses: itself, its name, that it must be done, or parts of its text. */
function lossOf(task: AskedTask, now: AskedTask | undefined): PlanChange[] {
  const { phase, id, name } = task;
  if (now === undefined) return [{ phase, id, name }];
  if (now.name !== name) return [{ phase, id, name, from: name, to: now.name }];
  if (!now.required) return [{ phase, id, name, to: "may be left out" }];
  const left = [...now.texts];
  return task.texts.flatMap((text) => {
    const at = left.indexOf(text);
    if (at < 0) return [{ phase, id, name, from: text }];
    left.splice(at, 1);
    return [];
  });
}

function plannedTasks({ number: phase, tasks, gate }: PhaseDefinition): AskedTask[] {
  if (gate.kind !== "plan") return [];
  return tasks.flatMap(({ name, plan }) => {
    if (plan === undefined) return [];
    const { id, optional, acceptanceCriteria, requirements = [], description = "" } = plan;
    const texts = [
      ...acceptanceCriteria.map((text) => `criterion '${text}'`),
      ...requirements.map((text) => `requirement '${text}'`),
      ...linesOf(description).map((text) => `line '${text}'`),
    ];
    return [{ phase, id, name, required: !optional, texts }];
  });
}

function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

function gateItems({ number: phase, gate }: PhaseDefinition): Asked[] {
  return gate.kind === "plan" ? gate.items.map((name) => ({ phase, name })) : [];
}
