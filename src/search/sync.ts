/**
 * Updates an index to the current files, and only to those that have changed. Markdown is split at its headings: chunks
 * are whole lines, and all chunks in order are the text again. A table, a code block or a checklist is never separated
 * from its heading.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Nodes, RootContent } from "mdast";
import { isPhasegateError } from "../errors.js";
import { FILE_MAX, withoutMark } from "../workflow/files/workflow-files.js";
import { blocksOf, endOfSection, linesOfParagraph, plainText } from "../workflow/from-markdown.js";
import { type ChunkIndex, type Embed, embedTexts, type PreparedFile } from "./chunk-index.js";
import type { FileRecord } from "./index-file.js";
import { type FilePlace, type FrontMatter, readFrontMatter, type SourceFile, STABLE_MS } from "./source-files.js";

/** A file that cannot be searched, or a problem with the saved index. */
export interface SearchProblem {
  /** The path of the file relative to its root; for the index, the name of its file. */
  readonly file: string;
  /** A description of the problem. */
  readonly message: string;
}

/** The result of checking the files. */
export interface SyncReport {
  /** The number of files that can be searched now. */
  readonly files: number;
  /** The number of their chunks. */
  readonly chunks: number;
  /** The number of texts that are new or changed, and were split again. */
  readonly changed: number;
  /** The number of texts that are gone. */
  readonly removed: number;
  /** The files that cannot be searched, and problems with saving the index. */
  readonly problems: readonly SearchProblem[];
}

/** The number of files that are read in parallel. */
const READ_AT_ONCE = 16;
/** The longest time without a turn of the event loop, in milliseconds. */
const TURN = 20;

/** Leaves out files that can't be read. `dirty`: the index must be saved. If `embed` fails, the index is unchanged. */
export async function syncIndex(
  index: ChunkIndex,
  files: readonly SourceFile[],
  maxTokens: number,
  embed: Embed | undefined,
): Promise<SyncReport & { readonly dirty: boolean }> {
  const parts = files.flatMap(partsOf);
  const { changes, problems } = await readChanges(index, parts, maxTokens);
  const unread = new Set(problems.map(({ file }) => file));
  const keys = new Set(parts.filter(({ file }) => !unread.has(file.path)).map(({ key }) => key));
  const gone = [...index.files.keys()].filter((key) => !keys.has(key));
  const prepared = [...changes.values()].flatMap((change) => ("prepared" in change ? [change.prepared] : []));
  const whole = embed === undefined ? prepared : await withVectors(index, prepared, embed);
  for (const key of gone) index.drop(key);
  for (const [key, change] of changes) if ("touched" in change) index.touch(key, change.touched);
  let turn = performance.now();
  for (const file of whole) {
    index.put(file);
    if (performance.now() - turn < TURN) continue;
    await nextTurn();
    turn = performance.now();
  }
  return {
    files: new Set([...index.files.values()].map(({ path }) => path)).size,
    chunks: index.size,
    changed: whole.length,
    removed: gone.length,
    problems,
    dirty: gone.length > 0 || changes.size > 0,
  };
}

async function readChanges(index: ChunkIndex, parts: readonly SourcePart[], maxTokens: number) {
  const changes = new Map<string, FileChange>();
  const problems: SearchProblem[] = [];
  const read = async (part: SourcePart): Promise<void> => {
    try {
      const change = await changeOf(part, index.files.get(part.key), maxTokens);
      if (change !== undefined) changes.set(part.key, change);
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      problems.push({ file: part.file.path, message: error.message });
    }
  };
  for (let from = 0; from < parts.length; from += READ_AT_ONCE) {
    await Promise.all(parts.slice(from, from + READ_AT_ONCE).map(read));
  }
  return { changes, problems };
}

/** Adds the vectors of chunks. The vector of an equal chunk in the index is reused. */
async function withVectors(index: ChunkIndex, files: readonly PreparedFile[], embed: Embed): Promise<PreparedFile[]> {
  if (files.length === 0) return [];
  const known = new Map<string, Float32Array>();
  let size: number | undefined;
  for (const [key, { chunks }] of index.files) {
    for (const [at, { headings }] of chunks.entries()) {
      const { text, vector } = index.partOf(key, at);
      if (vector !== undefined) known.set(embedded(headings, text), vector);
      size ??= vector?.length;
    }
  }
  const wanted = files.map(({ record, texts }) =>
    record.chunks.map(({ headings }, at) => embedded(headings, texts[at] ?? "")),
  );
  const missing = [...new Set(wanted.flat())].filter((text) => !known.has(text));
  const made = await embedTexts(embed, missing, size);
  for (const [at, vector] of made.entries()) known.set(missing[at] ?? "", vector);
  return files.map((file, at) => ({ ...file, vectors: (wanted[at] ?? []).flatMap((text) => known.get(text) ?? []) }));
}

function embedded(headings: readonly string[], text: string): string {
  return `${headings.join(" > ")}\n\n${text}`;
}

