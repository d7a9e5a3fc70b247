import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { Client, Pool } from "pg";
import { PostgresStorage, type PostgresStorageOptions } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { MIGRATIONS } from "../../../src/storage/postgres/schema.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { failure } from "../../support/failure.js";
import { makeEngine, startTwoPhases } from "../../support/make-engine.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";
import { ROUTED_INSTANCE, ROUTED_REPORTS, reportRow, routedReports } from "../common/routed-reports.js";

let url = "";
let reader = "";
beforeAll(async () => {
  url = await postgresUrl();
  const role = newSchema();
  await runSql(url, `CREATE ROLE ${role} LOGIN PASSWORD 'r3ader'`);
  reader = withUser(role, "r3ader");
}, 60_000);

function withUser(user: string, password: string): string {
  const changed = new URL(url);
  [changed.username, changed.password] = [user, password];
  return changed.href;
}

/** Reads statements that docs/storage/postgres.md shows, for a schema of another name. */
async function documented(file: string, schema: string): Promise<string> {
  const text = await readFile(new URL(`documented/${file}`, import.meta.url), "utf8");
  return text.replace(/\bphasegate\b(?=\.| TO)/g, schema);
}

const open = (options: PostgresStorageOptions) => PostgresStorage.open({ retryMs: 0, ...options });

