/**
 * Sessions in a PostgresStorage, on a simulated server. Connecting and each statement are steps. A connection is refused, or
 * lost before the statement, after it, or while the server goes on with it; the server rolls a statement back in favour of
 * another one, shuts down, has become a standby, or has not waited for its standbys.
 */
import {
  type PgClient,
  type PgNotice,
  type PgPool,
  type PgPoolClient,
  type PgQuery,
  type PgRow,
  PostgresStorage,
} from "phasegate/postgres";
import type { Commit, StorageAdapter } from "../../src/ports/storage-adapter.js";
import type { SessionId } from "../../src/workflow/names.js";
import { type Result, SimPostgres } from "./postgres-server.js";
import { simulateRuntime } from "./runtime.js";
import type { Schedule } from "./schedule.js";
import { type Line, SharedStore, type Trouble } from "./store.js";

const POLL_MS = 500;
/** How often a connection or a statement fails, in percent. */
const FAILS_PERCENT = 3;
/** How long calls are repeated: long enough for one lost connection, too short for several. */
const RETRY_MS = 100;

/**
 * What can go wrong with a statement: a lost connection, a SQLSTATE after which nothing was done, a notice, or a row that somebody
 * else has locked.
 */
const FAULTS = [
  "lost before",
  "lost after",
  "lost meanwhile",
  "40001",
  "57P01",
  "25006",
  "not replicated",
  "locked",
] as const;

/** Hosts with pools of connections to one server. */
export class PostgresStore extends SharedStore {
  readonly nature = { isBehindNetwork: false, pollMs: POLL_MS };
  readonly #restore: () => void;
  readonly #server = new SimPostgres((id, version) => this.noteVersion(id, version));

  constructor(schedule: Schedule, trouble: Trouble) {
    super(schedule, trouble);
    this.#restore = simulateRuntime(schedule);
  }

  open(line: Line): Promise<StorageAdapter> {
    return PostgresStorage.open({ pool: this.#pool(line), retryMs: RETRY_MS, pollMs: POLL_MS });
  }

  async commits(id: SessionId): Promise<Commit[]> {
    return this.#server.commits(id);
  }

  override close(): void {
    this.#restore();
  }

  #pool(line: Line): PgPool {
    const acquired: ((client: PgClient) => void)[] = [];
    return {
      on: (event: "error" | "acquire", listener: (about: never) => void) => {
        if (event === "acquire") acquired.push(listener as (client: PgClient) => void);
      },
      connect: async () => {
        await this.#step(line, "connects");
        if (line.isCut || this.fails(`pool-of-${line.of}`, FAILS_PERCENT / 3)) {
          this.schedule.note(`server: refuses ${line.of}`);
          throw stated("ECONNREFUSED");
        }
        const client = this.#client(line);
        for (const listener of acquired) listener(client);
        return client;
      },
    };
  }

  #client(line: Line): PgPoolClient {
    const noticed: ((notice: PgNotice) => void)[] = [];
    const notice = () => {
      for (const listener of noticed) listener({ routine: "SyncRepWaitForLSN" });
    };
    return {
      on: (event: "error" | "notice", listener: (about: never) => void) => {
        if (event === "notice") noticed.push(listener as (notice: PgNotice) => void);
      },
      query: async <R extends PgRow>(query: PgQuery) => {
        const { rows, rowCount } = await this.#query(line, query, notice);
        return { rows: rows as R[], rowCount };
      },
      release: () => {},
    };
  }

  async #query(line: Line, query: PgQuery, notice: () => void): Promise<Result> {
    const name = this.#server.nameOf(query);
    await this.#step(line, name);
    if (line.isCut) throw lost();
    const failing = this.fails(`server-of-${line.of}`, FAILS_PERCENT);
    const fault = failing ? FAULTS[this.schedule.choices.pick(`server-of-${line.of}`, FAULTS.length)] : undefined;
    if (fault !== undefined) this.schedule.note(`server: ${name} of ${line.of} is ${fault}`);
    switch (fault) {
      case "lost before":
        throw lost();
      case "lost after":
        this.#run(query);
        throw lost();
      case "lost meanwhile":
        this.schedule.add("network", `${name} of ${line.of}, late`, () => void this.#run(query));
        throw lost();
      case "40001":
      case "57P01":
      case "25006":
        throw stated(fault);
    }
    const result = this.#run(fault === "locked" ? this.#server.withoutLocked(query) : query);
    if (fault === "not replicated") notice();
    await this.#step(line, `${name} is done`);
    return result;
  }

  #run(query: PgQuery): Result {
    try {
      return this.#server.run(query);
    } catch (error) {
      // A statement that the server does not know is a mistake here, which the adapter must not take for a failure of its own.
      process.nextTick(() => {
        throw error;
      });
      throw error;
    }
  }

  #step({ of, end }: Line, what: string): Promise<void> {
    return end.aborted ? new Promise(() => {}) : this.schedule.wait(of, what);
  }
}

function stated(code: string): Error {
  return Object.assign(new Error(`the server says ${code}`), { code });
}

function lost(): Error {
  return new Error("Connection terminated unexpectedly");
}
