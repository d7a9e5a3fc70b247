/**
 * A hundred linear runs at the same time in one process, against LangGraph and OpenWorkflow on the same database with the
 * same durability and the same states: SQLite with WAL and FULL, and PostgreSQL as it is installed, with 10 connections.
 */
import { join } from "node:path";
import { ADAPTERS } from "./adapters.mjs";
import { langgraphInPostgres, langgraphInSqlite } from "./linear-langgraph.mjs";
import { openworkflowInPostgres, openworkflowInSqlite } from "./linear-openworkflow.mjs";
import { phasegateInPostgres, phasegateInSqlite } from "./linear-phasegate.mjs";
import { linearStates } from "./linear-states.mjs";
import { inFolder, median, ratio, row, time, warmUp } from "./measure.mjs";

const RUNS = 100;
const STEPS = 10;
const CHARACTERS = 1024;
/** Each product has as many turns, of at least as many milliseconds: its first runs in a turn may collect the others' garbage. */
const TIMES = { turns: 5, turnMs: 1000, warmUpSeconds: 4 };
/** What takes so many microseconds is called once after its warm-up. */
const LONG = 5e6;
const BAR = 1 / 5;

/** How each opens a place, where it runs so many runs at once whenever it is called. */
export const onSqlite = {
  phasegate: phasegateInSqlite,
  LangGraph: langgraphInSqlite,
  OpenWorkflow: openworkflowInSqlite,
};

export const onPostgres = {
  phasegate: phasegateInPostgres,
  LangGraph: langgraphInPostgres,
  OpenWorkflow: openworkflowInPostgres,
};

/** The microseconds a step of each, in turn. */
export async function timesInTurn(products, placeOf, states, runs, { turns, turnMs, warmUpSeconds }) {
  const open = {};
  for (const [name, one] of Object.entries(products)) open[name] = await one(states, placeOf(name), runs);
  const times = Object.fromEntries(Object.keys(products).map((name) => [name, []]));
  for (const { run } of Object.values(open)) await warmUp({ fn: run }, undefined, warmUpSeconds);
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [name, { run }] of Object.entries(open)) {
      if (times[name][0] * runs * states.length > LONG) continue;
      const end = performance.now() + turnMs;
      do {
        const begun = performance.now();
        await run();
        times[name].push(((performance.now() - begun) * 1000) / (runs * states.length));
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
  const states = await linearStates(STEPS, CHARACTERS);
  const inSqlite = await inFolder((folder) =>
    timesInTurn(onSqlite, (name) => join(folder, `${name}.db`), states, RUNS, TIMES),
  );
  const url = await ADAPTERS.PostgresStorage.newPlace();
  const inPostgres = await timesInTurn(onPostgres, () => url, states, RUNS, TIMES);
  await ADAPTERS.PostgresStorage.dropPlace(url);
  return [...rowsOf("SQLite FULL", inSqlite), ...rowsOf("PostgreSQL", inPostgres)];
}
