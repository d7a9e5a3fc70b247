import type { Diagnostic } from "../definition/diagnostic.js";

/** What can be said of a plan, and what it means. */
export const PLAN_CODES = {
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

/** Which check a diagnostic of a plan comes from. */
export type PlanCode = keyof typeof PLAN_CODES;

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
