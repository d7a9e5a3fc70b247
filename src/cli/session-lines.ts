import type { Writable } from "node:stream";
import type { ApprovalRequest, AwaitedApproval } from "../phased/approval/ledger.js";
import type { Verification } from "../phased/state/events.js";
import type { PhaseAttempt } from "../phased/state/history.js";
import type { StateView } from "../phased/views.js";
import type { SessionSize, SessionStatus, SessionSummary } from "../ports/storage-adapter.js";
import { counted, durationText, printable, sizeText, styled, timeText } from "./terminal.js";
/** A session with what it takes, where that was asked for and is known. */
export interface SizedSession extends SessionSummary {
  readonly size?: SessionSize;
}

const HEADINGS = ["SESSION", "STATUS", "PHASE", "UPDATED", "WORKFLOW", "TARGET"] as const;
const SIZE_HEADINGS = ["COMMITS", "SIZE"] as const;
const STATUS_COLUMN = HEADINGS.indexOf("STATUS");

/** Colours of statuses, where there are colours. */
const STATUS_STYLES = {
  active: "cyan",
  paused: "yellow",
  completed: "green",
  failed: "red",
  deleted: "gray",
} as const satisfies Record<SessionStatus, string>;

/** Sessions as lines of a table, under their headings; what was counted comes last. */
export function sessionTable(
  sessions: readonly SizedSession[],
  stream: Writable,
  { sizes = false }: { readonly sizes?: boolean } = {},
): string[] {
  const summary = counted(sessions.length, "session");
  if (sessions.length === 0) return [summary];
  const known = sizes && sessions.some(({ size }) => size !== undefined);
  const headings = known ? [...HEADINGS, ...SIZE_HEADINGS] : HEADINGS;
  const rows = sessions.map((session) => [...cells(session), ...(known ? sizeCells(session) : [])]);
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), heading.length),
  );
  const padded = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
  const lines = rows.map((row, index) => {
    const style = STATUS_STYLES[sessions[index]?.status ?? "active"];
    return joined(padded(row).map((cell, column) => (column === STATUS_COLUMN ? styled(stream, style, cell) : cell)));
  });
  const last = sizes
    ? `${summary}, ${known ? total(sessions) : "sizes unknown: this kind of state can't tell"}`
    : summary;
  return [styled(stream, "bold", joined(padded(headings))), ...lines, "", last];
}

function sizeCells({ size }: SizedSession): string[] {
  return size === undefined ? ["", ""] : [`${size.commits}`, sizeText(size.bytes)];
}

function total(sessions: readonly SizedSession[]): string {
  const sum = (of: (size: SessionSize) => number) =>
    sessions.reduce((all, { size }) => all + (size === undefined ? 0 : of(size)), 0);
  return `${counted(
    sum(({ commits }) => commits),
    "commit",
  )}, ${sizeText(sum(({ bytes }) => bytes))}`;
}

function joined(cells: readonly string[]): string {
  return cells.join("  ").trimEnd();
}

function cells({ sessionId, status, current, total, updatedAt, workflowType, target }: SessionSummary): string[] {
  const phase = total === undefined ? `${current}` : `${current} (${total} in all)`;
  return [sessionId, status, phase, timeText(updatedAt), workflowType, target].map((cell) => printable(cell));
}

const MARKS = {
  completed: ["green", "✓"],
  skipped: ["yellow", "»"],
  current: ["cyan", "▶"],
  failed: ["red", "✗"],
  ahead: ["gray", "○"],
} as const satisfies Record<PhaseReport["status"], readonly [string, string]>;

const ATTEMPT_STYLES = {
  active: "cyan",
  completed: "green",
  failed: "red",
  rolled_back: "yellow",
  skipped: "yellow",
  overridden: "yellow",
} as const satisfies Record<PhaseAttempt["status"], string>;

/** As many lines of what a failed check has put out, and of one that was met. */
const OUTPUT_LINES = 5;
const OUTPUT_LINES_MET = 2;
/** As much of a digest as tells two apart at a glance. */
const DIGEST_SHOWN = 12;

/** A session as lines for a terminal: what it is, then its phases, each with its attempts and problems. */
export function sessionTree(report: SessionReport, stream: Writable): string[] {
  const phases = report.phases.flatMap((phase, index) => phaseLines(phase, index === report.phases.length - 1, stream));
  return [...headLines(report, stream), "", ...phases];
}

