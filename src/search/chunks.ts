/**
 * Splits Markdown into chunks at its headings. Chunks are whole lines, and all chunks in order are the text again. A
 * table, a code block or a checklist is never separated from its heading.
 */
import type { Nodes, RootContent } from "mdast";
import { blocksOf, endOfSection, linesOfParagraph, plainText } from "../workflow/from-markdown.js";

/** A chunk of a text. */
interface TextChunk {
  readonly text: string;
  /** The headings above it, from the outermost, its own last. */
  readonly headings: readonly string[];
  /** The headings inside it, below its own. */
  readonly inner: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
}

/** The options of {@link chunkMarkdown}. */
interface ChunkOptions {
  /** A section with its subsections up to this size is one chunk, in tokens (characters / 4). */
  readonly maxTokens: number;
  /** The number of lines of front matter. They are not Markdown, and part of the first chunk. */
  readonly frontLines?: number;
}

/** A text while it is split. */
interface Cutting {
  /** Each with its line ending. */
  readonly lines: readonly string[];
  readonly max: number;
  readonly chunks: TextChunk[];
}

/**
 * Splits Markdown. A section with all its subsections is one chunk if it is short enough; otherwise it is split at the
 * subsections, and its own text only between paragraphs of prose. Never throws; an empty text has no chunks.
 */
export function chunkMarkdown(text: string, { maxTokens, frontLines = 0 }: ChunkOptions): readonly TextChunk[] {
  const lines = text.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? [];
  if (text.trim() === "") {
    return lines.length === 0 ? [] : [{ text, headings: [], inner: [], lines: [1, lines.length] }];
  }
  const sections = sectionLines(lines.map((line, index) => (index < frontLines ? "\n" : line)));
  const cutting: Cutting = { lines, max: maxTokens * 4, chunks: [] };
  cut(sections, [], cutting);
  return cutting.chunks;
}

/** Splits consecutive sections below some headings. */
function cut(sections: readonly SectionLines[], above: readonly string[], cutting: Cutting): void {
  for (let index = 0; index < sections.length; ) {
    const section = sections[index];
    if (section === undefined) return;
    // The text before the first heading has no subsections.
    const end = section.depth === 0 ? index + 1 : endOfSection(sections, index);
    const below = sections.slice(index + 1, end);
    const headings = section.depth === 0 ? above : [...above, section.heading];
    const last = below.at(-1)?.last ?? section.last;
    if (below.length > 0 && length(section.first, last, cutting) <= cutting.max) {
      add(section.first, last, { headings, inner: below.map(({ heading }) => heading) }, cutting);
    } else if (section.bare && below[0] !== undefined) {
      // A heading without text is joined with its first subsection.
      cut([{ ...below[0], first: section.first }, ...below.slice(1)], headings, cutting);
    } else {
      cutProse(section, headings, cutting);
      cut(below, headings, cutting);
    }
    index = end;
  }
}

/** Splits the own text of a section where its prose may be split. */
function cutProse({ first, last, cuts }: SectionLines, headings: readonly string[], cutting: Cutting): void {
  let from = first;
  for (const [index, line] of cuts.entries()) {
    const end = (cuts[index + 1] ?? last + 1) - 1;
    if (length(from, end, cutting) <= cutting.max) continue;
    add(from, line - 1, { headings, inner: [] }, cutting);
    from = line;
  }
  add(from, last, { headings, inner: [] }, cutting);
}

function add(first: number, last: number, of: Pick<TextChunk, "headings" | "inner">, { lines, chunks }: Cutting) {
  chunks.push({ text: lines.slice(first - 1, last).join(""), ...of, lines: [first, last] });
}

function length(first: number, last: number, { lines }: Cutting): number {
  let sum = 0;
  for (let line = first; line <= last; line += 1) sum += lines[line - 1]?.length ?? 0;
  return sum;
}

/** A heading and its text up to the next heading of any depth, as lines from 1. */
interface SectionLines {
  /** 0 for the text before the first heading. */
  readonly depth: number;
  readonly heading: string;
  readonly first: number;
  readonly last: number;
  /**
   * Lines at which it may be split: each begins a block of prose after the last table, code block or checklist, so that
   * none of those is separated from its heading.
   */
  readonly cuts: readonly number[];
  /** True if there is only the heading. */
  readonly bare: boolean;
}

/** The delimiter row of a table: `| --- | :-: |`. */
const DELIMITER = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
const CHECKBOX = /^\[[ xX]\](?:\s|$)/;

/** Returns the sections of a text, at least one. Together they are the whole text. */
function sectionLines(lines: readonly string[]): readonly SectionLines[] {
  const found: { depth: number; heading: string; first: number; blocks: RootContent[] }[] = [
    { depth: 0, heading: "", first: 1, blocks: [] },
  ];
  const lineOf = ({ position }: RootContent) => position?.start.line ?? 1;
  for (const block of blocksOf(lines.join("")) ?? []) {
    if (block.type !== "heading") found.at(-1)?.blocks.push(block);
    else {
      const first = lineOf(block);
      const last = block.position?.end.line ?? first;
      found.push({ depth: block.depth, heading: headingOf(lines.slice(first - 1, last)), first, blocks: [] });
    }
  }
  // An empty text before the first heading is not a section.
  const [preface, second] = found;
  if (preface?.blocks.length === 0 && second !== undefined) found.splice(0, 2, { ...second, first: 1 });
  return found.map(({ blocks, ...section }, index) => ({
    ...section,
    last: (found[index + 1]?.first ?? lines.length + 1) - 1,
    cuts: proseAfter(blocks).map(lineOf),
    bare: blocks.length === 0,
  }));
}

/** Returns the text of a heading from its lines; the last line of an underlined heading is left out. */
function headingOf(lines: readonly string[]): string {
  const [only = "", ...more] = lines;
  const text =
    more.length > 0 ? lines.slice(0, -1).join(" ") : only.replace(/^ {0,3}#{1,6}/, "").replace(/\s#+\s*$/, "");
  return plainText(text.replace(/\s+/g, " ").trim());
}

/** Returns the blocks at which a section may be split. Its first block is never one of them. */
function proseAfter(blocks: readonly RootContent[]): readonly RootContent[] {
  return blocks.slice(Math.max(blocks.findLastIndex(staysWithHeading), 0) + 1);
}

/** Returns true for a block that is, or contains, a table, code block or checklist. */
function staysWithHeading(node: Nodes): boolean {
  if (node.type === "code" || node.type === "html") return true;
  if (node.type === "paragraph") {
    const lines = linesOfParagraph(node);
    return CHECKBOX.test(lines[0] ?? "") || lines.some((line) => line.includes("|") && DELIMITER.test(line));
  }
  return "children" in node && node.children.some(staysWithHeading);
}
