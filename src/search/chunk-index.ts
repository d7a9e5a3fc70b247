/** The index of chunks, by filters, words and vectors; and the computation of vectors. */
import { PhasegateError } from "../errors.js";
import type { PlacedChunk, SearchQuery } from "../ports/retriever.js";
import type { ChunkRecord, FileRecord, KeptIndex } from "./index-file.js";
import { type Filters, matchesFilters, type OramaModule, TextIndex } from "./text-index.js";

/** A file with its chunks, ready for the index. */
export interface PreparedFile {
  readonly key: string;
  readonly record: FileRecord;
  /** The texts of its chunks. */
  readonly texts: readonly string[];
  /** The headings in its chunks, below their own. */
  readonly inner: readonly (readonly string[])[];
  /** The vectors of its chunks; missing without `embed`. */
  readonly vectors?: readonly Float32Array[];
}

/** The default number of chunks in an answer. */
const LIMIT = 5;
/** From this number of chunks on, their order is irrelevant: the caller wants all of them. */
const ORDER_MATTERS = 1_000;

export class ChunkIndex {
  private readonly words: TextIndex;
  private readonly vectors = new Map<string, Float32Array>();
  private readonly records = new Map<string, FileRecord>();

  constructor(orama: OramaModule, kept?: KeptIndex) {
    this.words = new TextIndex(orama);
    if (kept === undefined) return;
    this.words.load(kept.orama);
    for (const [key, { vectors, ...record }] of kept.files) {
      this.records.set(key, record);
      const decoded = vectors === undefined ? [] : decodeVectors(vectors, record.chunks.length);
      for (const [index, vector] of decoded.entries()) this.vectors.set(idOf(key, index), vector);
    }
  }

  get files(): ReadonlyMap<string, FileRecord> {
    return this.records;
  }

  get size(): number {
    return [...this.records.values()].reduce((sum, { chunks }) => sum + chunks.length, 0);
  }

  put({ key, record, texts, inner, vectors }: PreparedFile): void {
    this.drop(key);
    const about = `${record.path.replace(/\.md$/, "")}\n${record.place.about ?? ""}`;
    for (const [index, { headings, lines: _, ...place }] of record.chunks.entries()) {
      const names = [...headings, ...(inner[index] ?? [])].join("\n");
      this.words.add({ id: idOf(key, index), text: texts[index] ?? "", headings: names, about, ...place });
    }
    for (const [index, vector] of (vectors ?? []).entries()) this.vectors.set(idOf(key, index), vector);
    this.records.set(key, record);
  }

  /** Updates the signature of a file whose text is unchanged. */
  touch(key: string, signature: string): void {
    const record = this.records.get(key);
    if (record !== undefined) this.records.set(key, { ...record, signature });
  }

  drop(key: string): void {
    for (const index of this.records.get(key)?.chunks.keys() ?? []) {
      this.words.remove(idOf(key, index));
      this.vectors.delete(idOf(key, index));
    }
    this.records.delete(key);
  }

  partOf(key: string, index: number): { readonly text: string; readonly vector: Float32Array | undefined } {
    return { text: this.words.text(idOf(key, index)), vector: this.vectors.get(idOf(key, index)) };
  }

  /** Returns the chunks that match the filters, best first; those without any similarity last, with a score of 0. */
  async search(query: SearchQuery, vector: Float32Array | undefined): Promise<readonly PlacedChunk[]> {
    const limit = Math.max(0, query.limit ?? LIMIT);
    const ranked = await (vector === undefined ? this.rankedByWords(query, limit) : this.rankedByBoth(query, vector));
    return ranked.slice(0, limit).flatMap(([id, score]) => this.chunk(id, score));
  }

  /** Returns true if all matching chunks are in the answer: their order doesn't matter, and the model is not needed. */
  givesAll({ limit = LIMIT, ...filters }: SearchQuery): boolean {
    return limit >= ORDER_MATTERS && this.ids(filters).length <= limit;
  }

  save(): KeptIndex {
    return {
      files: [...this.records].map(([key, record]) => [key, this.whole(key, record)]),
      orama: this.words.save(),
    };
  }

  private whole(key: string, record: FileRecord): KeptIndex["files"][number][1] {
    const vectors = [...record.chunks.keys()].flatMap((index) => this.vectors.get(idOf(key, index)) ?? []);
    return vectors.length === 0 ? record : { ...record, vectors: encodeVectors(vectors) };
  }

  /** Combines the scores by words, relative to the best one, and by vector. Equal scores keep their order. */
  private async rankedByBoth(query: SearchQuery, vector: Float32Array): Promise<(readonly [string, number])[]> {
    const ids = this.ids(query);
    const words = new Map(await this.words.search(query.query, query, ids.length));
    const best = Math.max(Number.MIN_VALUE, ...words.values());
    return ids
      .map((id) => {
        const relative = (words.get(id) ?? 0) / best;
        return [id, WORDS * relative + (1 - WORDS) * likeness(this.vectors.get(id), vector)] as const;
      })
      .sort(([, one], [, other]) => other - one);
  }

