/**
 * A source cut at its headings, each piece parsed by itself: micromark's time grows with the square of the
 * text. What isn't to be read, code and comments, is blanked before. Only blocks are parsed: emphasis, links
 * and the like cost most of the time and say nothing of a plan's shape.
 */
import type { RootContent } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { planError } from "./plan-error.js";
import type { Region } from "./regions.js";
import type { SourceText } from "./source-text.js";

/** The blocks between two headings. */
export interface Section {
  /** What has to be added to the line numbers of the blocks, which begin at 1, for lines from 0. */
  readonly base: number;
  readonly blocks: readonly RootContent[];
}

/** The longest piece between two headings, in characters. */
const SECTION_MAX = 64 * 1024;
/** How deep lists and quotes may be nested in one line. */
const NESTING_MAX = 100;

const HEADING = /^#{1,6}(?:[ \t]|$)/;
const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){${NESTING_MAX}}`);

/**
 * Constructs that are not read. Indented code is none here: lists that are indented too far are still lists.
 * HTML isn't either: a list between `<details>` and `</details>` is still a list.
 */
const BLOCKS_ONLY = {
  disable: {
    null: [
      ...["codeIndented", "definition", "htmlFlow", "setextUnderline"],
      ...["attention", "autolink", "htmlText", "labelStartImage", "labelStartLink", "labelEnd", "codeText"],
      ...["characterReference", "characterEscape", "hardBreakEscape"],
    ],
  },
};

/** Parses a source piece by piece. Throws `PLAN_PARSE` for a piece that is too large or nested too deep. */
export function* parseSections(source: SourceText, regions: readonly Region[], file: string): Generator<Section> {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  let base = 0;
  for (let line = 1; line <= lines.length; line += 1) {
    if (line < lines.length && !HEADING.test(lines[line] ?? "")) continue;
    const piece = lines.slice(base, line);
    checkPiece(piece, base, file);
    yield { base: base - 1, blocks: fromMarkdown(piece.join("\n"), { extensions: [BLOCKS_ONLY] }).children };
    base = line;
  }
}

function checkPiece(piece: readonly string[], base: number, file: string): void {
  const length = piece.reduce((sum, text) => sum + text.length + 1, 0);
  if (length > SECTION_MAX) {
    const hint = "Put headings into it, or split the file.";
    throw planError({ file, line: base + 1 }, `more than ${SECTION_MAX} characters stand between two headings`, hint);
  }
  const deep = piece.findIndex((text) => NESTED.test(text));
  if (deep === -1) return;
  const hint = "Take out the markers of lists and quotes that are too many.";
  throw planError({ file, line: base + deep + 1 }, `lists and quotes are nested more than ${NESTING_MAX} deep`, hint);
}
