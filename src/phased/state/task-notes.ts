/**
 * What is noted of a visit to a phase: which tasks are done or given up, the last note, and the steps ahead that were refused. It
 * helps whoever continues or watches; of these notes, only a plan's gate takes those of tasks done, as claims. A plan sync and a migration keep of the tasks
 * what is still true.
 */
import * as z from "zod/mini";
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../../workflow/structure.js";
import type { EventOf } from "./events.js";
import { addToRanges, filterRanges, inRanges, type Ranges, rangesSchema } from "./ranges.js";

const lastNoteSchema = z.object({
  /** The task's number; missing if a sync has changed the task. */
  task: z.optional(z.int()),
  /** The note. */
  note: z.string(),
  /** Set if a person has decided on a waiver since. */
  beforeDecision: z.optional(z.literal(true)),
});
/** The last note on a task of a phase. */
export type LastNote = z.infer<typeof lastNoteSchema>;

/** Checks stored notes. */
export const taskNotesSchema = z.object({
  /** The numbers of the tasks that are done, as ranges. */
  done: rangesSchema,
  /** The numbers of the tasks that could not be done, as ranges. None if missing. */
  givenUp: z.optional(rangesSchema),
  /** The last note. */
  last: z.optional(lastNoteSchema),
});
/** What is noted about the tasks of a phase while the work goes on. */
export type TaskNotes = z.infer<typeof taskNotesSchema>;

/** What an agent notes about a task. */
export interface TaskNote {
  /** What whoever continues should know; at most 2,000 characters. Required with `given_up`: why it can't be done. */
  readonly note?: string;
  /** `given_up` if the task could not be done. Default: `done`. */
  readonly outcome?: "done" | "given_up";
  /** The numbers of optional tasks that are left out: `next` leads past them, and no other task waits for them. */
  readonly skipped?: readonly number[];
}

/** A task of a phase, for whoever continues the work. */
export interface PhaseTask {
  /** The task's number in its phase. */
  readonly number: number;
  /** The task's name. */
  readonly name: string;
  /** True if it is noted as done; in a plan, also if it is ticked there, or its phase has passed. */
  readonly done: boolean;
  /** True if it can be done now: it is open, and waits for no other task. */
  readonly ready: boolean;
  /**
   * Why it is neither done nor left to do: it is noted as given up, it is optional and left out, a person has waived it, or
   * its plan had dropped it when it was pinned. Missing if it is open.
   */
  readonly closed?: "given_up" | "skipped" | "waived" | "dropped";
}

/** Marks the last note as older than a person's decision on a waiver. */
export function tasksDecided(notes: TaskNotes | undefined): TaskNotes | undefined {
  return notes?.last === undefined ? notes : { ...notes, last: { ...notes.last, beforeDecision: true } };
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

/** Old and new numbers of tasks. */
export type TaskPairs = readonly (readonly [from: number, to: number])[];

/**
 * Notes a task as done or given up, whatever was noted of it before. Without a note of its own, the last one stays, unless it
 * says why this task was given up.
 */
export function withTask(
  notes: TaskNotes | undefined,
  { type, task, note }: EventOf<"task_completed" | "task_given_up">,
): TaskNotes {
  const isReason = notes?.last?.task === task && inRanges(notes.givenUp, task);
  const last = note !== undefined ? { task, note } : isReason ? undefined : notes?.last;
  const without = (ranges: Ranges = []) => filterRanges(ranges, (number) => number !== task);
  const [done, givenUp] = [without(notes?.done), without(notes?.givenUp)];
  return type === "task_completed"
    ? notesWith(addToRanges(done, task), givenUp, last)
    : notesWith(done, addToRanges(givenUp, task), last);
}

function notesWith(done: Ranges, givenUp: Ranges, last: TaskNotes["last"]): TaskNotes {
  return { done, ...(givenUp.length === 0 ? {} : { givenUp }), last };
}

/** Keeps what is noted about tasks that are still there, under their new numbers. */
export function tasksAfter(notes: TaskNotes | undefined, kept: TaskPairs = []): TaskNotes | undefined {
  if (notes === undefined) return undefined;
  const { done, givenUp, last } = notes;
  const task = kept.find(([from]) => from === last?.task)?.[1];
  const noted = last && { ...last, task };
  const stay = (ranges: Ranges | undefined) =>
    kept.flatMap(([from, to]) => (inRanges(ranges, from) ? [to] : [])).reduce<Ranges>(addToRanges, []);
  const after = notesWith(stay(done), stay(givenUp), noted);
  const isNothing = after.done.length === 0 && after.givenUp === undefined && noted === undefined;
  return isNothing ? undefined : after;
}

/** What a head says of a visit to a phase. */
interface Noted {
  readonly position: number;
  readonly completed: Ranges;
  readonly tasks?: TaskNotes | undefined;
}

/** What a plan says of a task. */
interface PlannedTask {
  readonly number: number;
  readonly name: string;
  readonly state: string;
  readonly ready: boolean;
  readonly closed?: PhaseTask["closed"];
}

/** Returns the tasks of a phase; `planned` is what its plan says of them. */
export function tasksOf(
  head: Noted,
  { phases }: WorkflowStructure,
  phase: PhaseDefinition,
  planned: readonly PlannedTask[] = [],
): readonly PhaseTask[] {
  const position = phases.findIndex(({ number }) => number === phase.number);
  const isCurrent = position === head.position && !inRanges(head.completed, position);
  if (planned.length > 0) {
    return planned.map(({ number, name, state, ready, closed }) => {
      return { number, name, done: state === "done", ready, closed };
    });
  }
  const isPassed = !isCurrent && inRanges(head.completed, position);
  return phase.tasks.map(({ number, name }) => {
    if (isCurrent && inRanges(head.tasks?.givenUp, number))
      return { number, name, done: false, ready: false, closed: "given_up" };
    const done = isPassed || (isCurrent && inRanges(head.tasks?.done, number));
    return { number, name, done, ready: !done };
  });
}

/**
 * Returns which of the tasks that are noted as done or given up stay so. A task that asks for something else now is open
 * again: what was done for it was another task. Tasks of a phase that is not from a plan keep their numbers and names.
 */
export function keptTasks(
  { position, tasks: noted }: { readonly position: number; readonly tasks?: TaskNotes | undefined },
  before: WorkflowStructure,
  { structure: after, tasks: pairs }: { readonly structure: WorkflowStructure; readonly tasks?: TaskPairs | undefined },
  placeNow = position,
): { tasks?: [number, number][] } {
  const [was, now] = [before.phases[position]?.tasks, after.phases[placeNow]?.tasks];
  if (noted === undefined || was === undefined || now === undefined) return {};
  const kept = was.flatMap((task): [number, number][] => {
    if (!inRanges(noted.done, task.number) && !inRanges(noted.givenUp, task.number)) return [];
    const place = pairs === undefined ? task.number : pairs.find(([from]) => from === task.number)?.[1];
    const same = now.find(({ number }) => number === place);
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
