/** The validators that gates can name, such as `greater_than_0`, as rules in CEL. */
import type { FieldType } from "../workflow/structure.js";

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
    /^percent_gte_(\d{1,3}(?:[._]\d{1,9})?)$/,
    (n) => (type) => (isNumber(type) ? `value >= ${numberIn(n)} && value <= 100` : undefined),
  ],
  ["equals_X", /^equals_(.+)$/, (x) => (type) => equals(x, type)],
];

/** A number in a name, with `_` or `.` as decimal point. */
const NUMBER = "-?\\d{1,15}(?:[._]\\d{1,15})?";

/** Validators that compare: their name, the sign, and the pattern of all their spellings. */
type Comparing = readonly (readonly [name: string, sign: string, pattern: RegExp])[];

const AT_LEAST = "greater_than_or_equal(?:_to)?|more_than_or_equal(?:_to)?|at_least|minimum|min|gte|ge";
const AT_MOST = "less_than_or_equal(?:_to)?|fewer_than_or_equal(?:_to)?|at_most|maximum|max|lte|le";

const COMPARISONS: Comparing = [
  ["greater_than_or_equal_N", ">=", new RegExp(`^(?:${AT_LEAST})_(${NUMBER})$`)],
  ["less_than_or_equal_N", "<=", new RegExp(`^(?:${AT_MOST})_(${NUMBER})$`)],
  ["greater_than_N", ">", new RegExp(`^(?:greater_than|more_than|above|over|gt)_(${NUMBER})$`)],
  ["less_than_N", "<", new RegExp(`^(?:less_than|fewer_than|below|under|lt)_(${NUMBER})$`)],
  ["not_equals_N", "!=", new RegExp(`^not_equals?(?:_to)?_(${NUMBER})$`)],
];

/** Comparisons of a length that are spelt as names. */
const LENGTHS: Comparing = [
  ["min_length_N", ">=", /^min(?:imum)?_(?:length|size|items|count)_(\d{1,9})$/],
  ["max_length_N", "<=", /^max(?:imum)?_(?:length|size|items|count)_(\d{1,9})$/],
];

const BETWEEN = new RegExp(
  `^(?:between|from|range|in_range)_(?:(${NUMBER})_(?:and|to)_(${NUMBER})|(-?\\d+)_(-?\\d+))$`,
);

const EQUALS_NUMBER = new RegExp(`^equals_${NUMBER}$`);

/** Names of all built-in validators, with `N`, `M` and `X` for the parameters. */
export const VALIDATOR_NAMES: readonly string[] = [
  ...new Set([...PLAIN.keys(), ...[...PATTERNED, ...COMPARISONS, ...LENGTHS].map(([name]) => name), "between_N_and_M"]),
];

/** Validators that are replaced by a verifier. */
export const VERIFYING_VALIDATORS: ReadonlySet<string> = new Set(["file_exists", "directory_exists"]);

/**
 * Returns the rule of a built-in validator in CEL; undefined if there is no validator of that name, or its number is
 * unclear.
 */
export function namedValidator(name: string, type: FieldType): { readonly cel: string | undefined } | undefined {
  const plain = PLAIN.get(name);
  if (plain !== undefined) return { cel: plain(type) };
  if (isNumber(type) && EQUALS_NUMBER.test(name) && hasUnclearNumber(name)) return undefined;
  for (const [, pattern, template] of PATTERNED) {
    const end = pattern.exec(name)?.[1];
    if (end !== undefined) return { cel: template(end)(type) };
  }
  return undefined;
}

/**
 * Returns the rule of a comparison that is spelt as a name, such as `greater_than_or_equal_0_85` or `between_1_and_5`, in
 * CEL; undefined for any other name. Texts, lists and objects are compared by their length.
 */
