/**
 * What was submitted at gates, as `show`, `approve` and `waive` print it: attempts with their evidence, what the
 * verifiers have seen, and what people have noted. Lines that an agent or an author has written begin with a bar, so that
 * they cannot pass for lines of a command.
 */
import type { Writable } from "node:stream";
import { excerpt } from "../gate/excerpt.js";
import { waivedText } from "../gate/waivers.js";
import type { Verification } from "../phased/state/events.js";
import type { AttemptNote, PhaseAttempt } from "../phased/state/history.js";
import { notedTexts } from "../read/noted.js";
import { durationText, printable, styled, timeText } from "./terminal.js";

export const EVIDENCE_MAX = 8000;
const ATTEMPT_EVIDENCE_MAX = 1000;
const ATTEMPT_LINES_MAX = 20;

const ATTEMPT_STYLES = {
  active: "cyan",
  completed: "green",
  failed: "red",
  rolled_back: "yellow",
  skipped: "yellow",
  overridden: "yellow",
} as const satisfies Record<PhaseAttempt["status"], string>;

export function attemptLines(attempt: PhaseAttempt, stream: Writable, full: boolean): string[] {
  const { status, startedAt, durationSeconds, problems = [], verification = [], waived = [] } = attempt;
  const { attempt: number, children = [], proofs = [], notes = [], noted, reason, by, uncounted } = attempt;
  const word = styled(stream, ATTEMPT_STYLES[status], status.replace("_", " ").padEnd(11));
  const duration = durationSeconds === undefined ? "" : `  ${durationText(durationSeconds)}`;
  return [
    `attempt ${number}  ${word}  ${timeText(startedAt)}${duration}${uncounted ? "  uses up no attempt" : ""}`,
    ...(reason === undefined ? [] : [`  · ${printable(reason)} (${printable(by ?? "")})`]),
    ...problems.map(({ message }) => `  · ${printable(message)}`),
    ...waived.map((one) => `  · ${printable(waivedText(one))}`),
    ...children.map(({ sessionId, version }) => `  · completed by session ${sessionId}, commit ${version}`),
    ...proofs.map(({ field, proof }) => `  · ${printable(`${field}: see ${proof}`)}`),
    ...notedTexts(noted).map(({ label, text }) => `  · ${printable(`${label}: ${text}`)}`),
    ...notes.map((note) => `  · ${noteText(note)}`),
    ...verification.flatMap((result) => resultLines(result, stream, full)).map((line) => `  ${line}`),
    ...submittedLines(attempt.evidence, attempt.evidenceHash, full),
  ];
}

/** Returns submitted evidence as lines, under its hash: bounded, unless all of it is wanted. None if there is none. */
export function submittedLines(evidence: object | undefined, hash: string | undefined, full: boolean): string[] {
  if (evidence === undefined) return [];
  const lines = evidenceLines(evidence, ATTEMPT_EVIDENCE_MAX, full, ATTEMPT_LINES_MAX);
  return [`  evidence ${hash ?? ""}`.trimEnd(), ...lines];
}

const NOTED: Readonly<Record<AttemptNote["event"], string>> = {
  approved: "approved",
  denied: "denied",
  waiver_requested: "asks for a waiver",
  waiver_granted: "waived",
  waiver_denied: "no waiver",
  task_completed: "done",
  task_given_up: "given up",
  paused: "paused",
  resumed: "resumed",
  retried: "retried",
  assigned: "handed over",
  migrated: "moved it to another revision",
  plan_synced: "plan synced",
};

function noteText({ at, event, by, note, task, fields, authenticated }: AttemptNote): string {
  const what = [
    ...(task === undefined ? [] : [`task ${task}`]),
    NOTED[event],
    ...(fields === undefined ? [] : [`of ${fields.join(", ")}`]),
    ...(by === undefined ? [] : [`by ${by}`]),
    ...(authenticated === undefined ? [] : [authenticated ? "(signed)" : "(not signed)"]),
  ].join(" ");
  return `${timeText(at)}  ${printable(note === undefined ? what : `${what}: ${note}`)}`;
}

const OUTPUT_LINES = 8;
const OUTPUT_LINES_PASSED = 2;
const DIGEST_SHOWN = 12;

/** Returns the result of a check as lines: what it ran or read, when, what it found, and the output. */
export function resultLines(result: Verification, stream: Writable, full = false): string[] {
  const { verifier, field, ok, message, ran, exit, output = [], at, digest } = result;
  const mark = ok ? styled(stream, "green", "✓") : styled(stream, "red", "✗");
  const about = [verifier, ...(field === undefined ? [] : [`for ${field}`])].join(" ");
  const what = ran === undefined ? "" : `: ${ran}`;
  const end = exit === undefined ? "" : ` (${exit})`;
  const sum = digest === undefined ? "" : `, sha256 ${full ? digest : digest.slice(0, DIGEST_SHOWN)}`;
  const part = ok ? output.slice(-OUTPUT_LINES_PASSED) : excerpt(output, OUTPUT_LINES);
  const lines = (full ? output : part).map((text) => `    ${printable(text)}`);
  return [
    `${mark} ${printable(`${about}${what}${end}`)}  ${timeText(at)}${printable(sum)}`,
    `    ${printable(message)}`,
    ...lines,
  ];
}

/** Returns evidence as lines of JSON that begin with a bar; not more than `most` characters, unless all are wanted. */
export function evidenceLines(evidence: unknown, most: number, full: boolean, mostLines = Infinity): string[] {
  const json = JSON.stringify(evidence, undefined, 2);
  if (full) return barred(json);
  const kept = json.slice(0, most).split("\n").slice(0, mostLines).join("\n");
  if (kept.length === json.length) return barred(json);
  return [...barred(kept), `  … ${json.length - kept.length} more characters: --full shows them all`];
}

export function barred(text: string): string[] {
  return printable(text, { lines: true })
    .split("\n")
    .map((line) => `  │ ${line}`);
}
