/** Entries by name, the newest of them: as many as their weights allow. */
export interface Newest<T> {
  get(name: string): T | undefined;
  /** Keeps an entry, in the place of the one before under its name; the oldest go where it gets too much. */
  put(name: string, entry: T): void;
}

/** Keeps entries up to a weight in all. */
export function keepNewest<T>(maxWeight: number, weigh: (entry: T) => number): Newest<T> {
  const kept = new Map<string, T>();
  let weight = 0;
  const drop = (name: string) => {
    const entry = kept.get(name);
    if (entry !== undefined) weight -= weigh(entry);
    kept.delete(name);
  };
  return {
    get: (name) => kept.get(name),
    put(name, entry) {
      drop(name);
      kept.set(name, entry);
      weight += weigh(entry);
      for (const oldest of kept.keys()) {
        if (weight <= maxWeight) break;
        drop(oldest);
      }
    },
  };
}