function headLines(report: SessionReport, stream: Writable): string[] {
  const { sessionId, name, workflowType, revision, target, status, phase, note, awaiting, createdAt, updatedAt } =
    report;
  const { unapproved } = report;
  const fields: readonly (readonly [string, string])[] = [
    ["workflow", `${printable(name)} (${workflowType}, revision ${printable(revision)})`],
    ["target", printable(target)],
    ["status", styled(stream, STATUS_STYLES[status], status) + (status === "completed" ? "" : `, in phase ${phase}`)],
    ["created", timeText(createdAt)],
    ["updated", timeText(updatedAt)],
    ...(note === undefined ? [] : [["note", printable(note)] as const]),
    ...(unapproved === undefined ? [] : [["approval", printable(unapproved.message)] as const]),
    ...(awaiting === undefined ? [] : [["waits", waitsText(awaiting)] as const]),
    ...(awaiting === undefined ? [] : [["evidence", awaiting.evidenceHash] as const]),
  ];
  return [styled(stream, "bold", sessionId), ...fields.map(([key, value]) => `  ${key.padEnd(9)} ${value}`)];
}

function waitsText({ prompt, approvers }: NonNullable<SessionReport["awaiting"]>): string {
  const whom = approvers === undefined ? "an approver" : approvers.map((name) => printable(name)).join(" or ");
  return `for ${whom}: ${printable(prompt)}`;
}

function phaseLines({ number, name, status, attempts }: PhaseReport, last: boolean, stream: Writable): string[] {
  const [style, mark] = MARKS[status];
  const title = `${styled(stream, style, mark)} Phase ${number}: ${printable(name)}`;
  const before = last ? "   " : "│  ";
  return [`${last ? "└─ " : "├─ "}${title}`, ...attempts.flatMap((attempt) => attemptLines(attempt, before, stream))];
}

function attemptLines(attempt: PhaseAttempt, before: string, stream: Writable): string[] {
  const { attempt: number, status, startedAt, durationSeconds, problems = [], verification = [] } = attempt;
  const word = styled(stream, ATTEMPT_STYLES[status], status.replace("_", " ").padEnd(11));
  const duration = durationSeconds === undefined ? "" : `  ${durationText(durationSeconds)}`;
  const line = `${before}  attempt ${number}  ${word}  ${timeText(startedAt)}${duration}`;
  const found = verification.flatMap((result) => resultLines(result, stream));
  return [
    line,
    ...problems.map(({ message }) => `${before}    · ${printable(message)}`),
    ...found.map((text) => `${before}    ${text}`),
  ];
}

/** What a verifier has looked at, when, and what it was; what it wants mended stands among the problems. */
export function resultLines(result: Verification, stream: Writable): string[] {
  const { verifier, field, ok, ran, exit, output = [], at, digest } = result;
  const mark = ok ? styled(stream, "green", "✓") : styled(stream, "red", "✗");
  const about = [verifier, ...(field === undefined ? [] : [`for ${field}`])].join(" ");
  const what = ran === undefined ? "" : `: ${ran}`;
  const end = exit === undefined ? "" : ` (${exit})`;
  const sum = digest === undefined ? "" : `, sha256 ${digest.slice(0, DIGEST_SHOWN)}`;
  const shown = output.slice(0, ok ? OUTPUT_LINES_MET : OUTPUT_LINES).map((text) => `    ${printable(text)}`);
  return [`${mark} ${printable(`${about}${what}${end}`)}  ${timeText(at)}${printable(sum)}`, ...shown];
}

/** A phase with what happened in it. */
interface PhaseReport {
  readonly number: number;
  readonly name: string;
  readonly status: "completed" | "skipped" | "current" | "failed" | "ahead";
  readonly attempts: readonly PhaseAttempt[];
}

/** A session as `show --json` prints it. */
interface SessionReport {
  readonly sessionId: string;
  readonly workflowType: string;
  readonly name: string;
  readonly revision: string;
  readonly target: string;
  readonly status: StateView["head"]["status"];
  readonly phase: number;
  readonly note?: string;
  /** Who is waited for, at a gate that asks a person. */
  readonly awaiting?: {
    readonly prompt: string;
    readonly approvers?: readonly string[];
    readonly evidenceHash: string;
  };
  /** The gate that the log has as passed on an approval by nobody who was named as an approver: this is the session before that. */
  readonly unapproved?: NonNullable<StateView["unapproved"]>;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly phases: readonly PhaseReport[];
}

