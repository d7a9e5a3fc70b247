import * as nodeFs from "node:fs/promises";
import { describe, it } from "vitest";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import type { FileSystem } from "../../../src/storage/files/file-system.js";
import { FileStorage } from "../../../src/storage/files/storage.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { temporaryRoots } from "./temporary-root.js";

const newRoot = temporaryRoots();

const withoutLinks: FileSystem = {
  ...nodeFs,
  link: async () => {
    throw Object.assign(new Error("no links"), { code: "EPERM" });
  },
};

// test/testing/files-contract.slow.test.ts runs the contract with hard links, and also in other processes.
describe("FileStorage without hard links", () => {
  const roots = new WeakMap<StorageAdapter, string>();
  const openAt = async (root: string) => {
    const storage = await FileStorage.open(root, { fs: withoutLinks, maxCommitBytes: 2_000_000 });
    roots.set(storage, root);
    return storage;
  };
  const cases = storageContract({
    open: async () => openAt(await newRoot()),
    reopen: (storage) => openAt(roots.get(storage) ?? ""),
  });
  for (const { name, run } of cases) it(name, run);
});
