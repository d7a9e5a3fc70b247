import { Client, Pool } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { newSchema, postgresUrl } from "../../support/postgres.ts";

let url = "";
let pool: Pool;
let client: Client;
beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 8 });
  client = new Client({ connectionString: url });
  await client.connect();
}, 60_000);
afterAll(async () => {
  await pool.end();
  await client.end();
});

const PLACES = {
  "with a url": () => ({ url }),
  "with a pool of the host's": () => ({ pool }),
  "with one client of the host's": () => ({ client }),
  "without prepared statements": () => ({ pool, preparedStatements: false }),
} as const;

for (const [name, place] of Object.entries(PLACES)) {
  describe(`PostgresStorage ${name}`, () => {
    const schemas = new WeakMap<StorageAdapter, string>();
    const openAt = async (schema: string) => {
      const storage = await PostgresStorage.open({ ...place(), schema, maxCommitBytes: 2_000_000, pollMs: 100 });
      schemas.set(storage, schema);
      return storage;
    };
    const cases = storageContract({
      open: () => openAt(newSchema()),
      reopen: (storage) => openAt(schemas.get(storage) ?? ""),
    });
    for (const { name, run } of cases) it(name, run);
  });
}
