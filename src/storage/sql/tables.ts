/** The tables of the log, and the statements on them. */
import { PhasegateError } from "../../errors.js";
import { shown } from "../../workflow/names.js";

export type TableNames = ReturnType<typeof tableNames>;
export type Statements = ReturnType<typeof statements>;

/** The columns by which sessions are found. All of them are indexed. */
export const FOUND_BY = ["kind", "workflow_type", "target", "owner", "status", "created_at", "updated_day"] as const;

/** Returns the table names with a prefix. Throws `INVALID_INPUT` for one that is not the beginning of an identifier. */
export function tableNames(prefix: string) {
  if (!/^([A-Za-z_][A-Za-z0-9_]{0,31})?$/.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw new PhasegateError("INVALID_INPUT", `tablePrefix is not valid: ${shown(prefix)}`, {
      remedy: "Use at most 32 letters, digits and '_', the first no digit, and not 'sqlite_'.",
      details: { field: "tablePrefix", expected: "[A-Za-z_][A-Za-z0-9_]{0,31}" },
    });
  }
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

/**
 * The tables of the log, which is the only source, and of its indexes.
 *
 * - `seq` numbers the commits of all sessions in the order of writing, and is never reused, so that a reader can
 *   continue after any value.
 * - `updated_day` changes once a day: an index on the time would cost every commit two more pages. Other values that
 *   change with each commit are not stored with the session, except for `version`, the number of its commits.
 * - Of a removed session, the id remains, and its tombstone if that was its last commit.
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

/** The columns of a commit, in every table that contains commits. */
const COMMIT_COLUMNS = "version, at, schema, previous_hash, hash, summary, body";

/** In bytes. No commit has a longer body; reading one that was put there by hand would take many seconds. */
export const MAX_BODY_BYTES = 2 ** 29;

/** Returns the texts of the statements on the log. A commit's row has the columns that `commitIn` reads. */
export function statements({ sessions, commits, payloads, removed }: TableNames) {
  // SQLite knows the length of a body without reading it. A longer one is NULL.
  const body = `CASE WHEN octet_length(c.body) <= ${MAX_BODY_BYTES} THEN c.body END AS body`;
  const columns = COMMIT_COLUMNS.split(", ").map((column) => (column === "body" ? body : `c.${column}`));
  const select = (rest: string, ...others: readonly string[]) =>
    `SELECT ${["c.seq", "s.session_id", ...columns, ...others].join(", ")}
    FROM ${commits} c JOIN ${sessions} s ON s.number = c.session ${rest}`;
  const keys = FOUND_BY.map((column) => `s.${column}`);
  const tombstone = COMMIT_COLUMNS.split(", ").map((name) => `CASE s.status WHEN 'deleted' THEN c.${name} END`);
  return {
    newest: select("WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1", "s.number", ...keys),
    log: select("WHERE s.session_id = ? AND c.version > ? ORDER BY c.version LIMIT ?"),
    /** The commits of all sessions after one, and the tombstones of those that were removed since. */
    next: `${select("WHERE c.seq > ?")}
      UNION ALL SELECT seq, session_id, ${COMMIT_COLUMNS} FROM ${removed} WHERE seq > ? AND body IS NOT NULL
      ORDER BY 1 LIMIT ?`,
    nextOwn: select("WHERE c.seq > ? AND s.session_id = ? ORDER BY c.seq"),
    /** The largest number ever used belongs to a commit, or to a removed session's last commit. */
    last: `SELECT max(
      coalesce((SELECT max(seq) FROM ${commits}), 0), coalesce((SELECT max(seq) FROM ${removed}), 0)) AS seq`,
    version: `SELECT version FROM ${sessions} WHERE session_id = ?`,
    payload: `SELECT p.body FROM ${payloads} p JOIN ${sessions} s ON p.session = s.number
      WHERE s.session_id = ? AND p.hash = ?`,
    size: `SELECT count(*) AS commits, sum(octet_length(c.summary) + octet_length(c.body))
        + coalesce((SELECT sum(octet_length(p.body)) FROM ${payloads} p WHERE p.session = s.number), 0) AS bytes
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number WHERE s.session_id = ? GROUP BY s.number`,
    wasRemoved: `SELECT 1 FROM ${removed} WHERE session_id = ?`,
    begin: `INSERT INTO ${sessions} (session_id, ${FOUND_BY.join(", ")}, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)`,
    // Counted, not copied from the commit: after commits were deleted by hand, an audit still finds that some are missing.
    count: `UPDATE ${sessions} SET version = version + 1 WHERE number = ?`,
    move: `UPDATE ${sessions} SET ${FOUND_BY.map((column) => `${column} = ?`).join(", ")}, version = version + 1
      WHERE number = ?`,
    insert: `INSERT INTO ${commits} (seq, session, ${COMMIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    store: `INSERT INTO ${payloads} (session, hash, body) VALUES (?, ?, ?) ON CONFLICT (session, hash) DO NOTHING`,
    isStored: `SELECT 1 FROM ${payloads} WHERE session = ? AND hash = ?`,
    drop: `DELETE FROM ${payloads} WHERE session = ? AND hash = ?`,
    keepTombstone: `INSERT INTO ${removed} (session_id, seq, removed_at, ${COMMIT_COLUMNS})
      SELECT s.session_id, c.seq, strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), ${tombstone.join(", ")}
      FROM ${sessions} s JOIN ${commits} c ON c.session = s.number
      WHERE s.session_id = ? ORDER BY c.version DESC LIMIT 1`,
  };
}
