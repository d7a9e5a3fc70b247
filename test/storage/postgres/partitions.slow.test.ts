import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import type { SessionId } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import type { Commit } from "phasegate/storage";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { MIGRATIONS } from "../../../src/storage/postgres/schema.js";
import { collect, makeCommit } from "../../../src/testing/contract.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";

/** The version of the tables before the log was in partitions. */
const OLD = 7;
const FILLERS = 20_000;

let [url, schema] = ["", ""];
let host: PostgresStorage;
beforeAll(async () => {
  url = await postgresUrl();
});

/** Tables of the version before, with a host that has opened them: its statements are those of now. */
beforeEach(async () => {
  schema = newSchema();
  await runSql(
    url,
    `CREATE SCHEMA ${schema}`,
    `CREATE TABLE ${schema}.migrations (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    ...MIGRATIONS.slice(0, OLD).map((statements) => statements(schema)),
    `INSERT INTO ${schema}.migrations (number) SELECT generate_series(1, ${MIGRATIONS.length})`,
  );
  host = await PostgresStorage.open({ url, schema, pollMs: 20 });
  await runSql(url, `DELETE FROM ${schema}.migrations WHERE number > ${OLD}`);
  return async () => {
    await host.close();
    await runSql(url, `DROP SCHEMA ${schema} CASCADE`);
  };
});

/** Commits of sessions that nobody looks at, so that copying takes several transactions. */
async function fill(): Promise<void> {
  const { hash, at, summary, body } = makeCommit({ sessionId: "filler" });
  await runSql(
    url,
    `INSERT INTO ${schema}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
      SELECT 'filler-' || n, 1, '${at}', 1, '', '${hash}', '${JSON.stringify(summary)}', '${body}', 'active', '1'
      FROM generate_series(1, ${FILLERS}) n`,
  );
}

async function layout(): Promise<unknown> {
  const text = `SELECT relname, relkind FROM pg_class WHERE relnamespace = '${schema}'::regnamespace
    AND relname LIKE 'commits%' AND relkind IN ('r', 'p') ORDER BY relname`;
  return (await runSql(url, text)).map(({ relname, relkind }) => `${relkind} ${relname}`);
}
const PARTITIONED = [
  "p commits",
  ...Array.from({ length: 16 }, (_, part) => `r commits_${String(part).padStart(2, "0")}`),
];

function followed(commit: Commit): Commit {
  const version = commit.version + 1;
  return makeCommit({
    sessionId: commit.sessionId,
    version,
    previousHash: commit.hash,
    hash: `${commit.sessionId}-${version}`,
  });
}

describe("a log that is divided into partitions", { timeout: 120_000 }, () => {
  it("loses no commit and brings none back, while hosts write, remove and watch", async () => {
    await fill();
    let isOver = false;
    const written = new Map<SessionId, Commit[]>();
    const removed: SessionId[] = [];
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { sessionId, version } of host.watch({}, { signal: ending.signal }))
        seen.push(`${sessionId} ${version}`);
    })();
    const write = async (lane: number) => {
      for (let number = 0; !isOver; number += 1) {
        const first = makeCommit({ sessionId: `lane-${lane}-${number}` });
        const log = [first, followed(first), followed(followed(first))];
        for (const commit of log) await host.append(commit);
        if (number % 3 === 0) {
          await host.remove(first.sessionId);
          removed.push(first.sessionId);
        } else written.set(first.sessionId, log);
      }
    };
    const writing = Promise.all([1, 2, 3, 4].map(write));
    await delay(300);
    const migrating = await Promise.all([PostgresStorage.open({ url, schema }), PostgresStorage.open({ url, schema })]);
    await delay(300);
    isOver = true;
    await writing;

    expect(await layout()).toEqual(PARTITIONED);
    expect(written.size).toBeGreaterThan(10);
    for (const storage of [host, ...migrating]) {
      for (const [id, log] of written) expect(await collect(storage.log(id))).toEqual(log);
      for (const id of removed) expect(await storage.read(id)).toBeUndefined();
    }
    const [counted] = await runSql(
      url,
      `SELECT count(*)::int AS found FROM ${schema}.commits WHERE session_id LIKE 'filler-%'`,
    );
    expect(counted).toEqual({ found: FILLERS });
    const ghosts = await runSql(
      url,
      `SELECT session_id, version FROM ${schema}.commits WHERE version < 3 AND session_id = ANY('{${removed.join(",")}}')`,
    );
    expect(ghosts).toEqual([]);
    const expected = [...written.values()].flat().map(({ sessionId, version }) => `${sessionId} ${version}`);
    await expect.poll(() => expected.filter((one) => !seen.includes(one))).toEqual([]);
    ending.abort();
    await watching.catch(() => undefined);
    expect(new Set(seen).size).toBe(seen.length);
    await Promise.all(migrating.map((storage) => storage.close()));
  });

  it("goes on where a process that copied was killed", async () => {
    await fill();
    const opening = PostgresStorage.open({ url, schema, retryMs: 0 }).catch((error: unknown) => error);
    const copied = `SELECT session_id FROM ${schema}.commits_copied WHERE version > 0`;
    await expect.poll(() => runSql(url, copied).catch(() => []), { interval: 5, timeout: 20_000 }).toHaveLength(1);
    const [place] = await runSql(url, copied);
    await runSql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'phasegate'
        AND state <> 'idle' AND pid <> pg_backend_pid()`,
    );
    expect(await opening).toBeInstanceOf(Error);
    expect(place).toBeDefined();
    expect((await runSql(url, `SELECT max(number) AS number FROM ${schema}.migrations`))[0]).toEqual({
      number: OLD + 1,
    });
    await host.append(makeCommit({ sessionId: "between" }));
    const storage = await PostgresStorage.open({ url, schema });
    expect(await layout()).toEqual(PARTITIONED);
    const [counted] = await runSql(url, `SELECT count(*)::int AS found FROM ${schema}.commits`);
    expect(counted).toEqual({ found: FILLERS + 1 });
    expect((await storage.read("between" as SessionId))?.version).toBe(1);
    await storage.close();
  });

  it("keeps rights, the views, the order of the history, and lets those pass who wait while it waits for a reader", async () => {
    const role = `role_${schema}`;
    await runSql(
      url,
      `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`,
      `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
      `GRANT SELECT ON ${schema}.migrations, ${schema}.workflow_history TO ${role}`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${schema}.sessions, ${schema}.commits, ${schema}.payloads, ${schema}.listeners TO ${role}`,
    );
    const first = makeCommit({ sessionId: "kept" });
    await host.append(first);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    await reader.query(`BEGIN; SELECT FROM ${schema}.commits`);
    const opening = PostgresStorage.open({ url, schema });
    await delay(1500);
    // Behind a migration that waits without end, this would wait as long.
    await host.append(followed(first));
    await reader.query("COMMIT");
    await reader.end();
    const storage = await opening;

    const address = new URL(url);
    [address.username, address.password] = [role, "secret"];
    const limited = await PostgresStorage.open({ url: address.href, schema, migrate: false });
    await limited.append(followed(followed(first)));
    const history = `SELECT history_entry_id::int AS id, instance_id FROM ${schema}.workflow_history ORDER BY 1`;
    expect(await runSql(address.href, history)).toEqual([1, 2, 3].map((id) => ({ id, instance_id: "kept" })));
    expect((await limited.list({})).items).toHaveLength(1);
    await Promise.all([storage.close(), limited.close()]);
    await runSql(url, `DROP OWNED BY ${role}`, `DROP ROLE ${role}`);
  });
});
