import type { Writable } from "node:stream";
import { codeFrameColumns } from "@babel/code-frame";
import type { Diagnostic } from "../definition/diagnostic.js";
import { printable, styled } from "./terminal.js";

/** A line that is longer was not written by hand, and a frame of it would fill the screen. */
const LINE_MAX = 400;

/** A diagnostic as lines for a terminal: place and message, the code around it, and what to write instead. */
export function diagnosticLines(
  diagnostic: Diagnostic,
  place: string,
  source: string | undefined,
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

function codeFrame(source: string, line: number, column: number | undefined): string[] {
  const own = source.split(/\r?\n/);
  const lines = own.map((text) => printable(text, { lines: true }));
  const shown = lines.slice(Math.max(0, line - 3), line + 2);
  if (line > lines.length || shown.some(({ length }) => length > LINE_MAX)) return [];
  // What is shown as an escape moves the column of all that is behind it.
  const before = printable(own[line - 1]?.slice(0, (column ?? 1) - 1) ?? "", { lines: true });
  const start = column === undefined ? { line } : { line, column: before.length + 1 };
  return codeFrameColumns(lines.join("\n"), { start }, { highlightCode: false, linesBelow: 2 }).split("\n");
}
