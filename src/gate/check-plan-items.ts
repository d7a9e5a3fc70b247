/** The items of a phase's validation gate, as evidence claims them: each by its number or by its text. */
import { isJsonObject, type JsonObject, type JsonValue } from "../definition/json.js";
import { shown } from "../definition/names.js";
import type { Problem } from "./verdict.js";

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
export function itemProblems(items: readonly string[], given: JsonValue | undefined): Problem[] {
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
