import { plainText, withoutLeadingMarks, withoutTrailingMarks } from "../from-markdown.js";
/** What is known where a part of a text is read. */
export interface Reading {
  /** The whole text. */
  readonly text: string;
  /** Whether the part stands below a gate's heading. */
  readonly inGate: boolean;
  /** What a sentence right before a list or table says of it. */
  readonly asked?: "required" | "optional" | "not";
  /** Whether it is inside of a checkbox's item, as an explanation of it. */
  readonly underBox?: boolean;
  /** Names of validators that the gate defines itself. */
  readonly defined: ReadonlySet<string>;
}

/** A requirement's own words: a name made of them, what people read, whether it may be left out. */

/** The longest name that is made of a text, in characters. */
const NAME_MAX = 60;

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

/** Whether a text says that what it names can be left out; not, that it is about what is optional. */
export function isOptional(text: string): boolean {
  return !/\b(?:not|non)[- ]optional\b/i.test(text) && OPTIONAL.some((pattern) => pattern.test(text));
}
