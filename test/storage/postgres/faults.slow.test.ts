import { setTimeout as delay } from "node:timers/promises";
import { Client, Pool } from "pg";
import { type PgPool, type PgQuery, PostgresStorage } from "phasegate/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import type { Commit, StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { appendAll, collect, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { parseSessionId } from "../../../src/workflow/names.js";
import type { Acknowledged } from "../../support/acknowledged.js";
import { countingCommit } from "../../support/counting-commit.js";
import { failure } from "../../support/failure.js";
import { howOften } from "../../support/how-often.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { checkSessions } from "./check-sessions.ts";

/** Number of times that all connections are cut, and that the server is stopped. */
const [CUTS, STOPS] = howOften([8, 1], [20, 2]);

let url = "";
let pool: Pool;
beforeAll(async () => {
  url = await postgresUrl();
  pool = new Pool({ connectionString: url, max: 4 });
}, 60_000);
afterAll(() => pool.end());

type Fault = "lose the answer" | "lose the statement" | "refuse the connection";

/** Returns a pool that takes the next fault from the list at each connection or write. */
function faultyPool(faults: Fault[]): PgPool {
  const lost = () => new Error("Connection terminated unexpectedly");
  return {
    on: () => {},
    connect: async () => {
      if (faults[0] === "refuse the connection") {
        faults.shift();
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      }
      const client = await pool.connect();
      return {
        on: (event, listener) => client.on(event, listener),
        release: (error) => client.release(error),
        query: async (query: PgQuery) => {
          const fault = query.text.includes("INSERT INTO") ? faults.shift() : undefined;
          if (fault === "lose the statement") throw lost();
          const result = await client.query(query);
          if (fault === "lose the answer") throw lost();
          return result;
        },
      };
    },
  };
}

describe("an append whose answer is lost", () => {
  const faults: Fault[] = [];
  const open = async (retryMs = 2000) => {
    const schema = newSchema();
    const plain = await PostgresStorage.open({ pool, schema });
    return { plain, storage: await PostgresStorage.open({ pool: faultyPool(faults), schema, retryMs }) };
  };

  it.each<[string, Fault[]]>([
    ["it was executed", ["lose the answer"]],
    ["it was not executed", ["lose the statement"]],
    ["only the second attempt was executed", ["lose the statement", "lose the answer"]],
    [
      "it was executed, and reconnecting fails twice",
      ["lose the answer", "refuse the connection", "refuse the connection"],
    ],
    ["it was never sent", ["refuse the connection"]],
  ])("writes its commit exactly once if %s", async (_, planned) => {
    const { storage, plain } = await open();
    const chain = commitChain(2);
    for (const commit of chain) {
      faults.push(...planned);
      await storage.append(commit);
      expect(faults).toEqual([]);
    }
    expect(await collect(plain.log(chain[0].sessionId))).toEqual(chain);
  });

  it("reports a conflict if another commit has its version", async () => {
    const { storage, plain } = await open();
    const [first] = await appendAll(plain, [makeCommit()]);
    const other = nextCommit(first, { body: "other" });
    await plain.append(other);
    faults.push("lose the answer");
    expect((await failure(storage.append(nextCommit(first)))).code).toBe("CONFLICT");
    expect(await collect(plain.log(first.sessionId))).toEqual([first, other]);
  });

  it("reports the outcome as unknown if the server cannot be asked again", async () => {
    const { storage, plain } = await open(0);
    const commit = makeCommit();
    faults.push("lose the answer");
    const error = await failure(storage.append(commit));
    expect([error.code, error.details]).toEqual([
      "STORAGE_FAILED",
      { operation: "append", cause: "the connection is lost (Error)", outcome: "unknown" },
    ]);
    expect(await plain.read(commit.sessionId)).toEqual(commit);
  });

  it("reports that nothing was written if it never had a connection", async () => {
    const { storage } = await open(0);
    faults.push("refuse the connection");
    const error = await failure(storage.append(makeCommit()));
    expect(error.details).toEqual({ operation: "append", cause: "the connection is lost (ECONNREFUSED)" });
  });

  it("refuses a commit that was already written, if no answer was lost", async () => {
    const { storage } = await open();
    await storage.append(makeCommit());
    expect((await failure(storage.append(makeCommit()))).code).toBe("CONFLICT");
  });
});

describe("a pooler that rejects what the storage sends", () => {
  // The messages of pgbouncer 1.18, in transaction mode and in statement mode.
  it.each<[string, string, string, string]>([
    [
      "08P01",
      "unsupported startup parameter: statement_timeout",
      "a setting that the connection begins with",
      "statementTimeoutMs: 0",
    ],
    [
      "08P01",
      "transaction blocks not allowed in statement pooling mode",
      "takes no transactions",
      "pool_mode = transaction",
    ],
    [
      "26000",
      'prepared statement "phasegate_1" does not exist',
      "a prepared statement is missing",
      "preparedStatements: false",
    ],
    ["42P05", 'prepared statement "phasegate_1" already exists', "or there twice", "preparedStatements: false"],
  ])(
    "fails the call without a retry, and the error names the option to set: %s %s",
    async (code, message, cause, remedy) => {
      const schema = newSchema();
      await (await PostgresStorage.open({ pool, schema })).close();
      let asked = 0;
      const pooler: PgPool = {
        on: () => {},
        connect: async () => {
          asked += 1;
          throw Object.assign(new Error(message), { code });
        },
      };
      const opening = await failure(PostgresStorage.open({ pool: pooler, schema }));
      expect([opening.message, opening.remedy]).toEqual([
        expect.stringContaining(cause),
        expect.stringContaining(remedy),
      ]);
      const storage = await PostgresStorage.open({ pool: swapping(pooler), schema });
      asked = 0;
      const error = await failure(storage.append(makeCommit()));
      expect([error.message, error.remedy]).toEqual([expect.stringContaining(cause), expect.stringContaining(remedy)]);
      expect([asked, "outcome" in error.details], "it is not tried again, and nothing was written").toEqual([1, false]);
    },
  );
});

