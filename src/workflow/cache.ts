/** Caches of limited size: what is kept per session, per text or per rule. */

/** A value that is kept, its share of the limit, and the entries that were used before and after it. */
interface Entry<K, V> {
  readonly key: K;
  value: V;
  weight: number;
  older: Entry<K, V> | undefined;
  newer: Entry<K, V> | undefined;
}

/**
 * A map that forgets the least recently used entries once it is full. The order of use is a linked list: a `Map` keeps an
 * order, too, but has to pass all keys that were deleted to find its first one.
 */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, Entry<K, V>>();
  readonly #max: number;
  readonly #weigh: (value: V, key: K) => number;
  #weight = 0;
  #oldest: Entry<K, V> | undefined;
  #newest: Entry<K, V> | undefined;

  /** `max` limits the number of entries; with `weigh`, the sum of their weights. An entry above it is not kept. */
  constructor(max: number, weigh: (value: V, key: K) => number = () => 1) {
    this.#max = max;
    this.#weigh = weigh;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry !== this.#newest) this.#use(entry);
    return entry.value;
  }

  set(key: K, value: V): void {
    const weight = this.#weigh(value, key);
    if (weight > this.#max) return this.delete(key);
    const entry = this.#entries.get(key) ?? this.#add(key, value);
    this.#weight += weight - entry.weight;
    entry.value = value;
    entry.weight = weight;
    if (entry !== this.#newest) this.#use(entry);
    while (this.#weight > this.#max && this.#oldest !== undefined) this.delete(this.#oldest.key);
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
    this.#unlink(entry);
  }

  #add(key: K, value: V): Entry<K, V> {
    const entry = { key, value, weight: 0, older: undefined, newer: undefined };
    this.#entries.set(key, entry);
    this.#link(entry);
    return entry;
  }

  #use(entry: Entry<K, V>): void {
    this.#unlink(entry);
    this.#link(entry);
  }

  #link(entry: Entry<K, V>): void {
    entry.older = this.#newest;
    entry.newer = undefined;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.newer = entry;
    this.#newest = entry;
  }

  #unlink({ older, newer }: Entry<K, V>): void {
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
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

/** Limits the texts whose results a function remembers, in characters. */
const RESULTS_WEIGHT = 4 * 1024 * 1024;

/**
 * Returns a function that remembers the results of `make` by the texts that it was called with. A rejection is
 * not remembered.
 */
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
