/**
 * Names, types and validators by the words of a requirement, as the first specification of this system has
 * them. They are looked for in the requirement's own item or row, never in what stands around it.
 */
import { TYPE_WORDS } from "../field-types.js";
import { plainText, withoutLeadingMarks, withoutTrailingMarks } from "../markdown/inline-text.js";
import type { FieldType } from "../structure.js";

/** The longest name that is made of a text, in characters. */
const NAME_MAX = 60;

const TYPES: readonly (readonly [FieldType, readonly string[]])[] = [
  ["integer", ["count", "number", "quantity"]],
  ["list", ["list", "array", "collection"]],
  ["string", ["output", "text", "command"]],
  ["boolean", ["flag", "boolean", "true/false"]],
];

/** Names in code marks that can be a field's: `function_count`. */
export function codeNames(text: string): string[] {
  return [...text.matchAll(/`([A-Za-z_][\w-]*)`/g)].flatMap(([, name]) => name ?? []);
}

/** A name made of a text: `All tests passing` is `all_tests_passing`. Empty where nothing is left of it. */
export function nameFrom(text: string): string {
  const words = text
    .toLowerCase()
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
  let name = words.shift()?.slice(0, NAME_MAX) ?? "";
  for (const word of words) {
    if (name.length + word.length >= NAME_MAX) break;
    name += `_${word}`;
  }
  return name;
}

/** A requirement's text as people read it. */
export function describe(text: string): string {
  return withoutTrailingMarks(withoutLeadingMarks(plainText(text))).trim();
}

/** The type that a text names, or speaks of. */
export function typeFrom(text: string): { readonly type: FieldType; readonly sure: boolean } | undefined {
  const lower = text.toLowerCase();
  const named = TYPE_WORDS.get(/^`?(\w+)`?$/.exec(lower.trim())?.[1] ?? /[([]\s*`?(\w+)`?/.exec(lower)?.[1] ?? "");
  if (named !== undefined) return { type: named, sure: true };
  const words = new Set(lower.split(/[^a-z/]+/));
  const found = TYPES.find(([, signs]) => signs.some((sign) => words.has(sign) || words.has(`${sign}s`)));
  return found === undefined ? undefined : { type: found[0], sure: false };
}

/** What a text says that a value must fulfil. A claim that something is done has nothing to fulfil but to be true. */
export function validatorsFrom(text: string, type: FieldType): string[] {
  const lower = text.toLowerCase();
  if (type === "boolean" || isOptional(lower)) return [];
  const least = /\bat least (\d{1,9})\b/.exec(lower)?.[1];
  const above = /\b(?:greater|more) than (\d{1,9})\b/.exec(lower)?.[1];
  const value = type === "integer" || type === "number" ? "value" : "size(value)";
  if (least !== undefined) return [`${value} >= ${Number(least)}`];
  if (above !== undefined) return [`${value} > ${Number(above)}`];
  if (/\bgreater than\b|\bat least\b|\bnon-zero\b/.test(lower)) return ["greater_than_0"];
  if (/\bnon-empty\b|\bmust contain\b/.test(lower)) return value === "value" ? ["greater_than_0"] : ["non_empty"];
  return [];
}

/** Whether a text says that it can be left out. */
export function isOptional(text: string): boolean {
  return /\boptional(?:ly)?\b|\bmay be empty\b/i.test(text);
}
