import type { SessionId } from "../../definition/names.js";
import { COMMIT_COLUMNS } from "./commit-rows.js";
import type { Connection } from "./connection.js";
import type { TableNames } from "./table-names.js";

/**
 * Removes a session: its id stays as used up, with its tombstone commit, which somebody who watches from another process
 * may not have seen. Row by row, so that it does not hang on foreign keys being on in a database of the host's.
 */
export class SessionRemover {
  readonly #connection: Connection;
  readonly #steps: readonly string[];

  constructor(connection: Connection, { sessions, commits, payloads, removed, instances, history }: TableNames) {
    this.#connection = connection;
    const number = `(SELECT number FROM ${sessions} WHERE session_id = ?)`;
    const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
    this.#steps = [
      `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
        SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
        FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
        WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`,
      `DELETE FROM ${history} WHERE instance_id = ?`,
      `DELETE FROM ${instances} WHERE instance_id = ?`,
      `DELETE FROM ${payloads} WHERE session = ${number}`,
      `DELETE FROM ${commits} WHERE session = ${number}`,
      `DELETE FROM ${sessions} WHERE session_id = ?`,
    ];
  }

  /** Called in a transaction; does nothing where there is no such session. */
  remove(id: SessionId): void {
    for (const step of this.#steps) this.#connection.prepare(step).run(id);
  }
}
