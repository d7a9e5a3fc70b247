import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "vitest";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { temporaryRoots } from "../files/temporary-root.js";

const newRoot = temporaryRoots();

// test/testing/sqlite-contract.slow.test.ts runs the contract on a file, and also in other processes.
describe("SqliteStorage over the host's database, with a prefix", () => {
  const files = new WeakMap<StorageAdapter, string>();
  const openAt = async (file: string) => {
    const options = { tablePrefix: "acme_", maxCommitBytes: 2_000_000 };
    const storage = await SqliteStorage.open(new DatabaseSync(file), options);
    files.set(storage, file);
    return storage;
  };
  const cases = storageContract({
    open: async () => openAt(join(await newRoot(), "sessions.db")),
    reopen: (storage) => openAt(files.get(storage) ?? ""),
  });
  for (const { name, run } of cases) it(name, run);
});
