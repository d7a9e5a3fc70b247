/**
 * engine.statistics() over 5,000 sessions of 6 phases on SqliteStorage: everything at once, against reading, hashing and
 * parsing the same commits; and one new commit, with a cursor, against everything at once.
 */
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { SqliteStorage } from "phasegate/sqlite";
import { median, ratio, row, time } from "./measure.mjs";
import { benchTool, evidenceOf } from "./workflow.mjs";

const SESSIONS = 5000;
const PHASES = 6;
const ROUNDS = 3;
const EVIDENCE = evidenceOf(512);

/** Completes all phases of so many sessions; every tenth stays at its third phase. */
async function fill(file) {
  const database = new DatabaseSync(file);
  // Only while it is filled: a sync for each commit would take minutes.
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  const storage = await SqliteStorage.open(database);
  const { engine, type } = benchTool(PHASES, storage);
  for (let index = 0; index < SESSIONS; index += 1) {
    const { sessionId } = await engine.start({ workflowType: type, target: `src/made-${index}.ts` });
    const end = index % 10 === 0 ? 2 : PHASES;
    for (let phase = 1; phase <= end; phase += 1) {
      await engine.session(sessionId).completePhase(phase, EVIDENCE);
    }
  }
  await storage.close();
  database.close();
}

/** Reads every commit, checks its hash and parses its body: no statistics can do with less. */
function bareRead(file) {
  const database = new DatabaseSync(file, { readOnly: true });
  let events = 0;
  for (const { body, previous_hash } of database
    .prepare("SELECT body, previous_hash FROM phasegate_commits ORDER BY session, version")
    .iterate()) {
    createHash("sha256").update(`${previous_hash}\n${body}`).digest("hex");
    events += JSON.parse(body).events.length;
  }
  database.close();
  return events;
}

async function timed(work) {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) * 1000;
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-statistics-"));
  const file = join(folder, "sessions.db");
  await fill(file);
  const storage = await SqliteStorage.open(file);
  const { engine, type } = benchTool(PHASES, storage);
  const { sessionId } = await engine.start({ workflowType: type, target: "src/new.ts" });
  const found = { bare: [], whole: [], next: [] };
  let cursor;
  for (let round = 0; round < ROUNDS; round += 1) {
    found.bare.push(await timed(() => bareRead(file)));
    const whole = async () => {
      ({ cursor } = await engine.statistics());
    };
    found.whole.push(await timed(whole));
    await engine.session(sessionId).completePhase(round + 1, EVIDENCE);
    found.next.push(await timed(() => engine.statistics({ cursor })));
  }
  await storage.close();
  await rm(folder, { recursive: true, force: true });
  const [bare, whole, next] = [median(found.bare), median(found.whole), median(found.next)];
  const what = `${SESSIONS.toLocaleString("en")} sessions of ${PHASES} phases, SQLite`;
  return [
    row(
      `statistics, ${what}`,
      time(whole),
      `every commit read, hashed and parsed ${time(bare)}`,
      ratio(whole, bare),
      4,
    ),
    row(`statistics, ${what}`, time(whole), "limit 3 s", ratio(whole, 3e6), 1),
    row(`statistics, one new commit, ${what}`, time(next), `everything ${time(whole)}`, ratio(next, whole), 0.2),
  ];
}