describe("opening", () => {
  it("creates the tables once if several hosts start at once", async () => {
    const schema = newSchema();
    const storages = await Promise.all(Array.from({ length: 8 }, () => open({ url, schema, maxConnections: 1 })));
    const commit = makeCommit();
    await storages[0]?.append(commit);
    for (const storage of storages) expect(await storage.read(commit.sessionId)).toEqual(commit);
    await Promise.all(storages.map((storage) => storage.close()));
    const applied = await runSql(url, `SELECT number FROM ${schema}.migrations ORDER BY number`);
    expect(applied).toEqual(MIGRATIONS.map((_, index) => ({ number: index + 1 })));
  });

  it("leaves no tables behind if creating them fails half-way", async () => {
    const schema = newSchema();
    await runSql(url, `CREATE SCHEMA ${schema}`, `CREATE TABLE ${schema}.payloads ()`);
    const error = await failure(open({ url, schema }));
    expect([error.code, error.message]).toEqual(["STORAGE_FAILED", "The session storage failed to open: 42P07"]);
    const tables = await runSql(url, `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`);
    expect(tables).toEqual([{ tablename: "payloads" }]);
  });

  it("refuses tables of a newer version", async () => {
    const schema = newSchema();
    await (await open({ url, schema })).close();
    await runSql(url, `INSERT INTO ${schema}.migrations (number) VALUES (99)`);
    const error = await failure(open({ url, schema }));
    expect([error.code, error.details]).toEqual(["FORMAT_TOO_NEW", { found: 99, supported: MIGRATIONS.length }]);
  });

  it("creates no tables with `migrate: false`", async () => {
    const schema = newSchema();
    const error = await failure(open({ url, schema, migrate: false }));
    expect([error.code, error.remedy]).toEqual(["STORAGE_FAILED", expect.stringContaining("migrate: true")]);
    await (await open({ url, schema })).close();
    await (await open({ url, schema, migrate: false })).close();
  });

  it("reports connection errors of the driver in messages of its own", async () => {
    const bare = new URL(url);
    bare.password = "";
    for (const [href, cause] of [
      [`${url}?sslmode=require&uselibpqcompat=true`, "the server does not support SSL"],
      [bare.href, "the server asks for a password, and none was given"],
    ] as const) {
      const error = await failure(open({ url: href }));
      expect([error.code, error.message]).toEqual(["STORAGE_FAILED", `The session storage failed to open: ${cause}`]);
    }
  });

  it("reports that a role lacks permission", async () => {
    const schema = newSchema();
    const error = await failure(open({ url: reader, schema }));
    expect([error.code, error.message]).toEqual([
      "STORAGE_FAILED",
      "The session storage failed to open: permission denied (42501)",
    ]);
    const owner = await open({ url, schema });
    const commit = makeCommit();
    await owner.append(commit);
    const role = new URL(reader).username;
    await runSql(
      url,
      `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
      `GRANT SELECT ON ALL TABLES IN SCHEMA ${schema} TO ${role}`,
    );
    const reading = await open({ url: reader, schema });
    expect(await reading.read(commit.sessionId)).toEqual(commit);
    const denied = await failure(reading.append(nextCommit(commit)));
    expect([denied.code, denied.details]).toEqual([
      "STORAGE_FAILED",
      { operation: "append", cause: "permission denied (42501)" },
    ]);
    await Promise.all([owner.close(), reading.close()]);
  });

  it("works with the permissions that docs/storage/postgres.md lists for a role", async () => {
    const schema = newSchema();
    const owner = await open({ url, schema });
    const role = new URL(reader).username;
    // As after a dump without privileges.
    await runSql(url, `REVOKE ALL ON SEQUENCE ${schema}.commits_entries FROM PUBLIC`);
    const grants = await documented("grants.sql", schema);
    await runSql(url, ...grants.replaceAll("TO host;", `TO ${role};`).split(/;\s*/));
    const storage = await open({ url: reader, schema, migrate: false });
    const first = makeCommit({ payloads: [{ hash: "h", body: "p" }] });
    await storage.append(first);
    await storage.append(nextCommit(first));
    await storage.remove(first.sessionId);
    expect(await storage.read(first.sessionId)).toBeUndefined();
    await Promise.all([owner.close(), storage.close()]);
  });

  it.each<[string, () => string, string]>([
    ["a wrong password", () => withUser("postgres", "n0t-it"), "the password is wrong (28P01)"],
    ["an unknown database", () => url.replace(/\/postgres$/, "/nowhere"), "there is no such database (3D000)"],
    ["a missing server", () => url.replace(/:\d+\/postgres$/, ":1/postgres"), "the connection is lost (ECONNREFUSED)"],
    ["a text that is not a URL", () => "not a url with s3cret", "the url is not one of PostgreSQL's"],
    ["an invalid URL", () => "postgres://u:s3cret@[/x", "the url is not one of PostgreSQL's"],
    ["a URL of another protocol", () => "https://u:s3cret@localhost/x", "the url is not one of PostgreSQL's"],
  ])("reports %s, without password and URL", async (_, place, cause) => {
    const error = await failure(open({ url: place(), schema: newSchema() }));
    expect([error.code, error.details]).toEqual(["STORAGE_FAILED", { operation: "open", cause }]);
    const told = inspect(error, { depth: 10, showHidden: true });
    for (const secret of ["s3cret", "n0t-it", encodeURIComponent("s3cret-Wörd"), place()])
      expect(told).not.toContain(secret);
  });

  it.each<[string, object]>([
    ["schema", { url: "x", schema: 'a"; DROP SCHEMA public; --' }],
    ["schema", { url: "x", schema: "pg_mine" }],
    ["schema", { url: "x", schema: "A" }],
    ["schema", { url: "x", schema: "a".repeat(49) }],
    ["url", {}],
    ["url", { url: "postgres://u:s3cret@h/d", client: new Client() }],
    ["maxCommitBytes", { url: "x", maxCommitBytes: 0 }],
    ["retryMs", { url: "x", retryMs: -1 }],
    ["pollMs", { url: "x", pollMs: Number.NaN }],
    ["statementTimeoutMs", { url: "x", statementTimeoutMs: 1.5 }],
  ])("refuses invalid options: %s", async (field, options) => {
    const error = await failure(Reflect.apply(PostgresStorage.open, PostgresStorage, [options]));
    expect([error.code, Reflect.get(error.details, "field")]).toEqual(["INVALID_INPUT", field]);
    if ("client" in options) expect(error.message).toContain("url and client are given");
    expect(inspect(error)).not.toContain("s3cret");
  });

  it("tells what to install if pg is missing", async () => {
    vi.doMock("pg", () => {
      throw new Error("not found");
    });
    vi.resetModules();
    const { loadPg } = await import("../../../src/storage/postgres/connections.js");
    const error = await failure(loadPg());
    vi.doUnmock("pg");
    expect([error.code, error.remedy]).toEqual(["INTERNAL", expect.stringContaining("npm install pg@latest")]);
  });

  // Creating a database makes the server sync everything it holds first.
  it("refuses a database in another encoding", { timeout: 120_000 }, async () => {
    const name = newSchema();
    await runSql(url, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const error = await failure(open({ url: url.replace(/\/postgres$/, `/${name}`) }));
    expect(error.message).toContain("encoding is LATIN1");
  });

  it("reports the durability that the server is configured for", async () => {
    const storage = await open({ url, schema: newSchema() });
    expect(storage.capabilities, "the tests' server doesn't sync").toMatchObject({
      durability: "process",
      multiProcess: true,
    });
    await storage.close();
  });
});

describe("a server that cannot write", () => {
  it("is reported as read-only, and nothing is written", async () => {
    const schema = newSchema();
    await (await open({ url, schema })).close();
    const pool = new Pool({ connectionString: url, options: "-c default_transaction_read_only=on" });
    const storage = await open({ pool, schema });
    const error = await failure(storage.append(makeCommit()));
    expect(error.details).toEqual({ operation: "append", cause: "the server is read-only (25006)" });
    expect(await storage.read(makeCommit().sessionId)).toBeUndefined();
    await storage.close();
    await pool.end();
  });

  it("is reported if a statement takes too long, and nothing is written", async () => {
    const schema = newSchema();
    // To make the tables may take longer on a busy machine than a statement may below.
    await (await open({ url, schema })).close();
    const storage = await open({ url, schema, statementTimeoutMs: 1500 });
    const first = makeCommit();
    await storage.append(first);
    const blocker = new Client({ connectionString: url });
    await blocker.connect();
    await blocker.query(`BEGIN; SELECT FROM ${schema}.sessions FOR UPDATE`);
    const error = await failure(storage.append(nextCommit(first)));
    expect(error.details).toEqual({
      operation: "append",
      cause: "the statement took too long, or was cancelled (57014)",
    });
    await blocker.query("ROLLBACK");
    await blocker.end();
    await storage.append(nextCommit(first));
    await storage.close();
  });

  it("reports a conflict to the losers if the host's transactions are serializable", async () => {
    const schema = newSchema();
    const pool = new Pool({ connectionString: url, options: "-c default_transaction_isolation=serializable" });
    const storage = await PostgresStorage.open({ pool, schema });
    const first = makeCommit();
    await storage.append(first);
    const racers = Array.from({ length: 8 }, (_, index) => storage.append(nextCommit(first, { body: `${index}` })));
    const results = await Promise.allSettled(racers);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "CONFLICT" });
    }
    await storage.close();
    await pool.end();
  });
});

describe("a person at a SQL prompt", () => {
  let storage: PostgresStorage;
  const schema = newSchema();
  afterAll(() => storage.close());

  it("finds instances and history in the documented views", async () => {
    storage = await open({ url, schema });
    const first = makeCommit({ body: "1", summary: { target: "odd \u0000 \ud800" } });
    const second = nextCommit(first, {
      body: "2",
      at: "2026-01-03T00:00:00.000Z",
      summary: { current: 2, status: "paused" },
    });
    const third = nextCommit(second, { body: "3", summary: { status: "active" } });
    const at = "2026-01-04T00:00:00.000Z";
    const last = nextCommit(third, { body: "4", at, summary: { current: 3, status: "completed", completedAt: at } });
    for (const commit of [first, second, third, last]) await storage.append(commit);
    const gone = makeCommit({ sessionId: "gone" });
    await storage.append(gone);
    await storage.append(nextCommit(gone, { summary: { status: "deleted" } }));
    await storage.remove(gone.sessionId);
    expect(await runSql(url, `SELECT * FROM ${schema}.workflow_instances`)).toEqual([
      {
        instance_id: "session_1",
        workflow_name: "demo",
        current_step_name: "3",
        status: "COMPLETED",
        context: "4",
        created_at: new Date(first.at),
        updated_at: new Date(at),
        completed_at: new Date(at),
      },
    ]);
    const history = await runSql(url, `SELECT * FROM ${schema}.workflow_history ORDER BY history_entry_id`);
    expect(history.map(({ history_entry_id, timestamp, ...rest }) => rest)).toEqual(
      [
        ["1", "1", "RUNNING", "1"],
        ["1", "2", "SUSPENDED", "2"],
        ["2", "3", "RESUMING", "2"],
        ["2", "4", "COMPLETED", null],
      ].map(([step_name, user_report, outcome_status, determined_next_step]) => ({
        ...{ instance_id: "session_1", step_name, user_report, outcome_status, determined_next_step },
      })),
    );
  });

  it("shows how often the current gate was failed, by the question that docs/storage/postgres.md has", async () => {
    const { engine } = makeEngine({ storage });
    const id = await startTwoPhases(engine);
    await engine.session(id).completePhase(1, {});
    const running = await runSql(url, await documented("running-instances.sql", schema));
    expect(running).toEqual([{ instance_id: id, current_step_name: "1", attempts: "1" }]);
  });

  it("shows the context of a routed workflow, and each report with its outcome and the decided step", async () => {
    const id = await routedReports(storage);
    const rows = (view: string) =>
      runSql(url, `SELECT * FROM ${schema}.${view} WHERE instance_id = '${id}' ORDER BY 1`);
    expect(await rows("workflow_instances")).toMatchObject([ROUTED_INSTANCE]);
    expect((await rows("workflow_history")).map(reportRow)).toEqual(ROUTED_REPORTS);
  });

  it("sees the size of a session", async () => {
    const commit = makeCommit({
      sessionId: "sized",
      body: "x".repeat(1000),
      payloads: [{ hash: "h", body: "y".repeat(500) }],
    });
    await storage.append(commit);
    const size = await storage.size(commit.sessionId);
    expect(size?.commits).toBe(1);
    expect(size?.bytes).toBeGreaterThan(1500);
    expect(await storage.size(makeCommit({ sessionId: "nobody" }).sessionId)).toBeUndefined();
  });
});
