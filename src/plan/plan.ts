/** A plan: the phases and tasks that a source such as a tasks.md describes. */

import { PhasegateError } from "../errors.js";
import type { Diagnostic } from "../workflow/diagnostic.js";

/** A place in the source, as editors count: line and column from 1, offset in characters from 0. */
export interface PlanPosition {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/**
 * What the source says of a task: `[ ]` is pending, `[x]` done, `[-]` in progress; `[~]` is queued or
 * blocked, as the dialect has it.
 */
export type TaskState = "pending" | "in_progress" | "queued" | "blocked" | "done";

/** A pair of brackets in the source, and what stands in it. */
export interface Checkbox {
  /** What stands between the brackets; empty for `[]`. */
  readonly mark: string;
  /** Where that is. */
  readonly position: PlanPosition;
}

/** One thing to check: an acceptance criterion, or an item of a validation gate. */
export interface PlanItem {
  readonly text: string;
  readonly checked: boolean;
  /** Plain bullets and lines below it. */
  readonly details?: readonly string[];
  /** Missing where the item is a plain bullet or a sentence. */
  readonly checkbox?: Checkbox;
  readonly position: PlanPosition;
}

/** One task of a plan. */
export interface PlanTask {
  /** The plan's own id: `1.3`, `T012`. Unique in the plan. */
  readonly id: string;
  readonly name: string;
  readonly description?: string;
  readonly estimatedTime?: string;
  /** Ids of the tasks that must be done first. All are in the plan, and none is the task's own. */
  readonly dependencies: readonly string[];
  readonly acceptanceCriteria: readonly PlanItem[];
  readonly state: TaskState;
  /** The task's own checkbox, if it has one: headings have none, as a rule. */
  readonly checkbox?: Checkbox;
  /** True if the plan marks it as optional. */
  readonly optional: boolean;
  /** True if the plan says that it may run in parallel with others. */
  readonly parallel: boolean;
  /** The user story that it belongs to: `US1`. */
  readonly story?: string;
  /** What it is done for: an id or a range of ids each (`1.2`, `FR-001`), or what is said instead. */
  readonly requirements: readonly string[];
  readonly files: readonly string[];
  readonly position: PlanPosition;
}

/** One phase of a plan. */
export interface PlanPhase {
  /** The plan's own number: unique, ascending. */
  readonly number: number;
  readonly name: string;
  readonly goal?: string;
  readonly estimatedDuration?: string;
  readonly tasks: readonly PlanTask[];
  readonly validationGate: readonly PlanItem[];
  readonly position: PlanPosition;
}

/** What a source plans. */
export interface Plan {
  /** How the source was read: `praxis-os`, `spec-kit`, … */
  readonly dialect: string;
  /** In ascending order of their numbers; at least one. */
  readonly phases: readonly PlanPhase[];
}

/** The result of reading a source: a plan, and everything unclear or wrong about it. */
export interface PlanReading {
  readonly plan: Plan;
  /** In the order of the source. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Which check a diagnostic of a plan comes from. */
type PlanCode = keyof typeof PLAN_CODES;

/** Collects what is unsure or wrong about a plan. */
export class PlanReport {
  readonly #file: string;
  readonly #diagnostics: Diagnostic[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  warn(
    code: PlanCode,
    place: { readonly line: number; readonly column?: number },
    message: string,
    hint?: string,
  ): void {
    this.#add("warning", code, place, message, hint);
  }

  error(
    code: PlanCode,
    place: { readonly line: number; readonly column?: number },
    message: string,
    hint?: string,
  ): void {
    this.#add("error", code, place, message, hint);
  }

  /** In the order of the source. */
  sorted(): Diagnostic[] {
    return this.#diagnostics.sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  }

  #add(
    severity: Diagnostic["severity"],
    code: PlanCode,
    { line, column = 1 }: { readonly line: number; readonly column?: number },
    message: string,
    hint: string | undefined,
  ): void {
    const place = { file: this.#file, line, column };
    this.#diagnostics.push({ severity, code, message, ...(hint === undefined ? {} : { hint }), ...place });
  }
}

/** Something that can't be a plan: where, what is wrong, and what to write instead. */
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

/** The longest source, in characters. */
export const PLAN_MAX = 5 * 1024 * 1024;

/** Throws `PLAN_PARSE` for a source that is too long. */
export function checkLength(text: string, file: string): void {
  if (text.length <= PLAN_MAX) return;
  throw planError({ file, line: 1 }, `it has more than ${PLAN_MAX} characters`, "Split it into several plans.");
}

/** What can be said of a plan, and what it means. */
const PLAN_CODES = {
  CHECKBOX_UNPLACED: "a checkbox that is no task, no criterion and no item of a gate",
  FENCE_NESTED: "a code sample within a sample, which strict Markdown reads otherwise",
  FENCE_UNCLOSED: "a fence or a comment that nothing closes",
  PHASE_RENUMBERED: "a phase that is counted otherwise than it is written",
  PHASE_EMPTY: "a phase without tasks",
  TASK_ID_REPEATED: "an id that a task before has",
  TASK_WITHOUT_ID: "a task without an id among others with one",
  STATE_UNKNOWN: "a mark between brackets that says nothing",
  DEPENDENCY_UNKNOWN: "a dependency on a task or a phase that is not there",
  DEPENDENCY_UNREAD: "a dependency in words that name no task",
  DEPENDENCY_SELF: "a task that depends on itself",
  DEPENDENCY_CYCLE: "tasks that wait for each other",
} as const;
