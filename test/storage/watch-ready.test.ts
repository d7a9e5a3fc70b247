import { join } from "node:path";
import type { StorageAdapter } from "phasegate";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeCommit } from "../../src/testing/contract.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { openStorage } from "../support/open-storage.js";
import { newSchema, postgresUrl } from "../support/postgres.js";

/** Places that several processes share. */
const PLACES: Record<string, () => Promise<string>> = {
  files: async () => join(await temporaryFolder(), "state"),
  SQLite: async () => join(await temporaryFolder(), "state.db"),
  PostgreSQL: async () => `${await postgresUrl()}#${newSchema()}`,
};

async function opened(place: string): Promise<StorageAdapter> {
  const storage = await openStorage(place);
  onTestFinished(async () => storage.close?.());
  return storage;
}

describe.each(Object.entries(PLACES))("a watch on %s", (_, placeOf) => {
  it("says when it misses no commit of another process any more", async () => {
    const place = await placeOf();
    const [storage, other] = [await opened(place), await opened(place)];
    for (let round = 0; round < 5; round += 1) {
      const end = new AbortController();
      let [calls, begun] = [0, () => {}];
      const ready = new Promise<void>((resolve) => {
        begun = resolve;
      });
      const onReady = () => {
        calls += 1;
        begun();
      };
      const commits = storage.watch?.({}, { signal: end.signal, onReady })[Symbol.asyncIterator]();
      const first = commits?.next();
      await ready;
      const commit = makeCommit({ sessionId: `session-${round}` });
      await other.append(commit);
      expect((await first)?.value).toMatchObject({ sessionId: commit.sessionId });
      expect(calls).toBe(1);
      end.abort();
      await commits?.return?.();
    }
  });
});
