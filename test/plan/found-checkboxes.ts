import type { Checkbox, Plan, PlanReading } from "../../src/plan/plan.js";
import type { Diagnostic } from "../../src/workflow/diagnostic.js";

/** Returns every checkbox that a plan has placed, once per place. */
export function placedCheckboxes({ phases }: Plan): Checkbox[] {
  return phases.flatMap(({ tasks, validationGate }) => [
    ...tasks.flatMap(({ checkbox, acceptanceCriteria }) => [
      ...(checkbox === undefined ? [] : [checkbox]),
      ...acceptanceCriteria.flatMap((item) => item.checkbox ?? []),
    ]),
    ...validationGate.flatMap((item) => item.checkbox ?? []),
  ]);
}

/** Returns the diagnostics of checkboxes without a place. */
export function unplacedCheckboxes(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ code }) => code === "CHECKBOX_UNPLACED");
}

/** Returns `line:column` of the character in the brackets, for every checkbox of a reading, with duplicates. */
export function accounted({ plan, diagnostics }: PlanReading): string[] {
  return [
    ...placedCheckboxes(plan).map(({ position }) => `${position.line}:${position.column}`),
    ...unplacedCheckboxes(diagnostics).map(({ line, column }) => `${line}:${column}`),
  ].sort();
}
