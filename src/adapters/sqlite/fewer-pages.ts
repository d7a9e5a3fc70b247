import type { TableNames } from "./table-names.js";

/** What of a session's row changed with every commit. */
const WITH_EACH_COMMIT = ["version", "hash", "newest", "updated_at", "bytes"];
const HISTORY =
  "history_entry_id, instance_id, timestamp, step_name, user_report, outcome_status, determined_next_step";

/**
 * Two pages fewer to be written and synced with each commit: a session's row keeps what it is found by, and the log says
 * the rest; a session's history lies together in its table, which needs no index for it.
 */
export function fewerPages({ prefix, sessions, instances, history }: TableNames): string {
  const kept = `${prefix}phasegate_history_before`;
  // Copied and not renamed: SQLite would rename the table in a host's own views, too.
  return `
    ${WITH_EACH_COMMIT.map((column) => `ALTER TABLE ${sessions} DROP COLUMN ${column};`).join("\n    ")}
    CREATE TABLE ${kept} AS SELECT ${HISTORY} FROM ${history};
    DROP TABLE ${history};
    CREATE TABLE ${history} (
      history_entry_id INTEGER NOT NULL,
      instance_id TEXT NOT NULL,
      timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      step_name TEXT NOT NULL,
      user_report TEXT,
      outcome_status TEXT,
      determined_next_step TEXT,
      PRIMARY KEY (instance_id, history_entry_id),
      FOREIGN KEY (instance_id) REFERENCES ${instances} (instance_id) ON DELETE CASCADE
    ) WITHOUT ROWID;
    INSERT INTO ${history} (${HISTORY}) SELECT ${HISTORY} FROM ${kept};
    DROP TABLE ${kept};
  `;
}
