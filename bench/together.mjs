/**
 * A hundred linear runs at the same time in one process, against LangGraph and OpenWorkflow on the same database with the
 * same durability and the same states: SQLite with WAL and FULL, and PostgreSQL as it is installed, with 10 connections.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { BackendPostgres } from "openworkflow/postgres";
import pg from "pg";
import { PostgresStorage } from "phasegate/postgres";
import { ADAPTERS } from "./adapters.mjs";
import { langgraphInSqlite, linearRun as langgraphRun } from "./linear-langgraph.mjs";
import { openworkflowIn, sqliteBackend } from "./linear-openworkflow.mjs";
import { phasegateInSqlite, linearRun as phasegateRun } from "./linear-phasegate.mjs";
import { linearStates } from "./linear-states.mjs";
import { median, ratio, row, time, warmUp } from "./measure.mjs";

const RUNS = 100;
const STEPS = 10;
const CHARACTERS = 1024;
/** Each product has as many turns, of at least as many milliseconds: its first runs in a turn may collect the others' garbage. */
const [TURNS, TURN_MS] = [5, 1000];
const BAR = 1 / 5;

/** Each runs all at once when it is called. */
const onSqlite = {
  phasegate: async (states, folder) => allOf(await phasegateInSqlite(states, join(folder, "phasegate.db"))),
  LangGraph: async (states, folder) => allOf(await langgraphInSqlite(states, join(folder, "langgraph.db"))),
  OpenWorkflow: async (states, folder) => openworkflowIn(sqliteBackend(join(folder, "openworkflow.db")), states, RUNS),
};

const onPostgres = {
  phasegate: async (states, url) => {
    const storage = await PostgresStorage.open({ url });
    const { engine, run } = phasegateRun(storage, states);
    return allOf({ run, close: () => engine.close().then(() => storage.close()) });
  },
  LangGraph: async (states, url) => {
    const saver = new PostgresSaver(new pg.Pool({ connectionString: url, max: 10 }));
    await saver.setup();
    return allOf({ run: langgraphRun(saver, states), close: () => saver.end() });
  },
  OpenWorkflow: async (states, url) => openworkflowIn(await BackendPostgres.connect(url), states, RUNS),
};

function allOf({ run, close }) {
  return { run: () => Promise.all(Array.from({ length: RUNS }, run)), close };
}

/** The microseconds a step of each, in turn. */
async function measure(products, place) {
  const states = await linearStates(STEPS, CHARACTERS);
  const open = {};
  for (const [name, one] of Object.entries(products)) open[name] = await one(states, place);
  const times = Object.fromEntries(Object.keys(products).map((name) => [name, []]));
  for (const { run } of Object.values(open)) await warmUp({ fn: run });
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [name, { run }] of Object.entries(open)) {
      const end = performance.now() + TURN_MS;
      do {
        const begun = performance.now();
        await run();
        times[name].push(((performance.now() - begun) * 1000) / (RUNS * STEPS));
      } while (performance.now() < end);
    }
  }
  for (const { close } of Object.values(open)) await close();
  return Object.fromEntries(Object.entries(times).map(([name, found]) => [name, median(found)]));
}

function rowsOf(where, { phasegate, ...others }) {
  const what = `${RUNS} runs at the same time, ${STEPS} steps of 1 KiB each, ${where}: time a step`;
  return Object.entries(others).map(([name, theirs]) =>
    row(what, time(phasegate), `${name} ${time(theirs)}`, ratio(phasegate, theirs), BAR),
  );
}

export async function run() {
  const folder = await mkdtemp(join(tmpdir(), "phasegate-together-"));
  const inSqlite = await measure(onSqlite, folder);
  await rm(folder, { recursive: true, force: true });
  const url = await ADAPTERS.PostgresStorage.newPlace();
  const inPostgres = await measure(onPostgres, url);
  await ADAPTERS.PostgresStorage.dropPlace(url);
  return [...rowsOf("SQLite FULL", inSqlite), ...rowsOf("PostgreSQL", inPostgres)];
}
