/**
 * Sessions in a SqliteStorage: a real database, in which each host has a connection of its own. Its statements fail as
 * SQLite lets them fail: the lock is taken, the disk is full or reports a fault, and a COMMIT that fails may have been
 * done. A host that dies leaves its connection, and what was not committed is gone.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { SqliteStorage } from "phasegate/sqlite";
import type { Commit, StorageAdapter } from "../../src/ports/storage-adapter.js";
import type { SessionId } from "../../src/workflow/names.js";
import { simulateRuntime } from "./runtime.js";
import type { Schedule } from "./schedule.js";
import { all, type Line, SharedStore, type Trouble } from "./store.js";

const POLL_MS = 500;
/** How often a statement fails, in percent. */
const FAILS_PERCENT = 1;
/** SQLite's result codes: a lock, a fault of the disk, a full disk. */
const [BUSY, IOERR, IOERR_FSYNC, FULL] = [5, 10, 1034, 13];
const NEWEST = `SELECT s.session_id AS id, max(c.version) AS version
  FROM phasegate_commits c JOIN phasegate_sessions s ON s.number = c.session GROUP BY s.number`;

/** Hosts with connections to one database. */
export class SqliteStore extends SharedStore {
  readonly nature = { isBehindNetwork: false, pollMs: POLL_MS };
  readonly #restore: () => void;
  readonly #folder = mkdtempSync(join(tmpdir(), "phasegate-sim-"));
  readonly #file = join(this.#folder, "sessions.db");
  readonly #open: DatabaseSync[] = [];
  /** The host that opens a database: a storage makes its connection itself. */
  readonly #opening = new AsyncLocalStorage<Line>();
  readonly #prepare = DatabaseSync.prototype.prepare;
  #reader: { readonly database: DatabaseSync; readonly storage: SqliteStorage } | undefined;

  constructor(schedule: Schedule, trouble: Trouble) {
    super(schedule, trouble);
    this.#restore = simulateRuntime(schedule);
    const store = this;
    // The first statement of a connection tells whose it is.
    DatabaseSync.prototype.prepare = function (sql) {
      const line = store.#opening.getStore();
      if (line !== undefined && !store.#open.includes(this)) store.#adopt(this, line);
      return this.prepare === DatabaseSync.prototype.prepare
        ? Reflect.apply(store.#prepare, this, [sql])
        : this.prepare(sql);
    };
  }

  async open(line: Line): Promise<StorageAdapter> {
    // The tables are there before anything fails.
    await this.#read();
    return this.#opening.run(line, () => SqliteStorage.open(this.#file, { watchInterval: POLL_MS }));
  }

  async commits(id: SessionId): Promise<Commit[]> {
    return all((await this.#read()).storage.log(id));
  }

  override close(): void {
    this.#restore();
    DatabaseSync.prototype.prepare = this.#prepare;
    for (const database of this.#open) if (database.isOpen) database.close();
    rmSync(this.#folder, { recursive: true });
  }

  /** Takes the connection of a host. */
  #adopt(database: DatabaseSync, { of, end }: Line): void {
    this.#open.push(database);
    end.addEventListener("abort", () => database.isOpen && database.close());
    this.#injectFaults(database, of);
  }

  /** Returns a connection that never fails. */
  async #read() {
    if (this.#reader !== undefined) return this.#reader;
    const database = new DatabaseSync(this.#file);
    this.#open.push(database);
    database.exec("PRAGMA busy_timeout = 0; PRAGMA journal_mode = WAL");
    this.#reader = { database, storage: await SqliteStorage.open(database) };
    return this.#reader;
  }

  /** Lets the statements of a connection fail. */
  #injectFaults(database: DatabaseSync, of: string): void {
    const prepare = this.#prepare.bind(database);
    const fail = (what: string, codes: readonly [number, ...number[]]) => {
      if (!this.fails(`database-of-${of}`, FAILS_PERCENT)) return;
      const code = codes[this.schedule.choices.pick(`database-of-${of}`, codes.length)] ?? codes[0];
      this.schedule.note(`database: ${what} of ${of} fails with ${code}`);
      throw Object.assign(new Error("a fault"), { code: "ERR_SQLITE_ERROR", errcode: code });
    };
    database.prepare = (sql) => {
      const statement = prepare(sql);
      const reads = (call: (...values: SQLInputValue[]) => unknown) => (values: SQLInputValue[]) => {
        fail("a read", [IOERR, BUSY]);
        return call(...values);
      };
      const run = statement.run.bind(statement);
      const writes = (values: SQLInputValue[]) => {
        if (sql === "ROLLBACK") return run(...values);
        if (sql === "BEGIN IMMEDIATE") fail("BEGIN", [BUSY, IOERR]);
        else fail(sql === "COMMIT" ? "COMMIT" : "a write", [FULL, IOERR_FSYNC]);
        const done = run(...values);
        if (sql !== "COMMIT") return done;
        this.#noteNewest();
        fail("COMMIT which is done", [IOERR_FSYNC]);
        return done;
      };
      replace(statement, "run", writes);
      replace(statement, "get", reads(statement.get.bind(statement)));
      replace(statement, "all", reads(statement.all.bind(statement)));
      return statement;
    };
  }

  #noteNewest(): void {
    for (const { id, version } of this.#reader?.database.prepare(NEWEST).all() ?? []) {
      if (this.versions.get(String(id)) !== Number(version)) this.noteVersion(String(id), Number(version));
    }
  }
}

/** Replaces a method of a statement. */
function replace(statement: StatementSync, name: "run" | "get" | "all", call: (values: SQLInputValue[]) => unknown) {
  Object.defineProperty(statement, name, { value: (...values: SQLInputValue[]) => call(values) });
}
