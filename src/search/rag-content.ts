/**
 * RagContent: serves the texts of workflows from any retriever. The entry file of this folder; what is decided where:
 * - rag-content.ts: which chunks are the text of a phase, and that no text of another phase gets through
 * - retriever.ts: OramaRetriever: when files are checked, and when the index is saved
 * - source-files.ts: which files are searched, and which phase and task each belongs to
 * - sync.ts: only changed files are read, split and embedded again; where Markdown is split; tags of sections
 * - chunk-index.ts: ranking by words and vectors; filters are exact
 * - text-index.ts: words, stems and weights of fields
 * - index-file.ts: a saved index is used only if its format, settings and digest match
 */
import { contentOf, contentUnavailable } from "../content/answers.js";
import { isPhasegateError } from "../errors.js";
import type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  WorkflowDocument,
  WorkflowListing,
} from "../ports/content-provider.js";
import type { Chunk, ChunkPart, PlacedChunk, Retriever, SearchQuery } from "../ports/retriever.js";
import { shown } from "../workflow/names.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";

/** A retriever of whole texts, which may be able to check its sources on request. */
export interface RefreshableRetriever extends Retriever {
  /** Returns the chunks that match the filters. Each says which part of its file it is, and how many there are. */
  search(query: SearchQuery): Promise<readonly PlacedChunk[]>;
  /** Checks the sources. Later searches find what exists now. */
  refresh?(): Promise<unknown>;
}

/** The options of {@link RagContent}. */
export interface RagContentOptions {
  /** The source of definitions and gates: usually a `FileContent` on the same folders. */
  readonly definitions: Pick<ContentProvider, "list" | "definition" | "documents"> &
    Partial<Pick<ContentProvider, "text" | "within">>;
  /** The source of texts. Its chunks must have their workflow, phase and task. */
  readonly retriever: RefreshableRetriever;
}

const PIECES_MAX = 10_000;

/**
 * Workflows whose texts come from a search: a text consists of all chunks of a phase or task, selected by exact
 * filters, in their order. Definitions, and so gates and revisions, come unchanged from another provider. So do the texts of a
 * workflow that extends another one, since they are in two folders.
 */
export class RagContent implements ContentProvider {
  readonly #definitions: RagContentOptions["definitions"];
  readonly #retriever: RefreshableRetriever;
  readonly #sound = new Map<string, WorkflowStructure>();

  /** Does not search anything yet. */
  constructor({ definitions, retriever }: RagContentOptions) {
    this.#definitions = definitions;
    this.#retriever = retriever;
  }

  /** Returns the same workflows, with other ones that they may extend. */
  within(bases: BaseWorkflows): RagContent {
    const definitions = this.#definitions.within?.(bases);
    return definitions === undefined ? this : new RagContent({ definitions, retriever: this.#retriever });
  }

  /** Lists the workflows as the provider of definitions does. Rejects with what that provider throws. */
  list(): Promise<readonly WorkflowListing[]> {
    return this.#definitions.list();
  }

  /** Returns a definition as the provider of definitions does. Rejects with what that provider throws. */
  definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    return this.#definitions.definition(type, revision);
  }

  /**
   * Returns the text of a phase, a task or a template.
   *
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` when there is no such workflow, phase or task, not all chunks of its file
   * are found, or the retriever fails.
   * @throws {PhasegateError} `TEMPLATE` when the same is true of a template.
   */
  async text(type: string, part: ContentPart, revision?: string): Promise<Content> {
    const structure = await this.#structure(type, part);
    if (structure.extends !== undefined && this.#definitions.text) return this.#definitions.text(type, part, revision);
    const place = contentPlace(structure, part);
    if (place === undefined) throw contentUnavailable(type, part, "the definition has none");
    const first = await this.#find(type, part, place);
    if ("text" in first && first.revision === (place.revision ?? first.revision)) return first;
    // The index may be older than the definition.
    await this.#asked(type, part, async () => this.#retriever.refresh?.());
    const found = this.#retriever.refresh === undefined ? first : await this.#find(type, part, place);
    if ("text" in found) return found;
    throw contentUnavailable(type, part, found.reason, { file: found.file });
  }

  /** Returns the documents as the provider of definitions does; none if it has none. Rejects with what it throws. */
  async documents(type: string): Promise<readonly WorkflowDocument[]> {
    return (await this.#definitions.documents?.(type)) ?? [];
  }

  async #find(type: string, part: ContentPart, { query, holds }: ContentPlace): Promise<Content | Gap> {
    const search = async () => this.#retriever.search({ ...query, limit: PIECES_MAX });
    const found: readonly Chunk[] = await this.#asked(type, part, search);
    const chunks = found.filter(holds);
    if (chunks.length === 0) return { reason: "the search found no chunk of it" };
    if (found.length >= PIECES_MAX) throw contentUnavailable(type, part, `it has more than ${PIECES_MAX} chunks`);
    const gap = gapIn(chunks);
    if (gap !== undefined) return gap;
    const pieces = inOrder(chunks);
    const text = pieces.reduce((before, piece) => joined(before, piece.text), "");
    const below = ({ file }: Chunk) => (file.startsWith(`${type}/`) ? file.slice(type.length + 1) : file);
    return { ...contentOf(text, ""), sources: [...new Set(pieces.map(below))] };
  }

  async #asked<T>(type: string, part: ContentPart, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw contentUnavailable(type, part, "the search failed", { cause: error });
    }
  }

