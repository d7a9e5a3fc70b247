import type { TableNames } from "./table-names.js";

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
