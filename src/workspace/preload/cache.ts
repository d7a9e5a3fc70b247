/**
 * The cache of preloading: texts by the signature of their file.
 */
import { RecentMap } from "../../runtime/cache.js";
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
  const kept = new RecentMap<string, Kept>(KEPT_SOURCES_MAX, ({ text }) => text.length);
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
      if (isSettled(signature)) kept.set(path, { key: signature.key, text, size });
      return { text, size };
    },
  };
}

function isSettled({ changedAt }: FileSignature): boolean {
  return Date.now() - changedAt > SETTLED;
}
