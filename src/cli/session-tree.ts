import type { Writable } from "node:stream";
import type { PhaseAttempt } from "../session/history.js";
import type { Verification } from "../session/verification.js";
import type { PhaseReport, SessionReport } from "./session-report.js";
import { STATUS_STYLES } from "./session-table.js";
import { printable, styled } from "./terminal.js";
import { durationText, timeText } from "./time-text.js";

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
