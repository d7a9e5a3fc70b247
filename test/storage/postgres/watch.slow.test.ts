import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Client, Pool } from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import { type Connections, PoolConnections, Retrier } from "../../../src/storage/postgres/connections.js";
import { CommitFeed } from "../../../src/storage/postgres/feed.js";
import { watchCommits } from "../../../src/storage/postgres/watch.js";
import { appendAll, commitChain, makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { newSchema, postgresUrl, runSql } from "../../support/postgres.ts";

let url = "";
beforeAll(async () => {
  url = await postgresUrl();
}, 60_000);

/** Collects the given number of watched commits. */
async function take(commits: AsyncIterable<Commit>, count: number): Promise<Commit[]> {
  const found: Commit[] = [];
  for await (const commit of commits) if (found.push(commit) === count) break;
  return found;
}

describe("watch", () => {
  const PLACES = {
    "a url": async () => ({ place: { url }, end: async () => {} }),
    "a pool": async () => {
      const pool = new Pool({ connectionString: url, max: 3 });
      return { place: { pool }, end: () => pool.end() };
    },
    "a client": async () => {
      const client = new Client({ connectionString: url });
      await client.connect();
      return { place: { client, pollMs: 50 }, end: () => client.end() };
    },
  };
  for (const [name, make] of Object.entries(PLACES)) {
    it(`yields commits of this and other storages, with ${name}`, async () => {
      const schema = newSchema();
      const { place, end } = await make();
      const [here, elsewhere] = [
        await PostgresStorage.open({ ...place, schema }),
        await PostgresStorage.open({ url, schema }),
      ];
      await here.append(makeCommit({ sessionId: "before" }));
      const abort = new AbortController();
      const watched = here.watch({}, { signal: abort.signal });
      // It is not iterated yet, and yields these commits all the same.
      const own = await appendAll(here, commitChain(3, { sessionId: "own" }));
      const found = take(watched, 6);
      const other = await appendAll(elsewhere, commitChain(3, { sessionId: "other" }));
      expect(await found).toEqual([...own, ...other]);
      abort.abort();
      await Promise.all([here.close(), elsewhere.close()]);
      await end();
    });
  }

  it("is notified long before the next poll", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema, pollMs: 3_600_000 });
    const abort = new AbortController();
    const found = take(storage.watch({}, { signal: abort.signal }), 2);
    const [first] = await appendAll(storage, [makeCommit()]);
    // By now it listens, and the second commit wakes it.
    await untilListening(schema, 1);
    const next = nextCommit(first);
    await storage.append(next);
    expect(await found).toEqual([first, next]);
    await storage.close();
    await untilListening(schema, 0);
  });

  it("ends within seconds if the server does not answer any more", { timeout: 20_000 }, async () => {
    const schema = newSchema();
    const { port } = new URL(url);
    const sockets: Socket[] = [];
    const between = createServer((socket) => {
      const onward = connect(Number(port), "localhost");
      for (const one of [socket, onward]) one.on("error", () => {});
      socket.pipe(onward).pipe(socket);
      sockets.push(socket, onward);
    });
    await new Promise<void>((resolve) => between.listen(0, "localhost", resolve));
    const through = new URL(url);
    through.port = String(Object(between.address()).port);
    const storage = await PostgresStorage.open({ url: through.href, schema, pollMs: 3_600_000 });
    const abort = new AbortController();
    const watching = take(storage.watch({}, { signal: abort.signal }), 1);
    await untilListening(schema, 1);
    // Until it has looked for commits, it would wait for the answer to that.
    await delay(300);
    for (const socket of sockets) socket.pause();
    abort.abort();
    expect(await Promise.race([watching, delay(8000, "hangs")])).toEqual([]);
    for (const socket of sockets) socket.destroy();
    await storage.close();
    between.close();
    await runSql(url, `DELETE FROM ${schema}.listeners`);
  });

  it("sends no query on a host's client once an append has returned", async () => {
    const client = new Client({ connectionString: url });
    await client.connect();
    const storage = await PostgresStorage.open({ client, schema: newSchema() });
    await storage.append(makeCommit());
    await client.query("BEGIN");
    const asked = vi.spyOn(client, "query");
    await delay(100);
    expect(asked).not.toHaveBeenCalled();
    await client.query("COMMIT");
    await storage.close();
    await client.end();
  });

  it("yields only commits that match the query, and ends without an error", async () => {
    const storage = await PostgresStorage.open({ url, schema: newSchema(), pollMs: 50 });
    const abort = new AbortController();
    const found: Commit[] = [];
    const over = (async () => {
      for await (const commit of storage.watch({ status: ["completed", "deleted"] }, { signal: abort.signal })) {
        found.push(commit);
      }
    })();
    const [, ended] = await appendAll(storage, [
      makeCommit(),
      nextCommit(makeCommit(), { summary: { status: "completed" } }),
    ]);
    const gone = makeCommit({ sessionId: "gone" });
    const tombstone = nextCommit(gone, { summary: { status: "deleted" } });
    await appendAll(storage, [gone, tombstone]);
    await storage.remove(gone.sessionId);
    while (found.length < 2) await delay(20);
    abort.abort();
    await over;
    expect(found, "a deleted session's tombstone too").toEqual([ended, tombstone]);
    await storage.close();
  });

  it("yields nothing if the signal was aborted before", async () => {
    const storage = await PostgresStorage.open({ url, schema: newSchema() });
    expect(await take(storage.watch({}, { signal: AbortSignal.abort() }), 1)).toEqual([]);
    await storage.close();
  });

  it("yields a commit whose transaction began before others and ended after them", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const slow = new Client({ connectionString: url });
    await slow.connect();
    const pool = new Pool({ connectionString: url });
    const feed = new CommitFeed(new Retrier(new PoolConnections(pool), 0), schema);
    const [one, two, three] = ["one", "two", "three"].map((sessionId) => makeCommit({ sessionId }));
    if (one === undefined || two === undefined || three === undefined) throw new Error("no commits");
    let position = await feed.now();
    const look = async () => {
      const ids: string[] = [];
      for await (const { commits, to } of feed.since(position)) {
        ids.push(...commits.map(({ sessionId }) => sessionId));
        position = to;
      }
      return ids;
    };
    const late = await PostgresStorage.open({ client: slow, schema });
    await slow.query("BEGIN");
    await late.append(one);
    await storage.append(two);
    expect(await look()).toEqual(["two"]);
    await storage.append(three);
    await slow.query("COMMIT");
    expect((await look()).sort(), "neither missed nor given twice").toEqual(["one", "three"]);
    expect(await look()).toEqual([]);
    await Promise.all([storage.close(), late.close(), slow.end(), pool.end()]);
  });

  it("takes the snapshot and the commits up to it in one statement, since a second one may reach another server", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const pool = new Pool({ connectionString: url });
    const retrier = new Retrier(new PoolConnections(pool), 0);
    const feed = new CommitFeed(retrier, schema);
    const begun = await feed.now();
    await storage.append(makeCommit());
    const asked = vi.spyOn(retrier, "rows");
    for await (const { commits, to } of feed.since(begun)) {
      expect(commits).toEqual([makeCommit()]);
      expect(asked).toHaveBeenCalledTimes(1);
      expect(to.snapshot).not.toBe(begun.snapshot);
    }
    await Promise.all([storage.close(), pool.end()]);
  });

  /** Returns a feed, and a function that reads what is new as `session@version`. */
  async function feedOf(schema: string) {
    const pool = new Pool({ connectionString: url });
    const feed = new CommitFeed(new Retrier(new PoolConnections(pool), 0), schema);
    let position = await feed.now();
    const read = async () => {
      const found: string[] = [];
      for await (const { commits, to } of feed.since(position)) {
        found.push(...commits.map(({ sessionId, version }) => `${sessionId}@${version}`));
        position = to;
      }
      return found;
    };
    return { read, close: () => pool.end() };
  }

  it("finds what a promoted standby commits under numbers that only the dead primary had given away", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const [kept, lost] = [makeCommit({ sessionId: "kept" }), makeCommit({ sessionId: "lost" })];
    await appendAll(storage, [kept]);
    const { read, close } = await feedOf(schema);
    const next = nextCommit(kept);
    await appendAll(storage, [next]);
    expect(await read()).toEqual(["kept@2"]);
    await appendAll(storage, [lost]);
    expect(await read()).toEqual(["lost@1"]);
    // The standby has not got it. Its own transactions get the same numbers; one is appended as before, by a retry.
    const given = await runSql(url, `SELECT xid::text FROM ${schema}.commits WHERE session_id = 'lost'`);
    for (const table of ["commits", "sessions"]) {
      await runSql(url, `DELETE FROM ${schema}.${table} WHERE session_id = 'lost'`);
    }
    await appendAll(storage, [makeCommit({ sessionId: "other" }), lost]);
    await runSql(url, `UPDATE ${schema}.commits SET xid = '${given[0]?.xid}' WHERE session_id = 'other'`);
    expect(await read(), "what was yielded is not yielded again").toEqual(["other@1"]);
    await appendAll(storage, [nextCommit(next)]);
    expect(await read()).toEqual(["kept@3"]);
    await Promise.all([storage.close(), close()]);
  });

  it("goes on if all that it has read was removed", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const { read, close } = await feedOf(schema);
    const gone = makeCommit({ sessionId: "gone" });
    await appendAll(storage, [makeCommit({ sessionId: "old" }), gone]);
    expect(await read()).toEqual(["old@1", "gone@1"]);
    await appendAll(storage, [nextCommit(gone, { summary: { status: "deleted" } })]);
    expect(await read()).toEqual(["gone@2"]);
    await runSql(url, `DELETE FROM ${schema}.commits`);
    expect(await read()).toEqual([]);
    await appendAll(storage, [makeCommit({ sessionId: "new" })]);
    expect(await read()).toEqual(["new@1"]);
    expect(await read()).toEqual([]);
    await Promise.all([storage.close(), close()]);
  });

  it("reads a page of late commits without what it has read after them", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const slow = new Client({ connectionString: url });
    await slow.connect();
    const { read, close } = await feedOf(schema);
    const late = await PostgresStorage.open({ client: slow, schema });
    await slow.query("BEGIN");
    await appendAll(late, commitChain(150, { sessionId: "late" }));
    await appendAll(storage, commitChain(3, { sessionId: "early" }));
    expect(await read()).toEqual(["early@1", "early@2", "early@3"]);
    await slow.query("COMMIT");
    await appendAll(storage, [makeCommit({ sessionId: "last" })]);
    expect(await read()).toEqual([...Array.from({ length: 150 }, (_, at) => `late@${at + 1}`), "last@1"]);
    expect(await read()).toEqual([]);
    await Promise.all([storage.close(), late.close(), slow.end(), close()]);
  });

  it("reads more than one page of new commits, each commit once", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const abort = new AbortController();
    const watched = storage.watch({}, { signal: abort.signal });
    const chains = await Promise.all(
      Array.from({ length: 5 }, (_, index) => appendAll(storage, commitChain(50, { sessionId: `s${index}` }))),
    );
    const found = await take(watched, 250);
    for (const chain of chains) {
      expect(found.filter(({ sessionId }) => sessionId === chain[0].sessionId)).toEqual(chain);
    }
    await storage.close();
  });

  it("ends without an error if it is aborted and the storage closed while a commit is used", async () => {
    const storage = await PostgresStorage.open({ url, schema: newSchema() });
    const abort = new AbortController();
    const watched = storage.watch({}, { signal: abort.signal })[Symbol.asyncIterator]();
    await appendAll(storage, commitChain(101));
    for (let count = 1; count <= 100; count += 1) await watched.next();
    abort.abort();
    await storage.close();
    expect(await watched.next()).toEqual({ value: undefined, done: true });
  });

  it("skips a damaged commit", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const watched = storage.watch({}, { signal: new AbortController().signal });
    const [odd, sound] = [makeCommit({ sessionId: "odd" }), makeCommit({ sessionId: "sound" })];
    await appendAll(storage, [odd, sound]);
    await runSql(url, `UPDATE ${schema}.commits SET summary = 'none' WHERE session_id = 'odd'`);
    expect(await take(watched, 1)).toEqual([sound]);
    await expect(storage.read(odd.sessionId)).rejects.toMatchObject({ code: "TAMPERED" });
    await storage.close();
  });

  it("yields each commit once while its connections are cut again and again", async () => {
    const schema = newSchema();
    const [watching, writing] = [
      await PostgresStorage.open({ url: `${url}?application_name=watching_${schema}`, schema, pollMs: 100 }),
      await PostgresStorage.open({ url, schema }),
    ];
    const abort = new AbortController();
    const found = take(watching.watch({}, { signal: abort.signal }), 61);
    // It yields its own commits in any case, and those of others once it has polled: before this append returns.
    const written: Commit[] = await appendAll(watching, [makeCommit({ sessionId: "begun" })]);
    let cuts = 0;
    for (let round = 0; round < 6; round++) {
      const cut = `SELECT count(pg_terminate_backend(pid))::int AS cut FROM pg_stat_activity WHERE application_name = 'watching_${schema}'`;
      const [chain, ended] = await Promise.all([
        appendAll(writing, commitChain(10, { sessionId: `round_${round}` })),
        runSql(url, cut),
      ]);
      written.push(...chain);
      cuts += Number(ended[0]?.cut);
    }
    expect(await found).toEqual(written);
    expect(cuts).toBeGreaterThan(0);
    await Promise.all([watching.close(), writing.close()]);
  });

  it("does not yield commits that were restored from another server", async () => {
    const schema = newSchema();
    const storage = await PostgresStorage.open({ url, schema });
    const [first] = await appendAll(storage, [makeCommit()]);
    await runSql(url, `UPDATE ${schema}.commits SET xid = '999999999999'`);
    await storage.close();
    const again = await PostgresStorage.open({ url, schema });
    expect(await runSql(url, `SELECT xid::text FROM ${schema}.commits`)).toEqual([{ xid: "3" }]);
    const abort = new AbortController();
    const watched = again.watch({}, { signal: abort.signal });
    const next = nextCommit(first);
    await again.append(next);
    expect(await take(watched, 1)).toEqual([next]);
    await again.close();
  });
});

