/**
 * What is noted of a visit to a phase: which tasks are done, the last note, and the steps ahead that were refused. It
 * helps whoever continues or watches, and is no claim towards the gate. A plan sync and a migration keep of the tasks
 * what is still true.
 */

import * as z from "zod/mini";
import type { TaskDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { EventOf } from "./events.js";
import { addToRanges, inRanges, type Ranges, rangesSchema } from "./ranges.js";

/** What is noted about the tasks of a phase while the work goes on. */
export interface TaskNotes {
  /** The numbers of the tasks that are done, as ranges. */
  done: [from: number, to: number][];
  /** The last note, and the number of its task; without it if a sync has changed that task. */
  last?: { task?: number | undefined; note: string } | undefined;
}

/** A step ahead that was refused. */
export interface StepRefused {
  /** The current phase. */
  readonly phase: number;
  /** The operation of the engine: `getPhase`, `completePhase` and the like. */
  readonly operation: string;
  /** The code of the error: `PHASE_LOCKED`, `TASK_LOCKED` or `PHASE_ALREADY_COMPLETED`. */
  readonly code: string;
  /** The phase that was asked for. */
  readonly requested?: number | undefined;
  /** The task that was asked for. */
  readonly task?: number | undefined;
}

/** How many distinct refused steps the log keeps of each visit to a phase; all are notified and counted. */
const REFUSALS_MAX = 10;

/** Identifies a refused step among those of its phase. */
export function refusalKey({ operation, requested, task }: StepRefused): string {
  return [operation, requested, task].filter((part) => part !== undefined).join(" ");
}

/** Returns true if the log keeps a refused step: the first of its kind in this visit to the phase, up to a limit. */
export function isRefusalKept(
  head: { readonly refused?: readonly string[] | undefined },
  refused: StepRefused,
): boolean {
  const known = head.refused ?? [];
  return known.length < REFUSALS_MAX && !known.includes(refusalKey(refused));
}

/** Checks stored notes. */
export const taskNotesSchema = z.object({
  done: rangesSchema,
  last: z.optional(z.object({ task: z.optional(z.int()), note: z.string() })),
});

/** Old and new numbers of tasks. */
export type TaskPairs = readonly (readonly [from: number, to: number])[];

/** Notes a task as done. Without a note of its own, the last one stays. */
export function withTask(notes: TaskNotes | undefined, { task, note }: EventOf<"task_completed">): TaskNotes {
  const last = note === undefined ? notes?.last : { task, note };
  return { done: addToRanges(notes?.done ?? [], task), ...(last === undefined ? {} : { last }) };
}

/** Keeps what is noted about tasks that are still there, under their new numbers. */
export function tasksAfter(notes: TaskNotes | undefined, kept: TaskPairs = []): TaskNotes | undefined {
  if (notes === undefined) return undefined;
  const { last } = notes;
  const task = kept.find(([from]) => from === last?.task)?.[1];
  const noted = last && { ...(task === undefined ? {} : { task }), note: last.note };
  const done = kept.map(([, to]) => to).reduce<Ranges>(addToRanges, []);
  if (done.length === 0 && noted === undefined) return undefined;
  return { done, ...(noted === undefined ? {} : { last: noted }) };
}

/**
 * Returns which of the tasks that are noted as done stay so. A task that asks for something else now is open again:
 * what was done for it was another task. Tasks of a phase that is not from a plan are the same if their names are.
 */
export function keptTasks(
  { position, tasks: noted }: { readonly position: number; readonly tasks?: TaskNotes | undefined },
  before: WorkflowStructure,
  { structure: after, tasks: pairs }: { readonly structure: WorkflowStructure; readonly tasks?: TaskPairs | undefined },
): { tasks?: [number, number][] } {
  const [was, now] = [before.phases[position]?.tasks, after.phases[position]?.tasks];
  if (noted === undefined || was === undefined || now === undefined) return {};
  const isNamed = (name: string) => now.filter((task) => task.name === name).length === 1;
  const kept = was.flatMap((task): [number, number][] => {
    if (!inRanges(noted.done, task.number)) return [];
    const byPlan = pairs?.find(([from]) => from === task.number)?.[1];
    const same = now.find(({ number, name }) =>
      pairs === undefined ? name === task.name && (number === task.number || isNamed(name)) : number === byPlan,
    );
    return same === undefined || asks(same) !== asks(task) ? [] : [[task.number, same.number]];
  });
  return kept.length === 0 ? {} : { tasks: kept };
}

/** Returns what a task asks for, apart from its name, as a text to compare. */
function asks({ plan, textRevision }: TaskDefinition): string {
  return JSON.stringify(
    plan === undefined ? textRevision : [plan.description, plan.acceptanceCriteria, plan.requirements],
  );
}
