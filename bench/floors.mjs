/** What a call costs at least on a disk: the storage is in memory, and does a bare operation before each append. */
import { createHash, randomBytes } from "node:crypto";
import { close, closeSync, fsync, linkSync, open, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { deflateRawSync } from "node:zlib";
import pg from "pg";
import { MemoryStorage } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import { bothWays } from "./concurrent.mjs";
import { bareCommit as bareWrite, newFolders } from "./durable.mjs";
import { openworkflowInSqlite } from "./linear-openworkflow.mjs";
import { linearRun } from "./linear-phasegate.mjs";
import { linearStates } from "./linear-states.mjs";
import { inFolder, pairedMedians, ratio, size, time, warmUp } from "./measure.mjs";
import { bareCommit as bareStatement, withServer } from "./postgres.mjs";
import { advancing, routed } from "./routed.mjs";
import { bytesInSqlite } from "./side-by-side.mjs";
import { bareTransaction, settle } from "./sqlite.mjs";
import { pagedCase } from "./wire.mjs";
import { benchTool, completing, evidenceOf } from "./workflow.mjs";

const PHASES = 400;
/** The bytes of a commit with 1 KiB of evidence, and of one of a routed step. */
const [BYTES, ROUTED_BYTES] = [2000, 1000];
/** How the storage's statement in PostgreSQL begins, and where the parameters are that change. */
const [BEGUN, VERSION, PREVIOUS, HASH] = ["WITH begun AS (INSERT", 1, 4, 5];

const inPool = { open: promisify(open), fsync: promisify(fsync), close: promisify(close) };

/** A storage in memory whose appends do the bare operation first, with the commit. */
function storageOn({ fn, beforeEach }) {
  const storage = new MemoryStorage();
  const append = storage.append.bind(storage);
  storage.append = async (commit) => {
    await beforeEach?.();
    await fn(commit);
    await append(commit);
  };
  return storage;
}

function completed(bare) {
  return completing(benchTool(PHASES, storageOn(bare)), PHASES, evidenceOf(1024));
}

function advanced(bare) {
  return advancing(routed(storageOn(bare)));
}

/** The bare operation as often as the call commits, and the call on it, or on another operation. */
async function compare(bare, call, { commits = 1, on = bare } = {}) {
  const task = call(on);
  const bareTimes = async () => {
    for (let commit = 0; commit < commits; commit += 1) await bare.fn();
  };
  await warmUp(task, call({ fn: () => {} }));
  return pairedMedians({ bare: { ...bare, fn: bareTimes }, call: task });
}

function inSqlite(bytes, call, { commits, looks = false } = {}) {
  return inFolder(async (folder) => {
    const bare = bareTransaction(join(folder, "bare.db"), bytes);
    await settle(folder);
    const on = looks ? lookingInSqlite(bare, folder) : bare;
    const found = await compare(bare, call, { commits, on });
    bare.database.close();
    return found;
  });
}

/**
 * The transaction, with what the storage looks at for a commit that is not in a quick series: whether others have written, and
 * whether its files are in place, before it and after it.
 */
function lookingInSqlite({ database, fn }, folder) {
  const version = database.prepare("PRAGMA data_version");
  version.setReturnArrays(true);
  return {
    fn: () => {
      version.get();
      statSync(folder);
      fn();
      version.get();
      statSync(folder);
    },
  };
}

/**
 * The file as the storage writes it, with as few waits for Node's pool of threads, and with what it looks at: the newest file,
 * whether there is one after it, and once more whether the one before and the new one are there.
 */
function quickWrite(root, bytes) {
  const folderOf = newFolders(root);
  const data = "x".repeat(bytes);
  let [number, folder] = [0, ""];
  const look = (name) => statSync(join(folder, `${name}.json`), { throwIfNoEntry: false });
  const fn = async () => {
    look(number);
    if (look(number - 1) !== undefined) readFileSync(join(folder, `${number - 1}.json`));
    const temporary = join(folder, `tmp-${number}`);
    const file = await inPool.open(temporary, "wx", 0o600);
    writeFileSync(file, data);
    await inPool.fsync(file);
    void inPool.close(file);
    look(number - 1);
    const directory = openSync(folder, "r");
    linkSync(temporary, join(folder, `${number}.json`));
    look(number);
    await inPool.fsync(directory);
    closeSync(directory);
  };
  const beforeEach = async () => {
    folder = await folderOf(number);
    number += 1;
  };
  return { fn, beforeEach };
}

/** The statement of the storage for one commit, without the storage: as it was sent last, for the next version. */
async function ownStatement(url) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  let sent;
  pool.on("connect", (client) => {
    const query = client.query.bind(client);
    client.query = (config, ...others) => {
      if (config.text?.startsWith(BEGUN)) sent = config;
      return query(config, ...others);
    };
  });
  const host = benchTool(PHASES, await PostgresStorage.open({ pool }));
  const complete = completing(host, PHASES, evidenceOf(1024));
  for (let call = 0; call < 3; call += 1) {
    await complete.beforeEach();
    await complete.fn();
  }
  await host.engine.close();
  const statement = { ...sent, values: [...sent.values] };
  const { values } = statement;
  const fn = async () => {
    [values[VERSION], values[PREVIOUS], values[HASH]] = [
      values[VERSION] + 1,
      values[HASH],
      randomBytes(32).toString("hex"),
    ];
    const { rowCount } = await pool.query(statement);
    if (rowCount !== 1) throw new Error("the statement was refused");
  };
  return { fn, close: () => pool.end() };
}

