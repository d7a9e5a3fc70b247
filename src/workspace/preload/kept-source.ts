/** Reads through a workspace's roots, and not twice what has not changed. */
import type { FileSignature } from "../../walls/file-signature.js";
import type { Location } from "../roots/location.js";
import type { Roots } from "../roots/roots.js";
import { keepNewest } from "./newest.js";
import type { FileSource, WholeText } from "./source.js";

/** A text that was read, and the file's signature then. */
interface Kept extends WholeText {
  readonly key: string;
}

/** How many characters of texts are kept. Old ones go first. */
const KEPT_MAX = 8_000_000;
/** So long after a change, in milliseconds, a file system's clock may not tell the next one. */
const SETTLED = 2000;

const sources = new WeakMap<Roots, FileSource>();

/** The remembering source of some roots: one for all connections, since it holds nothing but what lies on the disk. */
export function keptSource(roots: Roots): FileSource {
  const known = sources.get(roots) ?? createSource(roots);
  sources.set(roots, known);
  return known;
}

function createSource(roots: Roots): FileSource {
  const kept = keepNewest<Kept>(KEPT_MAX, ({ text }) => text.length);
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
        const signature = await roots.wall(location).signature(location.path);
        if (known.key === signature?.key) return known;
      }
      const { text, size, signature } = await roots.read(location, options);
      // What was read may be newer than the signature, and is never older: then it is only read once more.
      if (isSettled(signature)) kept.put(path, { key: signature.key, text, size });
      return { text, size };
    },
  };
}

function isSettled({ changedAt }: FileSignature): boolean {
  return Date.now() - changedAt > SETTLED;
}
