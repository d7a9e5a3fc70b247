import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "vitest";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { SqliteStorage, type SqliteStorageOptions } from "../../../src/storage/sqlite/storage.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { temporaryRoots } from "../files/temporary-root.js";

const newRoot = temporaryRoots();

const VARIANTS: Readonly<Record<string, SqliteStorageOptions & { readonly handedOver: boolean }>> = {
  "on a file": { handedOver: false },
  "over the host's database, with a prefix": { handedOver: true, tablePrefix: "acme_" },
};

for (const [name, { handedOver, ...given }] of Object.entries(VARIANTS)) {
  describe(`SqliteStorage ${name}`, () => {
    const options = { ...given, maxCommitBytes: 2_000_000 };
    const files = new WeakMap<StorageAdapter, string>();
    const openAt = async (file: string) => {
      const storage = await SqliteStorage.open(handedOver ? new DatabaseSync(file) : file, options);
      files.set(storage, file);
      return storage;
    };
    const cases = storageContract({
      open: async () => openAt(join(await newRoot(), "sessions.db")),
      reopen: (storage) => openAt(files.get(storage) ?? ""),
    });
    for (const { name, run } of cases) it(name, run);
  });
}
