import { isPhasegateError } from "../../errors.js";
import { RecentMap } from "../../runtime/cache.js";
import type { FileSignature } from "../../sandbox/read.js";
import type { Location } from "../roots/paths.js";
import type { Roots } from "../roots/roots.js";
import type { FileSource, WholeText } from "./parts.js";
/** What was seen at a place: an answer, or why there is none. */
export interface Seen<T> {
  readonly location: Location;
  readonly outcome: PromiseSettledResult<T>;
}

/** Looks of one kind, each place looked at once. */
interface Looks<T> {
  /** What lies at a place. */
  at(location: Location): Promise<T>;
  /** Forgets that places were asked for, but for one. */
  forget(but: Location): void;
  /** What was asked for so far. */
  readonly asked: ReadonlyMap<string, Location>;
  /** What was seen where it was asked for. */
  seen(): Promise<readonly Seen<T>[]>;
  /** Whether each place looks as it did; then all of them count as asked for. */
  areAs(before: readonly Seen<T>[]): Promise<boolean>;
}

/** How a kind of looks is done, and when two answers are the same. */
export interface LookKind<T> {
  look(location: Location): Promise<T>;
  same(one: T, other: T): boolean;
  show(location: Location): string;
}

/** Begins with looks at some places, side by side, before anybody asks for them. */
export function beginLooks<T>(kind: LookKind<T>, places: Iterable<Location>): Looks<T> {
  const looking = new Map<string, Promise<T>>();
  const asked = new Map<string, Location>();
  for (const location of places) {
    // Whoever asks for it is told why it can't be had.
    lookAt(location).catch(() => {});
  }

  function lookAt(location: Location): Promise<T> {
    const path = kind.show(location);
    const answer = looking.get(path) ?? kind.look(location);
    looking.set(path, answer);
    return answer;
  }

  return {
    asked,
    at(location) {
      asked.set(kind.show(location), location);
      return lookAt(location);
    },
    forget(but) {
      const left = kind.show(but);
      for (const path of asked.keys()) if (path !== left) asked.delete(path);
    },
    async seen() {
      const locations = [...asked.values()];
      const outcomes = await Promise.allSettled(locations.map(lookAt));
      return locations.flatMap((location, index) => {
        const outcome = outcomes[index];
        return outcome === undefined ? [] : [{ location, outcome }];
      });
    },
    async areAs(before) {
      const now = await Promise.allSettled(before.map(({ location }) => lookAt(location)));
      const same = before.every(({ outcome }, index) => isSame(kind, outcome, now[index]));
      if (same) for (const { location } of before) asked.set(kind.show(location), location);
      return same;
    },
  };
}

function isSame<T>(
  { same }: LookKind<T>,
  one: PromiseSettledResult<T>,
  other: PromiseSettledResult<T> | undefined,
): boolean {
  if (one.status === "fulfilled") return other?.status === "fulfilled" && same(one.value, other.value);
  if (other?.status !== "rejected" || !isPhasegateError(one.reason) || !isPhasegateError(other.reason)) return false;
  return one.reason.code === other.reason.code && one.reason.message === other.reason.message;
}

/** Reads through a workspace's roots, and not twice what has not changed. */

/** A text that was read, and the file's signature then. */
interface Kept extends WholeText {
  readonly key: string;
}

/** How many characters of texts are kept. Old ones go first. */
const KEPT_SOURCES_MAX = 8_000_000;
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
      // What was read may be newer than the signature, and is never older: then it is only read once more.
      if (isSettled(signature)) kept.set(path, { key: signature.key, text, size });
      return { text, size };
    },
  };
}

function isSettled({ changedAt }: FileSignature): boolean {
  return Date.now() - changedAt > SETTLED;
}
