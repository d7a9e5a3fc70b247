/** Reads validators and comparisons as people write them: `> 5`, `at least 3 items`, `under 100`. */
import {
  comparisonValidator,
  hasUnclearNumber,
  isValidatorName,
  likelyNames,
  namedValidator,
  UNCLEAR_NUMBER,
  VERIFYING_VALIDATORS,
} from "../../rules/validators.js";
import { codeParts, plainText } from "../from-markdown.js";
import { nearest } from "../names.js";
import type { FieldType } from "../structure.js";
import { decoded } from "./inline-marks.js";

interface CellValidators {
  readonly validators: readonly string[];
  /** True if the field is required, false if it is optional, if the cell says so. */
  readonly required?: boolean;
  /** True if all parts are validators and rules, not words. */
  readonly sure: boolean;
  /** Parts without a meaning. */
  readonly unknown: readonly string[];
}

const REQUIRED = /^(?:required|mandatory|must be present)$/i;
const OPTIONAL = /^(?:optional|may be empty|can be empty|not required)$/i;

/** Words that only require a value. */
const NOTHING = /^(?:|[-–—.]+|none|n\/?a|any|anything|no|present|provided|not null|is not none|not none)$/i;

/** Reads a cell. `defined` has the names of validators that the gate defines itself. */
export function cellValidators(cell: string, type: FieldType, defined: ReadonlySet<string>): CellValidators {
  const clauses = clausesOf(decoded(cell));
  const validators: string[] = [];
  const unknown: string[] = [];
  let required: boolean | undefined;
  let sure = true;
  for (const clause of clauses) {
    const plain = clause.trim();
    if (REQUIRED.test(plain)) required = true;
    else if (OPTIONAL.test(plain)) required ??= false;
    else if (!NOTHING.test(plain)) {
      const read = clauseValidators(plain, type, defined);
      if (read === undefined) unknown.push(plain);
      else validators.push(...read.validators);
      sure &&= read?.sure ?? false;
    }
  }
  return { validators, unknown, sure, required };
}

/** Returns the validators in a sentence. A claim that something is done only has to be true. */
export function proseValidators(text: string, type: FieldType): Omit<CellValidators, "required" | "sure"> {
  if (type === "boolean") return { validators: [], unknown: [] };
  const lower = text.toLowerCase();
  const read = comparisonsIn(lower).map((comparison) => ({ comparison, rule: ruleOf(comparison, type) }));
  const validators = read.flatMap(({ rule }) => rule ?? []);
  const unknown = read.flatMap(({ comparison, rule }) => (rule === undefined ? [comparison.said.trim()] : []));
  if (read.length === 0 && /\b(?:greater|more) than\b|\bat least\b|\bnon-?zero\b/.test(lower))
    validators.push("greater_than_0");
  if (/\bnon-?empty\b|\bnot(?: be)? empty\b|\bmust contain\b/.test(lower)) validators.push(filled(type));
  if (/\bpositive\b/.test(lower) && type !== "string") validators.push("positive");
  return { validators: [...new Set(validators)], unknown };
}

/** Checks whether a word is a validator's name. */
export function isNamedValidator(word: string, defined: ReadonlySet<string>): boolean {
  if (defined.has(word) || VERIFYING_VALIDATORS.has(word) || namedValidator(word, "any") !== undefined) return true;
  // A comparison in words keeps the rule that it is read as.
  return wholeComparison(word) === undefined && comparisonValidator(word, "any") !== undefined;
}

/** Checks whether a word is a validator's name, or means a comparison: `under_100`. */
export function isKnownValidator(word: string, defined: ReadonlySet<string>): boolean {
  return isNamedValidator(word, defined) || wholeComparison(word) !== undefined;
}

/** Returns the hint for a part without a meaning. */
export function validatorHint(part: string, defined: ReadonlySet<string>): string {
  if (hasUnclearNumber(part)) return UNCLEAR_NUMBER;
  const meant = nearest(part, [...defined, ...likelyNames(part)]);
  const instead = "Write a validator's name, > 0, or a rule such as value > 0; put text for people under Description.";
  return meant === undefined ? instead : `Did you mean ${meant}? ${instead}`;
}

interface Comparison {
  readonly sign: string;
  readonly number: number;
  /** The word after the number, in lower case; empty if it doesn't count anything. */
  readonly unit: string;
  /** The comparison as written. */
  readonly said: string;
}

const COUNTED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
const NUMBER = `-?\\d{1,3}(?:,\\d{3})+(?![\\d,])|-?\\d{1,15}(?:\\.\\d{1,15})?|(?:${COUNTED.join("|")})\\b`;