/** The change of a file: only its signature has changed, or its chunks must be replaced. */
type FileChange = { readonly touched: string } | { readonly prepared: PreparedFile };

interface SourcePart {
  readonly key: string;
  readonly file: SourceFile;
  readonly place: FilePlace;
}

/** Returns the texts of a file, each with its own key. */
function partsOf(file: SourceFile): readonly SourcePart[] {
  return file.places.map((place, index) => ({ key: index === 0 ? file.path : `${file.path}?${index}`, file, place }));
}

/** Returns undefined without a change. A file is read only for a new signature, and split only for a new text. */
async function changeOf(
  { key, file, place }: SourcePart,
  known: FileRecord | undefined,
  maxTokens: number,
): Promise<FileChange | undefined> {
  const moved = known === undefined || JSON.stringify(known.place) !== JSON.stringify(place);
  if (!moved && known.signature === file.signature.key) return undefined;
  const readAt = Date.now();
  const { text, signature } = await file.sandbox.read(file.path, { maxBytes: FILE_MAX });
  // No signature after a very recent change: a second one might leave it the same.
  const stableKey = signature.changedAt < readAt - STABLE_MS ? signature.key : "";
  const hash = createHash("sha256").update(text).digest("base64url");
  if (!moved && known.hash === hash) return known.signature === stableKey ? undefined : { touched: stableKey };
  const plain = withoutMark(text);
  const front = await readFrontMatter(plain);
  const chunks = chunkMarkdown(plain, { maxTokens, frontLines: front.lines });
  return {
    prepared: {
      key,
      record: {
        path: file.path,
        signature: stableKey,
        hash,
        place: { ...place, tags: [...place.tags] },
        chunks: chunks.map(({ headings, inner, lines }) => ({
          ...wholePlace(place, front, [...headings, ...inner]),
          headings: [...headings],
          lines: [...lines],
        })),
      },
      texts: chunks.map(({ text: part }) => part),
      inner: chunks.map(({ inner }) => inner),
    },
  };
}

/** Combines place, front matter and headings. The place takes precedence over front matter. */
function wholePlace(place: FilePlace, front: FrontMatter, headings: readonly string[]) {
  const { phase, task } = place.phase === undefined ? front : place;
  const found = TAGS.flatMap(([pattern, tags]) => (headings.some((heading) => pattern.test(heading)) ? tags : []));
  const tags = [...new Set([...place.tags, ...front.tags, ...found])];
  return { workflow: place.workflow ?? front.workflow, phase, task, tags };
}

/** Tags of a chunk by the words of the headings above and in it. */
const TAGS: readonly (readonly [heading: RegExp, tags: readonly string[]])[] = [
  [/\b(?:validation[ -]gate|checkpoint|completion criteria)\b/i, ["checkpoint", "evidence"]],
  [/\bevidence\b/i, ["evidence"]],
  [/\bexamples?\b/i, ["example"]],
];

interface TextChunk {
  readonly text: string;
  /** The headings above it, from the outermost, its own last. */
  readonly headings: readonly string[];
  /** The headings inside it, below its own. */
  readonly inner: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
}

interface Cutting {
  /** Each with its line ending. */
  readonly lines: readonly string[];
  readonly max: number;
  readonly chunks: TextChunk[];
}

/**
 * Splits Markdown. A section with all its subsections is one chunk if it is short enough; otherwise it is split at the
 * subsections, and its own text only between paragraphs of prose. `frontLines` are not Markdown, and part of the first
 * chunk. Never throws; an empty text has no chunks.
 */
export function chunkMarkdown(
  text: string,
  { maxTokens, frontLines = 0 }: { readonly maxTokens: number; readonly frontLines?: number },
): readonly TextChunk[] {
  const lines = text.match(/[^\r\n]*(?:\r\n?|\n)|[^\r\n]+$/g) ?? [];
  if (text.trim() === "") {
    return lines.length === 0 ? [] : [{ text, headings: [], inner: [], lines: [1, lines.length] }];
  }
  const sections = sectionLines(lines.map((line, index) => (index < frontLines ? "\n" : line)));
  const cutting: Cutting = { lines, max: maxTokens * 4, chunks: [] };
  cut(sections, [], cutting);
  return cutting.chunks;
}

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
  /** Where it may be split: lines that begin a block of prose after the last table, code block or checklist. */
  readonly cuts: readonly number[];
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
    cuts: blocks.slice(Math.max(blocks.findLastIndex(staysWithHeading), 0) + 1).map(lineOf),
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

/** Returns true for a block that is, or contains, a table, code block or checklist. */
function staysWithHeading(node: Nodes): boolean {
  if (node.type === "code" || node.type === "html") return true;
  if (node.type === "paragraph") {
    const lines = linesOfParagraph(node);
    return CHECKBOX.test(lines[0] ?? "") || lines.some((line) => line.includes("|") && DELIMITER.test(line));
  }
  return "children" in node && node.children.some(staysWithHeading);
}
