import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";
/** What the tables are called, the host's prefix included. */
export interface TableNames {
  readonly prefix: string;
  readonly migrations: string;
  readonly sessions: string;
  readonly commits: string;
  readonly payloads: string;
  readonly removed: string;
  readonly events: string;
  readonly instances: string;
  readonly history: string;
}

/** The names with a prefix; throws `INVALID_INPUT` for one that could be anything but the beginning of a name. */
export function tableNames(prefix: string): TableNames {
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,31})?$/.test(prefix) || /^sqlite_/i.test(prefix)) throw badPrefix(prefix);
  const own = (name: string) => `${prefix}phasegate_${name}`;
  return {
    prefix,
    migrations: own("migrations"),
    sessions: own("sessions"),
    commits: own("commits"),
    payloads: own("payloads"),
    removed: own("removed"),
    events: own("events"),
    instances: `${prefix}workflow_instances`,
    history: `${prefix}workflow_history`,
  };
}

function badPrefix(prefix: unknown): PhasegateError {
  return new PhasegateError("INVALID_INPUT", `tablePrefix is not valid: ${shown(prefix)}`, {
    remedy: "Use at most 32 letters, digits and '_', the first no digit, and not 'sqlite_'.",
    details: { field: "tablePrefix", expected: "[A-Za-z_][A-Za-z0-9_]{0,31}" },
  });
}

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

/**
 * Tables for people with a SQL prompt, with the columns of the workflow orchestrator's specification; written with the
 * log and never read by the library.
 *
 * There is no trigger that sets `updated_at`: it would put the database's clock over the commit's, and a second write on
 * every transition. `history_entry_id` is the commit's `seq`, so it needs no counter of its own.
 */
export function projectionTables(names: TableNames): string {
  const { prefix, commits, sessions, events, instances, history } = names;
  return `
    CREATE TABLE ${instances} (
      instance_id TEXT PRIMARY KEY,
      workflow_name TEXT NOT NULL,
      current_step_name TEXT NOT NULL,
      status TEXT NOT NULL CHECK (status IN ('RUNNING', 'SUSPENDED', 'COMPLETED', 'FAILED')),
      context TEXT,
      created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      updated_at DATETIME NOT NULL,
      completed_at DATETIME DEFAULT NULL
    );
    CREATE INDEX ${prefix}idx_workflow_instances_status ON ${instances} (status);
    CREATE INDEX ${prefix}idx_workflow_instances_workflow_name ON ${instances} (workflow_name);
    CREATE TABLE ${history} (
      history_entry_id INTEGER PRIMARY KEY,
      instance_id TEXT NOT NULL,
      timestamp DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
      step_name TEXT NOT NULL,
      user_report TEXT,
      outcome_status TEXT,
      determined_next_step TEXT,
      FOREIGN KEY (instance_id) REFERENCES ${instances} (instance_id) ON DELETE CASCADE
    );
    CREATE INDEX ${prefix}idx_workflow_history_instance_id ON ${history} (instance_id);
    CREATE VIEW ${events} AS
      SELECT s.session_id, c.version, c.at, e.key + 1 AS place, e.value ->> '$.type' AS type, e.value AS event
      FROM ${commits} c
      JOIN ${sessions} s ON s.number = c.session
      JOIN json_each(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body ELSE '{}' END, '$.events') e;
  `;
}
