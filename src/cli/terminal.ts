import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";

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

/** A text from outside without what would steer a terminal; tabs and line ends stay if `lines` is set. */
export function printable(text: string, { lines = false } = {}): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must go
  const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
  const safe = text.replace(/\r\n/g, "\n").replace(control, "\ufffd");
  return lines ? safe : safe.replace(/[\t\n]+/g, " ");
}
