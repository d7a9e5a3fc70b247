/** The blocks of a plan's source. What isn't to be read, code and comments, is blanked before. */
import type { Block } from "../definition/markdown/block-nodes.js";
import { parseBlocks } from "../definition/markdown/parse-blocks.js";
import { planError } from "./plan-error.js";
import type { Region } from "./region.js";
import type { SourceText } from "./source-text.js";

/** So many characters may stand between two headings. */
const SECTION_MAX = 64 * 1024;
/** How deep lists and quotes may be nested in one line. */
const NESTING_MAX = 50;

const HEADING = /^#{1,6}(?:[ \t]|$)/;
const NESTED = new RegExp(String.raw`^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){${NESTING_MAX}}`);

/**
 * Constructs that are not read. Indented code is none here: lists that are indented too far are still lists.
 * HTML isn't either: a list between `<details>` and `</details>` is still a list. An underline is told from a rule
 * by what stands above it.
 */
const RULES = { indentedCode: false, html: false, underlined: false } as const;

/** Parses a source; lines count from 1. Throws `PLAN_PARSE` for a section that is too large or nested too deep. */
export function parsePlanBlocks(source: SourceText, regions: readonly Region[], file: string): readonly Block[] {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  checkSections(lines, file);
  return parseBlocks(lines.join("\n"), RULES);
}

function checkSections(lines: readonly string[], file: string): void {
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
