/**
 * The budget of an answer, and what is left out of an answer that exceeds it. An answer that can be requested
 * again is paged instead (pages.ts).
 */

import { brief, compact, type WireObject } from "./wire.js";

/** Characters of JSON that count as one token. */
const CHARACTERS_PER_TOKEN = 4;
/** The budget of an answer in tokens: the default, and the smallest. */
const DEFAULT_TOKENS = 6000;
const LEAST_TOKENS = 1000;

/** Returns how many characters of JSON an answer may have. */
export function maxCharsFor(tokens = DEFAULT_TOKENS): number {
  return Math.max(tokens, LEAST_TOKENS) * CHARACTERS_PER_TOKEN;
}

/** Returns true if a value has at most so many characters of JSON. */
export function fits(value: unknown, maxChars: number): boolean {
  return lengthOf(value) <= maxChars;
}

/** Decides what an answer can do without. */
export interface ShrinkRules {
  /** Keys that an answer must have. */
  readonly kept: ReadonlySet<string>;
  /** Texts are cut to this length; if missing, they are omitted like other parts. */
  readonly textMax?: number;
  /** Returns the part that is omitted when nothing else helps: its name, and the answer without it. */
  readonly last?: (answer: WireObject) => { readonly name: string; readonly answer: WireObject } | undefined;
  /** The call that shows what was omitted. */
  readonly next: (answer: WireObject, leftOut: readonly string[]) => unknown;
}

/**
 * Shortens an answer that is too long and can't be requested again because the call has changed something: omits the
 * longest parts, names them in `left_out`, and makes `next` the call that shows them.
 */
export function shrinkAnswer(answer: WireObject, maxChars: number, rules: ShrinkRules): WireObject {
  const { kept, textMax, last, next } = rules;
  const parts = Object.keys(answer).filter((key) => !kept.has(key));
  parts.sort((one, other) => lengthOf(answer[other]) - lengthOf(answer[one]));
  const leftOut: string[] = [];
  let rest = answer;
  const whole = () => compact({ ...rest, left_out: leftOut, next: next(answer, leftOut) });
  for (const key of parts) {
    if (leftOut.length > 0 && fits(whole(), maxChars)) break;
    const { [key]: value, ...others } = rest;
    rest = typeof value === "string" && textMax !== undefined ? { ...others, [key]: brief(value, textMax) } : others;
    leftOut.push(key);
  }
  const without = fits(whole(), maxChars) ? undefined : last?.(rest);
  if (without !== undefined) {
    leftOut.push(without.name);
    rest = without.answer;
  }
  return whole();
}

function lengthOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
