/**
 * Checks evidence for a phase that comes from a plan: every required task must be claimed by its id, or noted as done, and
 * every item of the validation gate by its number or its text. A checkbox that is ticked in the plan's file
 * is not a claim. A claim of a task that is noted as given up is refused; one of a task that the plan has dropped counts for
 * nothing.
 */
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import { nearest, shown } from "../workflow/names.js";
import type { PhaseDefinition, PlanGate } from "../workflow/structure.js";
import type { Problem } from "./verdict.js";

/** Returns a problem for each required task and each validation item that is not claimed. */
export function checkPlanGate(gate: PlanGate, evidence: JsonObject): Problem[] {
  const { items, waived } = gate;
  const found = itemProblems(items, ownValue(evidence, ITEMS_FIELD));
  return [...taskProblems(gate, evidence), ...found.filter(({ field }) => !waived?.includes(field))];
}

/** Returns the items that must be claimed, by number. */
export function requiredItems({ items, waived }: PlanGate): Record<string, string> {
  const numbered = items.map((text, index): [string, string] => [`${index + 1}`, text]);
  return Object.fromEntries(numbered.filter(([number]) => !waived?.includes(`${ITEMS_FIELD}.${number}`)));
}

/** Returns the fields of the evidence that the checks of a plan's gate read, such as `where`, each with what it has to hold. */
export function checkedFields({ verify = [] }: PlanGate): Record<string, string> {
  return Object.fromEntries(
    verify.flatMap(({ verifier, params, description = verifier }) =>
      typeof params.field === "string" ? [[params.field, description]] : [],
    ),
  );
}

/**
 * Returns the task ids that evidence claims; these are also the tasks that are ticked. Ids are texts. A
 * number is not an id, since JSON can't tell 1.10 from 1.1.
 */
export function claimedIds(evidence: JsonObject): string[] {
  return listed(evidence).filter((id) => typeof id === "string");
}

/** Returns evidence with the tasks that are noted as done among its claims; a value that is not a list stays as it is. */
export function withNoted(evidence: JsonObject, noted: readonly string[]): JsonObject {
  const given = ownValue(evidence, TASKS_FIELD) ?? [];
  if (!Array.isArray(given)) return evidence;
  const more = noted.filter((id) => !given.includes(id));
  return more.length === 0 ? evidence : { ...evidence, [TASKS_FIELD]: [...given, ...more] };
}

/** Returns the numbers, from 1, of the items of the validation gate that evidence claims as true. */
export function claimedItems(items: readonly string[], evidence: JsonObject): number[] {
  const given = ownValue(evidence, ITEMS_FIELD);
  if (!isJsonObject(given)) return [];
  const { claims } = readItemClaims(items, given);
  return claims.filter((claim) => itemProblem(claim) === undefined).map(({ number }) => number);
}

/** Returns a problem for each task that is claimed, though it is noted as given up: one of both is not true. */
export function givenUpProblems({ tasks }: PlanGate, evidence: JsonObject, givenUp: readonly string[]): Problem[] {
  const claimed = new Set(claimedIds(evidence));
  const contradicted = tasks.filter(({ id }) => claimed.has(id) && givenUp.includes(id));
  return contradicted.map(({ id, optional }): Problem => {
    const way = `leave it out${optional ? "" : " and ask for a waiver"}; if it is done now, note that with complete_task first`;
    const message = `Task ${id} is in '${TASKS_FIELD}', but is noted as given up: ${way}`;
    return { field: TASKS_FIELD, problem: "invalid", message, got: shown(id), ...(optional ? {} : { example: id }) };
  });
}

/** Returns the ids of the tasks of a phase that its plan had dropped when it was pinned: no gate requires them. */
export function droppedIds({ tasks }: PhaseDefinition): string[] {
  return tasks.flatMap(({ plan }) => (plan?.state === "dropped" ? [plan.id] : []));
}

/** The field of evidence that names the completed tasks. */
export const TASKS_FIELD = "tasks_completed";

/** The field of evidence that claims validation items. */
export const ITEMS_FIELD = "validation_gate";

/** At most this many unclaimed tasks get a hint at a similar claim. */
const SUGGESTIONS_MAX = 100;

function taskProblems({ tasks }: PlanGate, evidence: JsonObject): Problem[] {
  const given = ownValue(evidence, TASKS_FIELD);
  const required = tasks.filter(({ optional }) => !optional);
  const wrong = given === undefined || given === null || Array.isArray(given) ? [] : [noList(given)];
  // A value that is not a list claims nothing, so every task is reported as missing too.
  const claimed = claimedIds(evidence);
  const numbers = numbersForIds(evidence);
  const ids = new Set(tasks.map(({ id }) => id));
  const all = new Set(claimed);
  const unknown = claimed.filter((id) => !ids.has(id));
  const missing = required
    .filter(({ id }) => !all.has(id))
    .map(({ id }, index): Problem => {
      const number = index < SUGGESTIONS_MAX ? nearest(id, numbers) : undefined;
      const similar = index < SUGGESTIONS_MAX ? nearest(id, unknown) : undefined;
      const text = similar === undefined ? "" : ` (you sent ${shown(similar)})`;
      const meant = number === undefined ? text : ` (you sent the number ${number}, and ids are texts: send "${id}")`;
      const message = `Task ${id} is not in '${TASKS_FIELD}'${meant}, nor noted as done: do it, then note it or claim it by its id`;
      return { field: TASKS_FIELD, problem: "missing", message, expected: `"${id}" in the list`, example: id };
    });
  return [...wrong, ...missing];
}

