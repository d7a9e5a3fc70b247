import { endOfSection } from "../../definition/markdown/markdown-blocks.js";
import { type SectionLines, sectionLines } from "./markdown-sections.js";

/** A piece of a text: whole lines of it, so that all pieces in order are the text again. */
export interface TextChunk {
  readonly text: string;
  /** The headings above it, from the outermost, its own last. */
  readonly headings: readonly string[];
  /** The headings inside it, below its own. */
  readonly inner: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
}

/** How a text is cut. */
export interface ChunkOptions {
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
