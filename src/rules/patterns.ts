/**
 * Regular expressions of rules and verifiers, in RE2 syntax and linear time. A pattern is measured before it is
 * compiled, and the ones used last are kept compiled.
 */
import type { Environment } from "@marcbachmann/cel-js";
import { RecentMap } from "../workflow/cache.js";

/** Maximum length of a pattern that runs, in characters. */
const PATTERN_MAX = 1000;
/** Maximum number of steps per character of a pattern: they take time and memory before matching begins. */
export const PATTERN_STEPS_MAX = 10_000;

/**
 * Throws a `RangeError` for a pattern that is too long or compiles to too many steps. The steps are counted in its
 * text, because compiling a long repeated part takes seconds and gigabytes.
 */
export function requireSmallPattern(pattern: string): void {
  if (pattern.length > PATTERN_MAX) throw new RangeError(`a pattern is longer than ${PATTERN_MAX} characters`);
  if (stepsAtMost(pattern) <= PATTERN_STEPS_MAX) return;
  throw new RangeError(`a pattern compiles to more than ${PATTERN_STEPS_MAX} steps: repeat less, or a shorter part`);
}

type Re2 = typeof import("@bufbuild/re2");
type Pattern = InstanceType<Re2["RE2JS"]>;

/** The name that replaces `matches` in rules: CEL's own function runs on an engine without a time bound. */
export const LINEAR_MATCHES = "matches_linear";

/** Limits the steps of the patterns that are kept compiled. Each takes some 500 bytes. */
const KEPT_STEPS = 100_000;

/** Regular expressions in RE2 syntax, matched in linear time. */
export class Patterns {
  readonly #re2: Re2;
  readonly #compiled = new RecentMap<string, Pattern>(KEPT_STEPS, stepsOf);

  constructor(re2: Re2) {
    this.#re2 = re2;
  }

  /** Returns the fault of a pattern; undefined if it has none. */
  fault(pattern: string): string | undefined {
    try {
      this.#compile(pattern);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Returns the maximum number of engine steps per character; 0 for an invalid pattern. */
  steps(pattern: string): number {
    try {
      return stepsOf(this.#compile(pattern));
    } catch {
      return 0;
    }
  }

  /** Checks whether a pattern matches a part of a text. Throws for an invalid pattern. */
  matches(text: string, pattern: string): boolean {
    return this.#compile(pattern).test(text);
  }

  /** Adds the function that replaces `matches`. */
  register(environment: Environment): void {
    const matches = (text: string, pattern: string) => this.matches(text, pattern);
    environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, matches, { async: false });
  }

  #compile(pattern: string): Pattern {
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    requireSmallPattern(pattern);
    const compiled = new this.#re2.RE2JS(pattern);
    this.#compiled.set(pattern, compiled);
    return compiled;
  }
}

/** A part of a pattern: text between `\Q` and `\E`, a character class, a repetition, or one character. */
const PART =
  /\\Q[\s\S]*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\[\s\S]|\[\^?\]?(?:\[:\^?\w+:\]|\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** Returns an upper bound for the steps of a pattern: two for each part, times its repetitions. */
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

function stepsOf(pattern: Pattern): number {
  return pattern.re2().prog.numInst();
}
