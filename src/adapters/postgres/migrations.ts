/**
 * The tables, as steps that are run in their order, each once. A step that was released is never changed: what is
 * different afterwards is a step of its own.
 *
 * Texts that are compared have the collation "C": the order of their characters' numbers, which is the port's, on every
 * server. Times are the port's texts. `xid` is the transaction that wrote a commit: with snapshots of transactions one
 * tells what has been committed since, which no sequence can, since numbers are given out before commits are done.
 *
 * Most transitions change no indexed column but `updated_at`, whose index summarises blocks: so the row is replaced on its
 * page, for which there is room left, and no index but that of the log has work with it.
 */

/** Statements that make the next version of the tables out of the one before; `s` is the quoted schema. */
export const MIGRATIONS: readonly ((s: string) => string)[] = [
  (s) => `
CREATE TABLE ${s}.sessions (
  session_id text COLLATE "C" PRIMARY KEY,
  version bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  workflow_type text COLLATE "C" NOT NULL,
  target text COLLATE "C" NOT NULL,
  current_step text COLLATE "C" NOT NULL,
  created_at text COLLATE "C" NOT NULL,
  updated_at text COLLATE "C" NOT NULL,
  completed_at text COLLATE "C",
  removed_at timestamptz,
  sweep_at timestamptz
) WITH (fillfactor = 70);
CREATE TABLE ${s}.commits (
  session_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  at text NOT NULL,
  schema integer NOT NULL,
  previous_hash text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  summary text NOT NULL,
  body text NOT NULL,
  status text COLLATE "C" NOT NULL,
  current_step text COLLATE "C" NOT NULL,
  entry_id bigint GENERATED ALWAYS AS IDENTITY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  PRIMARY KEY (session_id, version)
);
CREATE TABLE ${s}.payloads (
  session_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (session_id, hash)
);
CREATE TABLE ${s}.listeners (
  listener_id uuid PRIMARY KEY,
  until timestamptz NOT NULL
);
CREATE INDEX sessions_by_creation ON ${s}.sessions (created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_status ON ${s}.sessions (status, created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_kind ON ${s}.sessions (left(kind, 256), created_at DESC, session_id) WHERE removed_at IS NULL;
CREATE INDEX sessions_by_type ON ${s}.sessions (left(workflow_type, 256), created_at DESC, session_id)
  WHERE removed_at IS NULL;
CREATE INDEX sessions_by_target ON ${s}.sessions (left(target, 256), created_at DESC, session_id)
  WHERE removed_at IS NULL;
CREATE INDEX sessions_by_update ON ${s}.sessions USING brin (updated_at) WITH (pages_per_range = 8, autosummarize = on);
CREATE INDEX sessions_to_sweep ON ${s}.sessions (sweep_at) WHERE sweep_at IS NOT NULL;
CREATE INDEX commits_by_transaction ON ${s}.commits (xid);
CREATE VIEW ${s}.workflow_instances AS
SELECT s.session_id AS instance_id,
  s.workflow_type AS workflow_name,
  s.current_step AS current_step_name,
  ${seedStatus("s.status")} AS status,
  c.body AS context,
  s.created_at::timestamptz AS created_at,
  s.updated_at::timestamptz AS updated_at,
  s.completed_at::timestamptz AS completed_at
FROM ${s}.sessions s JOIN ${s}.commits c ON c.session_id = s.session_id AND c.version = s.version
WHERE s.removed_at IS NULL;
CREATE VIEW ${s}.workflow_history AS
SELECT c.entry_id AS history_entry_id,
  c.session_id AS instance_id,
  c.at::timestamptz AS "timestamp",
  coalesce(p.current_step, c.current_step) AS step_name,
  c.body AS user_report,
  CASE WHEN p.status = 'paused' AND c.status = 'active' THEN 'RESUMING' ELSE ${seedStatus("c.status")} END
    AS outcome_status,
  CASE WHEN c.status IN ('active', 'paused') THEN c.current_step END AS determined_next_step
FROM ${s}.sessions s
JOIN ${s}.commits c ON c.session_id = s.session_id
LEFT JOIN ${s}.commits p ON p.session_id = c.session_id AND p.version = c.version - 1
WHERE s.removed_at IS NULL;
COMMENT ON VIEW ${s}.workflow_instances IS 'Where each session stands; context is the body of its newest commit';
COMMENT ON VIEW ${s}.workflow_history IS 'Each commit: step_name is where the session stood before it';
`,
];

function seedStatus(column: string): string {
  return `CASE ${column} WHEN 'active' THEN 'RUNNING' WHEN 'paused' THEN 'SUSPENDED' WHEN 'completed' THEN 'COMPLETED'
    WHEN 'failed' THEN 'FAILED' ELSE 'DELETED' END`;
}
