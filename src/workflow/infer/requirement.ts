/** The requirements that a text states: their names, types and validators, and the words that make them optional. */
import type { DiagnosticCode } from "../diagnostic.js";
import { TYPE_WORDS } from "../field-types.js";
import { plainText, withoutLeadingMarks, withoutTrailingMarks } from "../from-markdown.js";
import { nearest, RESERVED } from "../names.js";
import type { InferredRequirement } from "../report.js";
import type { FieldDefinition, FieldType } from "../structure.js";
import {
  comparisonsIn,
  isKnownValidator,
  isNamedValidator,
  proseValidators,
  typeCompared,
  validatorHint,
} from "./validators.js";

export interface Place {
  readonly line: number;
  readonly column: number;
}

export interface Requirement extends Place {
  readonly field: FieldDefinition;
  /** Names of validators, or rules. */
  readonly validators: readonly string[];
  /** The form in which the text states it. */
  readonly from: InferredRequirement["from"];
  readonly certainty: InferredRequirement["certainty"];
  /** True if something in the text gives the type; otherwise it is a text by default. */
  readonly typed: boolean;
  /** True if the text gives the name; otherwise the name is made of the whole claim. */
  readonly named: boolean;
}

/** A passage that seems to ask for something and can't be read. */
export interface RequirementFault extends Place {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly hint: string;
}

export type Finding = Requirement | RequirementFault;

export interface Found {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly RequirementFault[];
}

export function isFault(finding: Finding): finding is RequirementFault {
  return "severity" in finding;
}

export function fault(
  code: DiagnosticCode,
  { line, column }: Place,
  message: string,
  hint: string,
  severity: RequirementFault["severity"] = "error",
): RequirementFault {
  return { severity, code, message, hint, line, column };
}

/** Creates the warning for a passage that asks for something and can't be read. */
export function unclear(place: Place, message: string, hint: string): RequirementFault {
  return fault("REQUIREMENT_UNCLEAR", place, message, hint, "warning");
}

export interface Reading {
  /** The whole text. */
  readonly text: string;
  /** True if the part is below a gate's heading. */
  readonly inGate: boolean;
  /** The way in which the sentence before a list or table asks for it. */
  readonly asked?: "required" | "optional" | "not";
  /** True inside the item of a checkbox, which it explains. */
  readonly underBox?: boolean;
  /** Names of validators that the gate defines itself. */
  readonly defined: ReadonlySet<string>;
}

/** Maximum length of a name made from text, in characters. */
const NAME_MAX = 60;

/** Returns a name made from text: `All tests passing` becomes `all_tests_passing`. Empty if nothing is left. */
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

export function describe(text: string): string {
  return withoutTrailingMarks(withoutLeadingMarks(plainText(text))).trim();
}

