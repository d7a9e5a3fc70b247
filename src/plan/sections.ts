/**
 * A source cut into pieces, each parsed by itself: micromark's time grows with the square of the text. It is
 * cut only where nothing goes on; that a list is cut between two items changes nothing for a reader of rows.
 * What isn't to be read, code and comments, is blanked before. Only blocks are parsed: emphasis, links and the
 * like cost most of the time and say nothing of a plan's shape.
 */
import type { RootContent } from "mdast";
import { fromMarkdown, hasTooManyLines } from "../definition/markdown/from-markdown.js";
import { planError } from "./plan-error.js";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

/** The blocks of one piece. */
export interface Section {
  /** What has to be added to the line numbers of the blocks, which begin at 1, for lines from 0. */
  readonly base: number;
  readonly blocks: readonly RootContent[];
}

/** The longest piece between two headings, in characters. */
const SECTION_MAX = 64 * 1024;
/** How deep lists and quotes may be nested in one line. */
const NESTING_MAX = 50;
/** So many characters a piece has at least, if anything follows: parsing many small ones costs more. */
const PIECE = 400;

const HEADING = /^#{1,6}(?:[ \t]|$)/;
const BULLET = /^[-*+][ \t]+\S/;
const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){${NESTING_MAX}}`);

/** Constructs within a line: they say nothing of what is a heading, a list or code. */
export const INLINE = [
  ...["attention", "autolink", "htmlText", "labelStartImage", "labelStartLink", "labelEnd", "codeText"],
  ...["characterReference", "characterEscape", "hardBreakEscape"],
] as const;

/**
 * Constructs that are not read. Indented code is none here: lists that are indented too far are still lists.
 * HTML isn't either: a list between `<details>` and `</details>` is still a list.
 */
const BLOCKS_ONLY = { disabled: ["codeIndented", "definition", "htmlFlow", "setextUnderline", ...INLINE] };

/** Parses a source piece by piece. Throws `PLAN_PARSE` for a section that is too large or nested too deep. */
export function* parseSections(source: SourceText, regions: readonly Region[], file: string): Generator<Section> {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  checkSections(lines, file);
  let base = 0;
  let length = 0;
  for (let line = 0; line <= lines.length; line += 1) {
    if (line === lines.length || (length > PIECE && beginsAnew(lines, line))) {
      const piece = lines.slice(base, line).join("\n");
      const blocks = length === line - base ? [] : fromMarkdown(piece, BLOCKS_ONLY).children;
      yield { base: base - 1, blocks };
      base = line;
      length = 0;
    }
    length += (lines[line] ?? "").length + 1;
  }
}

/** Whether nothing before a line has to do with it: headings and bullets end all, as does a blank line. */
function beginsAnew(lines: readonly string[], line: number): boolean {
  const text = lines[line] ?? "";
  return HEADING.test(text) || BULLET.test(text) || (/^\S/.test(text) && (lines[line - 1] ?? "").trim() === "");
}

function checkSections(lines: readonly string[], file: string): void {
  if (hasTooManyLines(lines)) {
    throw planError(
      { file, line: 1 },
      `${lines.length} lines are too many for its length`,
      "Take out what is no plan.",
    );
  }
  let start = 0;
  let length = 0;
  for (const [line, text] of lines.entries()) {
    if (HEADING.test(text)) {
      start = line;
      length = 0;
    }
    length += text.length + 1;
    if (length > SECTION_MAX) {
      const hint = "Put headings into it, or split the file.";
      throw planError(
        { file, line: start + 1 },
        `more than ${SECTION_MAX} characters stand between two headings`,
        hint,
      );
    }
    if (NESTED.test(text)) {
      const hint = "Take out the markers of lists and quotes that are too many.";
      throw planError({ file, line: line + 1 }, `lists and quotes are nested more than ${NESTING_MAX} deep`, hint);
    }
  }
}
