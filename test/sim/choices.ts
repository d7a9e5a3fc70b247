/**
 * What is left to chance in a simulation. Everybody there (a host, a writer, the network) has choices of its own, and each
 * depends on the seed, on whose choice it is, and on its number alone. So a failing run can be shrunk: all choices but a few
 * become 0, which stands for the usual course of things, and the few stay what they were.
 */

/** A step, as it is named in a trace. */
export interface Named {
  readonly of: string;
  readonly what: string;
}

/** What goes wrong with a host, by its index: it crashes (0), is cut off (1), or has another time (2). */
export interface HostTrouble {
  readonly host: number;
  readonly what: number;
}

/** Decides what happens. */
export interface Choices {
  /** Returns a number from 0 to below `count`. 0 is the usual course. */
  pick(of: string, count: number): number;
  /** Returns true in about `percent` of 100 calls. False is the usual course. */
  chance(of: string, percent: number): boolean;
  /** Picks the next step: returns its index. Missing if each step is late by chance. */
  pickStep?(steps: readonly Named[]): number;
  /** Picks what goes wrong with a host before the next step. Missing if that is left to chance. */
  pickTrouble?(): HostTrouble | undefined;
}

/** Choices that follow from a seed. */
export class SeededChoices implements Choices {
  /** The choices that were not 0, in order: `writer1:4` is the fourth choice of that writer. */
  readonly unusual: string[] = [];
  readonly #seed: number;
  readonly #kept: ReadonlySet<string> | undefined;
  readonly #made = new Map<string, number>();

  /** With `kept`, all other choices are 0. */
  constructor(seed: number, kept?: Iterable<string>) {
    this.#seed = seed;
    this.#kept = kept === undefined ? undefined : new Set(kept);
  }

  pick(of: string, count: number): number {
    return this.#next(of, (drawn) => drawn % count);
  }

  chance(of: string, percent: number): boolean {
    return this.#next(of, (drawn) => (drawn % 1000 < percent * 10 ? 1 : 0)) === 1;
  }

  #next(of: string, choose: (drawn: number) => number): number {
    const number = (this.#made.get(of) ?? 0) + 1;
    this.#made.set(of, number);
    const value = choose(mixed(`${this.#seed} ${of} ${number}`));
    const name = `${of}:${number}`;
    if (value === 0 || this.#kept?.has(name) === false) return 0;
    this.unusual.push(name);
    return value;
  }
}

/** Returns 32 bits, each of which depends on the whole text: FNV-1a, mixed as MurmurHash3 does at its end. */
function mixed(text: string): number {
  let bits = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) bits = Math.imul(bits ^ text.charCodeAt(index), 0x01000193);
  for (const factor of [0x85ebca6b, 0xc2b2ae35]) bits = Math.imul(bits ^ (bits >>> 16), factor);
  return (bits ^ (bits >>> 15)) >>> 0;
}

/** Writes choices for a command line: `writer1:1,2 host1.1:3`. */
export function asText(names: readonly string[]): string {
  const numbers = new Map<string, string[]>();
  for (const name of names) {
    const [of = "", number = ""] = name.split(":");
    numbers.set(of, [...(numbers.get(of) ?? []), number]);
  }
  return [...numbers].map(([of, made]) => `${of}:${made.join(",")}`).join(" ");
}

/** Reads choices from a command line. */
export function fromText(text: string): string[] {
  return text.split(" ").flatMap((part) => {
    const [of = "", numbers = ""] = part.split(":");
    return numbers.split(",").map((number) => `${of}:${number}`);
  });
}