function inPostgres(call) {
  return withServer(async (pool, url) => {
    const own = await ownStatement(url);
    const found = await call({ fn: await bareStatement(pool, BYTES) }, own);
    await own.close();
    return found;
  });
}

const FLOORS = {
  "a completed phase, a transaction in SQLite": () => inSqlite(BYTES, completed),
  "a completed phase, a transaction in SQLite with two looks at other connections and two at the folder": () =>
    inSqlite(BYTES, completed, { looks: true }),
  "advance, two transactions in SQLite": () => inSqlite(ROUTED_BYTES, advanced, { commits: 2 }),
  "advance, two transactions in SQLite with two looks at other connections and two at the folder": () =>
    inSqlite(ROUTED_BYTES, advanced, { commits: 2, looks: true }),
  "a completed phase, a file, synced and linked": () =>
    inFolder((folder) => compare(bareWrite(newFolders(folder), BYTES), completed)),
  "a completed phase, a file in as few steps as possible, with the storage's looks": () =>
    inFolder((folder) => compare(bareWrite(newFolders(folder), BYTES), completed, { on: quickWrite(folder, BYTES) })),
  "nothing else than that file": () =>
    inFolder((folder) =>
      pairedMedians({ bare: bareWrite(newFolders(folder), BYTES), call: quickWrite(folder, BYTES) }),
    ),
  "a completed phase, a statement in PostgreSQL": () => inPostgres((bare) => compare(bare, completed)),
  "nothing else than the storage's own statement, against the bare one": () =>
    inPostgres((bare, own) => pairedMedians({ bare, call: own })),
  "a completed phase, the storage's own statement": () =>
    inPostgres((bare, own) => compare(bare, completed, { on: own })),
};

