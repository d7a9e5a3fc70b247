import { describe, expect, it, vi } from "vitest";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { ContractError, runCases } from "../../src/testing/contract.js";
import { storageContract } from "../../src/testing/storage-contract/contract.js";
import type { SessionId } from "../../src/workflow/names.js";
import { FullStorage, type Wrong } from "./full-storage.js";

/** The cases of a storage with all methods; `reopen` gives another adapter over it. */
function casesOf(wrong: Wrong = {}) {
  const storages = new WeakMap<object, FullStorage>();
  const adapterOf = (storage: FullStorage) => {
    const adapter = storage.adapter();
    storages.set(adapter, storage);
    return adapter;
  };
  return storageContract({
    open: async () => adapterOf(new FullStorage(wrong)),
    reopen: async (adapter) => adapterOf(storages.get(adapter) ?? new FullStorage()),
  });
}

describe("a storage with all that an adapter may have", () => {
  for (const { name, run } of casesOf().filter(({ name }) =>
    /^(watch|changes|size|compact|instances|reopen)/.test(name),
  )) {
    it(name, async () => expect(await run()).toBeUndefined());
  }
});

const held: Commit[] = [];

const known = new Set<SessionId>();
/** Returns all ids that were ever named. */
function named(ids: readonly SessionId[]): ReadonlySet<SessionId> {
  for (const id of ids) known.add(id);
  return known;
}

/** Faults of the methods that an adapter may have, and the start of the case that must find each. */
const FAULTS: Readonly<Record<string, readonly [found: string, wrong: Wrong]>> = {
  "a watch that loses commits": [
    "watch: returns all commits that are appended after the call, in order for each session",
    { pass: (commit, tell) => (commit.version === 7 ? undefined : tell(commit)) },
  ],
  "a watch that mixes up a session's order": [
    "watch: returns all commits that are appended after the call, in order for each session",
    {
      pass: (commit, tell) => {
        if (commit.version === 4) held.push(commit);
        else tell(commit);
        if (commit.version === 5) for (const one of held.splice(0)) tell(one);
      },
    },
  ],
  "a watch that lets all through": ["watch: filters by the summary of each commit", { ignoresFilter: true }],
  "a watch that goes on after its signal": [
    "watch: ends when its signal aborts, also if it was aborted before the call",
    { ignoresAbort: true },
  ],
  "changes that name removed sessions among all": [
    "changes: names each session of the kind once",
    {
      changes: ({ sessionIds, ...rest }) => ({
        sessionIds: [...new Set([...sessionIds, ...named(sessionIds)])],
        ...rest,
      }),
    },
  ],
  "changes that omit a session": [
    "changes: omits no commit that is appended at the same time",
    { changes: ({ sessionIds, ...rest }) => ({ sessionIds: sessionIds.filter((id) => id !== "s7"), ...rest }) },
  ],
  "a size that doesn't count payloads": ["size: includes payloads", { size: async () => ({ commits: 1, bytes: 1 }) }],
  "a size of sessions that there are not": [
    "size: counts commits and grows with them",
    { size: async () => ({ commits: 0, bytes: 0 }) },
  ],
  "a compaction that loses the log": [
    "compact: keeps the whole session, which can be continued",
    { compact: async (_, forget) => forget() },
  ],
  "a compaction that fails for a session that is gone": [
    "compact: does not create a session that is missing or was removed",
    { compact: () => Promise.reject(new Error("no such session")) },
  ],
};

describe("the storage contract finds", () => {
  for (const [what, [name, wrong]] of Object.entries(FAULTS)) {
    it(what, async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      try {
        const run = { isOver: false };
        const found = runCases(casesOf(wrong), { only: name }).finally(() => {
          run.isOver = true;
        });
        const refused = expect(found).rejects.toThrow(ContractError);
        // What a case waits for in vain is over at once.
        while (!run.isOver) {
          await new Promise((resolve) => setImmediate(resolve));
          await vi.advanceTimersByTimeAsync(1000);
        }
        await refused;
      } finally {
        vi.useRealTimers();
      }
    });
  }
});
