/**
 * Parses a source into the tree that rows are read from. Code and comments are left out, as source.ts finds them, and
 * inline marks are not parsed: micromark takes quadratic time over unclosed ones.
 */
import type { Root } from "mdast";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { fromMarkdown } from "../workflow/from-markdown.js";
import { planError } from "./plan.js";
import { columnsOf, type Region, type SourceText } from "./source.js";

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

/** Maximum length of the Markdown, in characters: the parser takes up to 0.03 ms for each of them. */
const MARKDOWN_MAX = 1024 * 1024;

/** Maximum nesting depth of lists and quotes: the parser looks at each level in each line, also in an empty one. */
const DEPTH_MAX = 25;

/** A marker of a list or quote, after its indentation. */
const MARKER = /([ \t]*)(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y;

/** Parses a source, with blank lines in place of its regions. Throws `PLAN_PARSE` if it is too long or nested too deep. */
export function parseTree(source: SourceText, regions: readonly Region[], file: string): Root {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  const markdown = lines.join("\n");
  checkSize(markdown, lines, file);
  return fromMarkdown(markdown, {
    disabled: [...INLINE, ...NOT_IN_PLANS],
    syntax: [gfmTable(), gfmTaskListItem()],
    tree: [gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown()],
  });
}

function checkSize(markdown: string, lines: readonly string[], file: string): void {
  if (markdown.length > MARKDOWN_MAX) {
    const message = `it has more than ${MARKDOWN_MAX} characters of Markdown`;
    throw planError({ file, line: 1 }, message, "Remove what is not part of the plan, or split it into several plans.");
  }
  const nested = lines.findIndex((line) => depthOf(line) > DEPTH_MAX);
  if (nested === -1) return;
  const message = `lists and quotes are nested more than ${DEPTH_MAX} levels deep`;
  throw planError({ file, line: nested + 1 }, message, "Nest them less, or put a drawing into a fence.");
}

/** Returns the deepest level that a line can begin: one for each of its markers, and for every two columns before one. */
function depthOf(line: string): number {
  let depth = 0;
  MARKER.lastIndex = 0;
  for (let found = MARKER.exec(line); found !== null; found = MARKER.exec(line)) {
    depth += 1 + Math.floor(columnsOf(found[1] ?? "") / 2);
  }
  return depth;
}
