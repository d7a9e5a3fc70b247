import type { Checkbox, Plan, PlanReading } from "../../src/plan/plan.js";
import type { Diagnostic } from "../../src/workflow/diagnostic.js";
import { scanCheckboxes } from "./scan-checkboxes.js";

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

/** Returns the diagnostics of checkboxes without a place, and of those that repeat a task. */
export function unplacedCheckboxes(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.filter(({ code }) =>
    ["CHECKBOX_UNPLACED", "CHECKBOX_REPEATED", "CHECKBOX_OF_PLAN"].includes(code),
  );
}

/** Returns `line:column` of the character in the brackets, for every checkbox of a reading, with duplicates. */
export function accounted({ plan, diagnostics }: PlanReading): string[] {
  return [
    ...placedCheckboxes(plan).map(({ position }) => `${position.line}:${position.column}`),
    ...unplacedCheckboxes(diagnostics).map(({ line, column }) => `${line}:${column}`),
  ].sort();
}

/** Returns the checkboxes that an independent scanner finds, and that have neither a place nor a diagnostic. */
export function lostCheckboxes(text: string, { plan, diagnostics }: PlanReading) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const places = new Set(placedCheckboxes(plan).map(({ position }) => position.offset));
  const reported = new Set(unplacedCheckboxes(diagnostics).map(({ line, column }) => `${line}:${column}`));
  let [start, at] = [text.startsWith("\uFEFF") ? 1 : 0, 1];
  return scanCheckboxes(text).flatMap(({ line, offset, length }) => {
    for (; at < line; at += 1)
      start += (lines[at - 1] ?? "").length + (text.startsWith("\r\n", start + (lines[at - 1] ?? "").length) ? 2 : 1);
    // The position of a box is that of the character in it.
    const inside = Array.from({ length: Math.max(length, 2) }, (_, step) => offset + step);
    const isFound = inside.some((place) => places.has(place) || reported.has(`${line}:${place - start + 1}`));
    return isFound ? [] : [{ line, text: lines[line - 1] ?? "" }];
  });
}
