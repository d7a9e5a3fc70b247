/**
 * Tables of Markdown, split into cells. By hand: the Markdown extension for tables would be most of what a
 * phase's text costs, and a table is a paragraph without it.
 */
import type { NumberedLine } from "./sentences.js";

/** A table among the lines of a paragraph. */
export interface Table {
  /** What stands before it. */
  readonly before: readonly NumberedLine[];
  readonly header: readonly string[];
  readonly line: number;
  readonly rows: readonly NumberedLine[];
  /** Lines without a bar: Markdown takes them for rows, people don't. */
  readonly after: readonly NumberedLine[];
}

/** The table in the lines of a paragraph; undefined if there is none. */
export function tableIn(lines: readonly NumberedLine[]): Table | undefined {
  const at = lines.findIndex(({ text }, index) => {
    return index > 0 && text.includes("|") && isTableRule(text) && (lines[index - 1]?.text ?? "").includes("|");
  });
  const head = lines[at - 1];
  if (at === -1 || head === undefined) return undefined;
  const rows = lines.slice(at + 1);
  const end = rows.findIndex(({ text }) => !text.includes("|"));
  return {
    before: lines.slice(0, at - 1),
    header: cellsOf(head.text),
    line: head.line,
    rows: end === -1 ? rows : rows.slice(0, end),
    after: end === -1 ? [] : rows.slice(end),
  };
}

/** Whether a line is the one below a table's header: `| --- | :-: |`. */
function isTableRule(line: string): boolean {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split("|").every((cell) => /^:?-+:?$/.test(cell.trim()));
}

/** The cells of a row. A bar that is escaped is part of its cell. */
export function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
}
