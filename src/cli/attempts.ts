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
import { type AttemptWord, attemptWord } from "../read/attempt-words.js";
import type { PhaseLine } from "../read/model.js";
import { notedTexts } from "../read/noted.js";
import { escapeHidden } from "../workflow/hidden.js";
import { durationText, printable, styled, timeText } from "./terminal.js";

export const EVIDENCE_MAX = 8000;
const ATTEMPT_EVIDENCE_MAX = 1000;
const ATTEMPT_LINES_MAX = 20;

const ATTEMPT_STYLES = {
  working: "cyan",
  next: "gray",
  verifying: "cyan",
  waiting: "magenta",
  paused: "yellow",
  refused: "red",
  denied: "red",
  passed: "green",
  waived: "green",
  "rolled back": "yellow",
  skipped: "yellow",
  overridden: "yellow",
} as const satisfies Record<AttemptWord, string>;

/** Returns an attempt as lines; `phase` is the state of its phase. */
export function attemptLines(
  attempt: PhaseAttempt,
  phase: PhaseLine["state"] | undefined,
  stream: Writable,
  full: boolean,
): string[] {
  const { startedAt, durationSeconds, problems = [], verification = [], waived = [] } = attempt;
  const { attempt: number, children = [], proofs = [], notes = [], noted, reason, by, uncounted } = attempt;
  const found = attemptWord(attempt, phase);
  const word = styled(stream, ATTEMPT_STYLES[found], found.padEnd(11));
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
  waiver_requested: "the agent asks for a waiver",
  waiver_granted: "granted a waiver",
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

/**
 * Returns evidence as lines that begin with a bar; not more than `most` characters, unless all are wanted. Texts of several lines
 * are blocks of lines.
 */
export function evidenceLines(evidence: unknown, most: number, full: boolean, mostLines = Infinity): string[] {
  const lines: string[] = [];
  let left = full ? Number.POSITIVE_INFINITY : most;
  for (const line of valueLines(evidence)) {
    const isCut = line.length > left || (!full && lines.length >= mostLines);
    if (!isCut || lines.length < mostLines) lines.push(...barred(line.slice(0, left)));
    if (isCut) return [...lines, `  … --full shows all ${JSON.stringify(evidence).length} characters`];
    left -= line.length + 1;
  }
  return lines;
}

/** Values that are nested deeper are written as JSON: their indent would leave a terminal no room. */
const INDENT_MAX = 16;

/** Yields a value as lines for people, much as in YAML. What could be taken for another kind of value is in quotes. */
function* valueLines(value: unknown, indent = ""): Generator<string> {
  const isList = Array.isArray(value);
  for (const [key, item] of Object.entries(Object(value))) {
    const label = `${indent}${isList ? "-" : `${/^[\w.-]+$/.test(key) ? key : JSON.stringify(key)}:`}`;
    const isNested = typeof item === "object" && item !== null && Object.keys(item).length > 0;
    if (isBlock(item)) {
      yield `${label} |`;
      for (const line of item.split("\n")) yield `${indent}  ${line}`.trimEnd();
    } else if (isNested && indent.length < INDENT_MAX) {
      yield label;
      yield* valueLines(item, `${indent}  `);
    } else {
      yield `${label} ${isPlain(item) ? item : JSON.stringify(item)}`;
    }
  }
}

/** A text of several lines that shows all that it has: no line ends with a blank, or with a CR. */
function isBlock(value: unknown): value is string {
  return typeof value === "string" && value.includes("\n") && !/[^\S\n]$/m.test(value) && !value.includes("\r");
}

/**
 * A text that can't be taken for a number, a word of JSON or a sign, that shows its ends, in which nothing is escaped, and which
 * has single blanks alone.
 */
function isPlain(value: unknown): boolean {
  if (typeof value !== "string" || /^(?:true|false|null)$/.test(value) || /\s\s|[^\S ]/.test(value)) return false;
  return /^\p{L}(?:[^\\]*[^\\\s])?$/u.test(value) && escapeHidden(value) === value;
}

export function barred(text: string): string[] {
  return printable(text, { lines: true })
    .split("\n")
    .map((line) => `  │ ${line}`);
}
