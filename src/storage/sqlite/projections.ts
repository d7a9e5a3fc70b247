/** Writes each commit into `workflow_instances` and `workflow_history`, the tables for people with a SQL prompt. */
import type { SQLInputValue } from "node:sqlite";
import type { Commit, SessionStatus } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import type { Connection } from "./connection.js";
import { notWritten } from "./failures.js";
import { readableText, type TableNames } from "./rows.js";

const STATUSES: Readonly<Record<Exclude<SessionStatus, "deleted">, string>> = {
  active: "RUNNING",
  paused: "SUSPENDED",
  completed: "COMPLETED",
  failed: "FAILED",
};

/** The fields that are compared with the previous commit's summary. */
export type SummaryBefore = Readonly<Record<"status" | "kind" | "workflowType" | "target", string>>;

type Statement = "enter" | "begin" | "advance" | "change" | "end";

/** Writes the tables for people. */
export class Projections {
  readonly #connection: Connection;
  readonly #names: TableNames;
  readonly #sql: Readonly<Record<Statement | "has", string>>;

  constructor(connection: Connection, names: TableNames) {
    const { instances, history } = names;
    this.#connection = connection;
    this.#names = names;
    // Positional parameters: binding by name takes longer than some of these statements.
    this.#sql = {
      enter: `INSERT INTO ${history}
        (history_entry_id, timestamp, user_report, outcome_status, determined_next_step, instance_id, step_name)
        SELECT ?, ?, ?, ?, ?, instance_id, current_step_name FROM ${instances} WHERE instance_id = ?`,
      begin: `INSERT INTO ${instances}
        (workflow_name, current_step_name, status, context, created_at, updated_at, completed_at, instance_id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      advance: `UPDATE ${instances} SET current_step_name = ?, updated_at = ? WHERE instance_id = ?`,
      change: `UPDATE ${instances} AS i SET workflow_name = n.workflow, current_step_name = n.step, status = n.status,
          context = n.context, created_at = n.created, updated_at = n.at,
          completed_at = CASE WHEN n.completed IS NULL THEN NULL WHEN i.status = n.status THEN i.completed_at
            ELSE n.completed END
        FROM (SELECT ? AS workflow, ? AS step, ? AS status, ? AS context, ? AS created, ? AS at, ? AS completed) AS n
        WHERE i.instance_id = ?`,
      end: `DELETE FROM ${instances} WHERE instance_id = ?`,
      has: `SELECT 1 FROM ${instances} WHERE instance_id = ?`,
    };
  }

  /** Writes a commit. `before` is the summary of the previous commit. */
  write(commit: Commit, seq: number, before: SummaryBefore | undefined): void {
    const { summary, sessionId: id } = commit;
    const { status, current } = summary;
    if (status === "deleted") {
      this.#run("end", id);
      return;
    }
    const step = readableText(String(current));
    if (before === undefined || before.status === "deleted") {
      this.#run("begin", id, ...instanceRow(commit, status, step));
      return;
    }
    const { report, outcome = STATUSES[status] } = reportOf(commit.body, seq);
    const resumes = before.status === "paused" && status === "active";
    this.#run("enter", id, seq, commit.at, report, resumes ? "RESUMING" : outcome, step);
    if (isSame(before, summary)) this.#run("advance", id, step, summary.updatedAt);
    else this.#run("change", id, ...instanceRow(commit, status, step));
  }

  /** Runs a statement, whose last parameter is the session's id. */
  #run(statement: Statement, id: SessionId, ...values: SQLInputValue[]): void {
    const { changes } = this.#connection.prepare(this.#sql[statement]).run(...values, id);
    if (changes === 1) return;
    const { history, instances } = this.#names;
    // Somebody may have deleted the session's row, which must not block the session. If it exists, a trigger ignored the write.
    const isThere = this.#connection.prepare(this.#sql.has).get(id) !== undefined;
    if (statement === "begin" || isThere) throw notWritten(statement === "enter" ? history : instances);
  }
}

/** Returns a row of `workflow_instances` without the id, in the order of the statements' parameters. */
function instanceRow({ summary }: Commit, status: keyof typeof STATUSES, step: string): SQLInputValue[] {
  const { workflowType, kind, target, total, createdAt, updatedAt } = summary;
  const ended = status === "completed" || status === "failed";
  const completed = ended ? (summary.completedAt ?? updatedAt) : null;
  const context = JSON.stringify({ kind, target, total });
  return [readableText(workflowType), step, STATUSES[status], context, createdAt, updatedAt, completed];
}

function isSame(before: SummaryBefore, now: SummaryBefore): boolean {
  return (
    before.status === now.status &&
    before.kind === now.kind &&
    before.workflowType === now.workflowType &&
    before.target === now.target
  );
}

/** The report columns of a row of `workflow_history`. */
interface Report {
  readonly report: string | null;
  /** The type of the first event, if known. */
  readonly outcome?: string;
}

/** The events of longer bodies are not copied, so that a row fits on its page. They are in the log. */
const COPIED_MAX = 1200;

/**
 * Returns the report of a body: its `events`, if it is JSON that has them. Nothing else in the storage reads a body.
 */
export function reportOf(body: string, seq: number): Report {
  const type = body.length > COPIED_MAX ? firstType(body) : undefined;
  if (type !== undefined) return { report: longReport(body, seq), outcome: type };
  const events = eventsIn(body);
  if (events === undefined) return { report: null };
  const report = body.length > COPIED_MAX ? longReport(body, seq) : JSON.stringify(events);
  const first: unknown = Array.isArray(events) ? events[0] : undefined;
  if (typeof first !== "object" || first === null || !("type" in first) || typeof first.type !== "string") {
    return { report };
  }
  return { report, outcome: readableText(first.type) };
}

function longReport({ length: characters }: string, seq: number): string {
  return JSON.stringify({ commit: seq, characters });
}

const EVENTS = '"events":[';
const TYPE = '{"type":"';

/**
 * Returns the type of the first event without parsing a long body, which would take longer than all writes for
 * people; undefined if it cannot be found. No text inside the JSON matches, since its quotes are escaped, and with
 * only one brace before it, `events` is a member of the outermost object.
 */
function firstType(body: string): string | undefined {
  const events = body.indexOf(EVENTS);
  const type = events + EVENTS.length;
  if (body[0] !== "{" || events < 0 || body[events - 1] === "\\" || body.indexOf("{", 1) !== type) return undefined;
  if (!body.startsWith(TYPE, type)) return undefined;
  const from = type + TYPE.length;
  return /^[\w.-]+(?=")/.exec(body.slice(from, from + 100))?.[0];
}

function eventsIn(body: string): unknown {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null && "events" in value ? value.events : undefined;
  } catch {
    return undefined;
  }
}
