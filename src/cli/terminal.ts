/**
 * Input and output of commands: prompts, colours and numbers. All output goes through `printable` or `printJson`, so that a
 * text from outside cannot steer the terminal, and through `withoutPasswords` if it may contain an address.
 */
import { userInfo } from "node:os";
import process from "node:process";
import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { escapeHidden, singleLine } from "../workflow/hidden.js";

export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Ends the process at once. Missing if the process also has other work. */
  exit?(code: number): void;
}

type Style = Parameters<typeof styleText>[0];

/** Writes a line. Texts from outside in it must have gone through {@link printable}. */
export function print({ stdout }: Terminal, line = ""): void {
  stdout.write(`${line}\n`);
}

export function printLines(terminal: Terminal, lines: readonly string[]): void {
  for (const line of lines) print(terminal, line);
}

/** Returns a text in a colour, if the stream is a terminal with colours and `NO_COLOR` is not set. */
export function styled(stream: Writable, style: Style, text: string): string {
  return styleText(style, text, { stream });
}

/** Writes a value as JSON. Characters that would steer a terminal are written as JSON escapes. */
export function printJson(
  terminal: Terminal,
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): void {
  print(terminal, escapeHidden(JSON.stringify(value, replacer, 2)));
}

/** Escapes what steers a terminal, turns a line or is invisible. Tabs and line ends are kept if `lines` is set. */
export function printable(text: string, { lines = false } = {}): string {
  return lines ? escapeHidden(text.replace(/\r\n/g, "\n")) : singleLine(text);
}

/** Returns true if a person can be asked. */
export function isInteractive({ stdin, stdout }: Terminal): boolean {
  return isTty(stdin) && isTty(stdout);
}

/** Returns a person's answer; undefined if the person ends the input. */
export async function ask({ stdin, stdout }: Terminal, question: string): Promise<string | undefined> {
  // Loaded here: a command that asks nothing starts 1 ms sooner.
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    const ended = new Promise<undefined>((resolve) => lines.once("close", () => resolve(undefined)));
    return (await Promise.race([lines.question(question), ended]))?.trim();
  } finally {
    lines.close();
  }
}

/** Only `y` and `yes` confirm; with `preset`, an empty line, too. */
export async function confirm(terminal: Terminal, question: string, { preset = false } = {}): Promise<boolean> {
  const answer = await ask(terminal, `${question} ${preset ? "[Y/n]" : "[y/N]"} `);
  return answer !== undefined && (/^(y|yes)$/i.test(answer) || (preset && answer === ""));
}

export function isTty(stream: Readable | Writable): boolean {
  return "isTTY" in stream && stream.isTTY === true;
}

/** Returns a count with its noun: `1 session`, `2 sessions`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

export function phaseTitle(number: number, name: string, inPlan?: string): string {
  return `Phase ${number}${inPlan === undefined ? "" : ` (${inPlan} in the plan)`}: ${name}`;
}

/** Returns the user of this machine. A container may run as a user without a name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}

const UNITS = ["bytes", "kB", "MB", "GB", "TB"] as const;

/** Returns a size in a suitable unit: `812 bytes`, `1.4 kB`. A kB has 1,000 bytes. */
export function sizeText(bytes: number): string {
  const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), UNITS.length - 1);
  if (power === 0) return counted(bytes, "byte");
  return `${(bytes / 1000 ** power).toFixed(1)} ${UNITS[power] ?? ""}`;
}

/** Returns a stored time as people read it: `2026-01-31 12:00:00Z`. */
export function timeText(iso: string): string {
  return iso.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

/** Returns how long ago a stored time was, in its largest unit: `2m ago`. */
export function agoText(iso: string, now = Date.now()): string {
  const [largest] = durationText(Math.max(0, Math.floor((now - Date.parse(iso)) / 1000))).split(" ");
  return `${largest} ago`;
}

/** Returns a duration in its two largest units: `45s`, `3m 12s`, `2h 5m`, `4d 1h`. */
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

/** The beginning of a URL up to its password, which ends at the last `@`: a password may contain an unencoded `@`. */
const USER = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:/i;
/** A password as a parameter of a URL or a connection string. */
const AS_PARAMETER = /\b((?:ssl)?password=)[^&]*/gi;
/** What is between blanks, without quotes around it. Quotes inside may belong to a password. */
const WORD = /[^\s"'<>](?:\S*[^\s"'<>])?/g;

/** Returns a text in which the passwords of addresses are replaced by `***`: where the end of one is unclear, more of it. */
export function withoutPasswords(text: string): string {
  return text.replace(WORD, withoutPassword);
}

function withoutPassword(word: string): string {
  const host = word.lastIndexOf("@");
  const user = host === -1 ? null : USER.exec(word);
  const start = user === null ? word.length : user.index + user[0].length;
  const address = start > host ? word : `${word.slice(0, start)}***${word.slice(host)}`;
  return address.replace(AS_PARAMETER, "$1***");
}

/** Returns a word as a shell reads it. */
export function inShell(word: string): string {
  if (/^[\w@%+=:,./\\-]+$/.test(word)) return word;
  return /[$`\\!"]/.test(word) ? `'${word.replaceAll("'", "'\\''")}'` : `"${word}"`;
}
