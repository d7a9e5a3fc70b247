/** How long phases take, where an overview says so: in a table, or in a list of `**Phase 1:** 4-6 hours`. */
import { phaseTitle } from "./identify.js";
import type { Row } from "./rows.js";
import { durationIn } from "./task-line.js";

/** Durations by the key of a phase. */
export type Durations = ReadonlyMap<string, string>;

const LISTED = /^\*\*Phase\s+(\d+)(?!\d)[^*]*\*\*(.*)/is;

/** Reads the durations that overviews give; the first one counts. */
export function readDurations(rows: readonly Row[]): Durations {
  const found = new Map<string, string>();
  let columns: { readonly phase: number; readonly time: number } | undefined;
  for (const { kind, text } of rows) {
    const cells = kind === "text" && text.startsWith("|") ? cellsOf(text) : undefined;
    if (cells === undefined) {
      columns = undefined;
      const [, key, said = ""] = LISTED.exec(text) ?? [];
      const [time = ""] = said.replace(/^:?\s*(?:[-–—:]\s*)?/, "").split("(", 1);
      if (key !== undefined && kind === "item") keep(found, key, time);
    } else if (columns === undefined) {
      columns = columnsOf(cells);
    } else {
      const cell = cells[columns.phase] ?? "";
      keep(found, /^\d+$/.test(cell) ? cell : phaseTitle(cell)?.key, cells[columns.time] ?? "");
    }
  }
  return found;
}

function keep(found: Map<string, string>, key: string | undefined, said: string): void {
  const text = said.trim().replace(/^(\d+(?:\s*-\s*\d+)?)$/, "$1 hours");
  if (key !== undefined && !found.has(key) && durationIn(text) !== undefined) found.set(key, text);
}

function columnsOf(cells: readonly string[]) {
  const phase = cells.findIndex((cell) => /^(?:phase|#)$/i.test(cell));
  const time = cells.findIndex((cell) => /duration|hours|time|effort|estimate/i.test(cell));
  return phase === -1 || time === -1 ? undefined : { phase, time };
}

function cellsOf(text: string): string[] {
  return text
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.replace(/\*\*/g, "").trim());
}