/** Brings a session's state and its history together, phase by phase. */
export function sessionReport(view: StateView, history: readonly PhaseAttempt[]): SessionReport {
  const { sessionId, head, structure, updatedAt, awaiting, unapproved } = view;
  const attempts = new Map<number, PhaseAttempt[]>();
  for (const attempt of history) {
    const others = attempts.get(attempt.phase);
    if (others === undefined) attempts.set(attempt.phase, [attempt]);
    else others.push(attempt);
  }
  const note = head.status === "paused" ? head.note : undefined;
  return {
    sessionId,
    workflowType: head.workflowType,
    name: structure.name,
    revision: head.revision,
    target: head.target,
    status: head.status,
    phase: head.phase,
    ...(note === undefined ? {} : { note }),
    ...(awaiting === undefined ? {} : { awaiting: awaitingReport(awaiting) }),
    ...(unapproved === undefined ? {} : { unapproved }),
    createdAt: head.createdAt,
    updatedAt,
    phases: structure.phases.map(({ number, name }) => ({
      number,
      name,
      status: phaseStatus(view, number),
      attempts: attempts.get(number) ?? [],
    })),
  };
}

function awaitingReport({ prompt, approvers, evidenceHash }: AwaitedApproval): NonNullable<SessionReport["awaiting"]> {
  return { prompt, ...(approvers === undefined ? {} : { approvers }), evidenceHash };
}

function phaseStatus({ head, completedPhases, skippedPhases }: StateView, number: number): PhaseReport["status"] {
  if (skippedPhases.includes(number)) return "skipped";
  if (completedPhases.includes(number)) return "completed";
  if (head.phase !== number) return "ahead";
  return head.status === "failed" ? "failed" : "current";
}

/** As much evidence as a person reads on a screen; more is shown on request. */
const EVIDENCE_MAX = 8000;

/** What a person is asked, of a phase or of a step. */
export type ShownRequest = Omit<ApprovalRequest, "target" | "warnings" | "sessionId"> &
  Partial<Pick<ApprovalRequest, "target" | "warnings">> & { readonly sessionId: string; readonly step?: string };

/**
 * What a person is asked, as lines for a terminal. Every line that an agent or an author has written
 * begins with a bar, so that none can pass for one of ours.
 */
export function approvalLines(request: ShownRequest, stream: Writable, { full = false } = {}): string[] {
  const { sessionId, workflowType, revision, target, phase, step, attempt, askedAt, approvers } = request;
  const { warnings = [], verification } = request;
  const fields: readonly (readonly [string, string])[] = [
    ["workflow", `${printable(workflowType)}, revision ${printable(revision)}`],
    ...(target === undefined ? [] : [["target", printable(target)] as const]),
    [step === undefined ? "phase" : "step", `${step === undefined ? phase : printable(step)}, attempt ${attempt}`],
    ["asked", timeText(askedAt)],
    ["approvers", approvers === undefined ? "any" : approvers.map((name) => printable(name)).join(", ")],
    ["evidence", request.evidenceHash],
  ];
  return [
    styled(stream, "bold", sessionId),
    ...fields.map(([key, value]) => `  ${key.padEnd(9)} ${value}`),
    "",
    styled(stream, "bold", "What is asked"),
    ...barred(request.prompt),
    "",
    styled(stream, "bold", "Evidence"),
    ...evidenceLines(JSON.stringify(request.evidence, undefined, 2), full),
    ...(verification.length === 0 ? [] : ["", styled(stream, "bold", "Verified")]),
    ...verification.flatMap((result) => resultLines(result, stream)).map((line) => `  │ ${line}`),
    ...(warnings.length === 0 ? [] : ["", styled(stream, "bold", "Warnings of the gate")]),
    ...warnings.flatMap(({ message }) => barred(message)),
    "",
  ];
}

function evidenceLines(json: string, full: boolean): string[] {
  if (full || json.length <= EVIDENCE_MAX) return barred(json);
  const left = json.length - EVIDENCE_MAX;
  return [...barred(json.slice(0, EVIDENCE_MAX)), `  … ${left} more characters: --full shows them all`];
}

function barred(text: string): string[] {
  return printable(text, { lines: true })
    .split("\n")
    .map((line) => `  │ ${line}`);
}
