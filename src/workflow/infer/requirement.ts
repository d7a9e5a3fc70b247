/**
 * The requirements that are found in the text of a phase, and helpers to read one: its context, its name, and the words
 * that make it optional.
 */
import type { DiagnosticCode } from "../diagnostic.js";
import { plainText, withoutLeadingMarks, withoutTrailingMarks } from "../from-markdown.js";
import type { InferredRequirement } from "../object-reader.js";
import type { FieldDefinition } from "../structure.js";

/** A requirement in the text of a phase. */
export interface Requirement {
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
  /** The line, from 1. */
  readonly line: number;
  readonly column: number;
}

/** A passage that seems to ask for something and can't be read. */
export interface RequirementFault {
  readonly severity: "error" | "warning";
  readonly code: DiagnosticCode;
  readonly message: string;
  readonly hint: string;
  /** The line, from 1. */
  readonly line: number;
  readonly column: number;
}

/** The result of reading one passage. */
export type Finding = Requirement | RequirementFault;

/** The result of reading a text: requirements and faults, each in order. */
export interface Found {
  readonly requirements: readonly Requirement[];
  readonly faults: readonly RequirementFault[];
}

/** A position, from 1. */
export type Place = Pick<Requirement, "line" | "column">;

export function isFault(finding: Finding): finding is RequirementFault {
  return "severity" in finding;
}

/** Creates the warning for a passage that asks for something and can't be read. */
export function unclear(place: Place, message: string, hint: string): RequirementFault {
  return { severity: "warning", code: "REQUIREMENT_UNCLEAR", message, hint, line: place.line, column: place.column };
}

/** The context for reading a part of a text. */
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

/** Returns the text of a requirement for people. */
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
