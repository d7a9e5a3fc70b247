/** What the refusal of a plan's gate says is still to be claimed. */
import { isJsonObject } from "../definition/json.js";
import type { CompleteResult } from "../engine/gate-answer.js";
import { ITEMS_FIELD } from "../gate/check-plan-items.js";
import { TASKS_FIELD } from "../gate/claimed-ids.js";
import { BLANKS_MAX } from "./next-call.js";
import { compact, type WireObject } from "./wire-object.js";

/** What a plan's gate has not been told of. */
interface PlanClaims {
  readonly missing_tasks?: readonly string[];
  readonly unclaimed_items?: { readonly [number: string]: unknown };
}

/** All that a plan's gate has not been told of, however much it is: ids of tasks, items by number with their text. */
export function planClaims({ problems, requiredFormat }: Extract<CompleteResult, { passed: false }>): PlanClaims {
  const tasks = problems.flatMap(({ field, example }) =>
    field === TASKS_FIELD && typeof example === "string" ? [example] : [],
  );
  const format = isJsonObject(requiredFormat) ? requiredFormat[ITEMS_FIELD] : undefined;
  const texts = isJsonObject(format) && isJsonObject(format.items) ? format.items : {};
  const numbers = problems.flatMap(({ field }) => {
    const [name, number = ""] = field.split(".");
    return name === ITEMS_FIELD && texts[number] !== undefined ? [number] : [];
  });
  return {
    ...(tasks.length === 0 ? {} : { missing_tasks: tasks }),
    ...(numbers.length === 0 ? {} : { unclaimed_items: Object.fromEntries(numbers.map((at) => [at, texts[at]])) }),
  };
}

/** The same as evidence, in words that would not pass. */
export function planBlanks({ missing_tasks: tasks, unclaimed_items: items }: PlanClaims): WireObject {
  const named = tasks?.slice(0, BLANKS_MAX).map((id) => `<${id} once it is done>`);
  const numbers = Object.keys(items ?? {}).slice(0, BLANKS_MAX);
  return compact({
    [TASKS_FIELD]: named && ["<all that were claimed before>", ...named],
    [ITEMS_FIELD]: items && Object.fromEntries(numbers.map((number) => [number, "<true once it holds>"])),
  });
}