  /** Returns the newest definition. If it has errors, the last one without, so that running sessions continue. */
  async #structure(type: string, part: ContentPart): Promise<WorkflowStructure> {
    try {
      const definition = await this.#definitions.definition(type);
      if (definition === undefined) throw contentUnavailable(type, part, "the workflow no longer exists");
      this.#sound.set(type, definition.structure);
      return definition.structure;
    } catch (error) {
      const sound = this.#sound.get(type);
      if (!isPhasegateError(error, "DEFINITION_INVALID")) throw error;
      if (sound === undefined) throw contentUnavailable(type, part, error.message, { cause: error });
      return sound;
    }
  }
}

/** Why a text is not whole, and the file of which something is missing. */
interface Gap {
  readonly reason: string;
  readonly file?: string;
}

/** Returns what is missing in the chunks of a text; undefined if they are all of their files. */
function gapIn(chunks: readonly Chunk[]): Gap | undefined {
  const files = new Map<string, (ChunkPart | undefined)[]>();
  for (const { file, part } of chunks) files.set(file, [...(files.get(file) ?? []), part]);
  for (const [file, parts] of files) {
    const placed = parts.filter((part) => part !== undefined);
    if (placed.length < parts.length) {
      return { file, reason: `chunks of ${shown(file)} don't say which part of it they are (part: {number, of})` };
    }
    const wholes = new Set(placed.map(({ of }) => of));
    const [of = 0] = wholes;
    if (wholes.size > 1) return { file, reason: `the chunks of ${shown(file)} are of several versions of it` };
    const numbers = [...new Set(placed.map(({ number }) => number))];
    const given = numbers.filter((number) => Number.isInteger(number) && number >= 1 && number <= of).length;
    if (of === 0 || given !== of)
      return { file, reason: `the search gave ${given} of the ${of} chunks of ${shown(file)}` };
  }
  return undefined;
}

/** Returns chunks in the order of their files and lines; the same lines once. */
function inOrder(chunks: readonly Chunk[]): readonly Chunk[] {
  const ordered = [...chunks].sort(
    (one, other) => compare(one.file, other.file) || one.lines[0] - other.lines[0] || one.lines[1] - other.lines[1],
  );
  return ordered.filter((chunk, index) => !isSamePlace(chunk, ordered[index - 1]));
}

/** Joins chunks that end with a line ending directly, others with an empty line between. */
function joined(before: string, text: string): string {
  return before === "" || /[\r\n]$/.test(before) ? before + text : `${before}\n\n${text}`;
}

function isSamePlace(one: Chunk, other: Chunk | undefined): boolean {
  return other?.file === one.file && other.lines[0] === one.lines[0] && other.lines[1] === one.lines[1];
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Returns how a text is found; undefined if the definition has no such part. The words of the query only rank. */
function contentPlace({ type, dynamic, phases }: WorkflowStructure, part: ContentPart): ContentPlace | undefined {
  if ("template" in part) {
    const { template } = part;
    // A template belongs to no phase: only its file distinguishes it from the other chunks of the workflow.
    return (
      dynamic && {
        query: { query: `template of a ${template}`, workflow: type },
        holds: (chunk) => chunk.workflow === type && chunk.file === `${type}/${dynamic.templates[template]}`,
        revision: dynamic.templateRevisions?.[template],
      }
    );
  }
  const { phase, task } = part;
  const owner = phases.find(({ number }) => number === phase);
  const found = task === undefined ? owner : owner?.tasks.find(({ number }) => number === task);
  if (found === undefined) return undefined;
  const { name, purpose = "", file, textRevision: revision } = found;
  const heading = task === undefined ? `Phase ${phase}` : `Phase ${phase} Task ${task}`;
  return {
    query: { query: `${heading}: ${name} ${purpose}`.trim(), workflow: type, phase, task },
    // Checked again here: no retriever may reveal a later phase.
    holds: (chunk) =>
      chunk.workflow === type &&
      chunk.phase === phase &&
      chunk.task === task &&
      (file === undefined || chunk.file === `${type}/${file}`),
    revision,
  };
}

interface ContentPlace {
  readonly query: SearchQuery;
  /** Returns true if a chunk is part of the text. */
  readonly holds: (chunk: Chunk) => boolean;
  /** The revision of the text when the definition was read. */
  readonly revision?: string;
}