export function comparisonValidator(name: string, type: FieldType): { readonly cel: string | undefined } | undefined {
  for (const [, sign, pattern] of LENGTHS) {
    const length = pattern.exec(name)?.[1];
    if (length !== undefined) return { cel: SIZED.has(type) ? `size(visible(value)) ${sign} ${length}` : undefined };
  }
  const bounds = boundsIn(name);
  if (bounds === undefined) return undefined;
  if (type === "boolean") return { cel: undefined };
  const of = (value: string) => bounds.map(([sign, number]) => `${value} ${sign} ${number}`).join(" && ");
  if (name.startsWith("not_")) {
    // Of a text, it could mean the text as well as its length.
    const is = type === "any" ? "type(value) in [int, double] && " : "";
    return { cel: isNumber(type) ? `${is}${of("value")}` : undefined };
  }
  const size = "size(visible(value))";
  if (type !== "any") return { cel: of(isNumber(type) ? "value" : size) };
  const lists = `type(value) in [list, map] && ${of(size)}`;
  return { cel: `type(value) in [int, double] ? ${of("value")} : ${lists}` };
}

/** Returns the rule of a built-in validator or of a comparison, as above. */
export function builtInValidator(name: string, type: FieldType): { readonly cel: string | undefined } | undefined {
  return namedValidator(name, type) ?? comparisonValidator(name, type);
}

/** Checks whether a name has a number such as `1_000`, which could be a thousand as well as one. */
export function hasUnclearNumber(name: string): boolean {
  return /_-?[1-9]\d{0,2}_\d{3}(?:_|$)/.test(name) && namesComparison(name);
}

/** The hint for such a number. */
export const UNCLEAR_NUMBER = "Write a rule, such as value > 1000: 1_000 in a name could be a thousand or 1.";

function namesComparison(name: string): boolean {
  return BETWEEN.test(name) || EQUALS_NUMBER.test(name) || COMPARISONS.some(([, , pattern]) => pattern.test(name));
}

/** Returns the signs and numbers of a comparison; undefined for another name, or if a number is unclear. */
function boundsIn(name: string): (readonly [sign: string, number: string])[] | undefined {
  if (hasUnclearNumber(name)) return undefined;
  const [, low, high, from = low, to = high] = BETWEEN.exec(name) ?? [];
  if (from !== undefined && to !== undefined) {
    return [
      [">=", numberIn(from)],
      ["<=", numberIn(to)],
    ];
  }
  for (const [, sign, pattern] of COMPARISONS) {
    const number = pattern.exec(name)?.[1];
    if (number !== undefined) return [[sign, numberIn(number)]];
  }
  return undefined;
}

/** Returns a number of a name as a literal: `0_85` is 0.85. */
function numberIn(text: string): string {
  return `${Number(text.replace("_", "."))}`;
}

/** Checks whether a text can only be the name of a validator: a single word that is not a rule. */
export function isValidatorName(text: string): boolean {
  return /^[A-Za-z_][\w.-]*$/.test(text) && !["value", "true", "false"].includes(text) && !/^value\./.test(text);
}

/** Returns validator names for a suggestion, with the numbers of the given name. */
export function likelyNames(name: string): string[] {
  const [number = "1", other = number] = name.match(/\d+/g) ?? [];
  return [...VALIDATOR_NAMES, ...VERIFYING_VALIDATORS].map((candidate) =>
    candidate.replace(/_N(?=_|$)/, `_${number}`).replace(/_M$/, `_${other}`),
  );
}

const NUMBER_ALONE = new RegExp(`^${NUMBER}$`);

function equals(x: string, type: FieldType): string | undefined {
  const truth = /^(?:true|false)$/.test(x) ? x : undefined;
  const number = NUMBER_ALONE.test(x) ? x.replace("_", ".") : undefined;
  // A lone surrogate is not valid JSON text, so no evidence can equal it.
  if (/\p{Surrogate}/u.test(x)) return undefined;
  switch (type) {
    case "string":
      return `value == ${JSON.stringify(x)}`;
    case "boolean":
      return truth && `value == ${truth}`;
    case "integer":
    case "number":
      return number && `value == ${number}`;
    case "any":
      return `value == ${truth ?? number ?? JSON.stringify(x)}`;
  }
  return undefined;
}
