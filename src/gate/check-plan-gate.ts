import type { JsonObject, JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { PlanGate } from "../definition/structure.js";
import { ITEMS_FIELD, itemProblems } from "./check-plan-items.js";
import { claimedIds, numbersForIds, TASKS_FIELD } from "./claimed-ids.js";
import type { Problem } from "./verdict.js";

/** For how many tasks it is looked up what was claimed in their place. */
const LOOKED_FOR_MAX = 100;

/**
 * What is wrong with the evidence of a phase out of a plan: every task that is not claimed, every item
 * that is not, each by its name. What stands ticked in the plan's file is no claim.
 */
export function checkPlanGate(gate: PlanGate, evidence: JsonObject): Problem[] {
  return [...taskProblems(gate, evidence), ...itemProblems(gate.items, own(evidence, ITEMS_FIELD))];
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
  const wrong = given === undefined || given === null || Array.isArray(given) ? [] : [noList(given)];
  // What is no list claims nothing, and every task is named all the same.
  const claimed = claimedIds(evidence);
  const numbers = numbersForIds(evidence);
  const ids = new Set(tasks.map(({ id }) => id));
  const all = new Set(claimed);
  const unknown = claimed.filter((id) => !ids.has(id));
  const missing = required
    .filter(({ id }) => !all.has(id))
    .map(({ id }, index): Problem => {
      const number = index < LOOKED_FOR_MAX ? nearest(id, numbers) : undefined;
      const similar = index < LOOKED_FOR_MAX ? nearest(id, unknown) : undefined;
      const text = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
      const meant = number === undefined ? text : ` (you sent the number ${number}, and ids are texts: send "${id}")`;
      const message = `Task ${id} is not in '${TASKS_FIELD}'${meant}: do it, then claim it by its id`;
      return { field: TASKS_FIELD, problem: "missing", message, expected: `"${id}" in the list`, example: id };
    });
  return [...wrong, ...missing];
}

function own(evidence: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(evidence, name) ? evidence[name] : undefined;
}

function noList(given: JsonValue): Problem {
  const message = `'${TASKS_FIELD}' must be a list of task ids`;
  return { field: TASKS_FIELD, problem: "wrong_type", message, got: shown(given), expected: "a list of task ids" };
}
