import { chmod, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import {
  PairedServer,
  POOLING,
  type Pooler,
  startPooler,
  withoutDebianPostgres,
} from "../../support/debian-postgres.ts";
import { failure } from "../../support/failure.js";
import { newSchema, queryStandby, runSql } from "../../support/postgres.ts";

const REASON = withoutDebianPostgres();

describe.skipIf(REASON !== "")(`pgbouncer in front of a server${REASON}`, () => {
  let folder: string;
  let primary: PairedServer;
  let standby: PairedServer;
  const poolers: Pooler[] = [];
  const pooled = async (settings: Readonly<Record<string, string>>) => {
    const pooler = await startPooler(primary, folder, settings);
    poolers.push(pooler);
    return pooler.url;
  };
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "phasegate-pooler-"));
    await chmod(folder, 0o755);
    [primary, standby] = await PairedServer.startPair(join(folder, "servers"));
  });
  afterAll(async () => {
    await Promise.all(poolers.map((pooler) => pooler.remove()));
    await Promise.all([primary.remove(), standby.remove()]);
  });

  it("refuses the statement timeout unless it ignores it, and the error names both settings", async () => {
    const url = await pooled({ pool_mode: "transaction" });
    const error = await failure(PostgresStorage.open({ url, schema: newSchema(), preparedStatements: false }));
    expect(error.remedy).toMatch(/statementTimeoutMs: 0, or set ignore_startup_parameters = statement_timeout/);
    const storage = await PostgresStorage.open({
      url,
      schema: newSchema(),
      preparedStatements: false,
      statementTimeoutMs: 0,
    });
    await storage.append(makeCommit());
    await storage.close();
  });

  it("refuses prepared statements in transaction mode, and the error names the option", async () => {
    const url = await pooled(POOLING);
    const storage = await PostgresStorage.open({ url, schema: newSchema(), maxConnections: 4, retryMs: 0 });
    // Each call may get another of the pooler's connections, so sooner or later a statement is missing or there twice.
    const append = async (sessionId: string) => {
      let newest: Commit = makeCommit({ sessionId });
      for (let count = 0; count < 200; count += 1) {
        await storage.append(newest);
        newest = nextCommit(newest);
      }
    };
    const error = await failure(Promise.all(["a", "b", "c", "d"].map(append)));
    expect(error.remedy).toMatch(/preparedStatements: false/);
    await storage.close();
  });

  it("is refused in statement mode, and the error names the setting", async () => {
    const url = await pooled({ ...POOLING, pool_mode: "statement" });
    const error = await failure(PostgresStorage.open({ url, schema: newSchema(), preparedStatements: false }));
    expect(error.remedy).toMatch(/pool_mode = transaction/);
  });

  it("passes on that a wait for the standby was cancelled, so that the append is not acknowledged", async () => {
    const url = await pooled(POOLING);
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema, preparedStatements: false, retryMs: 60_000 });
    const commit = makeCommit();
    await standby.stop();
    let acknowledged = false;
    const appended = storage.append(commit).then(() => {
      acknowledged = true;
    });
    const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while ((await runSql(primary.url, `SELECT pg_cancel_backend(pid) ${waiting}`)).length === 0) await delay(20);
    const found = `SELECT FROM ${schema}.commits`;
    while ((await runSql(primary.url, found)).length === 0) await delay(20);
    // The second wait belongs to the statement that confirms the append.
    while (!acknowledged && (await runSql(primary.url, `SELECT ${waiting}`)).length === 0) await delay(20);
    expect(acknowledged, "the standby is not there").toBe(false);
    await standby.resume();
    await appended;
    expect(await queryStandby(standby.url, found)).toHaveLength(1);
    await storage.close();
  });

  it("serves a watch, which polls", async () => {
    const url = await pooled(POOLING);
    const storage = await PostgresStorage.open({ url, schema: newSchema(), preparedStatements: false, pollMs: 100 });
    const stopping = new AbortController();
    const found: Commit[] = [];
    const watching = (async () => {
      for await (const commit of storage.watch({}, { signal: stopping.signal })) found.push(commit);
    })();
    const commit = makeCommit();
    await storage.append(commit);
    await storage.append(nextCommit(commit));
    while (found.length < 2) await delay(20);
    stopping.abort();
    await watching;
    expect(found).toEqual([commit, nextCommit(commit)]);
    await storage.close();
  });
});
