/**
 * The types of a plan: the phases and tasks that a source such as a tasks.md describes, the parsers of sources, and the
 * report of diagnostics.
 */
import { PhasegateError } from "../errors.js";
import type { Diagnostic } from "../workflow/diagnostic.js";
import { createReport } from "../workflow/report.js";

/** A position in the source, counted as in editors. */
export interface PlanPosition {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1. */
  readonly column: number;
  /** The offset in characters, from 0. */
  readonly offset: number;
}

/**
 * The state of a task in the source: `[ ]` is pending, `[x]` done, `[-]` in progress, `~~struck~~` dropped. `[~]` is queued
 * or blocked, by dialect. A dropped task is neither open nor done, and no gate requires it.
 */
export type TaskState = "pending" | "in_progress" | "queued" | "blocked" | "done" | "dropped";

/** The word of a status line that says a task's state. */
export interface StatusWord {
  /** The word as it is written. */
  readonly text: string;
  /** The position of the word. */
  readonly position: PlanPosition;
}

/** A pair of brackets in the source. */
export interface Checkbox {
  /** The text between the brackets; empty for `[]`. */
  readonly mark: string;
  /** The position of that text. */
  readonly position: PlanPosition;
}

/** An acceptance criterion, or an item of a validation gate. */
export interface PlanItem {
  /** The text of the item, without markers and comments. */
  readonly text: string;
  /** True if the item is ticked. */
  readonly checked: boolean;
  /** True if it is struck out, or its mark says that it is not to be done any more. Then it does not count. */
  readonly dropped?: true;
  /** Plain bullets and lines below the item. */
  readonly details?: readonly string[];
  /** The checkbox; missing if the item is a plain bullet or a sentence. */
  readonly checkbox?: Checkbox;
  /** The position of the item's text. */
  readonly position: PlanPosition;
}

/** One task of a plan. */
export interface PlanTask {
  /** The plan's own id: `1.3`, `T012`. Unique in the plan. */
  readonly id: string;
  /** The name of the task. */
  readonly name: string;
  /** The rest of the task's text, as Markdown. */
  readonly description?: string;
  /** The estimate as it is written: `2-3 hours`. */
  readonly estimatedTime?: string;
  /** Ids of the tasks that must be done first. All are in the plan, and none is the task's own. */
  readonly dependencies: readonly string[];
  /** The acceptance criteria, in order. */
  readonly acceptanceCriteria: readonly PlanItem[];
  /** The state by the checkbox; without one, by the status line and the boxes of the criteria. */
  readonly state: TaskState;
  /** The task's own checkbox; headings usually have none. */
  readonly checkbox?: Checkbox;
  /** The word of its status line, which a tick changes; missing if its checkbox is in another line. */
  readonly status?: StatusWord;
  /** True if the plan marks it as optional. */
  readonly optional: boolean;
  /** True if the plan says that it may run in parallel with others. */
  readonly parallel: boolean;
  /** The user story that it belongs to: `US1`. */
  readonly story?: string;
  /** Its requirements: an id or a range of ids each (`1.2`, `FR-001`), or the text in their place. */
  readonly requirements: readonly string[];
  /** Paths of the files that the task names. */
  readonly files: readonly string[];
  /** The position of the task's line, after its markers. */
  readonly position: PlanPosition;
}

/** Returns the items that count: all that are not dropped. */
export function keptItems<Item extends { readonly dropped?: true | undefined }>(items: readonly Item[]): Item[] {
  return items.filter(({ dropped }) => dropped !== true);
}

/** One phase of a plan. */
export interface PlanPhase {
  /** The plan's own number: unique, ascending. */
  readonly number: number;
  /** The number as it is written, where it differs: `1.5`, `2a`. */
  readonly written?: string;
  /** The name of the phase. */
  readonly name: string;
  /** The goal of the phase. */
  readonly goal?: string;
  /** The estimate as it is written: `1-2 days`. */
  readonly estimatedDuration?: string;
  /** The tasks, in the order of the source. */
  readonly tasks: readonly PlanTask[];
  /** The items of the validation gate, in order. */
  readonly validationGate: readonly PlanItem[];
  /** The position of the phase's title. */
  readonly position: PlanPosition;
}

/** The phases and tasks of a source. */
export interface Plan {
  /** The dialect by which the source was read: `praxis-os`, `spec-kit`, … */
  readonly dialect: string;
  /** The phases, in ascending order of their numbers; at least one. */
  readonly phases: readonly PlanPhase[];
}

