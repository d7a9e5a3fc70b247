/** What to look for. Filters are exact; the ranking only orders what they leave. */
export interface SearchQuery {
  readonly query: string;
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  /** All of them must be there. */
  readonly tags?: readonly string[];
  /** At most so many chunks. Default 5. */
  readonly limit?: number;
}

/** A piece of a text, and where it stands. */
export interface Chunk {
  readonly text: string;
  /** Relative to the root of the workflows, with `/`. */
  readonly file: string;
  /** The headings above it, from the outermost. */
  readonly headings: readonly string[];
  /** First and last line, from 1. */
  readonly lines: readonly [first: number, last: number];
  /** About how many tokens it is: characters / 4. */
  readonly tokens: number;
  readonly score: number;
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

/** Finds pieces of text. */
export interface Retriever {
  /** Chunks that the filters leave, the best first. */
  search(query: SearchQuery): Promise<readonly Chunk[]>;
}
