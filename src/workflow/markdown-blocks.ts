/**
 * Splits Markdown into sections, paragraphs and list items. Only blocks are parsed; inline marks are stripped later,
 * because their parser takes quadratic time.
 */
import type { List, Paragraph, RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { fromMarkdown, hasTooManyLines, plainText } from "./from-markdown.js";

/** A heading and the blocks below it, up to the next heading of any depth. */
export interface Section {
  /** 0 for the blocks before the first heading. */
  readonly depth: number;
  readonly heading: string;
  /** The heading with its marks. */
  readonly written: string;
  /** The line of the heading, from 1. */
  readonly line: number;
  readonly blocks: readonly RootContent[];
}

/** Inline constructs, which are switched off: their parser takes quadratic time over unclosed marks. */
const INLINE = ["attention", "autolink", "codeText", "htmlText", "labelEnd", "labelStartImage", "labelStartLink"];

/**
 * Returns the blocks of a text with their positions; undefined for a text that is too deeply nested or has too many
 * lines.
 */
export function blocksOf(text: string): readonly RootContent[] | undefined {
  if (!isParsed(text)) return undefined;
  return fromMarkdown(text, { disabled: [...INLINE, "definition"] }).children;
}

/**
 * Maximum number of characters that are parsed. Facts are near the beginning, and no answer shows an agent more text at
 * once.
 */
const LOOKED_AT = 64 * 1024;

/** Returns how many characters of a text are parsed; 0 for a text that is not parsed at all. */
export function lookedAt(text: string): number {
  return isParsed(text.slice(0, LOOKED_AT)) ? Math.min(text.length, LOOKED_AT) : 0;
}

const NO_HEADING = { depth: 0, heading: "", written: "", line: 1 };

/** Returns the sections of a text, in order. */
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

/** Returns the index after the last heading that belongs to the section of the heading at `index`. */
export function endOfSection(headings: readonly { readonly depth: number }[], index: number): number {
  const depth = headings[index]?.depth ?? 0;
  let end = index + 1;
  while (end < headings.length && (headings[end]?.depth ?? 0) > depth) end += 1;
  return end;
}

/** Returns the lines of a paragraph, with their inline marks. */
export function linesOfParagraph(paragraph: Paragraph): string[] {
  const text = paragraph.children.map((child) => (child.type === "break" ? "\n" : textOf(child))).join("");
  return text.split("\n").map((line) => line.trim());
}

/** Returns a paragraph as one line, without inline marks. */
export function proseOf(paragraph: Paragraph): string {
  return plainText(linesOfParagraph(paragraph).join(" "));
}

/** Returns the first paragraph of each item of a list; empty ones left out. */
export function itemsOf(list: List): string[] {
  return list.children
    .map(({ children: [first] }) => (first?.type === "paragraph" ? proseOf(first) : ""))
    .filter((item) => item !== "");
}

/** Containers nested in each other: more than people write, and few enough for recursion. */
const NESTED = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]{0,3}){24}/m;

function isParsed(text: string): boolean {
  return !NESTED.test(text) && !hasTooManyLines(text.split("\n"));
}
