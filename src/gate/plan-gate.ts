import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { PlanGate } from "../workflow/structure.js";
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

/** The items of a phase's validation gate, as evidence claims them: each by its number or by its text. */

/** The field of evidence that claims them. */
export const ITEMS_FIELD = "validation_gate";

/** How many claims of no item are named: one is enough to refuse. */
const STRANGERS_MAX = 100;

const EXPECTED = 'an object such as {"1": true}';

/** What is claimed of one item. */
interface Claims {
  readonly number: number;
  readonly text: string;
  readonly values: JsonValue[];
  /** A text that may mean it, and another item too. */
  unsure?: string;
}

/** Every item that is not claimed as true, by its number and text. What has the wrong type claims nothing. */
function itemProblems(items: readonly string[], given: JsonValue | undefined): Problem[] {
  if (items.length === 0) return [];
  if (given === undefined || given === null) return unclaimed(items, {});
  if (isJsonObject(given)) return unclaimed(items, given);
  const message = `'${ITEMS_FIELD}' must be ${EXPECTED}`;
  const wrong = { field: ITEMS_FIELD, problem: "wrong_type", message, got: shown(given), expected: EXPECTED } as const;
  return [wrong, ...unclaimed(items, {})];
}

function unclaimed(items: readonly string[], given: JsonObject): Problem[] {
  const claims = items.map((text, index): Claims => ({ number: index + 1, text, values: [] }));
  const known = byName(claims);
  const strangers: Problem[] = [];
  for (const [key, value] of Object.entries(given)) {
    const meant = known.get(nameOf(key)) ?? [];
    if (meant.length === 0 && value === false && strangers.length < STRANGERS_MAX) strangers.push(stranger(key));
    for (const claim of meant) {
      // Two items may have one text: what is true of one of them says nothing of the other.
      if (meant.length > 1 && value === true) claim.unsure = key;
      else claim.values.push(value);
    }
  }
  return [...claims.flatMap((claim) => itemProblem(claim) ?? []), ...strangers];
}

/** Items by what they are called: the number, and the text where it is one. */
function byName(claims: readonly Claims[]): Map<string, Claims[]> {
  const known = new Map(claims.map((claim) => [`${claim.number}`, [claim]]));
  for (const claim of claims) {
    const text = bare(claim.text);
    if (!/[^\d ]/.test(text)) continue;
    const same = known.get(text);
    if (same === undefined) known.set(text, [claim]);
    else same.push(claim);
  }
  return known;
}

/** A number is one exactly as it is written: `1.` and `01` are texts, which no item has. */
function nameOf(key: string): string {
  if (/^\d+$/.test(key)) return key;
  const text = bare(key);
  return /[^\d ]/.test(text) ? text : "";
}

function itemProblem({ number, text, values, unsure }: Claims): Problem | undefined {
  const field = `${ITEMS_FIELD}.${number}`;
  const what = `item ${number} of the validation gate: ${text}`;
  const other = values.find((value) => value !== true);
  if (other !== undefined) {
    const both = values.includes(true) ? "Claimed as true, and not" : "Not claimed as true";
    return { field, problem: "claimed_false", message: `${both}: ${what}`, got: shown(other), expected: "true" };
  }
  if (values.length > 0) return undefined;
  const why = unsure === undefined ? "" : ` (${shown(unsure)} is more than one of them: use the number)`;
  return { field, problem: "missing", message: `Not claimed: ${what}${why}`, expected: "true" };
}

/** What is claimed as false is never passed over, even if nobody knows what it is. */
function stranger(key: string): Problem {
  const message = `${shown(key)} is claimed as false, and is no item of the validation gate: claim items by their numbers`;
  return { field: ITEMS_FIELD, problem: "claimed_false", message, got: "false", expected: EXPECTED };
}

/** Words, and the signs that make one condition another: `> 80 %` is not `< 80 %`, nor is `-5` what 5 is. */
const TOKENS = /[\p{L}\p{N}\p{M}]+|!?=|(?<![\p{L}\p{N}])-(?=\d)|(?![|~])[\p{Sm}\p{Sc}%‰]/gu;
/** What only says how a character before it is drawn. */
const VARIANTS = /[\uFE0E\uFE0F\u20E3]/gu;

/** A text as it is compared: without Markdown, emoji and differences of spacing. */
function bare(text: string): string {
  const tokens = text.normalize("NFC").toLowerCase().replace(VARIANTS, "").match(TOKENS);
  return (tokens ?? []).join(" ");
}

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
function numbersForIds(evidence: JsonObject): string[] {
  return listed(evidence)
    .filter((id) => typeof id === "number")
    .map(String);
}

function listed(evidence: JsonObject): readonly JsonValue[] {
  const given = Object.hasOwn(evidence, TASKS_FIELD) ? evidence[TASKS_FIELD] : undefined;
  return Array.isArray(given) ? given : [];
}
