import type { SessionId } from "../../workflow/names.js";
import type { Connection } from "./connection.js";
import { notWritten } from "./failures.js";
import { COMMIT_COLUMNS, numberIn } from "./rows.js";
import type { TableNames } from "./tables.js";
/**
 * Removes a session: its id stays as used up, with its tombstone commit, which somebody who watches from another process
 * may not have seen. Row by row, so that it does not hang on foreign keys being on in a database of the host's.
 */
export class SessionRemover {
  readonly #connection: Connection;
  readonly #names: TableNames;

  constructor(connection: Connection, names: TableNames) {
    this.#connection = connection;
    this.#names = names;
  }

  /** Called in a transaction; does nothing where there is no such session. */
  remove(id: SessionId): void {
    const { sessions, commits, payloads, removed, instances, history } = this.#names;
    const row = this.#connection.prepare(`SELECT number FROM ${sessions} WHERE session_id = ?`).get(id);
    if (row === undefined) return;
    const number = numberIn(row, "number");
    this.#keepTombstone(id, number, removed);
    this.#empty(history, "instance_id", id);
    this.#empty(instances, "instance_id", id);
    this.#empty(payloads, "session", number);
    this.#empty(commits, "session", number);
    this.#empty(sessions, "number", number);
  }

  #keepTombstone(id: SessionId, number: number, removed: string): void {
    const { sessions, commits } = this.#names;
    // A log whose commits were all deleted by hand leaves nothing to keep.
    if (this.#connection.prepare(`SELECT 1 FROM ${commits} WHERE session = ?`).get(number) === undefined) return;
    const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
    const sql = `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
      SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`;
    this.#connection.changeOne(removed, sql, [id]);
  }

  /** Deletes the session's rows of a table. The count doesn't tell which rows a trigger kept: so it looks again. */
  #empty(table: string, column: string, value: string | number): void {
    this.#connection.prepare(`DELETE FROM ${table} WHERE ${column} = ?`).run(value);
    const left = this.#connection.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`).get(value);
    if (left !== undefined) throw notWritten(table);
  }
}
