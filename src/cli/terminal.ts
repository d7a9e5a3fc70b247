import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { singleLine } from "../definition/folder/report.js";
import { escapeHidden } from "../definition/names.js";

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
