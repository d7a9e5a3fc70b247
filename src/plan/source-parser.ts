/** The port for readers of plans: hosts register their own for other kinds of sources. */
import type { Plan, PlanReading } from "./plan.js";

/** What to write back into a source. */
export interface TickRequest {
  /** Ids of tasks. */
  readonly tasks: readonly string[];
  /** True if the acceptance criteria of these tasks are ticked too. */
  readonly criteria: boolean;
  /** `false` takes ticks back. */
  readonly done: boolean;
}

/** Reads sources of one kind as plans. A host registers its own under a name. */
export interface SourceParser {
  /**
   * Reads a source. `file` is its name in diagnostics and errors. Throws `PLAN_PARSE` for what can't be
   * a plan.
   */
  parse(text: string, file: string): PlanReading;
  /**
   * Returns the text with these tasks ticked, every other character as it was; tasks that it doesn't have are
   * passed over. `plan` is what `parse` made of this very text. Left out where sources of this kind are
   * never written.
   */
  tick?(text: string, plan: Plan, request: TickRequest): string;
}
