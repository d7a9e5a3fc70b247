/** How commands print diagnostics: with the code around them. */
import type { Writable } from "node:stream";
import { codeFrameColumns } from "@babel/code-frame";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import { counted, printable, styled } from "./terminal.js";

/** The longest line of code that is shown. A longer one would fill the screen. */
const LINE_MAX = 400;

const SHOWN_MAX = 100;

export function sourceLines(text: string): readonly string[] {
  return text.split(/\r?\n/);
}

/** Returns the diagnostics to show, in their order, and a line about the others. If there are too many, errors go first. */
export function shownDiagnostics(diagnostics: readonly Diagnostic[]): {
  readonly shown: readonly Diagnostic[];
  readonly more?: string;
} {
  if (diagnostics.length <= SHOWN_MAX) return { shown: diagnostics };
  // It stands for the diagnostics that the reader of the definition has not kept.
  const last = diagnostics.at(-1);
  const unlisted = last?.code === ("DIAGNOSTICS_MORE" satisfies DiagnosticCode) ? last : undefined;
  const isError = ({ severity }: Diagnostic) => severity === "error";
  const first = [...diagnostics.filter(isError), ...diagnostics.filter((one) => !isError(one))].slice(0, SHOWN_MAX);
  const kept = new Set(first);
  const left = diagnostics.length - SHOWN_MAX - (unlisted === undefined ? 0 : 1);
  const others = unlisted === undefined ? "" : `; ${unlisted.message}`;
  const more = `and ${counted(left, "problem")} more, which --json lists${others}; fix these first`;
  return { shown: diagnostics.filter((one) => kept.has(one)), more };
}

export function diagnosticLines(
  diagnostic: Diagnostic,
  place: string,
  source: readonly string[] | undefined,
  stream: Writable,
): string[] {
  const { severity, message, hint, line, column } = diagnostic;
  const position = [place, line, line === undefined ? undefined : column].filter((part) => part !== undefined);
  const label = styled(stream, severity === "error" ? "red" : "yellow", severity);
  const frame = source === undefined || line === undefined ? [] : codeFrame(source, line, column);
  return [
    `${styled(stream, "bold", printable(position.join(":")))}: ${label}: ${printable(message)}`,
    ...frame.map((text) => `  ${text}`),
    ...(hint === undefined ? [] : [`  ${styled(stream, "cyan", "hint:")} ${printable(hint)}`]),
    "",
  ];
}

/** Returns two lines before the position and two after it: the library would process every line that it is given. */
export function codeFrame(lines: readonly string[], line: number, column: number | undefined): string[] {
  const first = Math.max(0, line - 3);
  const shown = lines.slice(first, line + 2).map((text) => printable(text, { lines: true }));
  if (line > lines.length || shown.some(({ length }) => length > LINE_MAX)) return [];
  // An escape moves the column of everything after it.
  const before = printable(lines[line - 1]?.slice(0, (column ?? 1) - 1) ?? "", { lines: true });
  const start = column === undefined ? { line } : { line, column: before.length + 1 };
  // The option `startLine` is missing in the types.
  const options = { highlightCode: false, linesBelow: 2, startLine: first + 1 };
  return codeFrameColumns(shown.join("\n"), { start }, options).split("\n");
}