const OPTIONAL = [
  /^\W*optional(?:ly)?\b/i,
  /[([]\s*optional\b/i,
  /\b(?:is|are|as) optional\b/i,
  /[,;–—-]\s*optional\b/i,
  /\boptional\s*[):;,.]/i,
  /\boptional\s*$/i,
  /\bmay be empty\b/i,
  /\brequired\s*[:=]\s*(?:no|false)\b/i,
];

/** Checks whether a text says that its requirement may be left out, not that it is about something optional. */
export function isOptional(text: string): boolean {
  return !/\b(?:not|non)[- ]optional\b/i.test(text) && OPTIONAL.some((pattern) => pattern.test(text));
}

interface Valued {
  readonly name: string;
  readonly words: string;
  readonly optional: boolean;
  readonly description: string;
  readonly from: Requirement["from"];
}

/** Returns the requirement for a value; its type and validators are guesses. */
export function valued(
  { name, words, optional, description, from }: Valued,
  { line, column }: Place,
  defined: ReadonlySet<string>,
): Finding[] {
  const place = { line, column };
  if (RESERVED.has(name)) return [unclear(place, `no field may be called ${name}`, "Give it another name.")];
  const spoken = words.replaceAll("_", " ");
  const type = typeFor(spoken, name)?.type ?? "string";
  const named = validatorsNamed(words, defined);
  const prose = proseValidators(named.rest.replaceAll("_", " "), type);
  const hint = "Name its type, as in (integer, at least 3), or write a table with a Validator.";
  return [
    {
      field: { name, type, required: !optional, ...(description === "" ? {} : { description }) },
      validators: [...new Set([...named.names, ...prose.validators])],
      from,
      certainty: "guess",
      typed: typeFromWords(spoken, name) !== undefined,
      named: true,
      ...place,
    },
    ...prose.unknown.map((said) =>
      unclear(place, `"${said}" can't be read as a rule for ${name}, which is read as a field of type ${type}`, hint),
    ),
    ...misspelt(words, name, place, defined),
  ];
}

export interface FoundType {
  readonly type: FieldType;
  readonly sure: boolean;
}

/** Returns the type that words mention, or that their comparison implies. */
export function typeFor(words: string, name: string): FoundType | undefined {
  const compared = typeCompared(comparisonsIn(words));
  return typeFromWords(words, name) ?? (compared && { type: compared, sure: false });
}

type TypeWords = ReadonlyMap<string, FieldType>;

function typeWords(words: Partial<Record<FieldType, string>>): TypeWords {
  const entries = (Object.keys(words) as FieldType[]).flatMap((type) => {
    return (words[type] ?? "").split(", ").map((word) => [word, type] as const);
  });
  return new Map(entries);
}

function ofWord(types: TypeWords, word: string): FieldType | undefined {
  return types.get(word) ?? (word.endsWith("s") ? types.get(word.slice(0, -1)) : undefined);
}

/** Other words in type columns of tables. */
const IN_TABLES = typeWords({
  integer: "count, quantity, whole number, long, uint, natural number",
  number: "double, decimal, percent, percentage, numeric, ratio, real",
  string:
    "text, file, path, filename, file path, filepath, url, uri, link, date, datetime, timestamp, markdown, output, command, char, hash, sha, uuid, email, word",
  boolean: "flag, true/false, yes/no, true or false, checkbox, tick",
  list: "collection, set, tuple, sequence",
  object: "dictionary, map, mapping, record, json, json object",
});

/** All words that a type column may hold. */
export const TABLE_TYPES: readonly string[] = [...TYPE_WORDS.keys(), ...IN_TABLES.keys()];

/** Returns the type that one or two words in a table mean. */
export function typeNamed(words: string): FoundType | undefined {
  const lower = words.toLowerCase().trim().replace(/\s+/g, " ");
  const named = TYPE_WORDS.get(lower);
  if (named !== undefined) return { type: named, sure: true };
  if (/\[\]$/.test(lower) || /^(?:list|array|set|tuple|sequence|collection)s?\s*(?:[[<(]|of\b)/.test(lower))
    return { type: "list", sure: true };
  if (/^(?:dict|map|mapping|object|record|dictionary)\s*(?:[[<(]|of\b)/.test(lower))
    return { type: "object", sure: true };
  const type = IN_TABLES.get(lower) ?? ofWord(TYPE_WORDS, lower) ?? ofWord(IN_TABLES, lower);
  return type && { type, sure: false };
}

/** Words in prose that always mean a type. */
const PLAIN = typeWords({
  integer: "integer, int",
  number: "float, decimal",
  boolean: "boolean, bool",
  string: "string, str",
  object: "dict, dictionary, mapping",
  list: "list, array",
});

/** Words in prose that suggest a type. */
const SPOKEN = typeWords({
  integer: "count, number, quantity",
  list: "list, array, collection",
  string: "output, text, command",
  boolean: "flag, boolean, true/false",
});

/** Returns the type in parentheses or said directly; else the one of the name; else the one that the words suggest. */
export function typeFromWords(words: string, name: string): FoundType | undefined {
  const lower = words.toLowerCase();
  const [, alone] = /^[\s:=–—-]*(\w+)\s*$/.exec(lower) ?? [];
  for (const part of [alone ?? "", ...bracketed(lower)]) {
    const type = TYPE_WORDS.get(part);
    if (type !== undefined) return { type, sure: true };
  }
  return first(lower, PLAIN) ?? first(namedWords(name), SPOKEN, true) ?? first(lower, SPOKEN);
}

function validatorsNamed(words: string, defined: ReadonlySet<string>) {
  const names: string[] = [];
  const rest = words.replace(/(?<![\w/.\\-])[A-Za-z]\w*_\w+/g, (word) => {
    if (!isNamedValidator(word, defined)) return word;
    names.push(word);
    return " ";
  });
  return { names, rest };
}

/** Returns warnings for words in brackets that are almost types or validators: `(integr, greater_then_0)`. */
function misspelt(words: string, name: string, place: Place, defined: ReadonlySet<string>): Finding[] {
  return bracketed(words).flatMap((part): Finding[] => {
    if (!/^[A-Za-z]\w*$/.test(part) || part === name || typeNamed(part) !== undefined) return [];
    if (isKnownValidator(part, defined)) return [];
    const ignored = (what: string) => `there is no ${what} "${part}", so it is ignored for ${name}`;
    if (part.includes("_")) {
      return [fault("VALIDATOR_UNKNOWN", place, ignored("validator"), validatorHint(part, defined), "warning")];
    }
    const type = part.length < 5 ? undefined : nearest(part, TYPE_WORDS.keys());
    if (type === undefined) return [];
    return [fault("FIELD_TYPE_UNKNOWN", place, ignored("type"), `Did you mean ${type}?`, "warning")];
  });
}

/** Returns the parts of a text in brackets: `(integer, at least 3)` has two. */
function bracketed(text: string): string[] {
  return [...text.matchAll(/[([]([^()[\]]*)[\])]/g)]
    .flatMap(([, inner = ""]) => inner.split(/[,;]/))
    .map((part) => part.replace(/^\s*(?:type|an?)\s*[:=]?\s+/, "").trim())
    .filter((part) => part !== "");
}

/** Returns the type of the first word that means one; `fromEnd` finds the last. */
function first(text: string, types: TypeWords, fromEnd = false): FoundType | undefined {
  const found = text.split(/[^a-z/]+/).flatMap((word) => ofWord(types, word) ?? []);
  const type = found.at(fromEnd ? -1 : 0);
  return type && { type, sure: false };
}

/** Returns the words of a name: `functionCount` and `function_count` both mention a count. */
function namedWords(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/[_-]+/g, " ")
    .toLowerCase();
}