/** Writes the commits of one turn to SQLite in one transaction: a compare-and-set and an insert for each, by numbers. */
function groupedStorage(file) {
  const database = new DatabaseSync(file);
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE heads (session INTEGER PRIMARY KEY, version INTEGER NOT NULL);
    CREATE TABLE log (number INTEGER PRIMARY KEY, session INTEGER NOT NULL, version INTEGER NOT NULL, hash TEXT, body TEXT);`);
  const [begin, commit, first, next, insert] = [
    "BEGIN IMMEDIATE",
    "COMMIT",
    "INSERT INTO heads (version, session) VALUES (?, ?)",
    "UPDATE heads SET version = ? WHERE session = ?",
    "INSERT INTO log (session, version, hash, body) VALUES (?, ?, ?, ?)",
  ].map((sql) => database.prepare(sql));
  const numbers = new Map();
  const write = ({ sessionId, version, hash, body }) => {
    const number = numbers.get(sessionId) ?? numbers.size + 1;
    numbers.set(sessionId, number);
    (version === 1 ? first : next).run(version, number);
    insert.run(number, version, hash, body);
  };
  let waiting = [];
  const writeAll = () => {
    const group = waiting;
    waiting = [];
    begin.run();
    for (const { commit } of group) write(commit);
    commit.run();
    for (const { resolve } of group) resolve();
  };
  const fn = (commit) =>
    new Promise((resolve) => {
      if (waiting.length === 0) setImmediate(writeAll);
      waiting.push({ commit, resolve });
    });
  return storageOn({ fn });
}

/** A storage that writes a bare file for each commit, those of a session in one folder. */
function filesStorage(root) {
  const writers = new Map();
  const fn = async ({ sessionId }) => {
    const writer = writers.get(sessionId) ?? bareWrite(newFolders(root), BYTES);
    writers.set(sessionId, writer);
    await writer.beforeEach();
    await writer.fn();
  };
  return storageOn({ fn });
}

/** A hundred sessions at once, against one after the other, as concurrent.mjs measures them. */
const TOGETHER = {
  "a transition, a transaction in SQLite for all of one turn": () =>
    inFolder((folder) => bothWays(groupedStorage(join(folder, "bare.db")))),
  "a transition, a file for each, synced and linked": () => inFolder((folder) => bothWays(filesStorage(folder))),
  "a transition in memory": () => bothWays(new MemoryStorage()),
};

/** What an answer of two pages costs without us: its JSON, the digest that its cursor names, and the JSON of its first page. */
async function barePage() {
  const { answer, end } = pagedCase();
  const bare = () => JSON.stringify({ ...answer });
  const page = () => {
    const text = JSON.stringify({ ...answer });
    return JSON.stringify({ json_page: text.slice(0, end), cursor: createHash("sha256").update(text).digest("hex") });
  };
  return pairedMedians({ bare: { fn: bare }, call: { fn: page } });
}

/** The bytes a step of runs of 5 steps with 1 KiB of state: of their commits' bodies and hashes alone, in a table of SQLite. */
async function bareBytes(pack) {
  const states = await linearStates(5, 1024);
  const open = (_, file) => {
    const database = new DatabaseSync(file);
    database.exec(
      "PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, hash BLOB, body)",
    );
    const insert = database.prepare("INSERT INTO log (hash, body) VALUES (?, ?)");
    const fn = ({ hash, body }) => insert.run(Buffer.from(hash, "hex"), pack(body));
    const { run } = linearRun(storageOn({ fn }), states);
    return { run, close: () => database.close() };
  };
  const ofRun = (opened) => inFolder((folder) => bytesInSqlite(opened, states, folder));
  const [bytes, theirs] = [await ofRun(open), await ofRun(openworkflowInSqlite)];
  return [`OpenWorkflow ${size(theirs / states.length)}`, size(bytes / states.length), ratio(bytes, theirs)];
}

/** The section of RESULTS.md. */
export async function section() {
  const rows = [];
  for (const [what, measure] of Object.entries(FLOORS)) {
    const { bare, call, ratio: found } = await measure();
    rows.push([what, time(bare), time(call), found]);
  }
  for (const [what, measure] of Object.entries(TOGETHER)) {
    const { together, alone } = await measure();
    rows.push([`100 at once: ${what}`, `one after the other ${time(alone)}`, time(together), ratio(together, alone)]);
  }
  const page = await barePage();
  rows.push(["a page of JSON: its answer, a digest, its text", time(page.bare), time(page.call), page.ratio]);
  const small = "bytes a step, 5 steps of 1 KiB: hashes and bodies alone";
  rows.push([small, ...(await bareBytes((body) => body))]);
  rows.push([`${small}, which are packed`, ...(await bareBytes(deflateRawSync))]);
  return `## Floors

Calls on a storage that does the bare operation for each commit, or another one that is named, and keeps the commit in memory.
In the last rows, what is measured is bare, too, and the second column has what it is compared with.

| what | the bare operation | measured | ratio |
|---|---|---|---|
${rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}
`;
}
