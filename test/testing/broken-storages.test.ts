import { afterAll, describe, expect, it } from "vitest";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { BROKEN_STORAGES, type BrokenStorage, brokenStorage } from "../../src/testing/broken.js";
import { ContractError } from "../../src/testing/contract.js";
import { runStorageContract } from "../../src/testing/storage-contract/contract.js";
import type { StorageContractOptions } from "../../src/testing/storage-contract/stage.js";
import { howOften } from "../support/how-often.js";
import * as files from "./storages/files.js";

afterAll(files.finish);

/** A case whose processes wait for each other's late writes, for seconds. In the short form, others find the same fault. */
const PROCESSES = howOften([], ["processes: no update is lost among those that append to one session"]);

/** Cases that must find each, among others, over a storage in memory and over one in files. */
const FOUND: Readonly<
  Record<BrokenStorage, { readonly memory: readonly string[]; readonly files: readonly string[] }>
> = {
  "last-write-wins": {
    memory: ["append: refuses a version that is taken", "append: of concurrent next commits, stores exactly one"],
    files: [
      "instances: one with outdated knowledge overwrites nothing",
      "instances: of concurrent appends to both, exactly one is stored for each version",
    ],
  },
  "non-atomic-pair": {
    memory: ["errors: a refused commit appears in no log, list or count"],
    files: ["errors: a refused commit appears in no log, list or count"],
  },
  "swallowed-error": {
    memory: [
      "errors: refuses a commit that can't be stored, with any error, and keeps nothing of it",
      "list: refuses an invalid limit, with INVALID_INPUT",
      "list: refuses an invalid cursor, with CURSOR_INVALID",
    ],
    files: [
      "errors: refuses a commit that can't be stored, with any error, and keeps nothing of it",
      "append: refuses a commit over the largest size",
    ],
  },
  "lost-order": {
    memory: ["log: returns all commits in order, from a version on, and at most the requested number"],
    files: ["log: returns all commits in order, from a version on, and at most the requested number"],
  },
  "shared-references": {
    memory: ["aliases: objects that were appended or read can be changed without changing what is stored"],
    files: ["aliases: objects that were appended or read can be changed without changing what is stored"],
  },
  unfsynced: {
    // In memory nothing is durable; that it takes what it can't write shows all the same.
    memory: ["errors: refuses a commit that can't be stored, with any error, and keeps nothing of it"],
    files: [
      "instances: a commit that one has acknowledged is visible to the other at once",
      ...PROCESSES,
      "kills: acknowledged commits are complete, without gaps or duplicates, and the next append works",
    ],
  },
};

/** The names of the cases that an adapter does not keep. */
async function brokenCases(options: StorageContractOptions, only: string): Promise<string[]> {
  try {
    await runStorageContract(options, { only });
    return [];
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    return error.report.results.filter(({ outcome }) => outcome === "broken").map(({ name }) => name);
  }
}

/** FileStorage with a fault, here and in other processes. */
function brokenFiles(kind: BrokenStorage): StorageContractOptions {
  const inners = new WeakMap<StorageAdapter, StorageAdapter>();
  const broken = (inner: StorageAdapter) => {
    const storage = brokenStorage(kind, inner);
    inners.set(storage, inner);
    return storage;
  };
  const innerOf = (storage: StorageAdapter) => inners.get(storage) ?? storage;
  return {
    kills: 6,
    open: async () => broken(await files.open()),
    reopen: async (storage) => broken(await files.reopen(innerOf(storage))),
    spawn: (storage) => {
      const { options } = files.spawn(innerOf(storage));
      return { module: new URL("./broken-files.ts", import.meta.url), options: { kind, options } };
    },
  };
}

describe("the storage contract", () => {
  for (const kind of BROKEN_STORAGES) {
    it(`finds ${kind} in memory`, { timeout: 300_000 }, async () => {
      const broken = { open: async () => brokenStorage(kind, new MemoryStorage()) };
      for (const name of FOUND[kind].memory) {
        expect(await brokenCases(broken, name)).toEqual([expect.stringContaining(name)]);
      }
    });

    it(`finds ${kind} in files`, { timeout: 600_000 }, async () => {
      for (const name of FOUND[kind].files) {
        expect(await brokenCases(brokenFiles(kind), name)).toEqual([expect.stringContaining(name)]);
      }
    });
  }
});
