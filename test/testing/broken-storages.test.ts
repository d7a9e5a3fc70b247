import { describe, expect, it } from "vitest";
import type { StorageAdapter } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { BROKEN_STORAGES, type BrokenStorage, brokenStorage } from "../../src/testing/broken.js";
import { ContractError } from "../../src/testing/contract.js";
import { runStorageContract } from "../../src/testing/storage-contract/contract.js";
import type { StorageContractOptions } from "../../src/testing/storage-contract/stage.js";
import * as files from "./storages/files.js";

/** Cases that must find each, among others, over a storage in memory and over one in files. */
const FOUND: Readonly<
  Record<BrokenStorage, { readonly memory: readonly string[]; readonly files: readonly string[] }>
> = {
  "last-write-wins": {
    memory: ["append: a commit on an older version", "append: of those that follow a commit at once, one wins"],
    files: ["instances: one that has not looked for a while", "instances: of those that append to both at once"],
  },
  "non-atomic-pair": {
    memory: ["errors: a commit that was refused leaves nothing"],
    files: ["errors: a commit that was refused leaves nothing"],
  },
  "swallowed-error": {
    memory: ["errors: a commit that can't be stored is refused", "list: a limit or a cursor that is none is refused"],
    files: ["errors: a commit that can't be stored is refused", "append: a commit over the largest size is refused"],
  },
  "lost-order": {
    memory: ["log: all commits in order"],
    files: ["log: all commits in order"],
  },
  "shared-references": {
    memory: ["aliases: changing what was appended or given back"],
    files: ["aliases: changing what was appended or given back"],
  },
  unfsynced: {
    // In memory nothing is durable; that it takes what it can't write shows all the same.
    memory: ["errors: a commit that can't be stored is refused"],
    files: [
      "instances: what one has acknowledged the other has at once",
      "processes: no update is lost among those that append to one session",
      "kills: what was acknowledged is there",
    ],
  },
};

/** The names of the cases that an adapter does not keep. */
async function brokenCases(options: StorageContractOptions, only = ""): Promise<string[]> {
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
      const found = await brokenCases({ open: async () => brokenStorage(kind, new MemoryStorage()) });
      for (const name of FOUND[kind].memory) expect(found).toContainEqual(expect.stringContaining(name));
    });

    it(`finds ${kind} in files`, { timeout: 600_000 }, async () => {
      for (const name of FOUND[kind].files) {
        expect(await brokenCases(brokenFiles(kind), name)).toEqual([expect.stringContaining(name)]);
      }
    });
  }
});
