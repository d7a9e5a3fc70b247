/** OramaRetriever: searches Markdown files in its own index, which follows the files and is saved between runs. */
import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { errnoOf } from "../errors.js";
import type { PlacedChunk, Retriever, SearchQuery } from "../ports/retriever.js";
import { ChunkIndex, type Embed, embedTexts } from "./chunk-index.js";
import { type FoundIndex, INDEX_FILE, readIndexFile, writeIndexFile } from "./index-file.js";
import { findSourceFiles } from "./source-files.js";
import { type SearchProblem, type SyncReport, syncIndex } from "./sync.js";
import { loadOrama } from "./text-index.js";

/** The options of {@link OramaRetriever}. */
export interface OramaRetrieverOptions {
  /**
   * Trusted folders. All Markdown files below them are searched. A folder with a metadata.json or a folder `phases` is
   * a workflow, at any depth; its type is its path below the root, so directly below a root the same as for
   * `FileContent`.
   */
  readonly roots: readonly string[];
  /** A folder of its own in which the index is saved between runs. Default: the index is only in memory. */
  readonly folder?: string;
  /** Computes vectors of texts, so that chunks are also found by meaning. Default: chunks are found by words only. */
  readonly embed?: Embed;
  /** The name of the model behind `embed`. If it changes, all vectors are computed again. Default: the empty text. */
  readonly model?: string;
  /** A section with its subsections up to this size is one chunk, in tokens (characters / 4). Default 400. */
  readonly maxTokens?: number;
  /** The shortest time between two checks of the files by searches, in milliseconds. Default 1,000. */
  readonly freshFor?: number;
  /**
   * Called for files that cannot be read, and for an index that cannot be used or saved. The search continues without
   * them. Default: they are ignored.
   */
  readonly onProblem?: (problem: SearchProblem) => void;
}

/**
 * Searches chunks of Markdown files in its own index (Orama, an optional peer dependency): by words, and by vectors if
 * the host computes them. A search first checks which files were added, edited or deleted; unchanged files are neither
 * split nor embedded again.
 */
export class OramaRetriever implements Retriever {
  readonly #options: OramaRetrieverOptions;
  readonly #settings: string;
  #index: ChunkIndex | undefined;
  #sync: Promise<SyncReport> | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** Does not read anything yet. */
  constructor(options: OramaRetrieverOptions) {
    this.#options = options;
    this.#settings = settingsOf(options);
  }

  /**
   * Returns the chunks that match the filters, best first. Chunks that match no word of the query come last, with a
   * score of 0.
   *
   * @throws {PhasegateError} `INTERNAL` when `embed` fails, or `@orama/orama` is not installed.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `INVALID_INPUT` when a root has more than 50,000 files and folders.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root.
   */
  async search(query: SearchQuery): Promise<readonly PlacedChunk[]> {
    const { embed, freshFor = 1_000 } = this.#options;
    if (this.#sync !== undefined) await this.#sync;
    else if (performance.now() - this.#checkedAt >= freshFor) await this.refresh();
    const index = await this.#opened();
    const plain = embed === undefined || query.query.trim() === "" || index.givesAll(query);
    const [vector] = plain ? [] : await embedTexts(embed, [query.query]);
    return index.search(query, vector);
  }

  /**
   * Checks the files now and updates the index.
   *
   * @throws {PhasegateError} `INTERNAL` when `embed` fails, or `@orama/orama` is not installed.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `INVALID_INPUT` when a root has more than 50,000 files and folders.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root.
   */
  async refresh(): Promise<SyncReport> {
    // A running check may have started before the last change. Its error goes to the caller that started it.
    while (this.#sync !== undefined) await this.#sync.catch(() => undefined);
    this.#sync = this.#synchronized().finally(() => {
      this.#sync = undefined;
    });
    return this.#sync;
  }

  async #synchronized(): Promise<SyncReport> {
    const { folder, embed, maxTokens = 400 } = this.#options;
    const checkedAt = performance.now();
    const index = await this.#opened();
    const files = await findSourceFiles(this.#options.roots);
    const { dirty, ...report } = await syncIndex(index, files, maxTokens, embed);
    for (const problem of report.problems) this.#options.onProblem?.(problem);
    this.#checkedAt = checkedAt;
    if (folder === undefined || !dirty) return report;
    const unsaved = await this.#save(folder, index);
    return { ...report, problems: [...report.problems, ...unsaved] };
  }

  async #opened(): Promise<ChunkIndex> {
    if (this.#index !== undefined) return this.#index;
    const { folder } = this.#options;
    const orama = await loadOrama();
    const found: FoundIndex = folder === undefined ? {} : await readIndexFile(folder, this.#settings);
    if (found.reason !== undefined)
      this.#options.onProblem?.({ file: INDEX_FILE, message: `built again: ${found.reason}` });
    try {
      this.#index ??= new ChunkIndex(orama, found.kept);
    } catch (error) {
      if (found.kept === undefined) throw error;
      this.#options.onProblem?.({ file: INDEX_FILE, message: "built again: Orama can't load it" });
      this.#index ??= new ChunkIndex(orama);
    }
    return this.#index;
  }

  /** Saves the index. If that fails, the next process builds it again. */
  async #save(folder: string, index: ChunkIndex): Promise<readonly SearchProblem[]> {
    try {
      await writeIndexFile(folder, this.#settings, index.save());
      return [];
    } catch (error) {
      const problem = { file: INDEX_FILE, message: `not saved (${errnoOf(error) ?? String(error)})` };
      this.#options.onProblem?.(problem);
      return [problem];
    }
  }
}

/** Returns a digest of all settings that change the index. */
function settingsOf({ roots, embed, model = "", maxTokens = 400 }: OramaRetrieverOptions): string {
  const settings = [roots.map((root) => resolve(root)), embed === undefined ? null : model, maxTokens];
  return createHash("sha256").update(JSON.stringify(settings)).digest("base64url");
}
