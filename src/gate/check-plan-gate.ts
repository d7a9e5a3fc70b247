import { isJsonObject, type JsonObject, type JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { PlanGate } from "../definition/structure.js";
import { claimedIds, numbersForIds, TASKS_FIELD } from "./claimed-ids.js";
import type { Problem } from "./verdict.js";

/** The evidence of a phase out of a plan that goes through its validation gate item by item. */
export const ITEMS_FIELD = "validation_gate";

/**
 * What is wrong with the evidence of a phase out of a plan: every task that is not claimed, every item
 * that is not, each by its name. What stands ticked in the plan's file is no claim.
 */
export function checkPlanGate(gate: PlanGate, evidence: JsonObject): Problem[] {
  return [...taskProblems(gate, evidence), ...itemProblems(gate, own(evidence, ITEMS_FIELD))];
}

/** Evidence that a plan's gate would take. */
export function planGateExample({ tasks, items }: PlanGate): JsonObject {
  return {
    [TASKS_FIELD]: tasks.filter(({ optional }) => !optional).map(({ id }) => id),
    ...(items.length === 0 ? {} : { [ITEMS_FIELD]: Object.fromEntries(items.map((_, index) => [index + 1, true])) }),
  };
}

function taskProblems({ tasks }: PlanGate, evidence: JsonObject): Problem[] {
  const given = own(evidence, TASKS_FIELD);
  const required = tasks.filter(({ optional }) => !optional);
  if (given !== undefined && given !== null && !Array.isArray(given)) {
    return [
      problem(TASKS_FIELD, "wrong_type", `'${TASKS_FIELD}' must be a list of task ids`, given, "a list of task ids"),
    ];
  }
  const claimed = claimedIds(evidence);
  const numbers = numbersForIds(evidence);
  const unknown = claimed.filter((id) => !tasks.some((task) => task.id === id));
  return required
    .filter(({ id }) => !claimed.includes(id))
    .map(({ id }) => {
      const number = nearest(id, numbers);
      const similar = nearest(id, unknown);
      const text = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
      const meant = number === undefined ? text : ` (you sent the number ${number}, and ids are texts: send "${id}")`;
      const message = `Task ${id} is not in '${TASKS_FIELD}'${meant}: do it, then claim it by its id`;
      return { field: TASKS_FIELD, problem: "missing", message, expected: `"${id}" in the list`, example: id };
    });
}

function itemProblems({ items }: PlanGate, given: JsonValue | undefined): Problem[] {
  if (items.length === 0) return [];
  if (given !== undefined && given !== null && !isJsonObject(given)) {
    const expected = 'an object such as {"1": true}';
    return [problem(ITEMS_FIELD, "wrong_type", `'${ITEMS_FIELD}' must be ${expected}`, given, expected)];
  }
  const claims = new Map(Object.entries(given ?? {}).map(([key, value]) => [bare(key), value]));
  return items.flatMap((text, index) => {
    const number = `${index + 1}`;
    const claim = claims.get(number) ?? claims.get(bare(text));
    if (claim === true) return [];
    const field = `${ITEMS_FIELD}.${number}`;
    const what = `item ${number} of the validation gate: ${text}`;
    if (claim === undefined) return [{ field, problem: "missing", message: `Not claimed: ${what}`, expected: "true" }];
    return [problem(field, "claimed_false", `Not claimed as true: ${what}`, claim, "true")];
  });
}

/** A text as it is compared: without Markdown, emoji and differences of spacing. */
function bare(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

function own(evidence: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(evidence, name) ? evidence[name] : undefined;
}

function problem(
  field: string,
  kind: Problem["problem"],
  message: string,
  value: JsonValue,
  expected: string,
): Problem {
  return { field, problem: kind, message, got: shown(value), expected };
}
