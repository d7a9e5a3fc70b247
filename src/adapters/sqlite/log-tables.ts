import type { TableNames } from "./table-names.js";

/**
 * The tables of the log, which is the truth, and of what finds its way in it.
 *
 * - `seq` counts the commits of all sessions in the order in which they were written, and is never used again: what has
 *   been seen up to one can be gone on from.
 * - `updated_day` changes once a day: an index on the time itself would cost every commit two pages more. What else
 *   changes with each commit is no longer kept with the session: see fewer-pages.ts.
 * - Of a removed session its id stays, and its tombstone commit, if that is what it ended with.
 */
export function logTables(names: TableNames): string {
  const { sessions, commits, payloads, removed } = names;
  const index = (name: string, columns: string) => `CREATE INDEX ${sessions}_${name} ON ${sessions} (${columns});`;
  return `
    CREATE TABLE ${sessions} (
      number INTEGER PRIMARY KEY,
      session_id TEXT NOT NULL,
      version INTEGER NOT NULL,
      hash TEXT NOT NULL,
      newest INTEGER NOT NULL,
      kind TEXT NOT NULL,
      workflow_type TEXT NOT NULL,
      target TEXT NOT NULL,
      status TEXT NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      updated_day TEXT NOT NULL,
      bytes INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX ${sessions}_by_id ON ${sessions} (session_id);
    ${index("by_created", "created_at DESC, session_id")}
    ${index("by_status", "status, created_at DESC, session_id")}
    ${index("by_workflow_type", "workflow_type, created_at DESC, session_id")}
    ${index("by_target", "target, created_at DESC, session_id")}
    ${index("by_kind", "kind, created_at DESC, session_id")}
    ${index("by_updated_day", "updated_day")}
    CREATE TABLE ${commits} (
      seq INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES ${sessions} (number) ON DELETE CASCADE,
      version INTEGER NOT NULL,
      at TEXT NOT NULL,
      schema INTEGER NOT NULL,
      previous_hash TEXT NOT NULL,
      hash TEXT NOT NULL,
      summary TEXT NOT NULL,
      body TEXT NOT NULL
    );
    CREATE UNIQUE INDEX ${commits}_by_version ON ${commits} (session, version);
    CREATE TABLE ${payloads} (
      number INTEGER PRIMARY KEY,
      session INTEGER NOT NULL REFERENCES ${sessions} (number) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      body BLOB NOT NULL
    );
    CREATE UNIQUE INDEX ${payloads}_by_hash ON ${payloads} (session, hash);
    CREATE TABLE ${removed} (
      session_id TEXT PRIMARY KEY,
      seq INTEGER NOT NULL,
      removed_at TEXT NOT NULL,
      version INTEGER,
      at TEXT,
      schema INTEGER,
      previous_hash TEXT,
      hash TEXT,
      summary TEXT,
      body TEXT
    );
    CREATE UNIQUE INDEX ${removed}_by_seq ON ${removed} (seq);
  `;
}
