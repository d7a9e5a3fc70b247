/**
 * One phase completed on SqliteStorage, by the engine and through the tool, against the bare transaction for the same bytes.
 * scale.mjs has what many sessions change.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteStorage } from "phasegate/sqlite";
import { pairedMedians, row, time, warmUp } from "./measure.mjs";
import { benchTool, completeByEngine, completePhase, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 20;
const EVIDENCE = evidenceOf(1024);

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
  return { database, fn };
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

/** Makes a folder look unchanged for a minute: in one that has just changed, each commit looks all files of the database up. */
export async function settle(folder) {
  const aMinuteAgo = new Date(Date.now() - 60_000);
  await utimes(folder, aMinuteAgo, aMinuteAgo);
}

async function transition(what, call) {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-sqlite-"));
  const file = join(folder, "transition.db");
  const storage = await SqliteStorage.open(file);
  const host = benchTool(PHASES, storage);
  const complete = completing(host, PHASES, EVIDENCE, call);
  await warmUp(complete, completing(benchTool(PHASES), PHASES, EVIDENCE, call));
  const bare = bareTransaction(join(folder, "bare.db"), commitBytes(file));
  await settle(folder);
  const found = await pairedMedians({ bare: { fn: bare.fn }, complete });
  bare.database.close();
  await host.engine.close();
  await storage.close();
  await rm(folder, { recursive: true, force: true });
  return row(
    `${what}, SqliteStorage, WAL and FULL`,
    time(found.complete),
    `bare BEGIN, CAS update, insert, COMMIT ${time(found.bare)}`,
    found.ratio,
    1.3,
  );
}

export async function run() {
  return [
    await transition("engine.completePhase", completeByEngine),
    await transition("complete_phase with the next phase and its task in the answer", completePhase),
  ];
}