/** Waits until the given number of connections listen for a schema. */
async function untilListening(schema: string, count: number): Promise<void> {
  const asked = `SELECT count(*)::int AS found FROM ${schema}.listeners WHERE until > now()`;
  while ((await runSql(url, asked))[0]?.found !== count) await delay(20);
}

it("a watch that can't listen tries again after growing pauses, not at once", async () => {
  const schema = newSchema();
  const pool = new Pool({ connectionString: url, max: 1 });
  const storage = await PostgresStorage.open({ pool, schema });
  const connections = new PoolConnections(pool);
  let tries = 0;
  const unreachable: Connections = {
    use: (work) => connections.use(work),
    canReconnect: true,
    failed: () => {},
    close: () => connections.close(),
    listening: async () => {
      tries += 1;
      return new Client({ connectionString: "postgres://127.0.0.1:1/nobody" });
    },
  };
  const retrier = new Retrier(unreachable, 0);
  const feed = new CommitFeed(retrier, schema);
  const stopping = new AbortController();
  const parts = { connections: unreachable, retrier, feed, schema, pollMs: 50 };
  const watching = take(watchCommits(parts, feed.now(), {}, stopping.signal), 1);
  await delay(600);
  // After some 100, 200 and 400 ms, each more or less by half.
  expect(tries).toBeGreaterThan(1);
  expect(tries).toBeLessThan(6);
  await storage.append(makeCommit());
  expect(await watching, "it polls meanwhile").toHaveLength(1);
  stopping.abort();
  await storage.close();
  await pool.end();
});
