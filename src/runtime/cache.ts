/** A map of limited size, for what engines and storages cache per session. */

/** A map that forgets the least recently used entry once it is full. */
export class RecentMap<K, V> {
  readonly #entries = new Map<K, V>();
  readonly #max: number;
  /** The key that was used last. Using it again moves nothing. */
  #newest: K | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined && key !== this.#newest) this.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    if (key !== this.#newest) this.#entries.delete(key);
    this.#newest = key;
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }

  delete(key: K): void {
    if (key === this.#newest) this.#newest = undefined;
    this.#entries.delete(key);
  }
}
