/** Two that do the same linear run, measured in turn: time and bytes per step, and whether bytes grow with the steps. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { linearStates } from "./linear-states.mjs";
import { pairedMedians, ratio, row, size, time } from "./measure.mjs";

const STEPS = 5;
const MANY_STEPS = 50;
const STATES = { "1 KiB": 1024, "64 KiB": 65_536 };
/** A run takes many milliseconds where each step is synced: fewer of them in a round are enough. */
const ROUND = { iterations: 10, warmupIterations: 3 };
/** So many runs share the pages that are not full. */
const RUNS = 8;

/** The pages in use when the write-ahead log is in the database. */
function bytesOfDatabase(file) {
  const database = new DatabaseSync(file);
  const number = (pragma) => Object.values(database.prepare(`PRAGMA ${pragma}`).get())[0];
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const bytes = (number("page_count") - number("freelist_count")) * number("page_size");
  database.close();
  return bytes;
}

/** What a run of so many steps leaves in memory. */
async function bytesInMemory(open, states) {
  const one = await open(states);
  await one.run();
  const bytes = one.bytes();
  await one.close();
  return bytes;
}

/** What one leaves in a database, without its empty tables. */
async function bytesInSqlite(open, states, folder) {
  const file = join(folder, "bytes.db");
  const one = await open(states, file);
  const empty = bytesOfDatabase(file);
  for (let runs = 0; runs < RUNS; runs += 1) await one.run();
  const bytes = (bytesOfDatabase(file) - empty) / RUNS;
  await one.close();
  return bytes;
}

/** `use` with a new folder, which is gone afterwards. */
async function inFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-linear-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function bytesOfRun(open, steps, characters) {
  const states = await linearStates(steps, characters);
  if (open.length === 1) return bytesInMemory(open, states);
  return inFolder((folder) => bytesInSqlite(open, states, folder));
}

/** A step of a short run, whatever a run's beginning takes, against one of a long run. */
async function growthOf(open, characters) {
  const at = (steps) => bytesOfRun(open, steps, characters);
  const [one, few, many] = [await at(1), await at(STEPS), await at(MANY_STEPS)];
  const early = (few - one) / (STEPS - 1);
  const late = (many - few) / (MANY_STEPS - STEPS);
  return { perStep: few / STEPS, early, late, growth: ratio(late, early) };
}

async function timesOfRun(theirs, ours, characters) {
  const states = await linearStates(STEPS, characters);
  return inFolder(async (folder) => {
    const [other, own] = [await theirs(states, join(folder, "theirs.db")), await ours(states, join(folder, "ours.db"))];
    const task = ({ run, forget }) => ({ fn: run, ...(forget === undefined ? {} : { beforeEach: forget }) });
    const found = await pairedMedians({ theirs: task(other), ours: task(own) }, 15, ROUND);
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
    const [own, other] = [await growthOf(ours, characters), await growthOf(theirs, characters)];
    const [ourTime, theirTime] = [times.ours, times.theirs].map((run) => time(run / STEPS));
    rows.push(
      row(`${what}: time per step`, ourTime, `${name} ${theirTime}`, times.ratio, 1),
      row(
        `${what}: bytes per step`,
        size(own.perStep),
        `${name} ${size(other.perStep)}`,
        ratio(own.perStep, other.perStep),
        1,
      ),
      row(
        `${what}: bytes of a step in a run of ${MANY_STEPS}`,
        size(own.late),
        `in a run of ${STEPS} ${size(own.early)}; ${name} ${size(other.late)} and ${size(other.early)}`,
        own.growth,
        1.05,
      ),
    );
  }
  return rows;
}
