/** Caches of limited size: what engines, storages and workspaces keep per session or per text. */

/** A value that is kept, and its share of the limit. */
interface Entry<V> {
  readonly value: V;
  readonly weight: number;
}

/** A map that forgets the least recently used entries once it is full. */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, Entry<V>>();
  readonly #max: number;
  readonly #weigh: (value: V) => number;
  #weight = 0;
  /** The key that was used last. Using it again moves nothing. */
  #newest: K | undefined;

  /** `max` limits the number of entries; with `weigh`, the sum of their weights. An entry above it is not kept. */
  constructor(max: number, weigh: (value: V) => number = () => 1) {
    this.#max = max;
    this.#weigh = weigh;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (key !== this.#newest) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
      this.#newest = key;
    }
    return entry.value;
  }

  set(key: K, value: V): void {
    const weight = this.#weigh(value);
    if (weight > this.#max) return this.delete(key);
    const before = this.#entries.get(key);
    if (before !== undefined && key !== this.#newest) this.#entries.delete(key);
    this.#entries.set(key, { value, weight });
    this.#newest = key;
    this.#weight += weight - (before?.weight ?? 0);
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#max) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    if (key === this.#newest) this.#newest = undefined;
  }
}

/** The weight of an entry beyond that of its text, in characters: what is parsed from it, and the entry itself. */
export const ENTRY_WEIGHT = 1024;

const weights = new WeakMap<object, number>();

/** Returns the weight of a value that does not change, by its JSON. */
export function jsonWeight(value: object): number {
  const known = weights.get(value) ?? JSON.stringify(value).length + ENTRY_WEIGHT;
  weights.set(value, known);
  return known;
}

/** Limits how many results a function remembers. */
const RESULTS_KEPT = 128;

/**
 * Returns a function that remembers the results of `make` by the texts that it was called with. A rejection is
 * not remembered.
 */
export function remember<Texts extends readonly string[], T>(
  make: (...texts: Texts) => Promise<T>,
): (...texts: Texts) => Promise<T> {
  const results = new RecentMap<string, Promise<T>>(RESULTS_KEPT);
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
