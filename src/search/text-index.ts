import { PhasegateError } from "../errors.js";
import type { SearchQuery } from "../ports/retriever.js";
import type { KeptIndex } from "./index-file.js";

/** What is indexed of a chunk. Of type `enum` is what is filtered by: those are compared as they are, never as words. */
const SCHEMA = {
  text: "string",
  headings: "string",
  about: "string",
  workflow: "enum",
  phase: "enum",
  task: "enum",
  tags: "enum[]",
} as const;

/** A chunk as it is put into the index. */
interface IndexedChunk {
  readonly id: string;
  readonly text: string;
  /** The headings above and in it. */
  readonly headings: string;
  /** What its file is: its name, and what the definition says of it. */
  readonly about: string;
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

/** Words are counted once in a text, so that its length (`b`) says little: by default `Phase 10` alone beats a longer `Phase 1`. */
const RELEVANCE = { k: 1.2, b: 0.3, d: 0.5 };
/** What stands in headings says more of a chunk than what stands in its text. */
const BOOST = { headings: 2, about: 2, text: 1 };

/** Ranks chunks by the words of a query (BM25) with exact filters: a thin cover over Orama. */
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

  /** The text of a chunk that is in it. */
  text(id: string): string {
    return this.orama.getByID(this.db, id)?.text ?? "";
  }

  /** Ids and scores of chunks that the filters leave and that have a word of the query, the best first. */
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
    components: {
      tokenizer: { language: "english", normalizationCache: new Map(), tokenize },
      index: countingOnce(orama.components.index.createIndex()),
    },
  });
}

type Index = ReturnType<OramaModule["components"]["index"]["createIndex"]>;

/** Orama counts how often each word stands among the words of a text, which takes a third of the time: here each is there once. */
function countingOnce(index: Index): Index {
  return {
    ...index,
    insertTokenScoreParameters({ frequencies, tokenOccurrences }, prop, id, words, word) {
      const [ofText, ofAll] = [frequencies[prop]?.[Number(id)], tokenOccurrences[prop]];
      if (ofText !== undefined) ofText[word] = 1 / words.length;
      if (ofAll !== undefined) ofAll[word] = (ofAll[word] ?? 0) + 1;
    },
  };
}

/** An empty list of tags would leave nothing. */
function whereOf({ workflow, phase, task, tags = [] }: Filters) {
  return {
    ...(workflow === undefined ? {} : { workflow: { eq: workflow } }),
    ...(phase === undefined ? {} : { phase: { eq: phase } }),
    ...(task === undefined ? {} : { task: { eq: task } }),
    ...(tags.length === 0 ? {} : { tags: { containsAll: [...tags] } }),
  };
}

/** Scripts that are written without spaces: each character is a word. */
const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
/** Built from a string, since compilers know the flag only for newer targets. */
const WORD = new RegExp(`[${UNSPACED}]|[[\\p{L}\\p{M}\\p{N}]--[${UNSPACED}]]+`, "gv");
/**
 * Behind each word: the index looks words up by their beginning, and this makes the end part of it. Else
 * `1` would find `10` and `15`, and find them to be rarer, so better.
 */
const END = " ";
/** How many words' stems are kept. */
const STEMS_MAX = 50_000;

/**
 * Makes the function that gives the words of a text, each once, of any script: in lower case, at their
 * stems. `snake_case` and `kebab-case` are several words.
 */
export function createWords(stem: (word: string) => string): (text: string) => string[] {
  const stems = new Map<string, string>();
  const stemOf = (word: string): string => {
    const known = stems.get(word);
    if (known !== undefined) return known;
    if (stems.size >= STEMS_MAX) stems.clear();
    const made = `${stem(word)}${END}`;
    stems.set(word, made);
    return made;
  };
  return (text) => {
    const words = new Set<string>();
    for (const word of text.normalize("NFKC").toLowerCase().match(WORD) ?? []) words.add(stemOf(word));
    return [...words];
  };
}

/** The module, loaded. */
export type OramaModule = typeof import("@orama/orama");

/** Loads Orama, which hosts with a retriever of their own need not have. Throws `INTERNAL` where it is not installed. */
export async function loadOrama(): Promise<OramaModule> {
  try {
    return await import("@orama/orama");
  } catch (error) {
    throw new PhasegateError("INTERNAL", "the search index needs @orama/orama, which can't be loaded", {
      remedy: "Install it beside phasegate: npm install @orama/orama@3.1.18",
      details: { cause: "@orama/orama" },
      cause: error,
    });
  }
}

/** What of a chunk filters look at. */
interface Filtered {
  readonly workflow?: string;
  readonly phase?: number;
  readonly task?: number;
  readonly tags: readonly string[];
}

/** What a chunk is filtered by. */
export type Filters = Pick<SearchQuery, "workflow" | "phase" | "task" | "tags">;

/** Whether the filters leave a chunk: each one that is given must hold, to the letter. */
export function matchesFilters(chunk: Filtered, { workflow, phase, task, tags = [] }: Filters): boolean {
  return (
    (workflow === undefined || chunk.workflow === workflow) &&
    (phase === undefined || chunk.phase === phase) &&
    (task === undefined || chunk.task === task) &&
    tags.every((tag) => chunk.tags.includes(tag))
  );
}
