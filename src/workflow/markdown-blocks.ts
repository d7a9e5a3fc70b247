import type { List, Paragraph, RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { fromMarkdown, hasTooManyLines, plainText } from "./from-markdown.js";

/** A heading and what stands below it, up to the next heading of any depth. */
export interface Section {
  /** 0 for what stands before the first heading. */
  readonly depth: number;
  readonly heading: string;
  /** The heading with its marks. */
  readonly written: string;
  /** Of its heading, from 1. */
  readonly line: number;
  readonly blocks: readonly RootContent[];
}

/** Inline marks: their parser takes quadratic time over unclosed ones, and nothing here needs them. */
const INLINE = ["attention", "autolink", "codeText", "htmlText", "labelEnd", "labelStartImage", "labelStartLink"];

/**
 * The blocks of a text, with their positions; undefined for one that is not parsed, as its containers are nested too deep
 * or it has too many lines for its length.
 */
export function blocksOf(text: string): readonly RootContent[] | undefined {
  if (!isParsed(text)) return undefined;
  return fromMarkdown(text, { disabled: [...INLINE, "definition"] }).children;
}

/**
 * How much of a text is looked at, in characters. What is looked for stands at the beginning, and no
 * answer shows an agent more of a text at once.
 */
const LOOKED_AT = 64 * 1024;

/** How many characters of a text are looked at: none of one that is not parsed. */
export function lookedAt(text: string): number {
  return isParsed(text.slice(0, LOOKED_AT)) ? Math.min(text.length, LOOKED_AT) : 0;
}

const NO_HEADING = { depth: 0, heading: "", written: "", line: 1 };

/** The sections of a text, in order. */
export function sectionsOf(text: string): Section[] {
  const blocks = blocksOf(text.slice(0, LOOKED_AT));
  if (blocks === undefined) return [];
  const sections = [{ ...NO_HEADING, blocks: [] as RootContent[] }];
  for (const block of blocks) {
    if (block.type === "heading") {
      const { depth, position } = block;
      const written = textOf(block);
      sections.push({ depth, written, heading: plainText(written), line: position?.start.line ?? 1, blocks: [] });
    } else sections.at(-1)?.blocks.push(block);
  }
  return sections;
}

/** The index behind the last heading that is deeper than the one at an index and follows it: where its section ends. */
export function endOfSection(headings: readonly { readonly depth: number }[], index: number): number {
  const depth = headings[index]?.depth ?? 0;
  let end = index + 1;
  while (end < headings.length && (headings[end]?.depth ?? 0) > depth) end += 1;
  return end;
}

/** The lines of a paragraph, with their inline marks. */
export function linesOfParagraph(paragraph: Paragraph): string[] {
  const text = paragraph.children.map((child) => (child.type === "break" ? "\n" : textOf(child))).join("");
  return text.split("\n").map((line) => line.trim());
}

/** A paragraph as one line, without inline marks. */
export function proseOf(paragraph: Paragraph): string {
  return plainText(linesOfParagraph(paragraph).join(" "));
}

/** The first paragraph of each item of a list; empty ones left out. */
export function itemsOf(list: List): string[] {
  return list.children
    .map(({ children: [first] }) => (first?.type === "paragraph" ? proseOf(first) : ""))
    .filter((item) => item !== "");
}

/** Containers in containers: more than anybody writes, and few enough for a recursion. */
const NESTED = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]{0,3}){24}/m;

function isParsed(text: string): boolean {
  return !NESTED.test(text) && !hasTooManyLines(text.split("\n"));
}
