import type { WorkflowStructure } from "../../definition/structure.js";
import type { WorkflowDefinition } from "../../definition/workflow-definition.js";
import { isPhasegateError } from "../../errors.js";
import type { Content, ContentPart, ContentProvider, WorkflowListing } from "../../ports/content-provider.js";
import type { Chunk, Retriever } from "../../ports/retriever.js";
import { contentOf, contentUnavailable } from "../content-answers.js";
import { assembleText } from "./assemble-text.js";
import { type ContentPlace, contentPlace } from "./content-places.js";

/** A retriever that can be told to look at its sources at once. */
export interface RefreshableRetriever extends Retriever {
  /** Looks; searches that begin afterwards find what there is now. */
  refresh?(): Promise<unknown>;
}

/** What a {@link RagContent} is made of. */
export interface RagContentOptions {
  /** Where definitions and gates come from: `FileContent` on the same folders, as a rule. */
  readonly definitions: Pick<ContentProvider, "list" | "definition">;
  /** Where texts come from. Its chunks must say their workflow, phase and task. */
  readonly retriever: RefreshableRetriever;
}

/** The most pieces that a text is put together from. */
const PIECES_MAX = 10_000;

/**
 * Workflows whose texts come through search: a text is all pieces that exact filters leave for a phase or a
 * task, in their order. Definitions, and so gates and revisions, are those of another provider, unchanged.
 */
export class RagContent implements ContentProvider {
  readonly #definitions: RagContentOptions["definitions"];
  readonly #retriever: RefreshableRetriever;
  readonly #sound = new Map<string, WorkflowStructure>();

  constructor({ definitions, retriever }: RagContentOptions) {
    this.#definitions = definitions;
    this.#retriever = retriever;
  }

  list(): Promise<readonly WorkflowListing[]> {
    return this.#definitions.list();
  }

  definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    return this.#definitions.definition(type, revision);
  }

  async text(type: string, part: ContentPart): Promise<Content> {
    const structure = await this.#structure(type, part);
    const place = contentPlace(structure, part);
    if (place === undefined) throw contentUnavailable(type, part, "the definition has none");
    const first = await this.#find(type, part, place);
    if (first !== undefined && first.revision === (place.revision ?? first.revision)) return first;
    // The index may be a moment behind the definition.
    const content = (await this.#findAgain(type, part, place)) ?? first;
    if (content === undefined) throw contentUnavailable(type, part, "nothing is found for it");
    return content;
  }

  /** The text as the retriever has it after a look at its sources, where it can be told to look. */
  async #findAgain(type: string, part: ContentPart, place: ContentPlace): Promise<Content | undefined> {
    if (this.#retriever.refresh === undefined) return undefined;
    await this.#asked(type, part, async () => this.#retriever.refresh?.());
    return this.#find(type, part, place);
  }

  async #find(type: string, part: ContentPart, { query, holds }: ContentPlace): Promise<Content | undefined> {
    const search = async () => this.#retriever.search({ ...query, limit: PIECES_MAX });
    const found: readonly Chunk[] = await this.#asked(type, part, search);
    const chunks = found.filter(holds);
    if (chunks.length === 0) return undefined;
    if (found.length >= PIECES_MAX) throw contentUnavailable(type, part, `it is in more than ${PIECES_MAX} pieces`);
    const { text, files } = assembleText(chunks);
    const below = (file: string) => (file.startsWith(`${type}/`) ? file.slice(type.length + 1) : file);
    return { ...contentOf(text, ""), sources: files.map(below) };
  }

  async #asked<T>(type: string, part: ContentPart, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw contentUnavailable(type, part, "the search has failed", { cause: error });
    }
  }

  /** The newest definition; the last one without an error where it has one now, so that an edit gone wrong strands no session. */
  async #structure(type: string, part: ContentPart): Promise<WorkflowStructure> {
    try {
      const definition = await this.#definitions.definition(type);
      if (definition === undefined) throw contentUnavailable(type, part, "there is no such workflow any more");
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
