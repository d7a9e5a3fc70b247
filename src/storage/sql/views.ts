/** Views for people, made from the log. Two have the columns of the workflow orchestrator's specification. */
import type { TableNames } from "./tables.js";

export function createViews(names: TableNames): string {
  return [eventsView, instancesView, historyView].map((view) => view(names)).join("");
}

function eventsView({ commits, sessions, events }: TableNames): string {
  return `
    CREATE VIEW ${events} AS
      SELECT s.session_id, c.version, c.at, e.key + 1 AS place, e.value ->> '$.type' AS type, e.value AS event
      FROM ${commits} c
      JOIN ${sessions} s ON s.number = c.session
      JOIN json_each(CASE WHEN typeof(c.body) = 'text' AND json_valid(c.body) THEN c.body ELSE '{}' END, '$.events') e;
  `;
}

function instancesView({ commits, sessions, instances }: TableNames): string {
  // A failed session has no time of its end: it is that of its first commit since it has this status.
  const statusBefore = `SELECT o.version FROM ${commits} o
    WHERE o.session = s.number AND ${summary("o", "status")} <> s.status ORDER BY o.version DESC LIMIT 1`;
  const ended = `SELECT min(${updatedAt("e")}) FROM ${commits} e
    WHERE e.session = s.number AND e.version > coalesce((${statusBefore}), 0)`;
  const own = `json_object('kind', ${readable("s.kind")}, 'target', ${readable("s.target")}, 'total', ${summary("c", "total")})`;
  return `
    CREATE VIEW ${instances} AS
      SELECT s.session_id AS instance_id, ${readable("s.workflow_type")} AS workflow_name,
        ${step("c")} AS current_step_name, ${statusWord("s.status")} AS status,
        CASE s.kind WHEN 'routed' THEN ${body("c")} ->> '$.head.context' ELSE json_patch('{}', ${own}) END AS context,
        s.created_at, ${updatedAt("c")} AS updated_at,
        CASE WHEN s.status IN ('completed', 'failed') THEN coalesce(${summary("c", "completedAt")}, (${ended})) END
          AS completed_at,
        s.version
      FROM ${sessions} s
      JOIN ${commits} c ON c.seq = (SELECT seq FROM ${commits} WHERE session = s.number ORDER BY version DESC LIMIT 1)
      WHERE s.status <> 'deleted';
  `;
}

/**
 * Each commit after the first, with the step before and after it; of a routed session, each report with the decided
 * step: the next commit that is a report or a decision is then a decision.
 */
function historyView({ commits, sessions, history }: TableNames): string {
  const type = (commit: string) => `${body(commit)} ->> '$.events[0].type'`;
  const event = (member: string) => `${body("c")} ->> '$.events[0].${member}'`;
  const decided = `SELECT CASE ${type("n")} WHEN 'decided' THEN ${body("n")} ->> '$.events[0].next' END FROM ${commits} n
    WHERE n.session = c.session AND n.version > c.version AND ${type("n")} IN ('decided', 'reported', 'gate_refused')
    ORDER BY n.version LIMIT 1`;
  return `
    CREATE VIEW ${history} AS
      SELECT c.seq AS history_entry_id, s.session_id AS instance_id, c.at AS timestamp, ${step("p")} AS step_name,
        CAST(${body("c")} ->> '$.events' AS TEXT) AS user_report,
        CASE WHEN ${summary("p", "status")} = 'paused' AND ${summary("c", "status")} = 'active' THEN 'RESUMING'
          WHEN json_type(${body("c")}, '$.events[0].type') = 'text' THEN ${type("c")}
          ELSE ${statusWord(summary("c", "status"))} END AS outcome_status,
        ${step("c")} AS determined_next_step
      FROM ${sessions} s
      JOIN ${commits} c ON c.session = s.number
      JOIN ${commits} p ON p.session = c.session AND p.version = c.version - 1
      WHERE s.status <> 'deleted' AND s.kind <> 'routed'
    UNION ALL
      SELECT c.seq, s.session_id, c.at,
        CASE ${event("operation")} WHEN 'resume' THEN coalesce(${event("assumedStep")}, ${event("step")})
          ELSE ${event("step")} END,
        ${event("report")},
        CASE ${event("operation")} WHEN 'resume' THEN 'RESUMING' ELSE ${event("report.status")} END,
        CASE ${type("c")} WHEN 'gate_refused' THEN ${event("step")} ELSE (${decided}) END
      FROM ${sessions} s
      JOIN ${commits} c ON c.session = s.number
      WHERE s.status <> 'deleted' AND s.kind = 'routed' AND ${type("c")} IN ('reported', 'gate_refused');
  `;
}

/** The body of a commit if it is JSON, else null: an error in one row would end the whole query. */
function body(commit: string): string {
  return `CASE WHEN typeof(${commit}.body) = 'text' AND json_valid(${commit}.body) THEN ${commit}.body END`;
}

function summary(commit: string, member: string): string {
  return `CASE WHEN json_valid(${commit}.summary) THEN ${commit}.summary END ->> '$.${member}'`;
}

/** The summary has the time only if it differs from the commit's. */
function updatedAt(commit: string): string {
  return `coalesce(${summary(commit, "updatedAt")}, ${commit}.at)`;
}

function step(commit: string): string {
  return `CAST(${summary(commit, "current")} AS TEXT)`;
}

/** A text that SQLite can't hold is stored as bytes, which JSON can't hold. */
function readable(column: string): string {
  return `CASE typeof(${column}) WHEN 'blob' THEN hex(${column}) ELSE ${column} END`;
}

function statusWord(status: string): string {
  return `CASE ${status} WHEN 'active' THEN 'RUNNING' WHEN 'paused' THEN 'SUSPENDED' WHEN 'completed' THEN 'COMPLETED'
          WHEN 'failed' THEN 'FAILED' ELSE 'DELETED' END`;
}
