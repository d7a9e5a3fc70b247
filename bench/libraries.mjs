/**
 * The same linear run on phasegate and on other libraries for durable workflows, each used as its documentation says, and each
 * with a database of its own: SQLite with WAL and FULL, and PostgreSQL as it is installed, with 10 connections.
 * `node libraries.mjs [TEXT]` runs it alone, perhaps only the rows that have a text, such as `Mastra | 5 steps`.
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { ADAPTERS } from "./adapters.mjs";
import { dbosInPostgres } from "./linear-dbos.mjs";
import { mastraInPostgres, mastraInSqlite } from "./linear-mastra.mjs";
import { linearStates } from "./linear-states.mjs";
import { inFolder, ratio, size, time } from "./measure.mjs";
import { bytesInPostgres, bytesInSqlite } from "./side-by-side.mjs";
import { onPostgres, onSqlite, timesInTurn } from "./together.mjs";

const STEPS = [5, 50];
const STATES = { "1 KiB": 1024, "64 KiB": 65_536 };
const AT_ONCE = 100;
/** Of what takes so many microseconds alone, a hundred at once would take minutes, and the memory of a machine. */
const TOO_LONG = 2e6;
const TIMES = { turns: 3, turnMs: 500, warmUpSeconds: 1 };

/** A database: the libraries that can use it, those that can't, and how new places are made, and what is left in one. */
const DATABASES = {
  "SQLite FULL": {
    libraries: { ...onSqlite, Mastra: mastraInSqlite },
    missing: { DBOS: "has no SQLite" },
    withPlaces: (_names, work) => inFolder((folder) => work((name) => join(folder, `${name}.db`))),
    bytes: (open, states) => inFolder((folder) => bytesInSqlite(open, states, folder)),
  },
  PostgreSQL: {
    libraries: { ...onPostgres, DBOS: dbosInPostgres, Mastra: mastraInPostgres },
    missing: {},
    withPlaces: withDatabases,
    bytes: (open, states) => withDatabases(["bytes"], (urlOf) => bytesInPostgres(open, states, urlOf("bytes"))),
  },
};

/** Works with a new server that has a database for each name. */
async function withDatabases(names, work) {
  const url = await ADAPTERS.PostgresStorage.newPlace();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of names) await client.query(`CREATE DATABASE "${name}"`);
    const found = await work((name) => Object.assign(new URL(url), { pathname: `/${name}` }).href);
    await allClosed(client);
    return found;
  } finally {
    await client.end();
    await ADAPTERS.PostgresStorage.dropPlace(url);
  }
}

/** A pool has ended before the server knows of it, and would fail if the server ended first. */
async function allClosed(client) {
  const others = `SELECT application_name FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
  for (let look = 0; look < 100; look += 1) {
    const { rows } = await client.query(others);
    if (rows.length === 0) return;
    await delay(100);
  }
  throw new Error("a library has left connections open");
}

/** The figures of each library: the time a step of one run, of many at once, and the bytes a step. */
async function measured({ libraries, withPlaces, bytes }, steps, characters) {
  const states = await linearStates(steps, characters);
  const timesOf = (some, runs) =>
    withPlaces(Object.keys(some), (placeOf) => timesInTurn(some, placeOf, states, runs, TIMES));
  const alone = await timesOf(libraries, 1);
  const isShort = ([name]) => name === "phasegate" || alone[name] * steps < TOO_LONG;
  const atOnce = await timesOf(Object.fromEntries(Object.entries(libraries).filter(isShort)), AT_ONCE);
  const found = {};
  for (const [name, open] of Object.entries(libraries)) {
    found[name] = { alone: alone[name], atOnce: atOnce[name], bytes: (await bytes(open, states)) / steps };
  }
  return found;
}

/** The rows of one run on one database: each figure, and the ratio of phasegate's to it. */
function rowsOf(what, found, missing) {
  const own = found.phasegate;
  const cells = (key, figure, text) =>
    figure === undefined ? ["too long", ""] : [text(figure), ratio(own[key], figure)];
  const of = ([name, { alone, atOnce, bytes }]) =>
    row([name, what, ...cells("alone", alone, time), ...cells("atOnce", atOnce, time), ...cells("bytes", bytes, size)]);
  const without = ([name, reason]) => row([name, what, reason, "", "", "", "", ""]);
  return [...Object.entries(found).map(of), ...Object.entries(missing).map(without)];
}

const row = (cells) => `| ${cells.join(" | ")} |`;

/** The section of the results, or only the rows that have a text in their first two cells, `library | run`. */
export async function section(only = "") {
  const lines = [];
  for (const [where, { libraries, missing, ...database }] of Object.entries(DATABASES)) {
    for (const steps of STEPS) {
      for (const [state, characters] of Object.entries(STATES)) {
        const what = `${steps} steps, ${state} of state, ${where}`;
        const named = (values) => Object.entries(values).filter(([name]) => `${name} | ${what}`.includes(only));
        const [others, without] = [named(libraries), named(missing)];
        if (others.length === 0 && without.length === 0) continue;
        const chosen = Object.fromEntries([["phasegate", libraries.phasegate], ...others]);
        const found = await measured({ ...database, libraries: chosen }, steps, characters);
        lines.push(...rowsOf(what, found, Object.fromEntries(without)));
      }
    }
  }
  return `## Libraries

A linear run on other libraries for durable workflows. Each step hands on a state, and is durable before the next one begins:
SQLite with WAL and FULL, PostgreSQL as it is installed, with 10 connections. One run after the other, and ${AT_ONCE} at once in one
process. Bytes are what a run leaves in the database, without outdated rows. A ratio is phasegate's figure by that of the library:
below 1, phasegate needs less. *Too long*: a run takes more than ${time(TOO_LONG)} alone, and a hundred at once would take minutes.

| library | run | one run: time a step | ratio | ${AT_ONCE} at once: time a step | ratio | bytes a step | ratio |
|---|---|---|---|---|---|---|---|
${lines.join("\n")}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await section(process.argv[2]));
