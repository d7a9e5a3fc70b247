import { setTimeout as delay } from "node:timers/promises";
import type { SessionId } from "../definition/names.js";
import { PhasegateError } from "../errors.js";
import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";
import { wrapStorage } from "./wrap-storage.js";

/** How long what was acknowledged stands in memory alone. */
const DELAY_MS = 8;

/**
 * Answers at once and writes later, as a disk does whose cache nobody syncs. Whoever asks the same adapter sees nothing
 * of it, since it writes before it looks; a process that is killed has lost what it acknowledged.
 */
export function writeBehind(inner: StorageAdapter): StorageAdapter {
  const newest = new Map<SessionId, Commit>();
  let written: Promise<void> = Promise.resolve();
  const flushed = <T>(ask: () => Promise<T>): Promise<T> => written.then(ask);
  const write = async (commit: Commit) => {
    await delay(DELAY_MS);
    // Whoever was told that it is stored can't be told now that it isn't.
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
