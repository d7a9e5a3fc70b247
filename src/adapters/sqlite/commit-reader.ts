import type { SessionId } from "../../definition/names.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { commitIn, selectCommits } from "./commit-rows.js";
import type { Connection } from "./connection.js";
import type { KnownSessions } from "./known-sessions.js";
import { unpackPayload } from "./packed-payload.js";
import { bytesIn, numberIn, storedText } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

/** So many commits are read at once: nothing is held open between two of them, which would keep the log growing. */
const READ_AHEAD = 8;

/** Reads the commits and the payloads of sessions. */
export class CommitReader {
  readonly #connection: Connection;
  readonly #known: KnownSessions;
  readonly #sql: Readonly<Record<"newest" | "log" | "payload", string>>;

  constructor(connection: Connection, names: TableNames, known: KnownSessions) {
    const { sessions, payloads } = names;
    this.#connection = connection;
    this.#known = known;
    this.#sql = {
      newest: selectCommits(names, "WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1", "s.number"),
      log: selectCommits(names, "WHERE s.session_id = ? AND c.version > ? ORDER BY c.version LIMIT ?"),
      payload: `SELECT p.body FROM ${payloads} p JOIN ${sessions} s ON p.session = s.number
        WHERE s.session_id = ? AND p.hash = ?`,
    };
  }

  newest(id: SessionId): Commit | undefined {
    const known = this.#known.get(id);
    // The caller may change what it is given.
    if (known !== undefined) return { ...known.commit, summary: { ...known.commit.summary } };
    const row = this.#connection.prepare(this.#sql.newest).get(id);
    if (row === undefined) return undefined;
    const commit = commitIn(row);
    this.#known.set({ ...commit, summary: { ...commit.summary } }, numberIn(row, "number"));
    return commit;
  }

  async *log(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    for (let [last, left] = [after, limit]; left > 0; ) {
      const count = Math.min(READ_AHEAD, left);
      const from = last;
      const rows = await this.#connection.patiently("read", () =>
        this.#connection.prepare(this.#sql.log).all(id, from, count),
      );
      for (const row of rows) {
        const commit = commitIn(row);
        last = commit.version;
        yield commit;
      }
      if (rows.length < count) return;
      left -= rows.length;
    }
  }

  async payload(id: SessionId, hash: string, maxBytes: number): Promise<string | undefined> {
    const row = await this.#connection.patiently("read", () =>
      this.#connection.prepare(this.#sql.payload).get(id, storedText(hash)),
    );
    return row && unpackPayload(bytesIn(row, "body"), id, hash, maxBytes);
  }
}
