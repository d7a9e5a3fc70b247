import { Client, Pool } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, it } from "vitest";
import { storageContract } from "../../../src/testing/storage-contract/contract.js";
import { howOften } from "../../support/how-often.ts";
import { emptySchema, newSchema, postgresUrl } from "../../support/postgres.ts";

let pool: Pool;
let client: Client;
beforeAll(async () => {
  const url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 8 });
  client = new Client({ connectionString: url });
  await client.connect();
}, 60_000);
afterAll(async () => {
  await pool.end();
  await client.end();
});

/**
 * Ways to open a storage without a URL. test/testing/postgres-contract.slow.test.ts opens it with one, in other processes,
 * too.
 */
const PLACES = howOften(
  { "with one client of the host's, without prepared statements": () => ({ client, preparedStatements: false }) },
  {
    "with a pool of the host's": () => ({ pool }),
    "with one client of the host's": () => ({ client }),
    "without prepared statements": () => ({ pool, preparedStatements: false }),
  },
);

for (const [name, place] of Object.entries(PLACES)) {
  describe(`PostgresStorage ${name}`, () => {
    const schema = newSchema();
    const reopen = () => PostgresStorage.open({ ...place(), schema, maxCommitBytes: 2_000_000, pollMs: 100 });
    const open = async () => {
      const storage = await reopen();
      await emptySchema(pool, schema);
      return storage;
    };
    for (const { name, run } of storageContract({ open, reopen })) it(name, run);
  });
}
