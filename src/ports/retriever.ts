/** Search in texts of workflows. `search/` has implementations. */

/** A query. Filters are exact; the ranking only orders the chunks that they leave. */
export interface SearchQuery {
  /** The words to search for. */
  readonly query: string;
  /** Only chunks of this workflow type. */
  readonly workflow?: string;
  /** Only chunks of this phase. */
  readonly phase?: number;
  /** Only chunks of this task. */
  readonly task?: number;
  /** Only chunks with all of these tags. */
  readonly tags?: readonly string[];
  /** The maximum number of chunks. Default 5. */
  readonly limit?: number;
}

/** A piece of a text, with its position. */
export interface Chunk {
  /** Markdown. */
  readonly text: string;
  /** The path of its file, relative to the root of the workflows, separated by `/`. */
  readonly file: string;
  /** The headings above it, outermost first. */
  readonly headings: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
  /** The approximate number of tokens: characters / 4. */
  readonly tokens: number;
  /** The rank in this search: higher is better. */
  readonly score: number;
  /** The type of its workflow; missing if the file belongs to none. */
  readonly workflow?: string;
  /** The number of its phase; missing if it belongs to none. */
  readonly phase?: number;
  /** The number of its task; missing if it belongs to none. */
  readonly task?: number;
  /** The tags of its file and its sections. */
  readonly tags: readonly string[];
  /** Its place among the chunks of its file: its number, from 1, and how many there are. `RagContent` needs it. */
  readonly part?: ChunkPart;
}

/** The place of a chunk among those of its file. */
export interface ChunkPart {
  /** Its number, from 1. */
  readonly number: number;
  /** The number of chunks of the whole file. */
  readonly of: number;
}

/** A chunk with its place, which shows if a text that is put together of such chunks is complete. */
export interface PlacedChunk extends Chunk {
  /** Its place among the chunks of its file. */
  readonly part: ChunkPart;
}

/** Searches pieces of text. */
export interface Retriever {
  /** Returns the chunks that match the filters, best first. */
  search(query: SearchQuery): Promise<readonly Chunk[]>;
}
