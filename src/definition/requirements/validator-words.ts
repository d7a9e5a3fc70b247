/** Validators by what a cell holds, or by what a sentence says. */
import { codeParts, plainText } from "../markdown/inline-text.js";
import { nearest } from "../nearest.js";
import { isValidatorName, likelyNames, namedValidator, VERIFYING_VALIDATORS } from "../rules/named-validators.js";
import type { FieldType } from "../structure.js";
import { comparisonsIn, ruleOf, wholeComparison } from "./comparisons.js";
import { decoded } from "./inline-marks.js";

/** What a cell of validators says. */
export interface CellValidators {
  readonly validators: readonly string[];
  /** Whether the field may be left out, where the cell says so. */
  readonly required?: boolean;
  /** Whether all of it was written as validators and rules, not in words. */
  readonly sure: boolean;
  /** Parts that mean nothing. */
  readonly unknown: readonly string[];
}

/** A word that asks for nothing more than that the value is there. */
const NOTHING = /^(?:|[-–—.]+|none|n\/?a|any|anything|no|present|provided|not null|is not none|not none)$/i;
const REQUIRED = /^(?:required|mandatory|must be present)$/i;
const OPTIONAL = /^(?:optional|may be empty|can be empty|not required)$/i;
const RULE =
  /\b(?:value|evidence|artifacts|session|params|plan)\b\s*(?:[<>=!.[)&|%*/+?-]|in\b)|\b\w+\((?:visible\()?value\b|^!value/;

/** What ends a part, and what holds one together. A rule has signs of its own for "and". */
const WITHIN_RULES = /["'([{)\]}]|[,;](?!\d{3}\b)|\band\b/g;
const WITHIN_WORDS = /["'([{)\]}]|[,;](?!\d{3}\b)|\band\b|&&/g;

/** Reads a cell. `defined` are the names of validators that the gate defines itself. */
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
  return { validators, unknown, sure, ...(required === undefined ? {} : { required }) };
}

/** What is written in code marks is one part, whatever it holds; the rest is split at commas, semicolons and "and". */
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

/** One part of a cell; undefined if it means nothing. Names that look like one are left to be looked up. */
function clauseValidators(clause: string, type: FieldType, defined: ReadonlySet<string>) {
  if (defined.has(clause) || VERIFYING_VALIDATORS.has(clause) || /^lambda\b/.test(clause) || RULE.test(clause)) {
    return { validators: [clause], sure: true };
  }
  const name = clause.toLowerCase().replace(/[\s-]+/g, "_");
  for (const candidate of [clause, name]) {
    if (namedValidator(candidate, type) === undefined && !VERIFYING_VALIDATORS.has(candidate)) continue;
    // `equals_X` takes anything for X.
    if (!/^equals_/.test(candidate) || candidate === clause)
      return { validators: [candidate], sure: candidate === clause };
  }
  const rules = wholeComparison(clause)?.map((comparison) => ruleOf(comparison, type));
  if (rules?.every((rule) => rule !== undefined)) {
    return { validators: rules.flatMap((rule) => rule ?? []), sure: /^[<>=!≥≤≠]/.test(clause) };
  }
  const said = equalTo(clause) ?? oneOf(clause) ?? inWords(clause, type);
  if (said !== undefined) return { validators: [said], sure: false };
  return isValidatorName(clause) ? { validators: [clause], sure: true } : undefined;
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

/** What prose says of a value. A claim that something is done has nothing to fulfil but to be true. */
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

/** Whether a word is a validator's name. */
export function isNamedValidator(word: string, defined: ReadonlySet<string>): boolean {
  return defined.has(word) || VERIFYING_VALIDATORS.has(word) || namedValidator(word, "any") !== undefined;
}

/** Whether a word is a validator's name, or means a comparison: `under_100`. */
export function isKnownValidator(word: string, defined: ReadonlySet<string>): boolean {
  return isNamedValidator(word, defined) || wholeComparison(word) !== undefined;
}

/** What to write in place of a part that means nothing. */
export function validatorHint(part: string, defined: ReadonlySet<string>): string {
  const meant = nearest(part, [...defined, ...likelyNames(part)]);
  const instead =
    "Write a validator's name, > 0, or a rule such as value > 0; what is to be read by people alone goes under Description.";
  return meant === undefined ? instead : `Did you mean ${meant}? ${instead}`;
}
