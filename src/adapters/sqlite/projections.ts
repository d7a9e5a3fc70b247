import type { SQLInputValue } from "node:sqlite";
import type { Commit, SessionStatus } from "../../ports/storage-adapter.js";
import type { StoredCommit } from "./commit-rows.js";
import type { Connection } from "./connection.js";
import { readableText } from "./stored-text.js";
import type { TableNames } from "./table-names.js";

const STATUSES: Readonly<Record<Exclude<SessionStatus, "deleted">, string>> = {
  active: "RUNNING",
  paused: "SUSPENDED",
  completed: "COMPLETED",
  failed: "FAILED",
};

/** What is compared with the summary of the commit before. */
export type SummaryBefore = Readonly<Record<"status" | "kind" | "workflowType" | "target", string>>;

type Statement = "enter" | "begin" | "advance" | "change" | "end";

/** Longer events are not copied: whoever wants them finds them in the log. */
const REPORT_MAX = 1000;

/**
 * Writes each commit into the tables for people. It is the one place that looks into a body, and that only by SQL: where
 * a body is JSON that has `events`, these are the report.
 */
export class Projections {
  readonly #connection: Connection;
  readonly #sql: Readonly<Record<Statement, string>>;

  constructor(connection: Connection, { instances, history }: TableNames) {
    this.#connection = connection;
    this.#sql = {
      enter: `INSERT INTO ${history}
        (history_entry_id, instance_id, timestamp, step_name, user_report, outcome_status, determined_next_step)
        WITH said (events) AS (
          SELECT CASE WHEN typeof(:body) = 'text' AND json_valid(:body) THEN json_extract(:body, '$.events') END)
        SELECT :seq, :id, :at, current_step_name,
          CASE WHEN length(events) > ${REPORT_MAX}
            THEN json_object('commit', CAST(:seq AS INTEGER), 'characters', length(events)) ELSE events END,
          CASE WHEN :resumes THEN 'RESUMING' ELSE coalesce(events ->> '$[0].type', :status) END,
          :step
        FROM ${instances}, said WHERE instance_id = :id`,
      begin: `INSERT INTO ${instances}
        (instance_id, workflow_name, current_step_name, status, context, created_at, updated_at, completed_at)
        VALUES (:id, :workflow, :step, :status, :context, :created, :at, :completed)`,
      advance: `UPDATE ${instances} SET current_step_name = :step, updated_at = :at WHERE instance_id = :id`,
      change: `UPDATE ${instances} SET workflow_name = :workflow, current_step_name = :step, status = :status,
        context = :context, created_at = :created, updated_at = :at,
        completed_at = CASE WHEN :completed IS NULL THEN NULL WHEN status = :status THEN completed_at ELSE :completed END
        WHERE instance_id = :id`,
      end: `DELETE FROM ${instances} WHERE instance_id = :id`,
    };
  }

  /** Writes a commit, after the one that left the session with that summary. */
  write(commit: Commit, stored: StoredCommit, seq: number, before: SummaryBefore | undefined): void {
    const { summary, sessionId: id } = commit;
    const { status, current } = summary;
    if (status === "deleted") {
      this.#run("end", { id });
      return;
    }
    const step = readableText(String(current));
    if (before === undefined || before.status === "deleted") {
      this.#run("begin", this.#facts(commit, status, step));
      return;
    }
    const resumes = before.status === "paused" && status === "active" ? 1 : 0;
    this.#run("enter", { body: stored.body, seq, id, at: commit.at, resumes, status: STATUSES[status], step });
    if (isSame(before, summary)) this.#run("advance", { id, step, at: summary.updatedAt });
    else this.#run("change", this.#facts(commit, status, step));
  }

  #facts({ summary, sessionId: id }: Commit, status: keyof typeof STATUSES, step: string) {
    const { workflowType, kind, target, total, createdAt: created, updatedAt: at } = summary;
    const ended = status === "completed" || status === "failed";
    return {
      id,
      workflow: readableText(workflowType),
      step,
      status: STATUSES[status],
      context: JSON.stringify({ kind, target, total }),
      created,
      at,
      completed: ended ? (summary.completedAt ?? at) : null,
    };
  }

  #run(statement: Statement, values: Record<string, SQLInputValue>): void {
    this.#connection.prepare(this.#sql[statement]).run(values);
  }
}

function isSame(before: SummaryBefore, now: SummaryBefore): boolean {
  return (
    before.status === now.status &&
    before.kind === now.kind &&
    before.workflowType === now.workflowType &&
    before.target === now.target
  );
}
