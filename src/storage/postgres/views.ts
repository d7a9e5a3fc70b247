/** Views for people. Of routed sessions: the context of the workflow, and one row for each report with its outcome. */

/** The statements that make the views, or connect them to the tables of now; `s` is the quoted schema. */
export function viewsOf(s: string): string {
  return `
CREATE OR REPLACE VIEW ${s}.workflow_instances AS
SELECT s.session_id AS instance_id,
  s.workflow_type AS workflow_name,
  s.current_step AS current_step_name,
  ${orchestratorStatus("s.status")} AS status,
  CASE WHEN s.kind = 'routed' THEN (c.body::json #> '{head,context}')::text ELSE c.body END AS context,
  s.created_at::timestamptz AS created_at,
  s.updated_at::timestamptz AS updated_at,
  s.completed_at::timestamptz AS completed_at
FROM ${s}.sessions s JOIN ${s}.commits c ON c.session_id = s.session_id AND c.version = s.version
WHERE s.removed_at IS NULL;
CREATE OR REPLACE VIEW ${s}.workflow_history AS
SELECT c.entry_id AS history_entry_id,
  c.session_id AS instance_id,
  c.at::timestamptz AS "timestamp",
  coalesce(p.current_step, c.current_step) AS step_name,
  c.body AS user_report,
  CASE WHEN p.status = 'paused' AND c.status = 'active' THEN 'RESUMING' ELSE ${orchestratorStatus("c.status")} END
    AS outcome_status,
  CASE WHEN c.status IN ('active', 'paused') THEN c.current_step END AS determined_next_step
FROM ${s}.sessions s
JOIN ${s}.commits c ON c.session_id = s.session_id
LEFT JOIN ${s}.commits p ON p.session_id = c.session_id AND p.version = c.version - 1
WHERE s.removed_at IS NULL AND s.kind <> 'routed'
UNION ALL
SELECT c.entry_id, c.session_id, c.at::timestamptz,
  CASE WHEN e.event ->> 'operation' = 'resume' THEN coalesce(e.event ->> 'assumedStep', e.event ->> 'step')
    ELSE e.event ->> 'step' END,
  (e.event -> 'report')::text,
  CASE WHEN e.event ->> 'operation' = 'resume' THEN 'RESUMING' ELSE e.event #>> '{report,status}' END,
  CASE WHEN e.event ->> 'type' = 'gate_refused' THEN e.event ->> 'step' ELSE n.event ->> 'next' END
FROM ${s}.sessions s
JOIN ${s}.commits c ON c.session_id = s.session_id
CROSS JOIN LATERAL (SELECT c.body::json #> '{events,0}' AS event) e
LEFT JOIN LATERAL (
  SELECT f.body::json #> '{events,0}' AS event FROM ${s}.commits f
  WHERE f.session_id = c.session_id AND f.version > c.version
    AND f.body::json #>> '{events,0,type}' IN ('decided', 'reported', 'gate_refused')
  ORDER BY f.version LIMIT 1
) n ON n.event ->> 'type' = 'decided'
WHERE s.removed_at IS NULL AND s.kind = 'routed' AND e.event ->> 'type' IN ('reported', 'gate_refused');
COMMENT ON VIEW ${s}.workflow_instances IS
  'Where each session stands; context is that of a routed workflow, else the body of its newest commit';
COMMENT ON VIEW ${s}.workflow_history IS
  'Each report of a routed workflow; of other sessions each commit: step_name is where the session stood before it';
`;
}

function orchestratorStatus(column: string): string {
  return `CASE ${column} WHEN 'active' THEN 'RUNNING' WHEN 'paused' THEN 'SUSPENDED' WHEN 'completed' THEN 'COMPLETED'
    WHEN 'failed' THEN 'FAILED' ELSE 'DELETED' END`;
}
