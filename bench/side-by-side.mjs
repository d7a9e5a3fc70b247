/** Two that do the same linear run, measured in turn: time and bytes per step, and whether bytes grow with the steps. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { linearStates } from "./linear-states.mjs";
import { inFolder, pairedMedians, ratio, row, size, time } from "./measure.mjs";

const STEPS = 5;
const MANY_STEPS = 50;
const STATES = { "1 KiB": 1024, "64 KiB": 65_536 };
/** A run takes many milliseconds where each step is synced: fewer of them in a round are enough. */
const ROUND = { iterations: 10, warmupIterations: 3 };
/** Runs share the pages that are not full: the more of them, the smaller the states are. */
const RUNS_MIN = 4;
const RUNS_BYTES = 32 * 1024;
/** Each table and each index there has pages of its own. */
const RUNS_BYTES_POSTGRES = 128 * 1024;

/** What a run of so many steps leaves in memory. */
async function bytesInMemory(open, states) {
  const one = await open(states);
  await one.run();
  const bytes = one.bytes();
  await one.close();
  return bytes;
}

/** The pages in use after so many runs. */
async function bytesOfDatabase(open, states, file, runs) {
  const one = await open(states, file);
  for (let run = 0; run < runs; run += 1) await one.run();
  // Two libraries that have one file open in one process take each other's locks away: first the one, then the other.
  await one.close();
  const database = new DatabaseSync(file);
  const number = (pragma) => Object.values(database.prepare(`PRAGMA ${pragma}`).get())[0];
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const bytes = (number("page_count") - number("freelist_count")) * number("page_size");
  database.close();
  return bytes;
}

/** What one leaves in a database, without its empty tables. */
export async function bytesInSqlite(open, states, folder) {
  const runs = Math.max(RUNS_MIN, Math.round(RUNS_BYTES / states[0].length));
  const empty = await bytesOfDatabase(open, states, join(folder, "empty.db"), 0);
  return ((await bytesOfDatabase(open, states, join(folder, "full.db"), runs)) - empty) / runs;
}

/** The bytes of all tables and indexes of a database, without rows that are outdated. */
async function bytesOfTables(client) {
  await client.query("VACUUM FULL");
  const { rows } = await client.query(`SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::float8 AS bytes
    FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema')`);
  return rows[0].bytes;
}

/** What a run of one leaves in an empty database on a server, beyond its empty tables. */
export async function bytesInPostgres(open, states, url) {
  const runs = Math.max(RUNS_MIN, Math.round(RUNS_BYTES_POSTGRES / states[0].length));
  const one = await open(states, url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const empty = await bytesOfTables(client);
  for (let run = 0; run < runs; run += 1) await one.run();
  const full = await bytesOfTables(client);
  await client.end();
  await one.close();
  return (full - empty) / runs;
}

async function bytesOfRun(open, steps, characters) {
  const states = await linearStates(steps, characters);
  if (open.length === 1) return bytesInMemory(open, states);
  return inFolder((folder) => bytesInSqlite(open, states, folder));
}

async function bytesPerStep(open, characters) {
  const at = async (steps) => (await bytesOfRun(open, steps, characters)) / steps;
  return { few: await at(STEPS), many: await at(MANY_STEPS) };
}

async function timesOfRun(theirs, ours, characters) {
  const states = await linearStates(STEPS, characters);
  return inFolder(async (folder) => {
    const [other, own] = [await theirs(states, join(folder, "theirs.db")), await ours(states, join(folder, "ours.db"))];
    const task = ({ run, forget }) => ({ fn: run, ...(forget === undefined ? {} : { beforeEach: forget }) });
    const found = await pairedMedians({ theirs: task(other), ours: task(own) }, 7, ROUND);
    await other.close();
    await own.close();
    return found;
  });
}

/** The rows of one pair. A function that takes no file keeps its runs in memory. */
export async function sideBySide({ where, name, theirs, ours }) {
  const rows = [];
  for (const [state, characters] of Object.entries(STATES)) {
    const what = `${STEPS} steps, ${state} of state, ${where}`;
    const times = await timesOfRun(theirs, ours, characters);
    const [own, other] = [await bytesPerStep(ours, characters), await bytesPerStep(theirs, characters)];
    const [ourTime, theirTime] = [times.ours, times.theirs].map((run) => time(run / STEPS));
    const grown = `${name}'s own ratio ${ratio(other.many, other.few)}`;
    rows.push(
      row(`${what}: time per step`, ourTime, `${name} ${theirTime}`, times.ratio, 1),
      row(`${what}: bytes per step`, size(own.few), `${name} ${size(other.few)}`, ratio(own.few, other.few), 1),
      row(
        `${MANY_STEPS} steps, ${state} of state, ${where}: bytes per step`,
        size(own.many),
        `${STEPS} steps ${size(own.few)}; ${grown}`,
        ratio(own.many, own.few),
        1,
      ),
    );
  }
  return rows;
}
