/**
 * A text index over Orama: which fields are indexed, how texts become words, and how chunks are ranked and filtered.
 */

import { type OptionalPackage, unusablePackage } from "../ports/optional-package.js";
import type { SearchQuery } from "../ports/retriever.js";
import type { KeptIndex } from "./index-file.js";
import type { FilePlace } from "./source-files.js";

/** The indexed fields of a chunk. Filters use those of type `enum`, which are compared exactly and not as words. */
const SCHEMA = {
  text: "string",
  headings: "string",
  about: "string",
  workflow: "enum",
  phase: "enum",
  task: "enum",
  tags: "enum[]",
} as const;

interface IndexedChunk extends FilePlace {
  readonly id: string;
  readonly text: string;
  /** The headings above and in it. */
  readonly headings: string;
  /** The name of its file, and its name and purpose in the definition. */
  readonly about: string;
}

/** Each word counts once, so the length (`b`) weighs little: else a short `Phase 10` would beat a longer `Phase 1`. */
const RELEVANCE = { k: 1.2, b: 0.3, d: 0.5 };
/** Headings describe a chunk better than its text. */
const BOOST = { headings: 2, about: 2, text: 1 };

/** Ranks chunks by the words of a query (BM25), with exact filters. */
export class TextIndex {
  private readonly orama: OramaModule;
  private readonly db: ReturnType<typeof createDatabase>;

  constructor(orama: OramaModule) {
    this.orama = orama;
    this.db = createDatabase(orama);
  }

  add({ tags, ...chunk }: IndexedChunk): void {
    this.orama.insert(this.db, { ...chunk, tags: [...tags] });
  }

  remove(id: string): void {
    this.orama.remove(this.db, id);
  }

  /** Returns the text of a chunk; empty if it is not in the index. */
  text(id: string): string {
    return this.orama.getByID(this.db, id)?.text ?? "";
  }

  /** Returns ids and scores of chunks that match the filters and contain a word of the query, best first. */
  async search(
    query: string,
    filters: Filters,
    limit: number,
  ): Promise<readonly (readonly [id: string, score: number])[]> {
    const most = Math.min(limit, this.orama.count(this.db));
    if (most === 0 || query.trim() === "") return [];
    const { hits } = await this.orama.search(this.db, {
      term: query,
      where: whereOf(filters),
      limit: most,
      boost: BOOST,
      relevance: RELEVANCE,
    });
    return hits.map(({ id, score }) => [id, score]);
  }

  save(): KeptIndex["orama"] {
    return this.orama.save(this.db);
  }

  load(saved: KeptIndex["orama"]): void {
    this.orama.load(this.db, saved);
  }
}

function createDatabase(orama: OramaModule) {
  const { stemmer } = orama.components.tokenizer.createTokenizer({ language: "english", stemming: true });
  const tokenize = createWords(stemmer ?? ((word) => word));
  return orama.create({
    schema: SCHEMA,
    // Nothing is sorted by a field.
    sort: { enabled: false },
    components: { tokenizer: { language: "english", normalizationCache: new Map(), tokenize } },
  });
}

/** Returns the filters for Orama. An empty list of tags is left out, since it would match nothing. */
function whereOf({ workflow, phase, task, tags = [] }: Filters) {
  return {
    ...(workflow === undefined ? {} : { workflow: { eq: workflow } }),
    ...(phase === undefined ? {} : { phase: { eq: phase } }),
    ...(task === undefined ? {} : { task: { eq: task } }),
    ...(tags.length === 0 ? {} : { tags: { containsAll: [...tags] } }),
  };
}

/** Scripts without spaces: each character is a word. */
const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
/** Built from a string: compilers accept the flag `v` only for newer targets. */
const WORD = new RegExp(`[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`, "gv");
/** The end of each word. Words are looked up by prefix: without it, `1` finds `10`, and ranks it higher. */
const END = " ";

/** Returns the words in any script, each once, as stems. `snake_case` and `kebab-case` are several words. */
export function createWords(stem: (word: string) => string): (text: string) => string[] {
  return (text) => {
    const words = text.normalize("NFKC").toLowerCase().match(WORD) ?? [];
    return [...new Set([...new Set(words)].map((word) => `${stem(word)}${END}`))];
  };
}

export type OramaModule = typeof import("@orama/orama");

const ORAMA: OptionalPackage = { name: "@orama/orama", versions: "3 or later", users: "search indexes" };

/** Loads Orama, an optional package. Throws `INTERNAL` if it can't be used. */
export async function loadOrama(): Promise<OramaModule> {
  try {
    return await import("@orama/orama");
  } catch (error) {
    throw unusablePackage(ORAMA, error);
  }
}

export type Filters = Pick<SearchQuery, "workflow" | "phase" | "task" | "tags">;

export function matchesFilters(
  chunk: Omit<Filters, "tags"> & Pick<IndexedChunk, "tags">,
  { workflow, phase, task, tags = [] }: Filters,
): boolean {
  return (
    (workflow === undefined || chunk.workflow === workflow) &&
    (phase === undefined || chunk.phase === phase) &&
    (task === undefined || chunk.task === task) &&
    tags.every((tag) => chunk.tags.includes(tag))
  );
}
