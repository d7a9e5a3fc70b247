/** The validators that gates can name, such as `greater_than_0`, as rules in CEL. */
import type { FieldType } from "../workflow/structure.js";
import { PythonFault } from "./python-tokens.js";

/** Returns a validator's rule for a type of field; undefined if it doesn't fit the type. */
type Template = (type: FieldType) => string | undefined;

const ABOVE_0: Template = (type) => {
  // The type of the value is known at the gate. A text is never a number, not even "0".
  if (type === "any") {
    return "type(value) in [int, double] ? value > 0 : type(value) in [list, map] && size(visible(value)) > 0";
  }
  return isNumber(type) ? "value > 0" : NON_EMPTY(type);
};

const isNumber = (type: FieldType) => type === "integer" || type === "number" || type === "any";

/** Types with a size: visible characters, or items with content. */
const SIZED: ReadonlySet<FieldType> = new Set(["string", "list", "object", "any"]);

const NON_EMPTY: Template = (type) => (SIZED.has(type) ? "size(visible(value)) > 0" : undefined);

/** Validators without a parameter in their name. */
const PLAIN: ReadonlyMap<string, Template> = new Map([
  ["is_true", (type) => (type === "boolean" || type === "any" ? "value == true" : undefined)],
  ["greater_than_0", ABOVE_0],
  ["positive", ABOVE_0],
  ["non_empty", NON_EMPTY],
  ["in_range", (type) => (isNumber(type) ? "value >= params.min && value <= params.max" : undefined)],
]);

/** Validators whose name ends in a parameter. */
const PATTERNED: readonly (readonly [name: string, pattern: RegExp, template: (end: string) => Template])[] = [
  [
    "min_length_N",
    /^min_length_(\d{1,9})$/,
    (n) => (type) => (SIZED.has(type) ? `size(visible(value)) >= ${Number(n)}` : undefined),
  ],
  [
    "percent_gte_N",
    /^percent_gte_(\d{1,3}(?:\.\d{1,9})?)$/,
    (n) => (type) => (isNumber(type) ? `value >= ${Number(n)} && value <= 100` : undefined),
  ],
  ["equals_X", /^equals_(.+)$/, (x) => (type) => equals(x, type)],
];

/** Names of all built-in validators, with `N` and `X` for the parameter. */
export const VALIDATOR_NAMES: readonly string[] = [...PLAIN.keys(), ...PATTERNED.map(([name]) => name)];

/** Validators that are replaced by a verifier. */
export const VERIFYING_VALIDATORS: ReadonlySet<string> = new Set(["file_exists", "directory_exists"]);

/** Returns the rule of a built-in validator in CEL; undefined if there is no validator of that name. */
export function namedValidator(name: string, type: FieldType): { readonly cel: string | undefined } | undefined {
  const plain = PLAIN.get(name);
  if (plain !== undefined) return { cel: plain(type) };
  for (const [, pattern, template] of PATTERNED) {
    const end = pattern.exec(name)?.[1];
    if (end !== undefined) return { cel: template(end)(type) };
  }
  return undefined;
}

/** Checks whether a text can only be the name of a validator: a single word that is not a rule. */
export function isValidatorName(text: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(text) && !["value", "true", "false"].includes(text) && !/^value\./.test(text);
}

/** Returns validator names for a suggestion, with the numbers of the given name. */
export function likelyNames(name: string): string[] {
  const number = /\d+/.exec(name)?.[0] ?? "1";
  return [...VALIDATOR_NAMES, ...VERIFYING_VALIDATORS].map((candidate) => candidate.replace(/_N$/, `_${number}`));
}

/** Returns a constant in CEL. Throws `PythonFault` for a text that is not valid Unicode. */
export function constantToCel(value: string | number | bigint | boolean | null, at = 0): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : `${value}`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value))
    throw new PythonFault(at, "a text that is not valid Unicode");
  return JSON.stringify(value);
}

function equals(x: string, type: FieldType): string | undefined {
  const literal = /^(?:true|false)$/.test(x) || /^-?\d{1,15}(?:\.\d{1,15})?$/.test(x) ? x : undefined;
  // A lone surrogate is not valid JSON text, so no evidence can equal it.
  if (/\p{Surrogate}/u.test(x)) return undefined;
  switch (type) {
    case "string":
      return `value == ${constantToCel(x)}`;
    case "boolean":
      return literal === "true" || literal === "false" ? `value == ${literal}` : undefined;
    case "integer":
    case "number":
      return literal === undefined || /^[tf]/.test(literal) ? undefined : `value == ${literal}`;
    case "any":
      return `value == ${literal ?? constantToCel(x)}`;
    default:
      return undefined;
  }
}
