/** A plan: the phases and tasks that a source such as a tasks.md describes. */
import type { Diagnostic } from "../definition/diagnostic.js";

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
  /** Whether the plan says that it may be left out. */
  readonly optional: boolean;
  /** Whether the plan says that it may run beside others. */
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

/** What came of reading a source: a plan, and all that is unsure or wrong about it. */
export interface PlanReading {
  readonly plan: Plan;
  /** In the order of the source. */
  readonly diagnostics: readonly Diagnostic[];
}
