/** The keys that name a phase: in rules (`artifacts.threat_model`), in `since` of a check, and as the start of a workflow. */
import { firstFew, shown } from "./names.js";

/** What names a phase. */
export interface NamedPhase {
  readonly number: number;
  readonly name: string;
  /** Set for a phase from a plan. It has no key by name, since a definition can't know it. */
  readonly plan?: object | undefined;
}

/** The greatest number of phases that an error lists. */
const LISTED_MAX = 20;

/**
 * The phases of a workflow by their keys. Those of a phase are its number, its name, and its name in small letters with `_`
 * for all other characters than letters and digits. A key that two phases share names neither.
 */
export class PhaseNames {
  /** The numbers of the phases, in their order. */
  readonly numbers: readonly number[];
  readonly #phases: readonly NamedPhase[];
  #byKey: ReadonlyMap<string, readonly NamedPhase[]> | undefined;

  constructor(phases: readonly NamedPhase[]) {
    this.#phases = phases;
    this.numbers = phases.map(({ number }) => number);
  }

  /** Returns the number of the phase that a key names; undefined if there is none, or several. */
  find(key: string): number | undefined {
    const [phase, ...others] = this.#named(key);
    return others.length === 0 ? phase?.number : undefined;
  }

  /** Returns why a key that several phases share names none of them, and what to write instead. */
  sharedFault(key: string): { readonly message: string; readonly hint: string } | undefined {
    const phases = this.#named(key);
    if (phases.length < 2) return undefined;
    const message = `${shown(key)} is the name of ${phases.length} phases: ${inWords(phases)}`;
    return { message, hint: "Write the number of the one that is meant." };
  }

  /** Returns some of the phases in words, each with its number and its name. */
  list(numbers: readonly number[]): string {
    const listed = new Set(numbers);
    return inWords(this.#phases.filter(({ number }) => listed.has(number)));
  }

  /** Returns the keys that name a phase and no other one: its number is the first. */
  keysOf(number: number): readonly string[] {
    const [phase] = this.#named(String(number));
    return phase === undefined ? [] : keysOf(phase).filter((key) => this.find(key) === number);
  }

  #named(key: string): readonly NamedPhase[] {
    // Most workflows have no reference.
    this.#byKey ??= byKey(this.#phases);
    return this.#byKey.get(key) ?? [];
  }
}

function byKey(phases: readonly NamedPhase[]): ReadonlyMap<string, readonly NamedPhase[]> {
  const found = new Map<string, NamedPhase[]>();
  for (const phase of phases) {
    for (const key of keysOf(phase)) {
      const named = found.get(key);
      if (named === undefined) found.set(key, [phase]);
      else named.push(phase);
    }
  }
  return found;
}

/** Returns a name in small letters, with `_` for all other characters than letters and digits. */
export function simpleName(name: string): string {
  const simple = name.toLowerCase().replace(/[^\p{L}\p{M}\p{N}]+/gu, "_");
  return simple.replace(/^_|_$/g, "");
}

function keysOf({ number, name, plan }: NamedPhase): readonly string[] {
  // A name of digits would be taken for the number of another phase.
  const names = [name, simpleName(name)].filter((key) => !/^[\d\s]*$/.test(key));
  return [...new Set([String(number), ...(plan === undefined ? names : [])])];
}

/** Returns the path of a file of a workflow whose phases get other numbers: `phases/2/a.md` moves with its phase. */
export function movedPath(path: string, numbers: ReadonlyMap<number, number>): string {
  const [, number, rest] = /^phases\/(\d+)\/(.+)$/s.exec(path) ?? [];
  const moved = numbers.get(Number(number));
  return moved === undefined ? path : `phases/${moved}/${rest}`;
}

function inWords(phases: readonly NamedPhase[]): string {
  const words = phases.map(({ number, name }) => (name === "" ? `${number}` : `${number} (${name})`));
  return firstFew(words, LISTED_MAX);
}