/** Returns a pool whose first connection works, and whose later connections come from another pool. */
function swapping(other: PgPool): PgPool {
  let lent = false;
  return {
    on: () => {},
    connect: () => {
      if (lent) return other.connect();
      lent = true;
      return pool.connect();
    },
  };
}

it("reports that the host's own client lost its connection, and does not end the process", async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  const storage = await PostgresStorage.open({ client, schema: newSchema() });
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  const ended = new Promise<void>((resolve) => client.once("end", resolve));
  await runSql(url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
  await ended;
  const error = await failure(storage.read(makeCommit().sessionId));
  expect(error.details).toEqual({ operation: "read", cause: "the connection is lost (Error)" });
  await storage.close();
});

it("continues after idle connections of the host's pool were cut", async () => {
  const idle = new Pool({ connectionString: `${url}?application_name=idle_pool`, max: 3 });
  const storage = await PostgresStorage.open({ pool: idle, schema: newSchema() });
  await Promise.all(["a", "b", "c"].map((sessionId) => storage.append(makeCommit({ sessionId }))));
  await runSql(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'idle_pool'");
  await delay(50);
  expect((await storage.list({})).items).toHaveLength(3);
  await storage.close();
  await idle.end();
});

/** Appends to one session as long as `going` returns true; returns the commits that the storage confirmed. */
async function appendOn(storage: StorageAdapter, id: string, going: () => boolean): Promise<Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  let newest: Commit | undefined;
  while (going()) {
    const commit = countingCommit(parseSessionId(id), newest);
    await storage.append(commit);
    acknowledged.push({ id, version: commit.version, hash: commit.hash });
    newest = commit;
  }
  return acknowledged;
}

it("writes each commit exactly once while connections are cut under load", async () => {
  const schema = newSchema();
  const storage = await PostgresStorage.open({
    url: `${url}?application_name=cut_${schema}`,
    schema,
    maxConnections: 4,
  });
  let going = true;
  const writing = Promise.all(["a", "b", "c", "d"].map((id) => appendOn(storage, id, () => going)));
  const cut = `SELECT count(pg_terminate_backend(pid))::int AS cut FROM pg_stat_activity
    WHERE application_name = 'cut_${schema}'`;
  let cuts = 0;
  for (let round = 0; round < CUTS; round++) {
    cuts += Number((await runSql(url, cut))[0]?.cut);
    await delay(25);
  }
  going = false;
  const acknowledged = (await writing).flat();
  expect(cuts).toBeGreaterThan(CUTS);
  // Each writer waits for every answer, so the logs cannot contain more than what was acknowledged.
  expect(await checkSessions(url, schema, acknowledged)).toBe(acknowledged.length);
  await storage.close();
});

describe("a server that restarts under load", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server.remove());

  it.each(["a shutdown", "a crash"])("has each commit exactly once after %s", { timeout: 120_000 }, async (how) => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url: server.url, schema, retryMs: 60_000, pollMs: 100 });
    const abort = new AbortController();
    const watched: Commit[] = [];
    const watching = (async () => {
      for await (const commit of storage.watch({}, { signal: abort.signal })) watched.push(commit);
    })();
    let going = true;
    const writing = Promise.all(["a", "b", "c"].map((id) => appendOn(storage, id, () => going)));
    for (let round = 0; round < STOPS; round++) {
      await delay(100);
      await server.halt(how === "a crash" ? "crash" : undefined);
      await server.resume();
    }
    await delay(100);
    going = false;
    const acknowledged = (await writing).flat();
    expect(await checkSessions(server.url, schema, acknowledged)).toBe(acknowledged.length);
    while (watched.length < acknowledged.length) await delay(20);
    abort.abort();
    await watching;
    for (const id of ["a", "b", "c"]) {
      const own = watched.filter(({ sessionId }) => sessionId === id);
      expect(own, "watched in order, each once").toEqual(
        await collect(storage.log(makeCommit({ sessionId: id }).sessionId)),
      );
    }
    await storage.close();
  });

  it("is waited for no longer than retryMs, and calls succeed once it is back", async () => {
    const storage = await PostgresStorage.open({ url: server.url, schema: newSchema(), retryMs: 300 });
    const first = makeCommit();
    await storage.append(first);
    await server.halt();
    const calls = [
      storage.read(first.sessionId),
      storage.append(nextCommit(first)),
      storage.list({}),
      storage.countActive(1),
      storage.remove(first.sessionId),
    ];
    for (const result of await Promise.allSettled(calls)) {
      expect(result.status === "rejected" && isPhasegateError(result.reason, "STORAGE_FAILED")).toBe(true);
    }
    await server.resume();
    expect(await storage.read(first.sessionId)).toEqual(first);
    await storage.append(nextCommit(first));
    await storage.close();
  });
});
