import type { SessionId } from "../definition/names.js";
import { isPhasegateError } from "../errors.js";
import type { Commit, SessionSummary, StorageAdapter } from "../ports/storage-adapter.js";
import { collect } from "./contract-case.js";

import { wrapStorage } from "./wrap-storage.js";
import { writeBehind } from "./write-behind.js";

/** The ways in which {@link brokenStorage} breaks an adapter. */
export const BROKEN_STORAGES = [
  "last-write-wins",
  "non-atomic-pair",
  "swallowed-error",
  "lost-order",
  "shared-references",
  "unfsynced",
] as const;
/** One of them. */
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
 * A sound adapter with one fault that real ones have had, to see that a suite finds it:
 *
 * - `last-write-wins`: writes over whatever has come in between;
 * - `non-atomic-pair`: what lists show is written before the commit, and stays when that is refused;
 * - `swallowed-error`: whatever fails but a conflict is taken for done, or for nothing found;
 * - `lost-order`: gives logs in the order of their versions as text, 10 before 2;
 * - `shared-references`: gives out the very objects that it was handed;
 * - `unfsynced`: answers at once and writes later, so that a killed process loses what it acknowledged.
 */
export function brokenStorage(kind: BrokenStorage, inner: StorageAdapter): StorageAdapter {
  return BREAKS[kind](inner);
}

/** So often it writes anew over what has come in between. */
const INSISTS = 100;

function lastWriteWins(inner: StorageAdapter): StorageAdapter {
  const write = async (commit: Commit, tries: number): Promise<void> => {
    const newest = await inner.read(commit.sessionId);
    const [version, previousHash] = newest === undefined ? [1, ""] : [newest.version + 1, newest.hash];
    try {
      await inner.append({ ...commit, version, previousHash });
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT") || tries === INSISTS) throw error;
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