/** The result of reading a source. */
export interface PlanReading {
  /** The plan. */
  readonly plan: Plan;
  /** Everything that is unclear or wrong about the source, in its order. */
  readonly diagnostics: readonly Diagnostic[];
}

/** The changes that {@link SourceParser.tick} writes into a source. */
export interface TickRequest {
  /** Ids of tasks. */
  readonly tasks: readonly string[];
  /** True if the acceptance criteria of these tasks are ticked too. */
  readonly criteria: boolean;
  /** `false` removes ticks. */
  readonly done: boolean;
  /**
   * Items of validation gates whose boxes are ticked too: the number of the phase in the source, and the places of its
   * items, from 0. A parser may ignore them.
   */
  readonly items?: readonly { readonly phase: number; readonly places: readonly number[] }[];
}

/** A parser that reads sources of one kind as plans. A host registers its own under a name. */
export interface SourceParser {
  /**
   * Reads a source. `file` is its name in diagnostics and errors.
   *
   * @throws {PhasegateError} `PLAN_PARSE` when the source can't be a plan.
   */
  parse(text: string, file: string): PlanReading;
  /**
   * Returns the text with these tasks ticked and every other character unchanged; ids of other tasks are ignored. `plan`
   * is the result of `parse` for this text. Leave it out if sources of this kind are never written.
   */
  tick?(text: string, plan: Plan, request: TickRequest): string;
}

/** Collects the diagnostics of a plan. */
export class PlanReport {
  readonly #file: string;
  readonly #report = createReport<keyof typeof HINTS>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Adds a diagnostic. Columns count from 1, which is the default; the default of `hint` is that of the code. */
  warn(code: keyof typeof HINTS, { line, column = 1 }: SourcePlace, message: string, hint: string = HINTS[code]): void {
    const add = code === "DEPENDENCY_CYCLE" ? this.#report.error : this.#report.warn;
    add(code, { file: this.#file, line, column }, message, hint);
  }

  /** Returns the diagnostics in the order of the source, and last how many are left out. */
  sorted(): Diagnostic[] {
    return this.#report.sorted();
  }
}

type SourcePlace = { readonly line: number; readonly column?: number };

/** The codes of diagnostics, with what to do about each. */
const HINTS = {
  CHECKBOX_UNPLACED:
    "Make it a task, a criterion below 'Acceptance Criteria:' or an item of a 'Validation Gate:', or remove it.",
  CHECKBOX_OF_PLAN: "To require it, write it below 'Validation Gate:' in the last phase.",
  CHECKBOX_REPEATED: "The task's own state counts; remove the checkbox here.",
  FENCE_NESTED: "Open and close the outer one with four backticks.",
  FENCE_UNCLOSED: "Close it.",
  PHASE_RENUMBERED: "Write whole, ascending numbers.",
  PHASE_EMPTY: "Add its tasks, or remove the heading.",
  PHASE_UNREAD: "If it is a phase, write it like the others.",
  TASK_UNREAD: "Write '- [ ]' before the task, or give it an id.",
  TASK_ID_REPEATED: "Give each task its own id.",
  TASK_WITHOUT_ID: "Give it an id.",
  TASK_TICKED_OPEN: "Tick them, or take the state of the task back.",
  STATE_UNKNOWN: "Write 'Done', 'Pending' or another state alone.",
  DEPENDENCY_UNKNOWN: "Name a task or phase of this plan, or remove the dependency.",
  DEPENDENCY_UNREAD: "Name tasks by their ids.",
  DEPENDENCY_SELF: "Remove the dependency.",
  DEPENDENCY_CYCLE: "Remove one of these dependencies.",
  REQUIREMENT_UNKNOWN: "Correct the ids, or add the requirements.",
} as const;

export function planError(
  place: { readonly file: string; readonly line?: number; readonly column?: number },
  message: string,
  hint: string,
): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `${place.file} can't be read as a plan: ${message}`, {
    remedy: hint,
    details: place,
  });
}

/** Maximum length of a source, in characters. */
export const PLAN_MAX = 5 * 1024 * 1024;

/** Throws `PLAN_PARSE` for a source that is too long. */
export function checkLength(text: string, file: string): void {
  if (text.length <= PLAN_MAX) return;
  throw planError({ file, line: 1 }, `it has more than ${PLAN_MAX} characters`, "Split it into several plans.");
}

export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
