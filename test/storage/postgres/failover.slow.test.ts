import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { Client } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openState } from "../../../src/cli/state.js";
import type { Commit, StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import type { Acknowledged } from "../../support/acknowledged.js";
import { countingCommit } from "../../support/counting-commit.js";
import { failure } from "../../support/failure.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres, startStandby } from "../../support/postgres-server.ts";
import { checkSessions } from "./check-sessions.ts";

/** Returns a URL that names both servers. */
function addressOf(first: string, second: string, parameters = "target_session_attrs=read-write"): string {
  const { host } = new URL(second);
  return `${first.replace(/(@[^/]+)\//, (_, before: string) => `${before},${host}/`)}?${parameters}`;
}

/**
 * Appends to each of the sessions until `stop` is called; `acknowledged` lists the commits that the storage confirmed.
 */
function appending(storage: StorageAdapter, ids: readonly string[]) {
  let going = true;
  const acknowledged: Acknowledged[] = [];
  const done = Promise.all(
    ids.map(async (id) => {
      for (let newest: Commit | undefined; going; ) {
        const commit = countingCommit(parseSessionId(id), newest);
        await storage.append(commit);
        acknowledged.push({ id, version: commit.version, hash: commit.hash });
        newest = commit;
      }
    }),
  );
  const stop = async () => {
    going = false;
    await done;
  };
  return { acknowledged, stop };
}

describe.each(["crashes", "becomes read-only"])("if the primary %s while hosts append", (how) => {
  const schema = newSchema();
  let primary: PostgresServer;
  let standby: PostgresServer;
  beforeAll(async () => {
    primary = await startPostgres();
    standby = await startStandby(primary, ["synchronous_standby_names=standby"]);
  }, 120_000);
  afterAll(() => Promise.all([primary.remove(), standby.remove()]));

  it("the storage continues on the promoted standby, and no acknowledged commit is lost", {
    timeout: 120_000,
  }, async () => {
    const url = addressOf(primary.url, standby.url);
    const storage = await PostgresStorage.open({ url, schema, retryMs: 60_000, statementTimeoutMs: 500, pollMs: 200 });
    const stopping = new AbortController();
    const watched: Commit[] = [];
    const watching = (async () => {
      for await (const commit of storage.watch({}, { signal: stopping.signal })) watched.push(commit);
    })();
    const { acknowledged, stop } = appending(storage, ["a", "b", "c", "d"]);
    while (acknowledged.length < 40) await delay(10);
    if (how === "crashes") await primary.halt("crash");
    else await runSql(primary.url, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()");
    expect(await runSql(standby.url, "SELECT pg_promote()")).toEqual([{ pg_promote: true }]);
    const before = acknowledged.length;
    while (acknowledged.length < before + 40) await delay(10);
    await stop();
    expect(await checkSessions(standby.url, schema, acknowledged)).toBe(acknowledged.length);
    const places = () => new Set(watched.map(({ sessionId, version }) => `${sessionId} ${version}`));
    while (places().size < acknowledged.length) await delay(20);
    stopping.abort();
    await watching;
    // The command line connects to the primary, in whichever order the URL names the servers.
    for (const [one, other] of [
      [primary.url, standby.url],
      [standby.url, primary.url],
    ] as const) {
      const state = await openState(addressOf(one, other, `schema=${schema}&target_session_attrs=primary`));
      if (how === "crashes" || one === standby.url) expect(await state.countActive(10)).toBe(4);
      await state.close?.();
    }
    await storage.close();
  });
});

describe("a URL with several servers", () => {
  const schema = newSchema();
  let primary: PostgresServer;
  let standby: PostgresServer;
  beforeAll(async () => {
    primary = await startPostgres();
    standby = await startStandby(primary, []);
    await (await PostgresStorage.open({ url: primary.url, schema })).close();
    const made = `SELECT FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'migrations'`;
    while ((await runSql(standby.url, made)).length === 0) await delay(20);
  }, 120_000);
  afterAll(() => Promise.all([primary.remove(), standby.remove()]));

  it.each([
    ["read-write", false],
    ["primary", false],
    ["any", true],
    ["read-only", true],
    ["standby", true],
    ["prefer-standby", true],
  ])("connects to the server that matches target_session_attrs=%s", async (wanted, isStandby) => {
    const url = addressOf(standby.url, primary.url, `target_session_attrs=${wanted}`);
    const storage = await PostgresStorage.open({ url, schema, retryMs: 0 });
    const commit = makeCommit({ sessionId: `wants_${wanted}` });
    const appended = await storage.append(commit).then(
      () => "written",
      (error: unknown) => inspect(error),
    );
    expect(appended).toMatch(isStandby ? /the server is read-only \(25006\)/ : /^written$/);
    await storage.close();
  });

  it("watches on a standby without missing a commit whose transaction ends after younger ones", async () => {
    const own = newSchema();
    const storage = await PostgresStorage.open({ url: primary.url, schema: own });
    const slow = new Client({ connectionString: primary.url });
    await slow.connect();
    const late = await PostgresStorage.open({ client: slow, schema: own });
    const [one, two, three] = ["one", "two", "three"].map((sessionId) => makeCommit({ sessionId }));
    if (one === undefined || two === undefined || three === undefined) throw new Error("no commits");
    const replicated = async (id: string) => {
      const text = `SELECT FROM ${own}.commits WHERE session_id = '${id}'`;
      while ((await runSql(standby.url, text).catch(() => [])).length === 0) await delay(20);
    };
    let newest = makeCommit({ sessionId: "before" });
    await storage.append(newest);
    await replicated("before");
    const reader = await PostgresStorage.open({ url: standby.url, schema: own, pollMs: 20, migrate: false });
    const stopping = new AbortController();
    const watched = new Set<string>();
    const watching = (async () => {
      for await (const { sessionId } of reader.watch({}, { signal: stopping.signal })) watched.add(sessionId);
    })();
    while (watched.size === 0) {
      newest = nextCommit(newest);
      await storage.append(newest);
      await delay(20);
    }
    await slow.query("BEGIN");
    await late.append(one);
    await storage.append(two);
    await replicated("two");
    // The watch polls meanwhile.
    await delay(200);
    await slow.query("COMMIT");
    await storage.append(three);
    while (!watched.has("three")) await delay(20);
    stopping.abort();
    await watching;
    expect([...watched].filter((id) => id !== "before")).toEqual(["one", "two", "three"]);
    await Promise.all([storage.close(), late.close(), slow.end(), reader.close()]);
  });

  it("fails if no server matches, and the error contains no password", async () => {
    const url = standby.url.replace(/$/, "?target_session_attrs=primary");
    const error = await failure(PostgresStorage.open({ url, schema }));
    expect(error.details).toEqual({ operation: "open", cause: "no server is primary among those of the address" });
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain("s3cret");
  });

  it("fails with the cause if no server can be reached, or if a server rejects the password", async () => {
    const nobody = "postgres://postgres:s3cret@127.0.0.1:1,127.0.0.1:2/postgres";
    const lost = await failure(PostgresStorage.open({ url: nobody, schema }));
    expect(lost.details).toEqual({ operation: "open", cause: "the connection is lost (ECONNREFUSED)" });
    const wrong = addressOf(primary.url, standby.url).replace(/:[^:@]+@/, ":n0t-it@");
    const refused = await failure(PostgresStorage.open({ url: wrong, schema }));
    expect(refused.details).toEqual({ operation: "open", cause: "the password is wrong (28P01)" });
    for (const error of [lost, refused])
      expect(inspect(error, { depth: 10, showHidden: true })).not.toMatch(/s3cret|n0t/);
  });
});

it("connections that were opened while the server was read-only are not reused", async () => {
  const [url, schema, role] = [new URL(await postgresUrl()), newSchema(), newSchema()];
  await runSql(url.href, `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD 'p'`);
  const set = (setting: string) => runSql(url.href, `ALTER ROLE ${role} ${setting}`);
  await (await PostgresStorage.open({ url: url.href, schema })).close();
  await set("SET default_transaction_read_only = on");
  const own = Object.assign(new URL(url), { username: role, password: "p" }).href;
  const storage = await PostgresStorage.open({ url: own, schema, retryMs: 3000, maxConnections: 4 });
  const ids = ["a", "b", "c", "d"].map((sessionId) => parseSessionId(sessionId));
  await Promise.all(ids.map((id) => storage.read(id)));
  await set("RESET ALL");
  const commits = ids.map((sessionId) => makeCommit({ sessionId }));
  await Promise.all(commits.map((commit) => storage.append(commit)));
  await Promise.all(commits.map((commit) => storage.append(nextCommit(commit))));
  await storage.close();
});
