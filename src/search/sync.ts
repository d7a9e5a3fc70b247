import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isPhasegateError } from "../errors.js";
import { FILE_MAX, withoutMark } from "../workflow/files/workflow-files.js";
import { type ChunkIndex, type Embed, embedTexts, type PreparedFile } from "./chunk-index.js";
import { chunkMarkdown } from "./chunks.js";
import type { FileRecord } from "./index-file.js";
import { type FilePlace, type FrontMatter, readFrontMatter, SETTLED, type SourceFile } from "./source-files.js";
/** Why a file isn't found, or why the index isn't kept. */
export interface SearchProblem {
  /** The file, relative to its root; the index's own name where that is meant. */
  readonly file: string;
  readonly message: string;
}

/** What a look at the files has come to. */
export interface SyncReport {
  /** How many files, and chunks of them, can be searched now. */
  readonly files: number;
  readonly chunks: number;
  /** How many files were cut anew, and how many are gone. */
  readonly changed: number;
  readonly removed: number;
  readonly problems: readonly SearchProblem[];
}

/** How an index is filled. */
interface SyncOptions {
  readonly maxTokens: number;
  readonly embed?: Embed;
}

/** How many files are read side by side. */
const READ_AT_ONCE = 16;
/** How long nobody else gets a turn, in milliseconds. */
const TURN = 20;

/**
 * Brings an index up to files that were looked at: reads what has changed, makes vectors of new chunks, and
 * only then puts it in, file by file. A file that can't be read is left out, and named. `dirty` says
 * whether there is something new to be kept. Throws what `embed` comes to; the index is then as it was.
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

/** Files with the vectors of their chunks; a chunk that was there before keeps the one that it has. */
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

/** What a vector is made of. */
function embedded(headings: readonly string[], text: string): string {
  return `${headings.join(" > ")}\n\n${text}`;
}

/** What is to be done with a file: nothing but to note that it was touched, or to put it in anew. */
type FileChange = { readonly touched: string } | { readonly prepared: PreparedFile };

/** A file as one of the texts that it is. */
interface SourcePart {
  readonly key: string;
  readonly file: SourceFile;
  readonly place: FilePlace;
}

/** The texts that a file is, each with a key of its own. */
function partsOf(file: SourceFile): readonly SourcePart[] {
  return file.places.map((place, index) => ({ key: index === 0 ? file.path : `${file.path}?${index}`, file, place }));
}

/**
 * What has changed of a file since its record was made; undefined if nothing has. It is read only if its
 * signature is another one, and cut only if its text is. Throws as the sandbox does.
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
  // What was changed just before it was read may change again within what its times tell apart.
  const settled = signature.changedAt < readAt - SETTLED ? signature.key : "";
  const hash = createHash("sha256").update(text).digest("base64url");
  if (!moved && known.hash === hash) return known.signature === settled ? undefined : { touched: settled };
  const plain = withoutMark(text);
  const front = await readFrontMatter(plain);
  const chunks = chunkMarkdown(plain, { maxTokens, frontLines: front.lines });
  return {
    prepared: {
      key,
      record: {
        path: file.path,
        signature: settled,
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

/** What place, front matter and headings say together. Where a file lies goes before what it says of itself. */
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

/** What headings say of what stands below them, as tags. */
const TAGS: readonly (readonly [heading: RegExp, tags: readonly string[]])[] = [
  [/\b(?:validation[ -]gate|checkpoint|completion criteria)\b/i, ["checkpoint", "evidence"]],
  [/\bevidence\b/i, ["evidence"]],
  [/\bexamples?\b/i, ["example"]],
];

/**
 * The tags of a piece of text by the headings above and in it: `checkpoint` and `evidence` where it says
 * what must be shown, `example` where it shows how.
 */
function sectionTags(headings: readonly string[]): readonly string[] {
  return [
    ...new Set(TAGS.flatMap(([pattern, tags]) => (headings.some((heading) => pattern.test(heading)) ? tags : []))),
  ];
}
