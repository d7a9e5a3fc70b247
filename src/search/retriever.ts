import { createHash } from "node:crypto";
import { resolve } from "node:path";
import type { Chunk, Retriever, SearchQuery } from "../ports/retriever.js";
import { codeOf } from "../sandbox/refusals.js";
import { ChunkIndex, type Embed, embedTexts } from "./chunk-index.js";
import { type FoundIndex, INDEX_FILE, readIndexFile, writeIndexFile } from "./index-file.js";
import { SourceFiles } from "./source-files.js";
import { type SearchProblem, type SyncReport, syncIndex } from "./sync.js";
import { loadOrama, type OramaModule } from "./text-index.js";
/** What is searched, and how. */
export interface OramaRetrieverOptions {
  /**
   * Trusted folders: all Markdown below them is found. A folder that has a metadata.json or a folder `phases` is a
   * workflow, at any depth; directly below a root it has its folder's name, as it has for `FileContent`.
   */
  readonly roots: readonly string[];
  /** Where the index is kept between runs, in a folder of its own; in memory only if not given. */
  readonly folder?: string;
  /** Makes vectors of texts. With it chunks are also found by what they mean. */
  readonly embed?: Embed;
  /** Names the model behind `embed`: with another name all vectors are made anew. */
  readonly model?: string;
  /** Up to so many tokens (characters / 4) a section stays whole with those below it. Default 400. */
  readonly maxTokens?: number;
  /** For so many milliseconds after a look at the files a search doesn't look again. Default 1,000. */
  readonly freshFor?: number;
  /** Hears of files that can't be read, and of an index that can't be used or kept. Search goes on without them. */
  readonly onProblem?: (problem: SearchProblem) => void;
}

/**
 * Finds pieces of Markdown files in an index of its own (Orama, an optional peer dependency): by words, and
 * by vectors where the host makes them. Files that are added, edited or deleted are noticed when somebody
 * searches; what hasn't changed is neither cut nor embedded again.
 */
export class OramaRetriever implements Retriever {
  readonly #options: OramaRetrieverOptions;
  readonly #sources: SourceFiles;
  readonly #settings: string;
  #index: ChunkIndex | undefined;
  #sync: Promise<SyncReport> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: OramaRetrieverOptions) {
    this.#options = options;
    this.#sources = new SourceFiles(options.roots);
    this.#settings = settingsOf(options);
  }

  /**
   * Chunks that the filters leave, the best first; those that have nothing of the query come last, with a
   * score of 0. Throws `INTERNAL` if `embed` fails, and what looking at the roots comes to.
   */
  async search(query: SearchQuery): Promise<readonly Chunk[]> {
    const { embed, freshFor = 1_000 } = this.#options;
    if (this.#sync !== undefined) await this.#sync;
    else if (performance.now() - this.#lookedAt >= freshFor) await this.refresh();
    const index = await this.#opened();
    const plain = embed === undefined || query.query.trim() === "" || index.givesAll(query);
    const [vector] = plain ? [] : await embedTexts(embed, [query.query]);
    return index.search(query, vector);
  }

  /** Looks at the files at once, and brings the index up to them. */
  async refresh(): Promise<SyncReport> {
    // One that is under way may have looked already. Whoever began it hears of its failure.
    while (this.#sync !== undefined) await this.#sync.catch(() => undefined);
    this.#sync = this.#synchronized().finally(() => {
      this.#sync = undefined;
    });
    return this.#sync;
  }

  async #synchronized(): Promise<SyncReport> {
    const { folder, embed, maxTokens = 400 } = this.#options;
    const lookedAt = performance.now();
    const index = await this.#opened();
    const files = await this.#sources.look();
    const { dirty, ...report } = await syncIndex(index, files, {
      maxTokens,
      ...(embed === undefined ? {} : { embed }),
    });
    for (const problem of report.problems) this.#options.onProblem?.(problem);
    this.#lookedAt = lookedAt;
    if (folder === undefined || !dirty) return report;
    const unkept = await this.#keep(folder, index);
    return { ...report, problems: [...report.problems, ...unkept] };
  }

  async #opened(): Promise<ChunkIndex> {
    if (this.#index !== undefined) return this.#index;
    const { folder } = this.#options;
    const orama = await loadOrama();
    const found: FoundIndex = folder === undefined ? {} : await readIndexFile(folder, this.#settings);
    if (found.reason !== undefined)
      this.#options.onProblem?.({ file: INDEX_FILE, message: `built anew: ${found.reason}` });
    this.#index ??= this.#indexOf(orama, found);
    return this.#index;
  }

  #indexOf(orama: OramaModule, { kept }: FoundIndex): ChunkIndex {
    try {
      return new ChunkIndex(orama, kept);
    } catch (error) {
      if (kept === undefined) throw error;
      this.#options.onProblem?.({ file: INDEX_FILE, message: "built anew: Orama can't load it" });
      return new ChunkIndex(orama);
    }
  }

  /** Writes the index to its folder. What can't be written is built again by the next process. */
  async #keep(folder: string, index: ChunkIndex): Promise<readonly SearchProblem[]> {
    try {
      await writeIndexFile(folder, this.#settings, index.save());
      return [];
    } catch (error) {
      const problem = { file: INDEX_FILE, message: `not kept (${codeOf(error) ?? String(error)})` };
      this.#options.onProblem?.(problem);
      return [problem];
    }
  }
}

/** A digest of all that makes one index another one. */
function settingsOf({ roots, embed, model = "", maxTokens = 400 }: OramaRetrieverOptions): string {
  const settings = [roots.map((root) => resolve(root)), embed === undefined ? null : model, maxTokens];
  return createHash("sha256").update(JSON.stringify(settings)).digest("base64url");
}
