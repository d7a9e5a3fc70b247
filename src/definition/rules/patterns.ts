import type { Environment } from "@marcbachmann/cel-js";
import { PATTERN_MAX, PATTERN_STEPS_MAX } from "./call-cost.js";
import { SYNC } from "./operators.js";

type Re2 = typeof import("@bufbuild/re2");
type Pattern = InstanceType<Re2["RE2JS"]>;

/** The name that calls of `matches` get: the language's own runs on an engine that can take for ever. */
export const LINEAR_MATCHES = "matches_linear";

/** How many compiled patterns are kept, and how many steps they may have together: each takes some 500 bytes. */
const KEPT = 256;
const KEPT_STEPS = 100_000;

/** A pattern's parts: a text between `\Q` and `\E`, a class of characters, a repetition, or one character. */
const PART =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/**
 * Throws a `RangeError` for a pattern that is too long, or becomes too many steps. They are counted on its text: making
 * them takes seconds and gigabytes where a long part is repeated.
 */
export function requireSmallPattern(pattern: string): void {
  if (pattern.length > PATTERN_MAX) throw new RangeError(`a pattern is longer than ${PATTERN_MAX} characters`);
  if (stepsAtMost(pattern) <= PATTERN_STEPS_MAX) return;
  throw new RangeError(`a pattern becomes more than ${PATTERN_STEPS_MAX} steps: repeat less, or a shorter part`);
}

/** Returns how many steps a pattern becomes at most: two for each of its parts, as often as the part is repeated. */
function stepsAtMost(pattern: string): number {
  const around: number[] = [];
  let [all, last] = [0, 0];
  for (const [part, least, most] of pattern.matchAll(PART)) {
    if (part === "(") {
      around.push(all);
      [all, last] = [0, 0];
    } else if (part === ")") {
      last = all + 2;
      all = (around.pop() ?? 0) + last;
    } else if (least === undefined) {
      const own = part.startsWith("\\Q") ? 2 * part.length : 2;
      last = /^[*+?]$/.test(part) ? last + own : own;
      all += own;
    } else {
      const again = last * Math.max(Number(least), Number(most ?? 0));
      all += again;
      last += again;
    }
  }
  return around.reduce((sum, outer) => sum + outer, all);
}

/** Regular expressions in RE2's syntax, matched in time that grows with the text and never faster. */
export class Patterns {
  readonly #re2: Re2;
  readonly #compiled = new Map<string, Pattern>();
  #steps = 0;

  constructor(re2: Re2) {
    this.#re2 = re2;
  }

  /** What is wrong with a pattern; undefined if nothing is. */
  fault(pattern: string): string | undefined {
    try {
      this.#compile(pattern);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** How many steps of its engine a pattern takes for a character, at most; a text that is no pattern takes none. */
  steps(pattern: string): number {
    try {
      return stepsOf(this.#compile(pattern));
    } catch {
      return 0;
    }
  }

  register(environment: Environment): void {
    const matches = (text: string, pattern: string) => this.#compile(pattern).test(text);
    environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, matches, SYNC);
  }

  #compile(pattern: string): Pattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    requireSmallPattern(pattern);
    const compiled = new this.#re2.RE2JS(pattern);
    this.#steps += stepsOf(compiled);
    this.#compiled.set(pattern, compiled);
    for (const [oldest, old] of this.#compiled) {
      if (oldest === pattern || (this.#compiled.size <= KEPT && this.#steps <= KEPT_STEPS)) break;
      this.#compiled.delete(oldest);
      this.#steps -= stepsOf(old);
    }
    return compiled;
  }
}

function stepsOf(pattern: Pattern): number {
  return pattern.re2().prog.numInst();
}