const UNIT = "(?:\\s*(%|[a-z]+(?:-[a-z]+)?))?";

const BETWEEN = new RegExp(
  `\\b(?:between|from|in (?:the )?range(?: of)?)\\s*\\(?\\s*(${NUMBER})%?\\s*(?:and|to|through|\\.\\.\\.?|[-–,])\\s*(${NUMBER})${UNIT}`,
  "gi",
);

/** The words for each comparison, longer ones first. */
const SAID: readonly (readonly [sign: string, words: string])[] = [
  [">=", "greater than or equal to|more than or equal to|at least|no less than|not less than|no fewer than"],
  [">=", "a minimum of|minimum of|minimum|min|gte|ge|>=|≥|=>"],
  ["<=", "less than or equal to|fewer than or equal to|at most|no more than|not more than"],
  ["<=", "a maximum of|maximum of|maximum|max|up to|lte|le|<=|≤|=<"],
  [">", "greater than|more than|larger than|higher than|longer than|above|over|exceeds|gt|>"],
  ["<", "less than|fewer than|smaller than|lower than|shorter than|under|below|lt|<"],
  ["!=", "not equal to|is not|!=|<>|≠"],
  ["==", "equal to|equals|exactly|eq|===|==|="],
];

const SIGNS = SAID.map(([, words]) => words).join("|");

const ESCAPED = SIGNS.split("|").map((words) =>
  /^[a-z]/.test(words) ? `\\b(?:length |len |size )?${words}(?![a-z])` : words.replace(/[!<>=]/g, "\\$&"),
);

const PHRASE = new RegExp(`(?<![<>=!-])(${ESCAPED.join("|")})\\s*(${NUMBER})${UNIT}`, "gi");

export function comparisonsIn(text: string): Comparison[] {
  const rest = normal(text);
  const ranges = [...rest.matchAll(BETWEEN)].flatMap(([said, low = "", high = "", unit = ""]) => [
    comparison(">=", low, unit, said),
    comparison("<=", high, unit, said),
  ]);
  const others = [...rest.replace(BETWEEN, " ").matchAll(PHRASE)].map(([said, words = "", number = "", unit = ""]) =>
    comparison(signOf(words), number, unit, said),
  );
  return [...ranges, ...others];
}

const CHARACTERS = /^(?:char(?:acter)?s?|letters?|long|symbols?)$/;
const ELEMENTS = /^(?:items?|entr(?:y|ies)|elements?|members?)$/;

/** Returns the type of a compared value, if nothing else gives it. */
export function typeCompared(comparisons: readonly Comparison[]): FieldType | undefined {
  const [first] = comparisons;
  if (first === undefined) return undefined;
  if (CHARACTERS.test(first.unit)) return "string";
  return ELEMENTS.test(first.unit) ? "list" : "number";
}

/** Splits a cell at commas, semicolons and "and". A code span is one part. */
function clausesOf(cell: string): string[] {
  const parts = codeParts(cell);
  const codes = parts.filter(({ code }) => code).map(({ text }) => text.replaceAll("`", "").trim());
  const around = parts
    .flatMap(({ code, text }) => (code ? [] : [text]))
    .join(" ")
    .replace(/\band\b|[,;&+]/g, " ");
  if (codes.length > 0 && around.trim() === "") return codes.flatMap(split);
  return split(plainText(cell));
}