function noList(given: JsonValue): Problem {
  const message = `'${TASKS_FIELD}' must be a list of task ids`;
  return { field: TASKS_FIELD, problem: "wrong_type", message, got: shown(given), expected: "a list of task ids" };
}

function listed(evidence: JsonObject): readonly JsonValue[] {
  const given = ownValue(evidence, TASKS_FIELD);
  return Array.isArray(given) ? given : [];
}

function numbersForIds(evidence: JsonObject): string[] {
  return listed(evidence)
    .filter((id) => typeof id === "number")
    .map(String);
}

const EXPECTED = 'an object such as {"1": true}';

/** Returns a problem for each item that is not claimed as true. A value of the wrong type claims nothing. */
function itemProblems(items: readonly string[], given: JsonValue | undefined): Problem[] {
  if (items.length === 0) return [];
  if (given === undefined || given === null) return unclaimed(items, {});
  if (isJsonObject(given)) return unclaimed(items, given);
  const message = `'${ITEMS_FIELD}' must be ${EXPECTED}`;
  const wrong = { field: ITEMS_FIELD, problem: "wrong_type", message, got: shown(given), expected: EXPECTED } as const;
  return [wrong, ...unclaimed(items, {})];
}

interface Claims {
  readonly number: number;
  readonly text: string;
  readonly values: JsonValue[];
  /** A text that may mean this item or another one. */
  unsure?: string;
}

/** Limits how many claims of unknown items are reported: one is enough to refuse. */
const UNKNOWN_MAX = 100;

function unclaimed(items: readonly string[], given: JsonObject): Problem[] {
  const { claims, unknown } = readItemClaims(items, given);
  return [...claims.flatMap((claim) => itemProblem(claim) ?? []), ...unknown];
}

function readItemClaims(items: readonly string[], given: JsonObject): { claims: Claims[]; unknown: Problem[] } {
  const claims = items.map((text, index): Claims => ({ number: index + 1, text, values: [] }));
  const known = byName(claims);
  const unknown: Problem[] = [];
  for (const [key, value] of Object.entries(given)) {
    const meant = known.get(nameOf(key)) ?? [];
    if (meant.length === 0 && value === false && unknown.length < UNKNOWN_MAX) unknown.push(unknownItem(key));
    for (const claim of meant) {
      // Two items may have the same text: a claim of `true` could mean either.
      if (meant.length > 1 && value === true) claim.unsure = key;
      else claim.values.push(value);
    }
  }
  return { claims, unknown };
}

/** Indexes the items by number, and by text where the text is not a number itself. */
function byName(claims: readonly Claims[]): Map<string, Claims[]> {
  const known = new Map(claims.map((claim) => [`${claim.number}`, [claim]]));
  for (const claim of claims) {
    const text = normalized(claim.text);
    if (!/[^\d ]/.test(text)) continue;
    const same = known.get(text);
    if (same === undefined) known.set(text, [claim]);
    else same.push(claim);
  }
  return known;
}

/** Matches characters that only change how the character before them is drawn. */
const VARIANTS = /[\uFE0E\uFE0F\u20E3]/gu;

/** Matches words, and the signs that change a condition: `> 80 %` is not `< 80 %`, and `-5` is not `5`. */
const TOKENS = /[\p{L}\p{N}\p{M}]+|!=|(?<![\p{L}\p{N}])-(?=\d)|(?![|~])[\p{Sm}\p{Sc}%‰]/gu;

/** Returns a text for comparison: without Markdown, emoji and differences in spacing. */
function normalized(text: string): string {
  const tokens = text.normalize("NFC").toLowerCase().replace(VARIANTS, "").match(TOKENS);
  return (tokens ?? []).join(" ");
}

/** Returns the index key of a claim. Only plain digits are a number: `1.` and `01` are texts, which no item has. */
function nameOf(key: string): string {
  if (/^\d+$/.test(key)) return key;
  const text = normalized(key);
  return /[^\d ]/.test(text) ? text : "";
}

/** A claim of `false` is never ignored, even for an unknown item. */
function unknownItem(key: string): Problem {
  const message = `${shown(key)} is claimed as false, and is no item of the validation gate: claim items by their numbers`;
  return { field: ITEMS_FIELD, problem: "claimed_false", message, got: "false", expected: EXPECTED };
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
