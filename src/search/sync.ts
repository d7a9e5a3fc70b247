/**
 * Updates an index to the current files: reads and splits changed files, computes the vectors of new chunks, and then
 * puts them into the index. Also derives the tags of chunks.
 */
import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPhasegateError } from "../errors.js";
import { FILE_MAX, withoutMark } from "../workflow/files/workflow-files.js";
import { type ChunkIndex, type Embed, embedTexts, type PreparedFile } from "./chunk-index.js";
import { chunkMarkdown } from "./chunks.js";
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

/** The options of {@link syncIndex}. */
interface SyncOptions {
  readonly maxTokens: number;
  readonly embed?: Embed;
}

/** The number of files that are read in parallel. */
const READ_AT_ONCE = 16;
/** The longest time without a turn of the event loop, in milliseconds. */
const TURN = 20;

/**
 * Updates an index to some files. A file that cannot be read is left out and reported. `dirty` is true if the index
 * must be saved. If `embed` fails, this throws and the index is unchanged.
 */
export async function syncIndex(
  index: ChunkIndex,
  files: readonly SourceFile[],
  { maxTokens, embed }: SyncOptions,
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

/** Returns the text that is embedded for a chunk. */
function embedded(headings: readonly string[], text: string): string {
  return `${headings.join(" > ")}\n\n${text}`;
}

/** The change of a file: only its signature has changed, or its chunks must be replaced. */
type FileChange = { readonly touched: string } | { readonly prepared: PreparedFile };

/** A file as one of its texts. */
interface SourcePart {
  readonly key: string;
  readonly file: SourceFile;
  readonly place: FilePlace;
}

/** Returns the texts of a file, each with its own key. */
function partsOf(file: SourceFile): readonly SourcePart[] {
  return file.places.map((place, index) => ({ key: index === 0 ? file.path : `${file.path}?${index}`, file, place }));
}

/**
 * Returns the change of a file since its record; undefined if there is none. The file is read only if its signature has
 * changed, and split only if its text has. Throws as the sandbox does.
 */
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
  const workflow = place.workflow ?? front.workflow;
  const { phase, task } = place.phase === undefined ? front : place;
  return {
    ...(workflow === undefined ? {} : { workflow }),
    ...(phase === undefined ? {} : { phase }),
    ...(task === undefined ? {} : { task }),
    tags: [...new Set([...place.tags, ...front.tags, ...sectionTags(headings)])],
  };
}

/** Tags by the words of headings. */
const TAGS: readonly (readonly [heading: RegExp, tags: readonly string[]])[] = [
  [/\b(?:validation[ -]gate|checkpoint|completion criteria)\b/i, ["checkpoint", "evidence"]],
  [/\bevidence\b/i, ["evidence"]],
  [/\bexamples?\b/i, ["example"]],
];

/** Returns the tags of a chunk by the headings above and in it. */
function sectionTags(headings: readonly string[]): readonly string[] {
  return [
    ...new Set(TAGS.flatMap(([pattern, tags]) => (headings.some((heading) => pattern.test(heading)) ? tags : []))),
  ];
}
