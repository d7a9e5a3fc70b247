/** Content providers and storages with one known fault each, to check that a contract finds it. */
import { setTimeout as delay } from "node:timers/promises";
import { isPhasegateError, PhasegateError } from "../errors.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import type { SessionId } from "../workflow/names.js";
import { collect } from "./contract.js";

/** The faults of {@link brokenContent}. */
export const BROKEN_CONTENTS = [
  "any-revision",
  "empty-texts",
  "hidden-errors",
  "listed-twice",
  "restless-revisions",
  "swallowed-error",
] as const;
export type BrokenContent = (typeof BROKEN_CONTENTS)[number];

type Replace = (inner: ContentProvider) => Partial<ContentProvider>;

const CONTENT_BREAKS: Readonly<Record<BrokenContent, Replace>> = {
  "any-revision": (inner) => ({ definition: (type) => inner.definition(type) }),
  "empty-texts": (inner) => ({
    text: (type, part) =>
      inner.text(type, part).catch(() => ({ text: "", revision: "0".repeat(12), sources: [], tokens: 0 })),
  }),
  "hidden-errors": (inner) => ({
    list: async () => (await inner.list()).map((listing) => ({ ...listing, diagnostics: [] })),
  }),
  "listed-twice": (inner) => ({ list: async () => [...(await inner.list()), ...(await inner.list())] }),
  "restless-revisions": (inner) => {
    let count = 0;
    return {
      text: async (type, part) => {
        count += 1;
        return { ...(await inner.text(type, part)), revision: String(count).padStart(12, "0") };
      },
    };
  },
  "swallowed-error": (inner) => ({
    definition: async (type, revision) => {
      try {
        return await inner.definition(type, revision);
      } catch (error) {
        if (isPhasegateError(error, "DEFINITION_INVALID")) return undefined;
        throw error;
      }
    },
  }),
};

/**
 * Returns a provider with one fault, to check that a contract finds it:
 *
 * - `any-revision`: returns a definition for revisions that do not exist;
 * - `empty-texts`: returns an empty text for one that does not exist;
 * - `hidden-errors`: lists workflows without their errors (found if one has errors);
 * - `listed-twice`: lists each workflow twice;
 * - `restless-revisions`: returns the same text with another revision each time;
 * - `swallowed-error`: returns undefined for a workflow with errors (found if one has errors).
 */
export function brokenContent(kind: BrokenContent, inner: ContentProvider): ContentProvider {
  return {
    list: () => inner.list(),
    definition: (type, revision) => inner.definition(type, revision),
    text: (type, part, revision) => inner.text(type, part, revision),
    ...CONTENT_BREAKS[kind](inner),
  };
}

/** The faults of {@link brokenStorage}. */
export const BROKEN_STORAGES = [
  "last-write-wins",
  "non-atomic-pair",
  "swallowed-error",
  "lost-order",
  "shared-references",
  "unfsynced",
] as const;
/** One of the faults of an adapter. */
export type BrokenStorage = (typeof BROKEN_STORAGES)[number];

const BREAKS: Readonly<Record<BrokenStorage, (inner: StorageAdapter) => StorageAdapter>> = {
  "last-write-wins": lastWriteWins,
  "non-atomic-pair": nonAtomicPair,
  "swallowed-error": swallowedError,
  "lost-order": lostOrder,
  "shared-references": sharedReferences,
  unfsynced: writeBehind,
};

/**
 * Returns an adapter with one fault that real adapters have had, to check that a contract finds it:
 *
 * - `last-write-wins`: writes over commits that came in between;
 * - `non-atomic-pair`: writes what lists show before the commit, and leaves it when the commit is refused;
 * - `swallowed-error`: treats failures other than conflicts as success, or as nothing found;
 * - `lost-order`: sorts logs by their versions as text, 10 before 2;
 * - `shared-references`: returns the same objects that it was given;
 * - `unfsynced`: answers at once and writes later, so that a killed process loses acknowledged commits.
 */
export function brokenStorage(kind: BrokenStorage, inner: StorageAdapter): StorageAdapter {
  return BREAKS[kind](inner);
}

const ATTEMPTS_MAX = 100;

function lastWriteWins(inner: StorageAdapter): StorageAdapter {
  const write = async (commit: Commit, tries: number): Promise<void> => {
    const newest = await inner.read(commit.sessionId);
    const [version, previousHash] = newest === undefined ? [1, ""] : [newest.version + 1, newest.hash];
    try {
      await inner.append({ ...commit, version, previousHash });
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT") || tries === ATTEMPTS_MAX) throw error;
      await write(commit, tries + 1);
    }
  };
  return wrapStorage(inner, { append: (commit) => write(commit, 1) });
}

