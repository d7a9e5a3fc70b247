import type { Writable } from "node:stream";
import { codeFrameColumns } from "@babel/code-frame";
import type { Diagnostic } from "../definition/diagnostic.js";
import type { DiagnosticCode } from "../definition/folder/diagnostic-codes.js";
import { counted } from "./counted.js";
import { printable, styled } from "./terminal.js";

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
