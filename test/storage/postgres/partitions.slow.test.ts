import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import type { SessionId } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import type { Commit } from "phasegate/storage";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { PgClient } from "../../../src/storage/postgres/options.js";
import { MIGRATIONS } from "../../../src/storage/postgres/schema.js";
import { collect, makeCommit } from "../../../src/testing/contract.js";
import { emptyDatabase, newSchema, runSql } from "../../support/postgres.ts";
import { startPostgres } from "../../support/postgres-server.ts";

/** The version of the tables before the log was in partitions. */
const OLD = 7;
const FILLERS = 20_000;

let [url, schema] = ["", ""];
let host: PostgresStorage;
beforeEach(async () => {
  url = await emptyDatabase();
  await makeTables();
  return async () => {
    await host.close();
  };
});

/** Tables of the version before, with a host that has opened them: its statements are those of now. */
async function makeTables(as = url): Promise<void> {
  schema = newSchema();
  await runSql(
    as,
    `CREATE SCHEMA ${schema}`,
    `CREATE TABLE ${schema}.migrations (number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    ...MIGRATIONS.slice(0, OLD).map((statements) => statements(schema)),
    `INSERT INTO ${schema}.migrations (number) SELECT generate_series(1, ${MIGRATIONS.length})`,
  );
  host = await PostgresStorage.open({ url: as, schema, pollMs: 20 });
  await runSql(as, `DELETE FROM ${schema}.migrations WHERE number > ${OLD}`);
}

/** Commits of sessions that nobody looks at, so that copying takes several transactions. */
async function fill(count = FILLERS): Promise<void> {
  await runSql(url, inserting(`'filler-' || n`, count));
}

/** Writes commits as another server's replication would, or a person. */
function inserting(id: string, count = 1): string {
  const { hash, at, summary, body } = makeCommit({ sessionId: "filler" });
  return `INSERT INTO ${schema}.commits (session_id, version, at, schema, previous_hash, hash, summary, body, status, current_step)
      SELECT ${id}, 1, '${at}', 1, '', '${hash}', '${JSON.stringify(summary)}', '${body}', 'active', '1'
      FROM generate_series(1, ${count}) n`;
}

async function countCommits(): Promise<unknown> {
  return (await runSql(url, `SELECT count(*)::int AS found FROM ${schema}.commits`))[0]?.found;
}

/** Opens the storage, and closes it: that divides the log. */
async function divide(options: { url?: string; statementTimeoutMs?: number } = {}): Promise<void> {
  await (await PostgresStorage.open({ url, schema, ...options })).close();
}

/** Divides the log on a connection of its own, with something done before each statement. */
async function divideWith(before: (text: string, client: Client) => unknown): Promise<void> {
  const client = await connected();
  const query = client.query.bind(client);
  const hooked: PgClient = {
    on: () => {},
    query: async (statement) => {
      await before(statement.text, client);
      return query(statement);
    },
  };
  await PostgresStorage.open({ schema, client: hooked });
}

const COPIES = "WITH next";

/** Begins to divide the log, and ends before this copy of a few thousand commits. */
async function divideUntil(copy: number): Promise<void> {
  let copies = 0;
  const killed = divideWith((text) => {
    if (text.includes(COPIES) && ++copies === copy) throw new Error("killed");
  });
  await expect(killed).rejects.toMatchObject({ code: "STORAGE_FAILED" });
}

/** Makes each commit that is copied from now on take 0.1 s. */
async function slowCopies(): Promise<void> {
  const sleeping = `CREATE FUNCTION ${schema}.sleep() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END';
    CREATE TRIGGER sleep BEFORE INSERT ON ${schema}.commits_in_partitions FOR EACH ROW EXECUTE FUNCTION ${schema}.sleep()`;
  await runSql(url, sleeping);
}

async function connected(address = url): Promise<Client> {
  const client = new Client({ connectionString: address });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

/** Makes a role, and returns the address with it. */
async function withRole(): Promise<{ role: string; address: string }> {
  const role = `role_${newSchema()}`;
  await runSql(url, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`);
  const address = new URL(url);
  [address.username, address.password] = [role, "secret"];
  return { role, address: address.href };
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
    await divideUntil(2);
    const places = `SELECT session_id FROM ${schema}.commits_copied WHERE version > 0`;
    const before = await runSql(url, places);
    expect(before).toHaveLength(1);
    await slowCopies();
    const killed = expect(PostgresStorage.open({ url, schema, retryMs: 0 })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
    });
    const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE query LIKE '${COPIES}%' AND state = 'active' AND datname = current_database()`;
    await expect.poll(() => runSql(url, kill), { interval: 5 }).toHaveLength(1);
    await killed;
    expect(await runSql(url, places)).toEqual(before);
    await runSql(url, `DROP FUNCTION ${schema}.sleep CASCADE`);
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

describe("a log that is divided while others have their hands in the database", { timeout: 120_000 }, () => {
  it("may be published with all tables", async () => {
    await fill(10);
    await runSql(url, "CREATE PUBLICATION everything FOR ALL TABLES");
    await divide();
    expect(await layout()).toEqual(PARTITIONED);
    expect(await countCommits()).toBe(10);
  });

  it.each([
    [
      "a view",
      "CREATE VIEW SCHEMA.mine AS SELECT version FROM SCHEMA.commits",
      "DROP VIEW SCHEMA.mine",
      /rule _RETURN on view .*mine/,
    ],
    [
      "row-level security",
      "ALTER TABLE SCHEMA.commits ENABLE ROW LEVEL SECURITY",
      "ALTER TABLE SCHEMA.commits DISABLE ROW LEVEL SECURITY",
      /its row-level security/,
    ],
    [
      "a trigger",
      `CREATE FUNCTION SCHEMA.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
        CREATE TRIGGER note AFTER INSERT ON SCHEMA.commits FOR EACH ROW EXECUTE FUNCTION SCHEMA.note()`,
      "DROP TRIGGER note ON SCHEMA.commits",
      /trigger note on table/,
    ],
    [
      "an option of a view",
      "ALTER VIEW SCHEMA.workflow_history SET (security_barrier = true)",
      "ALTER VIEW SCHEMA.workflow_history RESET (security_barrier)",
      /options of view workflow_history/,
    ],
  ])("is refused with %s of the owner's, which would be lost", async (_, make, drop, what) => {
    await runSql(url, make.replaceAll("SCHEMA", schema));
    await expect(divide()).rejects.toThrow(what);
    await host.append(makeCommit({ sessionId: "meanwhile" }));
    await runSql(url, drop.replaceAll("SCHEMA", schema));
    await divide();
    expect(await layout()).toEqual(PARTITIONED);
    expect(await countCommits()).toBe(1);
  });

  it("keeps rights on columns, those of who dumps all tables, and gives none by default", async () => {
    const [reader, dumper] = [await withRole(), await withRole()];
    await fill(10);
    await runSql(
      url,
      `GRANT USAGE ON SCHEMA ${schema} TO ${reader.role}, ${dumper.role}`,
      `GRANT SELECT (version) ON ${schema}.commits TO ${reader.role}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${dumper.role}`,
      `GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${schema} TO ${dumper.role}`,
      `ALTER DEFAULT PRIVILEGES IN SCHEMA ${schema} GRANT ALL ON TABLES TO ${reader.role}`,
    );
    await divide();
    const versions = `SELECT DISTINCT version FROM ${schema}.commits`;
    expect(await runSql(reader.address, versions)).toEqual([{ version: "1" }]);
    for (const table of ["commits", "commits_03"]) {
      await expect(runSql(reader.address, `SELECT body FROM ${schema}.${table}`)).rejects.toThrow("permission denied");
      await runSql(dumper.address, `SELECT FROM ${schema}.${table}`);
    }
    await runSql(dumper.address, `SELECT last_value FROM ${schema}.commits_entries`);
  });

  it("is finished by a host of its owner, where an administrator began", async () => {
    const { role, address } = await withRole();
    await runSql(url, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${role}`);
    await host.close();
    await makeTables(address);
    await fill(10);
    await divideUntil(1);
    await host.append(makeCommit({ sessionId: "between" }));
    await divide({ url: address });
    expect(await layout()).toEqual(PARTITIONED);
    expect(await countCommits()).toBe(11);
  });

  it("has the edit of a commit that was just being copied", async () => {
    await fill(10);
    let copies = 0;
    let edited: Promise<unknown> | undefined;
    await divideWith(async (text) => {
      if (text.includes(COPIES)) copies += 1;
      if (text !== "COMMIT" || copies !== 1 || edited !== undefined) return;
      edited = runSql(url, `UPDATE ${schema}.commits SET body = 'edited' WHERE session_id = 'filler-7'`);
      await delay(300);
    });
    await edited;
    const bodies = await runSql(url, `SELECT body FROM ${schema}.commits WHERE session_id = 'filler-7'`);
    expect(bodies).toEqual([{ body: "edited" }]);
  });

  it("has replicated commits, and those of transactions that are older than the division, at any level", async () => {
    await fill();
    const levels = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];
    const others = await Promise.all(levels.map(() => connected()));
    for (const [index, level] of levels.entries()) {
      await others[index]?.query(`BEGIN ISOLATION LEVEL ${level}; SELECT pg_current_xact_id() FROM ${schema}.sessions`);
    }
    let copies = 0;
    await divideWith(async (text) => {
      if (!text.includes(COPIES)) return;
      copies += 1;
      if (copies === 1) {
        for (const [index, other] of others.entries()) await other.query(inserting(`'a-${index}'`));
      }
      // Their place has been copied by now.
      if (copies !== 3) return;
      for (const other of others) await other.query("COMMIT");
      await runSql(url, "SET session_replication_role = replica", inserting("'a-replicated'"));
    });
    expect(await countCommits()).toBe(FILLERS + 4);
  });

  it("goes on after a deadlock with somebody who removes commits", async () => {
    await fill(100);
    const other = await connected();
    const deleting = (id: string) => other.query(`DELETE FROM ${schema}.commits WHERE session_id = '${id}'`);
    let removing: Promise<void> | undefined;
    await divideWith(async (text) => {
      if (removing !== undefined || !text.includes(COPIES)) return;
      await other.query("BEGIN");
      await deleting("filler-50");
      removing = (async () => {
        // Meanwhile the copy has locked this one, and waits for the other.
        await delay(500);
        await deleting("filler-1");
        await other.query("COMMIT");
      })();
    });
    await removing;
    expect(await countCommits()).toBe(98);
  });

  it("fails nobody who reads a view", async () => {
    await fill(100);
    const reader = await connected();
    await reader.query(`BEGIN; SELECT FROM ${schema}.commits`);
    const dividing = divide();
    await delay(600);
    // They wait behind the migration, and have locked what it needs.
    const views = Promise.all([1, 2, 3].map(() => runSql(url, `SELECT FROM ${schema}.workflow_history`)));
    await delay(100);
    await reader.query("COMMIT");
    await views;
    await dividing;
    expect(await layout()).toEqual(PARTITIONED);
  });

  it("holds up others for seconds only if its host is suspended while it has the lock", async () => {
    await fill(10);
    let isReplacing = false;
    let isSuspended = false;
    let wake = () => {};
    const awake = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const dividing = divideWith(async (text) => {
      isSuspended = text.includes("INSERT INTO") && isReplacing;
      if (isSuspended) await awake;
      isReplacing ||= text.includes("commits_before");
    });
    const failed = expect(dividing).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    await expect.poll(() => isSuspended).toBe(true);
    await host.append(makeCommit({ sessionId: "waits" }));
    wake();
    await failed;
    await divide();
    expect(await countCommits()).toBe(11);
  });

  it("takes as long as it must, however soon the host's own statements time out", async () => {
    await fill(60);
    await divideUntil(1);
    await slowCopies();
    await divide({ statementTimeoutMs: 200 });
    expect(await countCommits()).toBe(60);
  });

  it("is finished after a kill before any of its statements", async () => {
    for (let [at, isOver] = [0, false]; !isOver; at += 1) {
      await host.close();
      await makeTables();
      await fill(10);
      let statements = 0;
      isOver = await divideWith((_, client) => {
        if (statements++ === at) client.connection.stream.destroy();
      }).then(
        () => true,
        () => false,
      );
      await host.append(makeCommit({ sessionId: "after" }));
      await Promise.all([divide(), divide()]);
      expect(await layout(), `killed before statement ${at}`).toEqual(PARTITIONED);
      expect(await countCommits()).toBe(11);
    }
  });

  it("fails when the disk is full, and goes on once there is room", async () => {
    await fill();
    await divideUntil(2);
    await runSql(
      url,
      `CREATE FUNCTION ${schema}.no_room() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$`,
      `CREATE TRIGGER no_room BEFORE INSERT ON ${schema}.commits_in_partitions
        FOR EACH ROW EXECUTE FUNCTION ${schema}.no_room()`,
    );
    const full = { details: { cause: "the server's disk is full (53100)" } };
    await expect(divide()).rejects.toMatchObject(full);
    await expect(host.append(makeCommit({ sessionId: "x" }))).rejects.toMatchObject(full);
    await runSql(url, `DROP TRIGGER no_room ON ${schema}.commits_in_partitions`);
    await host.append(makeCommit({ sessionId: "x" }));
    await divide();
    expect(await countCommits()).toBe(FILLERS + 1);
  });

  it("can be given up before its end", async () => {
    await fill();
    await divideUntil(3);
    const giveUp = await readFile(new URL("documented/give-up-partitions.sql", import.meta.url), "utf8");
    await runSql(url, giveUp.replaceAll("phasegate.", `${schema}.`));
    expect(await layout()).toEqual(["r commits"]);
    expect((await runSql(url, `SELECT max(number) AS number FROM ${schema}.migrations`))[0]).toEqual({ number: OLD });
    await host.append(makeCommit({ sessionId: "after" }));
    await divide();
    expect(await countCommits()).toBe(FILLERS + 1);
  });

  it("does not wait for an autovacuum", async () => {
    const server = await startPostgres(["unix_socket_directories=", "fsync=off", "autovacuum_naptime=1"]);
    onTestFinished(() => server.remove());
    await host.close();
    url = server.url;
    await makeTables();
    await fill();
    await runSql(
      url,
      `ALTER TABLE ${schema}.commits SET (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)`,
      `DELETE FROM ${schema}.commits WHERE session_id LIKE '%7'`,
    );
    const vacuums = `SELECT FROM pg_stat_progress_vacuum WHERE relid = '${schema}.commits'::regclass`;
    await expect.poll(() => runSql(url, vacuums), { timeout: 30_000 }).toHaveLength(1);
    await Promise.race([divide(), delay(20_000)]);
    expect(await layout()).toEqual(PARTITIONED);
    await host.close();
  });
});
