/**
 * Caches of preloading: texts by the signature of their file, results by the texts that they are computed from, and a
 * container that drops its oldest entries.
 */
import type { FileSignature } from "../../sandbox/read.js";
import type { Location } from "../roots/paths.js";
import type { Roots } from "../roots/roots.js";
import type { FileSource, WholeText } from "./parts.js";

/** A cached text, and the signature of its file. */
interface Kept extends WholeText {
  readonly key: string;
}

/** The most characters of texts in memory. The oldest texts are dropped first. */
const KEPT_SOURCES_MAX = 8_000_000;
/** A second change within so many milliseconds may leave a file's signature the same. */
const SETTLED = 2000;

const sources = new WeakMap<Roots, FileSource>();

/** Returns the caching source of some roots. All connections share it. */
export function keptSource(roots: Roots): FileSource {
  const known = sources.get(roots) ?? createSource(roots);
  sources.set(roots, known);
  return known;
}

function createSource(roots: Roots): FileSource {
  const kept = keepNewest<Kept>(KEPT_SOURCES_MAX, ({ text }) => text.length);
  return {
    known: roots.known,
    found: new Map(),
    resolve: (path, options) => roots.resolve(path, options),
    expand: (text) => roots.expand(text),
    list: (location) => roots.list(location),
    nearest: (location) => roots.nearest(location),
    show: (location) => roots.show(location),
    async read(location: Location, options) {
      const path = roots.show(location);
      const known = kept.get(path);
      if (known !== undefined && known.size <= options.maxBytes) {
        const signature = await roots.sandbox(location).signature(location.path);
        if (known.key === signature?.key) return known;
      }
      const { text, size, signature } = await roots.read(location, options);
      // The text may be newer than the signature, never older. Then the file is only read once more.
      if (isSettled(signature)) kept.put(path, { key: signature.key, text, size });
      return { text, size };
    },
  };
}

function isSettled({ changedAt }: FileSignature): boolean {
  return Date.now() - changedAt > SETTLED;
}

/** The newest entries by name, up to a total weight. */
export interface Newest<T> {
  /** Returns the entry with this name. */
  get(name: string): T | undefined;
  /** Adds an entry, or replaces the one with its name. Drops the oldest entries above the limit. */
  put(name: string, entry: T): void;
}

/** Creates a container for entries up to a total weight. */
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

/** The most results of a function in memory. */
const KEPT = 128;

/** Wraps a function of texts so that its newest results are cached by these texts. A rejection is not cached. */
export function remember<Texts extends readonly string[], T>(
  make: (...texts: Texts) => Promise<T>,
): (...texts: Texts) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return (...texts) => {
    const key = texts.join("\0");
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(...texts);
    known.set(key, made);
    made.catch(() => known.delete(key));
    const [oldest] = known.keys();
    if (oldest !== undefined && known.size > KEPT) known.delete(oldest);
    return made;
  };
}
