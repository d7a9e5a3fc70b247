import type { Nodes, RootContent } from "mdast";
import { plainText } from "../workflow/from-markdown.js";
import { blocksOf, endOfSection, linesOfParagraph } from "../workflow/markdown-blocks.js";

/** A piece of a text: whole lines of it, so that all pieces in order are the text again. */
interface TextChunk {
  readonly text: string;
  /** The headings above it, from the outermost, its own last. */
  readonly headings: readonly string[];
  /** The headings inside it, below its own. */
  readonly inner: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
}

/** How a text is cut. */
interface ChunkOptions {
  /** Sections with all that is below them stay whole up to so many tokens of four characters. */
  readonly maxTokens: number;
  /** So many lines at the beginning are no Markdown: front matter. They are part of the first piece. */
  readonly frontLines?: number;
}

/** A text on the way into pieces. */
interface Cutting {
  /** Each with its line ending. */
  readonly lines: readonly string[];
  readonly max: number;
  readonly chunks: TextChunk[];
}

/**
 * Cuts Markdown at its headings. A heading with everything below it is one piece where that is short
 * enough, else it is cut at the headings below it; what stands right below one heading is cut only
 * between paragraphs of prose. A table, a fence or a checklist stays whole and with its heading, however
 * long that is. Never throws; an empty text has no pieces.
 */
export function chunkMarkdown(text: string, { maxTokens, frontLines = 0 }: ChunkOptions): readonly TextChunk[] {
  const lines = text.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? [];
  if (text.trim() === "")
    return lines.length === 0 ? [] : [{ text, headings: [], inner: [], lines: [1, lines.length] }];
  const sections = sectionLines(lines.map((line, index) => (index < frontLines ? "\n" : line)));
  const cutting: Cutting = { lines, max: maxTokens * 4, chunks: [] };
  cut(sections, [], cutting);
  return cutting.chunks;
}

/** Cuts sections that follow each other, below some headings. */
function cut(sections: readonly SectionLines[], above: readonly string[], cutting: Cutting): void {
  for (let index = 0; index < sections.length; ) {
    const section = sections[index];
    if (section === undefined) return;
    // What stands before the first heading has nothing below it.
    const end = section.depth === 0 ? index + 1 : endOfSection(sections, index);
    const below = sections.slice(index + 1, end);
    const headings = section.depth === 0 ? above : [...above, section.heading];
    const last = below.at(-1)?.last ?? section.last;
    if (below.length > 0 && length(section.first, last, cutting) <= cutting.max) {
      add(section.first, last, { headings, inner: below.map(({ heading }) => heading) }, cutting);
    } else if (section.bare && below[0] !== undefined) {
      // A heading alone says nothing: it goes with what is below it.
      cut([{ ...below[0], first: section.first }, ...below.slice(1)], headings, cutting);
    } else {
      cutProse(section, headings, cutting);
      cut(below, headings, cutting);
    }
    index = end;
  }
}

/** One section without those below it: whole, or cut where its prose may be. */
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

/** A heading with what stands below it up to the next heading of any depth, in lines of its text from 1. */
interface SectionLines {
  /** 0 for what stands before the first heading. */
  readonly depth: number;
  readonly heading: string;
  readonly first: number;
  readonly last: number;
  /**
   * Lines at which it may be cut: each begins a block of prose behind the last table, fence or checklist,
   * so that none of those is ever parted from its heading.
   */
  readonly cuts: readonly number[];
  /** Whether there is nothing but the heading. */
  readonly bare: boolean;
}

/** `| --- | :-: |`, the line that makes a table of a paragraph. */
const DELIMITER = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
const CHECKBOX = /^\[[ xX]\](?:\s|$)/;

/** The sections of a text, given as its lines. Together they are the whole text; there is at least one. */
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
  // What stands before the first heading is no section of its own if it is empty.
  const [preface, second] = found;
  if (preface?.blocks.length === 0 && second !== undefined) found.splice(0, 2, { ...second, first: 1 });
  return found.map(({ blocks, ...section }, index) => ({
    ...section,
    last: (found[index + 1]?.first ?? lines.length + 1) - 1,
    cuts: proseAfter(blocks).map(lineOf),
    bare: blocks.length === 0,
  }));
}

/** What a heading says, out of its own lines: of one that is underlined, those above the last. */
function headingOf(lines: readonly string[]): string {
  const [only = "", ...more] = lines;
  const text =
    more.length > 0 ? lines.slice(0, -1).join(" ") : only.replace(/^ {0,3}#{1,6}/, "").replace(/\s#+\s*$/, "");
  return plainText(text.replace(/\s+/g, " ").trim());
}

/** The blocks at which a section may be cut. The first stays below its heading, too. */
function proseAfter(blocks: readonly RootContent[]): readonly RootContent[] {
  return blocks.slice(Math.max(blocks.findLastIndex(staysWithHeading), 0) + 1);
}

/** Whether a block is, or holds, something that says nothing without its heading. */
function staysWithHeading(node: Nodes): boolean {
  if (node.type === "code" || node.type === "html") return true;
  if (node.type === "paragraph") {
    const lines = linesOfParagraph(node);
    return CHECKBOX.test(lines[0] ?? "") || lines.some((line) => line.includes("|") && DELIMITER.test(line));
  }
  return "children" in node && node.children.some(staysWithHeading);
}
