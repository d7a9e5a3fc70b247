/**
 * Parses a source into the tree that rows are read from. Code and comments are left out, as source.ts finds them, and
 * inline marks are not parsed: micromark takes quadratic time over unclosed ones.
 */
import type { Root } from "mdast";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { fromMarkdown, hasTooManyLines } from "../workflow/from-markdown.js";
import { planError } from "./plan.js";
import type { Region, SourceText } from "./source.js";

/** Constructs inside a line, which don't matter for headings, lists and tables. */
const INLINE = [
  ...["attention", "autolink", "htmlText", "labelStartImage", "labelStartLink", "labelEnd", "codeText"],
  ...["characterReference", "characterEscape", "hardBreakEscape"],
];

/**
 * Constructs that plans don't need. Indented code: a list that is indented too far is still a list. HTML: a list between
 * `<details>` and `</details>` is still a list. Underlined headings are read with the rows: below a label, `---` is a rule.
 */
const NOT_IN_PLANS = ["codeIndented", "definition", "htmlFlow", "setextUnderline"];

/** Maximum number of lines, plus one for every `LINE_MIN` characters: the parser takes up to 0.1 ms for a line, also for an empty one in a list. */
const LINES_MAX = 20_000;
const LINE_MIN = 10;

/** Maximum nesting depth of lists and quotes in one line. */
const NESTING_MAX = 50;

const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){${NESTING_MAX}}`);

/** Parses a source, with blank lines in place of its regions. Throws `PLAN_PARSE` if it has too many lines or is nested too deep. */
export function parseTree(source: SourceText, regions: readonly Region[], file: string): Root {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  checkLines(lines, file);
  return fromMarkdown(lines.join("\n"), {
    disabled: [...INLINE, ...NOT_IN_PLANS],
    syntax: [gfmTable(), gfmTaskListItem()],
    tree: [gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown()],
  });
}

function checkLines(lines: readonly string[], file: string): void {
  if (hasTooManyLines(lines, LINES_MAX, LINE_MIN)) {
    const message = `it has ${lines.length} lines, too many for its length and nesting`;
    throw planError({ file, line: 1 }, message, "Remove what is not part of the plan, or nest its lists less.");
  }
  const nested = lines.findIndex((line) => NESTED.test(line));
  if (nested === -1) return;
  const message = `lists and quotes are nested more than ${NESTING_MAX} levels deep`;
  throw planError({ file, line: nested + 1 }, message, "Remove some of the markers of lists and quotes.");
}