  /** Ranks by words. Chunks without any word of the query come last. */
  private async rankedByWords(query: SearchQuery, limit: number): Promise<(readonly [string, number])[]> {
    const ranked = await this.words.search(query.query, query, limit);
    if (ranked.length >= limit) return [...ranked];
    const found = new Set(ranked.map(([id]) => id));
    return [...ranked, ...this.ids(query).flatMap((id) => (found.has(id) ? [] : [[id, 0] as const]))];
  }

  /** Returns the ids of all chunks that match the filters, by file and line. */
  private ids(filters: Filters): string[] {
    return [...this.records.keys()]
      .sort()
      .flatMap((key) =>
        [...(this.records.get(key)?.chunks.entries() ?? [])]
          .filter(([, chunk]) => matchesFilters(chunk, filters))
          .map(([index]) => idOf(key, index)),
      );
  }

  private chunk(id: string, score: number): PlacedChunk[] {
    const cut = id.lastIndexOf("#");
    const record = this.records.get(id.slice(0, cut));
    const index = Number(id.slice(cut + 1));
    const chunk: ChunkRecord | undefined = record?.chunks[index];
    if (record === undefined || chunk === undefined) return [];
    const text = this.words.text(id);
    const part = { number: index + 1, of: record.chunks.length };
    return [{ ...chunk, text, file: record.path, tokens: Math.ceil(text.length / 4), score, part }];
  }
}

function idOf(key: string, index: number): string {
  return `${key}#${index}`;
}

/** The weight of words in a combined score; the rest is the weight of vectors. */
const WORDS = 0.5;

/** Returns the similarity of two unit vectors, from 0 to 1; 0 if one is missing. */
function likeness(one: Float32Array | undefined, other: Float32Array): number {
  return Math.max(0, one?.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0) ?? 0);
}

/** Returns the unit vector; a vector of zeros stays the same. */
function normalized(vector: readonly number[]): Float32Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(vector, (value) => (length === 0 ? 0 : value / length));
}

/** Encodes vectors of one length as base64. */
function encodeVectors(vectors: readonly Float32Array[]): string {
  return Buffer.concat(
    vectors.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength)),
  ).toString("base64");
}

function decodeVectors(text: string, count: number): readonly Float32Array[] {
  const bytes = Uint8Array.from(Buffer.from(text, "base64"));
  const all = new Float32Array(bytes.buffer, 0, Math.floor(bytes.byteLength / Float32Array.BYTES_PER_ELEMENT));
  const size = count === 0 ? 0 : Math.floor(all.length / count);
  return Array.from({ length: count }, (_, index) => all.slice(index * size, (index + 1) * size));
}

/** Computes vectors of texts with a model of the host: one for each text, in order, all of the same length. */
export type Embed = (texts: readonly string[]) => Promise<readonly (readonly number[])[]>;

/** The most texts in one call of `embed`. */
const BATCH = 64;

/** Returns unit vectors of `size` dimensions, if given. Throws `INTERNAL` if `embed` fails or returns anything else. */
export async function embedTexts(
  embed: Embed,
  texts: readonly string[],
  size?: number,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let from = 0; from < texts.length; from += BATCH) {
    const batch = texts.slice(from, from + BATCH);
    const given: unknown = await (async () => embed(batch))().catch((error: unknown) => {
      throw failed("it threw an error", error);
    });
    if (!Array.isArray(given) || !given.every(isVector)) throw failed("it returned something else than vectors");
    if (given.length !== batch.length) throw failed(`it returned ${given.length} vectors for ${batch.length} texts`);
    vectors.push(...given.map(normalized));
  }
  const wanted = size ?? vectors[0]?.length;
  const other = vectors.find((vector) => vector.length !== wanted || vector.length === 0);
  if (other !== undefined) throw failed(`it returned a vector of ${other.length} numbers, but others have ${wanted}`);
  if (vectors.some((vector) => !vector.every(Number.isFinite))) throw failed("it returned a number that is not finite");
  return vectors;
}

/** Typed arrays are vectors too: many models return them. */
function isVector(value: unknown): value is readonly number[] {
  if (Array.isArray(value)) return value.every((number) => typeof number === "number");
  return value instanceof Float32Array || value instanceof Float64Array;
}

function failed(reason: string, cause?: unknown) {
  return new PhasegateError("INTERNAL", `the host's function embed failed: ${reason}`, {
    remedy:
      "Correct embed: it must return one vector for each text, all of the same length. Change `model` with the model.",
    details: { cause: "embed" },
    cause,
  });
}
