import type { Checkbox, Plan, PlanReading } from "../../src/plan/plan.js";
import type { Diagnostic } from "../../src/workflow/diagnostic.js";

/** Every checkbox that a plan has placed, once for each place. */
export function placedCheckboxes({ phases }: Plan): Checkbox[] {
  return phases.flatMap(({ tasks, validationGate }) => [
    ...tasks.flatMap(({ checkbox, acceptanceCriteria }) => [
      ...(checkbox === undefined ? [] : [checkbox]),
      ...acceptanceCriteria.flatMap((item) => item.checkbox ?? []),
    ]),
    ...validationGate.flatMap((item) => item.checkbox ?? []),
  ]);
}

/** The diagnostics of checkboxes that found no place. */
export function unplacedCheckboxes(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ code }) => code === "CHECKBOX_UNPLACED");
}

/** `line:column` of what stands between the brackets, of every checkbox that a reading accounts for, doubles included. */
export function accounted({ plan, diagnostics }: PlanReading): string[] {
  return [
    ...placedCheckboxes(plan).map(({ position }) => `${position.line}:${position.column}`),
    ...unplacedCheckboxes(diagnostics).map(({ line, column }) => `${line}:${column}`),
  ].sort();
}
