import type { JsonObject, JsonValue } from "../definition/json.js";

/** The evidence of a phase out of a plan that names the tasks that are done. */
export const TASKS_FIELD = "tasks_completed";

/**
 * The ids that evidence claims: what the gate takes as claimed, and what is ticked then. Ids are texts; a number is
 * none, since JSON's 1.10 is its 1.1.
 */
export function claimedIds(evidence: JsonObject): string[] {
  return listed(evidence).filter((id) => typeof id === "string");
}

/** Numbers where ids belong, as JSON has them. */
export function numbersForIds(evidence: JsonObject): string[] {
  return listed(evidence)
    .filter((id) => typeof id === "number")
    .map(String);
}

function listed(evidence: JsonObject): readonly JsonValue[] {
  const given = Object.hasOwn(evidence, TASKS_FIELD) ? evidence[TASKS_FIELD] : undefined;
  return Array.isArray(given) ? given : [];
}
