/** Context for reading a part of a text, names made from text, and words that make a requirement optional. */
import { plainText, withoutLeadingMarks, withoutTrailingMarks } from "../from-markdown.js";
/** The context for reading a part of a text. */
export interface Reading {
  /** The whole text. */
  readonly text: string;
  /** True if the part is below a gate's heading. */
  readonly inGate: boolean;
  /** How the sentence before a list or table asks for it. */
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
