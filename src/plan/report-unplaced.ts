/** The checkboxes of a source that are nothing in its plan: each is reported, so that none is lost in silence. */
import { checkboxAt, checkboxesIn } from "./checkboxes.js";
import type { Region } from "./region.js";
import type { PlanReport } from "./report.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source-text.js";
import { strictTextLines } from "./strict-text.js";

const HINT =
  "Make it a task, a criterion below 'Acceptance Criteria:' or an item of a 'Validation Gate:', or take it out.";

/**
 * Looks through all lines outside of code. A checkbox counts wherever it stands: at the beginning of a line
 * or an item, in a table, in the middle of a sentence.
 */
export function reportUnplaced(
  source: SourceText,
  regions: readonly Region[],
  rows: readonly Row[],
  placed: ReadonlySet<number>,
  report: PlanReport,
): void {
  const hidden = hiddenLines(regions, strictTextLines(source, regions));
  const headings = rows.filter(({ kind }) => kind === "heading");
  let heading = 0;
  for (const [line, { text }] of source.lines.entries()) {
    while ((headings[heading + 1]?.line ?? Number.POSITIVE_INFINITY) <= line) heading += 1;
    const where = hidden.get(line);
    if (where === "code" || !text.includes("[")) continue;
    for (const { column } of checkboxesIn(text)) {
      const place = source.position(line, column);
      if (placed.has(place.offset)) continue;
      const title = headings[heading];
      const section = title === undefined || title.line > line ? "before the first heading" : `below '${title.text}'`;
      const reason = where ?? (isFirst(text, column) ? section : "in the middle of a line");
      report.warn("CHECKBOX_UNPLACED", place, `a checkbox that belongs to no task and no gate, ${reason}`, HINT);
    }
  }
}

function isFirst(text: string, column: number): boolean {
  const start = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t[]|$))*[ \t]*(?:#{1,6}[ \t]+)?/.exec(text)?.[0].length ?? 0;
  return checkboxAt(text, start)?.column === column;
}

/** Lines that are not read, by why; of code only what strict Markdown takes for code too. */
function hiddenLines(regions: readonly Region[], strictText: ReadonlySet<number>): Map<number, string> {
  const hidden = new Map<number, string>();
  for (const { kind, start, end, strictEnd, unclosed } of regions) {
    for (let line = start; line < end; line += 1) {
      if (kind === "comment") hidden.set(line, "in a comment");
      else if (unclosed) hidden.set(line, "in code that nothing closes");
      else if (strictEnd !== undefined && line >= strictEnd) hidden.set(line, "in a sample within a sample");
      else hidden.set(line, strictText.has(line) ? "in code that strict Markdown takes for text" : "code");
    }
  }
  return hidden;
}
