import { toString as textOf } from "mdast-util-to-string";
import { codeParts, headingName, plainText } from "../../definition/markdown/inline-text.js";
import { blocksOf, endOfSection } from "../../definition/markdown/markdown-blocks.js";
import { visibleText } from "../../definition/visible-text.js";
import { PhasegateError } from "../../errors.js";
import { shownPath } from "./shown-text.js";

/** A heading of a document. */
export interface Heading {
  readonly depth: number;
  readonly text: string;
}

/** Which headings are counted. */
export interface HeadingsWanted {
  readonly under?: string | undefined;
  readonly level?: number | undefined;
}

/**
 * The headings of a Markdown text, in order. What looks like one in a fence, a comment, a quotation or a
 * list is none, and one of which nobody sees a word isn't either. Throws `INVALID_INPUT` for a text that is not parsed.
 */
export function headingsOf(text: string, path: string): Heading[] {
  const blocks = blocksOf(text);
  if (blocks === undefined) {
    throw new PhasegateError(
      "INVALID_INPUT",
      `${shownPath(path)} can't be parsed: its lists or quotations are nested too deeply, or it has too many lines`,
      {
        remedy: "Make the document flatter, or its lines longer.",
        details: { field: path },
      },
    );
  }
  const written = blocks.flatMap((block) =>
    block.type === "heading" ? [{ depth: block.depth, marked: textOf(block) }] : [],
  );
  return written
    .filter(({ marked }) => showsWords(marked))
    .map(({ depth, marked }) => ({ depth, text: plainText(marked) }));
}

/** Whether a reader sees a letter or a digit of a heading: not in comments, in tags, or in characters that aren't seen. */
function showsWords(marked: string): boolean {
  const seen = codeParts(marked).map(({ code, text }) => (code ? text : withoutHtml(plainText(text))));
  return /[\p{L}\p{N}]/u.test(visibleText(seen.join("")));
}

/** A text without comments and tags, in time that grows with the text. */
function withoutHtml(text: string): string {
  const [before = "", ...comments] = text.split("<!--");
  const behind = comments.map((comment) => comment.split("-->").slice(1).join("-->"));
  return [before, ...behind].join("").replace(/<\/?[a-z][^<>]*>/gi, "");
}

/** Those headings that are counted; undefined if the one that they should be under isn't there. */
export function headingsBelow(headings: readonly Heading[], { under, level }: HeadingsWanted): Heading[] | undefined {
  if (under === undefined) return headings.filter(({ depth }) => level === undefined || depth === level);
  const name = headingName(plainText(under));
  const starts = [...headings.keys()].filter((index) => headingName(headings[index]?.text ?? "") === name);
  if (starts.length === 0) return undefined;
  // A set: one section of that name may stand inside another.
  const found = new Set(starts.flatMap((start) => belowOne(headings, start, level)));
  return headings.filter((heading) => found.has(heading));
}

function belowOne(headings: readonly Heading[], start: number, level: number | undefined): Heading[] {
  const depth = headings[start]?.depth ?? 0;
  return headings
    .slice(start + 1, endOfSection(headings, start))
    .filter((heading) => heading.depth === (level ?? depth + 1));
}
