import type { Environment } from "@marcbachmann/cel-js";
import { PATTERN_MAX } from "./call-cost.js";
import { SYNC } from "./operators.js";

type Re2 = typeof import("@bufbuild/re2");
type Pattern = InstanceType<Re2["RE2JS"]>;

/** The name that calls of `matches` get: the language's own runs on an engine that can take for ever. */
export const LINEAR_MATCHES = "matches_linear";

/** How many compiled patterns are kept. */
const KEPT = 256;

/** Regular expressions in RE2's syntax, matched in time that grows with the text and never faster. */
export class Patterns {
  readonly #re2: Re2;
  readonly #compiled = new Map<string, Pattern>();

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
      return this.#compile(pattern).re2().prog.numInst();
    } catch {
      return 0;
    }
  }

  register(environment: Environment): void {
    const matches = (text: string, pattern: string) => this.#compile(pattern).test(text);
    environment.registerFunction(`string.${LINEAR_MATCHES}(string): bool`, matches, SYNC);
  }

  #compile(pattern: string): Pattern {
    if (pattern.length > PATTERN_MAX) throw new RangeError(`a pattern is longer than ${PATTERN_MAX} characters`);
    const known = this.#compiled.get(pattern);
    if (known !== undefined) return known;
    const compiled = new this.#re2.RE2JS(pattern);
    const [oldest] = this.#compiled.keys();
    if (oldest !== undefined && this.#compiled.size >= KEPT) this.#compiled.delete(oldest);
    this.#compiled.set(pattern, compiled);
    return compiled;
  }
}
