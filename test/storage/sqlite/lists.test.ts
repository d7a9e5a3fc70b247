import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { SessionQuery, StorageAdapter } from "../../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { SqliteStorage } from "../../../src/storage/sqlite/storage.js";
import { makeCommit, nextCommit } from "../../../src/testing/contract.js";
import { howOften } from "../../support/how-often.js";
import { newDatabases } from "./new-database.js";

const newDatabase = newDatabases();
const STATUSES = ["active", "paused", "completed", "failed"] as const;
const SESSIONS = 2600;
/** The long form tries all combinations of filters; the short form every tenth. */
const EACH = howOften(10, 1);

/** Creates enough sessions that some filters match few and some match many. */
async function fill(storages: readonly StorageAdapter[]): Promise<void> {
  for (let index = 0; index < SESSIONS; index += 1) {
    const createdAt = new Date(Date.UTC(2026, 0, 1) + ((index * 7) % SESSIONS) * 600_000).toISOString();
    const summary = {
      createdAt,
      workflowType: index % 3 === 0 ? "rare" : "common",
      target: `src/${index % 40}.ts`,
      kind: index % 2 === 0 ? "phased" : "routed",
    };
    const first = makeCommit({ sessionId: `${index % 5 === 0 ? "few" : "many"}_${index}`, at: createdAt, summary });
    const status = STATUSES[index % STATUSES.length] ?? "active";
    for (const storage of storages) {
      await storage.append(first);
      if (index % 2 === 0) await storage.append(nextCommit(first, { summary: { status } }));
    }
  }
}

it("lists the same pages as the storage in memory, with any filters", { timeout: 60_000 }, async () => {
  const database = new DatabaseSync(await newDatabase());
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const sqlite = await SqliteStorage.open(database);
  const memory = new MemoryStorage();
  await fill([sqlite, memory]);
  const middle = new Date(Date.UTC(2026, 0, 9)).toISOString();
  const choices = {
    status: [undefined, ["active"], ["completed", "active"], ["failed", "failed"], [], ["deleted"]],
    workflowType: [undefined, "rare", "common", "none"],
    target: [undefined, "src/7.ts"],
    kind: [undefined, "phased"],
    idPrefix: [undefined, "few_", "many_1", ""],
    updatedBefore: [undefined, middle, "2026-01-02T00:00:00.000Z"],
  } as const;
  let [at, tried] = [0, 0];
  for (const status of choices.status) {
    for (const workflowType of choices.workflowType) {
      for (const target of choices.target) {
        for (const kind of choices.kind) {
          for (const idPrefix of choices.idPrefix) {
            for (const updatedBefore of choices.updatedBefore) {
              const all = { status, workflowType, target, kind, idPrefix, updatedBefore };
              const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
              at += 1;
              if (at % EACH === 0) tried += await compare(sqlite, memory, { ...given, limit: 30 });
            }
          }
        }
      }
    }
  }
  expect(tried).toBeGreaterThan(1000 / EACH);
  for (const upTo of [0, 10, 1e9, Number.POSITIVE_INFINITY]) {
    expect(await sqlite.countActive(upTo)).toBe(await memory.countActive(upTo));
  }
  await sqlite.close();
  database.close();
});

/** Compares the first page and the next one; returns the number of compared pages. */
async function compare(sqlite: StorageAdapter, memory: StorageAdapter, query: SessionQuery): Promise<number> {
  const [found, wanted] = [await sqlite.list(query), await memory.list(query)];
  expect(found.items, JSON.stringify(query)).toEqual(wanted.items);
  expect(found.cursor).toBe(wanted.cursor);
  if (found.cursor === undefined) return 1;
  const next = { ...query, cursor: found.cursor };
  expect((await sqlite.list(next)).items, JSON.stringify(next)).toEqual((await memory.list(next)).items);
  return 2;
}

it("scans no whole table", async () => {
  const database = new DatabaseSync(await newDatabase());
  const storage = await SqliteStorage.open(database);
  const asked = new Set<string>();
  const { prepare } = database;
  database.prepare = (sql: string) => {
    asked.add(sql);
    return Reflect.apply(prepare, database, [sql]);
  };
  const other = await SqliteStorage.open(database);
  const first = makeCommit({ payloads: [{ hash: "0".repeat(64), body: "x" }] });
  const tombstone = nextCommit(first, { summary: { status: "deleted" } });
  await other.append(first);
  for (const filter of [
    {},
    { status: ["active"] },
    { status: ["active", "failed"] },
    { workflowType: "demo" },
  ] as const) {
    await other.list(filter);
    await other.list({ ...filter, target: "x", kind: "y", idPrefix: "z", updatedBefore: first.at });
  }
  await other.countActive(100);
  await other.read(first.sessionId);
  await other.payload(first.sessionId, "0");
  for await (const _ of other.log(first.sessionId)) break;
  await other.append(tombstone);
  await other.remove(first.sessionId);
  const plans = [...asked].filter(
    (sql) => /^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql) && !sql.includes("sqlite_schema"),
  );
  expect(plans.length).toBeGreaterThan(20);
  for (const sql of plans) {
    const steps = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map(({ detail }) => String(detail));
    // A scan by an index in the right order ends with the page; so does a scan of a subquery's result.
    const scans = steps.filter(
      (step) => step.startsWith("SCAN") && !/USING (COVERING )?INDEX|CONSTANT ROW|subquery|said/.test(step),
    );
    expect(
      scans.filter((step) => !/pragma_|migrations/.test(step)),
      sql,
    ).toEqual([]);
  }
  await storage.close();
  database.close();
});

it("a damaged summary does not stop a list of old sessions, and its session is reported on its own page", async () => {
  const file = await newDatabase();
  const storage = await SqliteStorage.open(file);
  for (const [index, sessionId] of ["old", "older", "oldest"].entries()) {
    await storage.append(makeCommit({ sessionId, at: `2026-03-04T0${5 - index}:00:00.000Z` }));
  }
  const database = new DatabaseSync(file);
  database.exec("UPDATE phasegate_commits SET summary = '{oops' WHERE seq = 3");
  database.close();
  const query = { updatedBefore: "2026-03-04T06:00:00.000Z", limit: 1 };
  const first = await storage.list(query);
  expect(first.items.map(({ sessionId }) => sessionId)).toEqual(["old"]);
  const all: unknown[] = [];
  for (let cursor = first.cursor; cursor !== undefined; ) {
    const { items, damaged, ...page } = await storage.list({ ...query, cursor });
    all.push([items.map(({ sessionId }) => sessionId), damaged]);
    ({ cursor } = page);
  }
  expect(all).toEqual([
    [["older"], undefined],
    [[], ["oldest"]],
  ]);
  await storage.close();
});
