import type { FieldType } from "../workflow/structure.js";
import { PythonFault } from "./python-tokens.js";

/** How a named validator reads, for a field of a type; undefined where it doesn't go with that type. */
type Template = (type: FieldType) => string | undefined;

const ABOVE_0: Template = (type) => {
  // Of which type the value is shows at the gate, and a text is no number: "0" least of all.
  if (type === "any") {
    return "type(value) in [int, double] ? value > 0 : type(value) in [list, map] && size(visible(value)) > 0";
  }
  return isNumber(type) ? "value > 0" : NON_EMPTY(type);
};

const isNumber = (type: FieldType) => type === "integer" || type === "number" || type === "any";

/** Types of what has a size: characters that are seen, elements and members that say something. */
const SIZED: ReadonlySet<FieldType> = new Set(["string", "list", "object", "any"]);

const NON_EMPTY: Template = (type) => (SIZED.has(type) ? "size(visible(value)) > 0" : undefined);

/** The validators whose names are whole. */
const PLAIN: ReadonlyMap<string, Template> = new Map([
  ["is_true", (type) => (type === "boolean" || type === "any" ? "value == true" : undefined)],
  ["greater_than_0", ABOVE_0],
  ["positive", ABOVE_0],
  ["non_empty", NON_EMPTY],
  ["in_range", (type) => (isNumber(type) ? "value >= params.min && value <= params.max" : undefined)],
]);

/** Those whose names end in what they compare with. */
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

/** The names of all validators that are built in, `N` and `X` standing for what is compared with. */
export const VALIDATOR_NAMES: readonly string[] = [...PLAIN.keys(), ...PATTERNED.map(([name]) => name)];

/** The validators that stand for a check against reality. */
export const VERIFYING_VALIDATORS: ReadonlySet<string> = new Set(["file_exists", "directory_exists"]);

/** What a built-in validator says of `value`, in CEL. */
export function namedValidator(name: string, type: FieldType): { readonly cel: string | undefined } | undefined {
  const plain = PLAIN.get(name);
  if (plain !== undefined) return { cel: plain(type) };
  for (const [, pattern, template] of PATTERNED) {
    const end = pattern.exec(name)?.[1];
    if (end !== undefined) return { cel: template(end)(type) };
  }
  return undefined;
}

/** Whether a text can only be meant as a validator's name: a single word that no rule consists of. */
export function isValidatorName(text: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(text) && !["value", "true", "false"].includes(text) && !/^value\./.test(text);
}

/** Names that may have been meant, with the numbers of the name that was given. */
export function likelyNames(name: string): string[] {
  const number = /\d+/.exec(name)?.[0] ?? "1";
  return [...VALIDATOR_NAMES, ...VERIFYING_VALIDATORS].map((candidate) => candidate.replace(/_N$/, `_${number}`));
}

/** A constant as the language writes it. Throws `PythonFault` for a text that is no Unicode. */
export function constantToCel(value: string | number | bigint | boolean | null, at = 0): string {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number")
    return Number.isInteger(value) && Math.abs(value) < 1e21 ? value.toFixed(1) : `${value}`;
  if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw new PythonFault(at, "a text that is no Unicode");
  return JSON.stringify(value);
}

function equals(x: string, type: FieldType): string | undefined {
  const literal = /^(?:true|false)$/.test(x) || /^-?\d{1,15}(?:\.\d{1,15})?$/.test(x) ? x : undefined;
  // Half a character is no text that anybody can hand in.
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
