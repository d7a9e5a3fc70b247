/**
 * One phase completed on SqliteStorage, against the bare transaction for the same bytes; and lists, starts and
 * transitions among 100,000 sessions, against those among 1,000.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteStorage } from "phasegate/sqlite";
import { commitChain } from "phasegate/testing";
import { pairedMedians, row, time } from "./measure.mjs";
import { benchTool, completing, evidenceOf, startSession } from "./workflow.mjs";

const PHASES = 400;
const EVIDENCE = evidenceOf(1024);
const SIZES = [1000, 100_000];
const PAGE = 50;
/** Of 1,000 sessions the hundredth page is one of ten. */
const SHORT_PAGE = 10;

/** BEGIN IMMEDIATE, one compare-and-set, one insert, COMMIT, on SQLite as the storage sets it. */
export function bareTransaction(file, bytes) {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE heads (id TEXT PRIMARY KEY, version INTEGER NOT NULL, hash TEXT NOT NULL);
    CREATE TABLE log (id TEXT NOT NULL, version INTEGER NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL,
      PRIMARY KEY (id, version));`);
  const [begin, commit, set, insert] = [
    "BEGIN IMMEDIATE",
    "COMMIT",
    "UPDATE heads SET version = ?, hash = ? WHERE id = ? AND hash = ?",
    "INSERT INTO log (id, version, hash, body) VALUES (?, ?, ?, ?)",
  ].map((sql) => database.prepare(sql));
  const body = "x".repeat(bytes);
  const place = { id: "", version: 0, hash: "" };
  const fn = () => {
    if (place.version % PHASES === 0) {
      Object.assign(place, { id: `a_session_of_the_bench_${place.version}`, hash: randomBytes(32).toString("hex") });
      database.prepare("INSERT INTO heads (id, version, hash) VALUES (?, 0, ?)").run(place.id, place.hash);
    }
    place.version += 1;
    const hash = randomBytes(32).toString("hex");
    begin.run();
    if (set.run(place.version, hash, place.id, place.hash).changes !== 1) throw new Error("nothing was set");
    insert.run(place.id, place.version, hash, body);
    commit.run();
    place.hash = hash;
  };
  return { fn, close: () => database.close() };
}

/** How many bytes a commit after the first one has, those that it is looked up by not counted. */
export function commitBytes(file) {
  const database = new DatabaseSync(file, { readOnly: true });
  const { bytes } = database
    .prepare(`SELECT CAST(avg(octet_length(body) + octet_length(summary) + octet_length(previous_hash)) AS INTEGER) AS bytes
      FROM phasegate_commits WHERE version > 1`)
    .get();
  database.close();
  return bytes;
}

async function transition(folder) {
  const file = join(folder, "transition.db");
  const storage = await SqliteStorage.open(file);
  const host = benchTool(PHASES, storage);
  const complete = completing(host, PHASES, EVIDENCE);
  for (let warm = 0; warm < 20; warm += 1) {
    await complete.beforeEach();
    await complete.fn();
  }
  const bare = bareTransaction(join(folder, "bare.db"), commitBytes(file));
  // In a folder that has just changed, each commit looks all files of the database up.
  const aMinuteAgo = new Date(Date.now() - 60_000);
  await utimes(folder, aMinuteAgo, aMinuteAgo);
  const found = await pairedMedians({ bare: { fn: bare.fn }, complete });
  bare.close();
  await host.engine.close();
  await storage.close();
  return row(
    "engine.completePhase, SqliteStorage, WAL and FULL",
    time(found.complete),
    `bare BEGIN, CAS update, insert, COMMIT ${time(found.bare)}`,
    found.ratio,
    1.3,
  );
}

/** A database with so many sessions, made a minute apart, each with three commits. */
async function filled(file, size) {
  const database = new DatabaseSync(file);
  // Only while it is filled: a sync for each of 300,000 commits would take minutes.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const storage = await SqliteStorage.open(database);
  const body = JSON.stringify({ events: [], head: "x".repeat(700) });
  for (let index = 0; index < size; index += 1) {
    const createdAt = new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString();
    const summary = { createdAt, target: `src/made-${index}.ts`, workflowType: `bench_${PHASES}`, total: PHASES };
    const sessionId = `bench_${PHASES}_src_made_${index}_ts_20260101_000000`;
    const status = index % 10 === 0 ? "active" : "completed";
    for (const commit of commitChain(3, { sessionId, at: createdAt, body, summary: { ...summary, status } })) {
      await storage.append(commit);
    }
  }
  await storage.close();
  database.close();
  return SqliteStorage.open(file);
}

/** Where the hundredth page of so many begins. */
async function hundredthCursor(storage, limit) {
  let cursor;
  for (let page = 1; page < 100; page += 1) {
    ({ cursor } = await storage.list({ limit, ...(cursor === undefined ? {} : { cursor }) }));
  }
  return cursor;
}

async function fullPage(storage, query) {
  const { items } = await storage.list(query);
  if (items.length !== query.limit) throw new Error(`a page of ${items.length}`);
}

/** What is done among so many sessions. */
async function tasksAmong(folder, size) {
  const storage = await filled(join(folder, `${size}.db`), size);
  const host = benchTool(PHASES, storage);
  const cursor = await hundredthCursor(storage, SHORT_PAGE);
  return {
    close: async () => {
      await host.engine.close();
      await storage.close();
    },
    tasks: {
      "list, first page of 50": { fn: () => fullPage(storage, { limit: PAGE }) },
      "list, first page of 50 active": { fn: () => fullPage(storage, { status: ["active"], limit: PAGE }) },
      "list, hundredth page of 10": { fn: () => fullPage(storage, { limit: SHORT_PAGE, cursor }) },
      start: { fn: async () => startSession(host) },
      complete_phase: completing(host, PHASES, EVIDENCE),
    },
  };
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-sqlite-"));
  const rows = [await transition(folder)];
  const [few, many] = [await tasksAmong(folder, SIZES[0]), await tasksAmong(folder, SIZES[1])];
  for (const [what, task] of Object.entries(few.tasks)) {
    const found = await pairedMedians({ few: task, many: many.tasks[what] }, 7);
    const [fewer, more] = SIZES.map((size) => size.toLocaleString("en"));
    rows.push(
      row(
        `${what}, SQLite, ${more} sessions`,
        time(found.many),
        `${fewer} sessions ${time(found.few)}`,
        found.ratio,
        1.5,
      ),
    );
  }
  await few.close();
  await many.close();
  await rm(folder, { recursive: true, force: true });
  return rows;
}
