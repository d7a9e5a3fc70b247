/** Caches of limited size: what is kept per session, per text or per rule. */

/** A map that forgets the least recently used entries once it is full. */
export class RecentMap<K, V> {
  /** In the order of their use. */
  readonly #entries = new Map<K, { readonly value: V; readonly weight: number }>();
  readonly #max: number;
  readonly #weigh: (value: V, key: K) => number;
  #weight = 0;

  /** `max` limits the number of entries; with `weigh`, the sum of their weights. An entry above it is not kept. */
  constructor(max: number, weigh: (value: V, key: K) => number = () => 1) {
    this.#max = max;
    this.#weigh = weigh;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: K, value: V): void {
    const weight = this.#weigh(value, key);
    if (weight > this.#max) return this.delete(key);
    this.#weight += weight - (this.#entries.get(key)?.weight ?? 0);
    this.#entries.delete(key);
    this.#entries.set(key, { value, weight });
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#max) break;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}

/** The weight of an entry beyond that of its text, in characters: what is parsed from it, and the entry itself. */
export const ENTRY_WEIGHT = 1024;

/** The weight of what is made from a text that is its key. */
export function keyWeight(_: unknown, key: string): number {
  return key.length + ENTRY_WEIGHT;
}

const weights = new WeakMap<object, number>();

/** Returns the weight of a value that does not change, by its JSON. */
export function jsonWeight(value: object): number {
  const known = weights.get(value) ?? JSON.stringify(value).length + ENTRY_WEIGHT;
  weights.set(value, known);
  return known;
}

/** Limits what a function keeps by revision, in characters of its JSON. */
const BY_REVISION_WEIGHT = 2 * 1024 * 1024;

/**
 * Returns a function that keeps what `make` reads from a text, by the text's revision: to parse Markdown again with each answer
 * would take a hundred times as long as the answer.
 */
export function byRevision<T extends object>(make: (text: string) => T) {
  const kept = new RecentMap<string, T>(BY_REVISION_WEIGHT, jsonWeight);
  return ({ text, revision }: { readonly text: string; readonly revision: string }): T => {
    const known = kept.get(revision);
    if (known !== undefined) return known;
    const made = make(text);
    kept.set(revision, made);
    return made;
  };
}

/** Limits the texts whose results a function remembers, in characters. */
const RESULTS_WEIGHT = 4 * 1024 * 1024;

/** Returns a function that remembers what `make` returns for the same texts, unless it rejects. */
export function remember<Texts extends readonly string[], T>(
  make: (...texts: Texts) => Promise<T>,
): (...texts: Texts) => Promise<T> {
  const results = new RecentMap<string, Promise<T>>(RESULTS_WEIGHT, keyWeight);
  return (...texts) => {
    const key = texts.join("\0");
    const known = results.get(key);
    if (known !== undefined) return known;
    const made = make(...texts);
    results.set(key, made);
    made.catch(() => results.delete(key));
    return made;
  };
}
