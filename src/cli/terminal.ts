import { createInterface } from "node:readline/promises";
import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { codeFrameColumns } from "@babel/code-frame";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import { escapeHidden } from "../workflow/names.js";
import { singleLine } from "../workflow/report.js";
/** What a command reads and writes: the process's own streams, or a test's. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Ends the process, whatever still runs in it. Missing where others use the process, too. */
  exit?(code: number): void;
}

type Style = Parameters<typeof styleText>[0];

/** Writes a line for the user; what a file or an agent has put in it can't steer the terminal. */
export function print({ stdout }: Terminal, line = ""): void {
  stdout.write(`${line}\n`);
}

/** A text in colours, where the stream is a terminal that has some (and `NO_COLOR` isn't set). */
export function styled(stream: Writable, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

/** Writes a value as JSON. What would steer the terminal is an escape, and reads as the same JSON. */
export function printJson(
  terminal: Terminal,
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): void {
  print(terminal, escapeHidden(JSON.stringify(value, replacer, 2)));
}

/**
 * Returns a text from outside with escapes for what would steer a terminal, turn the order of a line round or be seen by
 * nobody; tabs and line ends stay if `lines` is set.
 */
export function printable(text: string, { lines = false } = {}): string {
  return lines ? escapeHidden(text.replace(/\r\n/g, "\n")) : singleLine(text);
}

/** Whether a person can be asked: somebody reads what is written, and types what is read. */
export function isInteractive({ stdin, stdout }: Terminal): boolean {
  return isTty(stdin) && isTty(stdout);
}

/** Asks for a line; `""` where the input has ended. */
export async function ask({ stdin, stdout }: Terminal, question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
    return (await Promise.race([lines.question(question), ended])).trim();
  } finally {
    lines.close();
  }
}

/** Asks whether to go on; anything but a clear yes is a no. */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  return /^(y|yes)$/i.test(await ask(terminal, `${question} [y/N] `));
}

function isTty(stream: Readable | Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

/** `1 session`, `2 sessions`. */
export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** A size in the unit that fits it: `812 bytes`, `1.4 kB`. A kB has 1,000 bytes. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  if (power === 0) return counted(bytes, "byte");
  return `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power] ?? ""}`;
}

/** A stored time as people read it: `2026-01-31 12:00:00Z`. */
export function timeText(iso: string): string {
  return iso.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** A duration in its two largest units: `45s`, `3m 12s`, `2h 5m`, `4d 1h`. */
export function durationText(seconds: number): string {
  const units: readonly (readonly [string, number])[] = [
    ["d", 86_400],
    ["h", 3600],
    ["m", 60],
    ["s", 1],
  ];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first === -1) return "0s";
  const parts: string[] = [];
  let rest = seconds;
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * size;
  }
  return parts.join(" ");
}

/** A line that is longer was not written by hand, and a frame of it would fill the screen. */
const LINE_MAX = 400;

/** So many diagnostics of a file's or a workflow's are shown: each takes a part of a screen. */
const SHOWN_MAX = 100;

/** A text cut into lines, once for all frames of it. */
export type SourceLines = readonly string[];

/** Cuts a text into lines for {@link diagnosticLines}. */
export function sourceLines(text: string): SourceLines {
  return text.split(/\r?\n/);
}

/** Returns the diagnostics to show, in their order, errors before warnings where not all can be, and a word on the others. */
export function shownDiagnostics(diagnostics: readonly Diagnostic[]): {
  readonly shown: readonly Diagnostic[];
  readonly more?: string;
} {
  if (diagnostics.length <= SHOWN_MAX) return { shown: diagnostics };
  // What stands for those that a reader of definitions has not kept.
  const last = diagnostics.at(-1);
  const unlisted = last?.code === ("DIAGNOSTICS_MORE" satisfies DiagnosticCode) ? last : undefined;
  const isError = ({ severity }: Diagnostic) => severity === "error";
  const first = [...diagnostics.filter(isError), ...diagnostics.filter((one) => !isError(one))].slice(0, SHOWN_MAX);
  const kept = new Set(first);
  const left = diagnostics.length - SHOWN_MAX - (unlisted === undefined ? 0 : 1);
  const others = unlisted === undefined ? "" : `; ${unlisted.message}`;
  const more = `and ${counted(left, "problem")} more, which --json lists${others}; mend these first`;
  return { shown: diagnostics.filter((one) => kept.has(one)), more };
}

/** A diagnostic as lines for a terminal: place and message, the code around it, and what to write instead. */
export function diagnosticLines(
  diagnostic: Diagnostic,
  place: string,
  source: SourceLines | undefined,
  stream: Writable,
): string[] {
  const { severity, message, hint, line, column } = diagnostic;
  const position = [place, line, line === undefined ? undefined : column].filter((part) => part !== undefined);
  const word = styled(stream, severity === "error" ? "red" : "yellow", severity);
  const frame = source === undefined || line === undefined ? [] : codeFrame(source, line, column);
  return [
    `${styled(stream, "bold", printable(position.join(":")))}: ${word}: ${printable(message)}`,
    ...frame.map((text) => `  ${text}`),
    ...(hint === undefined ? [] : [`  ${styled(stream, "cyan", "hint:")} ${printable(hint)}`]),
    "",
  ];
}

/** Two lines before the place and two behind it: whatever is handed on is gone through as a whole. */
function codeFrame(lines: SourceLines, line: number, column: number | undefined): string[] {
  const first = Math.max(0, line - 3);
  const shown = lines.slice(first, line + 2).map((text) => printable(text, { lines: true }));
  if (line > lines.length || shown.some(({ length }) => length > LINE_MAX)) return [];
  // What is shown as an escape moves the column of all that is behind it.
  const before = printable(lines[line - 1]?.slice(0, (column ?? 1) - 1) ?? "", { lines: true });
  const start = column === undefined ? { line } : { line, column: before.length + 1 };
  // `startLine` is one of its options, though its types don't have it.
  const options = { highlightCode: false, linesBelow: 2, startLine: first + 1 };
  return codeFrameColumns(shown.join("\n"), { start }, options).split("\n");
}

/** What stands between `user:` and the last `@` of an address; a password may hold an `@` that nobody has encoded. */
const USER = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:/i;
/** As a parameter: of an address, or in a connection string. */
const AS_PARAMETER = /\b((?:ssl)?password=)[^\s&'"]*/gi;

/** A text from anywhere without the passwords of addresses in it: whatever is printed or logged goes through this. */
export function withoutPasswords(text: string): string {
  return text.replace(/[^\s"'<>]+/g, withoutPassword).replace(AS_PARAMETER, "$1***");
}

function withoutPassword(word: string): string {
  const host = word.lastIndexOf("@");
  const user = host === -1 ? null : USER.exec(word);
  const start = user === null ? word.length : user.index + user[0].length;
  return start > host ? word : `${word.slice(0, start)}***${word.slice(host)}`;
}