function nonAtomicPair(inner: StorageAdapter): StorageAdapter {
  const shown = new Map<SessionId, SessionSummary>();
  return wrapStorage(inner, {
    append: async (commit) => {
      shown.set(commit.sessionId, commit.summary);
      await inner.append(commit);
      shown.delete(commit.sessionId);
    },
    list: async (query) => {
      const page = await inner.list(query);
      return { ...page, items: page.items.map((summary) => shown.get(summary.sessionId) ?? summary) };
    },
  });
}

function swallowedError(inner: StorageAdapter): StorageAdapter {
  return wrapStorage(inner, {
    append: async (commit) => {
      try {
        await inner.append(commit);
      } catch (error) {
        if (isPhasegateError(error, "CONFLICT")) throw error;
      }
    },
    list: (query) => inner.list(query).catch(() => ({ items: [] })),
  });
}

function lostOrder(inner: StorageAdapter): StorageAdapter {
  return wrapStorage(inner, {
    async *log(id, { after = 0, limit = Number.POSITIVE_INFINITY } = {}) {
      const commits = await collect(inner.log(id));
      const above = commits.filter(({ version }) => version > after);
      yield* above.sort((one, other) => (String(one.version) < String(other.version) ? -1 : 1)).slice(0, limit);
    },
  });
}

function sharedReferences(inner: StorageAdapter): StorageAdapter {
  const newest = new Map<SessionId, Commit>();
  return wrapStorage(inner, {
    append: async (commit) => {
      await inner.append(commit);
      newest.set(commit.sessionId, commit);
    },
    read: async (id) => {
      const commit = await inner.read(id);
      return commit === undefined ? undefined : (newest.get(id) ?? commit);
    },
  });
}

/** The methods that would go around a fault in `append`. */
const AROUND: Partial<StorageAdapter> = { begin: undefined, repair: undefined };

/** Returns an adapter with the members in `replace`, and those of another adapter for everything else. */
export function wrapStorage(inner: StorageAdapter, replace: Partial<StorageAdapter>): StorageAdapter {
  const own: object = { ...AROUND, ...replace };
  return new Proxy(inner, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Time for which acknowledged commits are in memory only, in milliseconds. */
const DELAY_MS = 8;

/**
 * Answers at once and writes later, like a disk whose cache is not synced. The same adapter hides the delay, because it
 * writes before it reads; a killed process loses what it has acknowledged.
 */
function writeBehind(inner: StorageAdapter): StorageAdapter {
  const newest = new Map<SessionId, Commit>();
  let written: Promise<void> = Promise.resolve();
  const flushed = <T>(ask: () => Promise<T>): Promise<T> => written.then(ask);
  const write = async (commit: Commit) => {
    await delay(DELAY_MS);
    // The commit was acknowledged already, so a failure cannot be reported.
    await inner.append(commit).catch(() => {});
  };
  return wrapStorage(inner, {
    append: async (commit) => {
      const own = structuredClone(commit);
      const stored = newest.get(commit.sessionId) ?? (await inner.read(commit.sessionId));
      const before = newest.get(commit.sessionId) ?? stored;
      if (own.version !== (before?.version ?? 0) + 1 || own.previousHash !== (before?.hash ?? "")) throw conflict(own);
      newest.set(own.sessionId, own);
      written = written.then(() => write(own));
    },
    read: (id) =>
      flushed(() => {
        newest.delete(id);
        return inner.read(id);
      }),
    async *log(id, options) {
      await written;
      yield* inner.log(id, options);
    },
    payload: (id, hash) => flushed(() => inner.payload(id, hash)),
    list: (query) => flushed(() => inner.list(query)),
    countActive: (upTo) => flushed(() => inner.countActive(upTo)),
    remove: (id) =>
      flushed(async () => {
        newest.delete(id);
        await inner.remove(id);
      }),
    close: () => flushed(async () => inner.close?.()),
  });
}

function conflict({ sessionId, version }: Commit): PhasegateError<"CONFLICT"> {
  return new PhasegateError("CONFLICT", `Version ${version} of session ${sessionId} does not follow the newest one`, {
    remedy: "Read the session again and repeat the command on its newest version.",
    details: { sessionId, version },
  });
}