const RULE =
  /\b(?:value|evidence|artifacts|session|params|plan)\b\s*(?:[<>=!.[)&|%*/+?-]|in\b)|\b\w+\((?:visible\()?value\b|^!value/;

/** Patterns that end a part, or keep it together. A rule has its own signs for "and". */
const WITHIN_RULES = /["'([{)\]}]|[,;](?!\d{3}\b)|\band\b/g;
const WITHIN_WORDS = /["'([{)\]}]|[,;](?!\d{3}\b)|\band\b|&&/g;

function split(text: string): string[] {
  const [, before = "", lambda] = /^(.*?)(\blambda\b.*)$/s.exec(text) ?? [];
  if (lambda !== undefined) {
    const [first = "", ...rest] = lambda.split(/;(?=\s)/);
    return [...split(before), first.trim(), ...rest.flatMap(split)].filter((clause) => clause !== "");
  }
  if (/^\s*one of\b/i.test(text) || /^\s*(?:between|in range)\b/i.test(text)) return [text];
  const clauses: string[] = [];
  const signs = RULE.test(text) ? WITHIN_RULES : WITHIN_WORDS;
  let depth = 0;
  let quote = "";
  let start = 0;
  for (const { index, 0: sign } of text.matchAll(signs)) {
    if (quote !== "" || sign === '"' || sign === "'") quote = quote === "" ? sign : quote === sign ? "" : quote;
    else if ("([{".includes(sign)) depth += 1;
    else if (")]}".includes(sign)) depth -= 1;
    else if (depth === 0 && !/\bbetween\s+\S+\s*$/i.test(text.slice(start, index))) {
      clauses.push(text.slice(start, index));
      start = index + sign.length;
    }
  }
  return [...clauses, text.slice(start)].map((clause) => clause.trim()).filter((clause) => clause !== "");
}

/** Undefined if the part of a cell has no meaning. Words that look like names are looked up later. */
function clauseValidators(clause: string, type: FieldType, defined: ReadonlySet<string>) {
  if (defined.has(clause) || VERIFYING_VALIDATORS.has(clause) || /^lambda\b/.test(clause) || RULE.test(clause)) {
    return { validators: [clause], sure: true };
  }
  const name = clause.toLowerCase().replace(/[\s-]+/g, "_");
  for (const candidate of [clause, name]) {
    if (namedValidator(candidate, type) === undefined && !VERIFYING_VALIDATORS.has(candidate)) continue;
    // `equals_X` accepts anything for X.
    if (!/^equals_/.test(candidate) || candidate === clause)
      return { validators: [candidate], sure: candidate === clause };
  }
  const rules = wholeComparison(clause)?.map((comparison) => ruleOf(comparison, type));
  if (rules?.every((rule) => rule !== undefined)) {
    return { validators: rules.flatMap((rule) => rule ?? []), sure: /^[<>=!≥≤≠]/.test(clause) };
  }
  if (comparisonValidator(name, type) !== undefined) return { validators: [name], sure: name === clause };
  const said = equalTo(clause) ?? oneOf(clause) ?? inWords(clause, type);
  if (said !== undefined) return { validators: [said], sure: false };
  return isValidatorName(clause) ? { validators: [clause], sure: true } : undefined;
}

const CLAUSE_MAX = 200;

/** `is 5` compares in a cell, and has other meanings in prose. */
const EQUAL_IN_CELL = new RegExp(`^is\\s+(?=${NUMBER})`, "i");
const RANGE = new RegExp(`^(${NUMBER})%?\\s*(?:\\.\\.\\.?|–|-|to)\\s*(${NUMBER})\\s*(%?)$`, "i");

/** Returns the comparisons of a part that consists of comparisons alone. */
function wholeComparison(clause: string): Comparison[] | undefined {
  if (clause.length > CLAUSE_MAX) return undefined;
  const text = clause.trim().replace(EQUAL_IN_CELL, "== ");
  const chain = chained(text);
  if (chain !== undefined) return chain;
  const bare = text
    .replace(/^(?:value|x|n|it|len(?:gth)?|size|must(?: be)?|should(?: be)?|is|be)\s+/i, "")
    .replace(/^(?:must be|be|is)\s+/i, "");
  const range = RANGE.exec(bare);
  if (range !== null) return comparisonsIn(`between ${range[1]} and ${range[2]}${range[3]}`);
  const found = comparisonsIn(bare);
  const read = found.reduce((left, { said }) => left.replace(said, " "), normal(bare));
  const left = read.replace(/[\s()]+/g, " ").trim();
  return found.length > 0 && /^(?:or longer|long|in length|chars?)?$/.test(left) ? found : undefined;
}

const CHAIN = new RegExp(`^(${NUMBER})\\s*(<=?)\\s*(?:value|x|n|it)\\s*(<=?)\\s*(${NUMBER})$`, "i");

/** Returns both comparisons of `0 < x <= 10`. */
function chained(text: string): Comparison[] | undefined {
  const [, low, first, second, high] = CHAIN.exec(text) ?? [];
  if (low === undefined || high === undefined || first === undefined || second === undefined) return undefined;
  return [comparison(first === "<" ? ">" : ">=", low, "", text), comparison(second, high, "", text)];
}

const NO_UNIT =
  /^(?:and|or|but|for|in|of|with|to|when|if|each|per|is|are|must|from|as|that|which|by|on|at|inclusive|exclusive|total)$/;

function comparison(sign: string, number: string, unit: string, said: string): Comparison {
  const counted = COUNTED.indexOf(number.toLowerCase());
  const lower = unit.toLowerCase();
  return {
    sign,
    number: counted === -1 ? Number(number.replaceAll(",", "")) : counted,
    unit: NO_UNIT.test(lower) ? "" : lower,
    said,
  };
}

/** Returns the words of a name: `max_length_10` and `max 10` mean the same. `5 or more` becomes `at least 5`. */
function normal(text: string): string {
  return text
    .replace(OR_MORE, (_, number: string, percent: string, way: string) => {
      return `${/^(?:more|above|higher)$/i.test(way) ? "at least" : "at most"} ${number}${percent}`;
    })
    .replace(/[_\s]+/g, " ")
    .replace(/(?<=[a-z])-(?=[a-z])/gi, " ")
    .replace(/\b(max|min|maximum|minimum) (?:length|size|len|items)\b/gi, "$1");
}

const OR_MORE = new RegExp(
  `(?:(?<![<>=≥≤])[<>=≥≤]+\\s*|\\b(?:at least|exactly|is)\\s+)?(?<![\\w.,-])(${NUMBER})(%?)\\s+or\\s+(more|above|higher|less|fewer|below)\\b`,
  "gi",
);

/** Returns a comparison as a rule; undefined if it doesn't fit the type. For texts and lists it compares the length. */
function ruleOf({ sign, number, unit }: Comparison, type: FieldType): string | undefined {
  if (type === "boolean") return undefined;
  if (type === "integer" || type === "number") return `value ${sign} ${number}`;
  if (unit === "%") return type === "any" ? `value ${sign} ${number}` : undefined;
  if (type === "list" || type === "object") return CHARACTERS.test(unit) ? undefined : `size(value) ${sign} ${number}`;
  if (CHARACTERS.test(unit)) return `size(visible(value)) ${sign} ${number}`;
  if (type === "any") return ELEMENTS.test(unit) ? `size(value) ${sign} ${number}` : `value ${sign} ${number}`;
  return unit === "" ? `size(visible(value)) ${sign} ${number}` : undefined;
}

/** `== "done"`, `= true`. */
function equalTo(clause: string): string | undefined {
  const pattern = /^(?<sign>={1,3}|!=)\s*(?:(?<quote>["'])(?<quoted>.*)\k<quote>|(?<word>[A-Za-z][\w-]*))$/;
  const { sign, quoted, word = "" } = pattern.exec(clause)?.groups ?? {};
  if (sign === undefined) return undefined;
  const literal = word === "true" || word === "false" ? word : JSON.stringify(quoted ?? word);
  return `value ${sign === "!=" ? "!=" : "=="} ${literal}`;
}

/** `one of a, b or c`. */
function oneOf(clause: string): string | undefined {
  const [lead] = /^(?:one of|in)\s*(?::\s*)?/i.exec(clause) ?? [];
  const listed = clause
    .slice(lead?.length)
    .replace(/^[[({]/, "")
    .replace(/[\])}]$/, "");
  if (lead === undefined || listed === "" || /[[\](){}]/.test(listed)) return undefined;
  const items = listed.split(/[,/|](?:\s*or\s)?|\sor\s/).map((item) => item.trim().replace(/^(["'`])(.*)\1$/s, "$2"));
  if (items.length < 2 || items.includes("")) return undefined;
  const areNumbers = items.every((item) => /^-?\d{1,15}(?:\.\d{1,15})?$/.test(item));
  return `value in [${items.map((item) => (areNumbers ? item : JSON.stringify(item))).join(", ")}]`;
}

function inWords(clause: string, type: FieldType): string | undefined {
  const text = clause
    .toLowerCase()
    .replace(/[_\s-]+/g, " ")
    .replace(/^(?:must|should) be /, "");
  if (/^(?:(?:must )?not be empty|not empty|nonempty|must contain|must have content)$/.test(text)) return filled(type);
  if (/^(?:non zero|nonzero|not zero|not 0|> ?zero)$/.test(text)) return "greater_than_0";
  if (/^(?:non negative|nonnegative|not negative)$/.test(text)) return "value >= 0";
  if (text === "negative") return "value < 0";
  return /^(?:true|must be true|checked)$/.test(text) && type === "boolean" ? "is_true" : undefined;
}

function filled(type: FieldType): string {
  return type === "integer" || type === "number" ? "greater_than_0" : "non_empty";
}

function signOf(words: string): string {
  const lower = words.toLowerCase().replace(/^(?:length|len|size) /, "");
  return SAID.find(([, signs]) => signs.split("|").includes(lower))?.[0] ?? "==";
}
