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
  readonly #isOld: boolean;
  readonly #sql: Readonly<Record<Statement | "has" | "report" | "decide", string>>;

  /** With `isOld` it writes what format 2 had: instances without a version, and routed sessions like all others. */
  constructor(connection: Connection, names: TableNames, { isOld = false } = {}) {
    const { instances, history } = names;
    this.#connection = connection;
    this.#names = names;
    this.#isOld = isOld;
    // The number of a session's commits, for audits.
    const [version, counted, first] = isOld ? ["", "", ""] : ["version, ", ", version = version + 1", "1, "];
    // Positional parameters: binding by name takes longer than some of these statements.
    this.#sql = {
      enter: `INSERT INTO ${history}
        (history_entry_id, timestamp, user_report, outcome_status, determined_next_step, instance_id, step_name)
        SELECT ?, ?, ?, ?, ?, instance_id, current_step_name FROM ${instances} WHERE instance_id = ?`,
      begin: `INSERT INTO ${instances}
        (${version}workflow_name, current_step_name, status, context, created_at, updated_at, completed_at, instance_id)
        VALUES (${first}?, ?, ?, ?, ?, ?, ?, ?)`,
      advance: `UPDATE ${instances} SET current_step_name = ?, updated_at = ?${counted} WHERE instance_id = ?`,
      change: `UPDATE ${instances} AS i SET workflow_name = n.workflow, current_step_name = n.step, status = n.status,
          context = n.context, created_at = n.created, updated_at = n.at,
          completed_at = CASE WHEN n.completed IS NULL THEN NULL WHEN i.status = n.status THEN i.completed_at
            ELSE n.completed END${counted.replace("= version", "= i.version")}
        FROM (SELECT ? AS workflow, ? AS step, ? AS status, ? AS context, ? AS created, ? AS at, ? AS completed) AS n
        WHERE i.instance_id = ?`,
      end: `DELETE FROM ${instances} WHERE instance_id = ?`,
      report: `INSERT INTO ${history}
        (history_entry_id, timestamp, step_name, user_report, outcome_status, determined_next_step, instance_id)
        VALUES (?, ?, ?, ?, ?, ?, ?)`,
      // The newest report alone waits for a decision.
      decide: `UPDATE ${history} SET determined_next_step = ? WHERE determined_next_step IS NULL AND instance_id = ?
        AND history_entry_id = (SELECT max(history_entry_id) FROM ${history} WHERE instance_id = ?)`,
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
    const routed = summary.kind === "routed" && !this.#isOld ? routedPart(commit.body) : undefined;
    if (before === undefined || before.status === "deleted") {
      this.#run("begin", id, ...instanceRow(commit, status, step, routed?.context));
      return;
    }
    if (routed !== undefined) {
      this.#writeRouted(commit, seq, routed);
      this.#run("change", id, ...instanceRow(commit, status, step, routed.context));
      return;
    }
    const { report, outcome = STATUSES[status] } = reportOf(commit.body, seq);
    const resumes = before.status === "paused" && status === "active";
    this.#run("enter", id, seq, commit.at, report, resumes ? "RESUMING" : outcome, step);
    if (isSame(before, summary)) this.#run("advance", id, step, summary.updatedAt);
    else this.#run("change", id, ...instanceRow(commit, status, step));
  }

  /** Writes a report as a row, and a decision into the row of its report. Other events of routed sessions have no row. */
  #writeRouted({ sessionId: id, at }: Commit, seq: number, { event }: RoutedPart): void {
    if (event === undefined) return;
    if ("next" in event) {
      this.#connection.prepare(this.#sql.decide).run(event.next, id, id);
      return;
    }
    const { step, report, outcome, stays = null } = event;
    const { changes } = this.#connection.prepare(this.#sql.report).run(seq, at, step, report, outcome, stays, id);
    if (changes !== 1) throw notWritten(this.#names.history);
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
function instanceRow(
  { summary }: Commit,
  status: keyof typeof STATUSES,
  step: string,
  values?: string,
): SQLInputValue[] {
  const { workflowType, kind, target, total, createdAt, updatedAt } = summary;
  const ended = status === "completed" || status === "failed";
  const completed = ended ? (summary.completedAt ?? updatedAt) : null;
  const context = values ?? JSON.stringify({ kind, target, total });
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

/** What the tables show of a commit of a routed session. */
interface RoutedPart {
  /** The workflow's context, as JSON. */
  readonly context: string;
  /** A report, with its next step if that is known, or a decision. Missing for other events. */
  readonly event?: ReportRow | { readonly next: string };
}

interface ReportRow {
  /** The step that was reported on: of a client that came back, the one that it assumed. */
  readonly step: string;
  readonly report: string;
  readonly outcome: string;
  /** Of a report that a gate refused, the step that it stays on. */
  readonly stays?: string;
}

/** Returns what the tables show of the body of a routed session; undefined if it is not one. */
function routedPart(body: string): RoutedPart | undefined {
  const { head, events } = membersOf(jsonOf(body));
  const { context } = membersOf(head);
  if (typeof context !== "object" || !Array.isArray(events)) return undefined;
  const found = events.map(routedEvent).find((event) => event !== undefined);
  return { context: readableText(JSON.stringify(context)), ...(found === undefined ? {} : { event: found }) };
}

function routedEvent(event: unknown): RoutedPart["event"] {
  const { type, operation, step, assumedStep, report, next } = membersOf(event);
  if (type === "decided" && typeof next === "string") return { next: readableText(next) };
  if ((type !== "reported" && type !== "gate_refused") || typeof step !== "string") return undefined;
  const isResume = operation === "resume";
  const on = isResume && typeof assumedStep === "string" ? assumedStep : step;
  return {
    step: readableText(on),
    report: readableText(JSON.stringify(report)),
    outcome: isResume ? "RESUMING" : readableText(String(membersOf(report).status)),
    ...(type === "gate_refused" ? { stays: readableText(step) } : {}),
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
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
  return membersOf(jsonOf(body)).events;
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
