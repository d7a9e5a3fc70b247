import { contentOf, contentUnavailable } from "../content/answers.js";
import { isPhasegateError } from "../errors.js";
import type {
  Content,
  ContentPart,
  ContentProvider,
  PhasePart,
  TemplatePart,
  WorkflowListing,
} from "../ports/content-provider.js";
import type { Chunk, Retriever, SearchQuery } from "../ports/retriever.js";
import type { WorkflowDefinition, WorkflowStructure } from "../workflow/structure.js";
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

/** A text put together from pieces. */
interface AssembledText {
  readonly text: string;
  /** The files of the pieces, each once, in order. */
  readonly files: readonly string[];
}

/**
 * Puts pieces into the order of their files and lines, and together: whole lines as they are, others each
 * on lines of their own. The same lines are taken once.
 */
function assembleText(chunks: readonly Chunk[]): AssembledText {
  const ordered = [...chunks].sort(
    (one, other) => compare(one.file, other.file) || one.lines[0] - other.lines[0] || one.lines[1] - other.lines[1],
  );
  const pieces = ordered.filter((chunk, index) => !isSamePlace(chunk, ordered[index - 1]));
  const text = pieces.reduce((before, piece) => joined(before, piece.text), "");
  return { text, files: [...new Set(pieces.map(({ file }) => file))] };
}

function joined(before: string, text: string): string {
  return before === "" || /[\r\n]$/.test(before) ? before + text : `${before}\n\n${text}`;
}

function isSamePlace(one: Chunk, other: Chunk | undefined): boolean {
  return other?.file === one.file && other.lines[0] === one.lines[0] && other.lines[1] === one.lines[1];
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Where a text of a workflow is found. */
interface ContentPlace {
  /** What to search for: the filters are exact, the words only order. */
  readonly query: SearchQuery;
  /** Whether a piece is part of the text. */
  readonly holds: (chunk: Chunk) => boolean;
  /** The revision of the text when the definition was read. */
  readonly revision?: string;
}

/** Where a text of a workflow is found; undefined if the definition has no such part. */
function contentPlace(structure: WorkflowStructure, part: ContentPart): ContentPlace | undefined {
  return "template" in part ? templatePlace(structure, part) : phasePlace(structure, part);
}

/** A template belongs to no phase: only its file tells it from the other pieces of its workflow. */
function templatePlace({ type, dynamic }: WorkflowStructure, { template }: TemplatePart): ContentPlace | undefined {
  if (dynamic === undefined) return undefined;
  const revision = dynamic.templateRevisions?.[template];
  return {
    query: { query: `template of a ${template}`, workflow: type },
    holds: (chunk) => chunk.workflow === type && chunk.file === `${type}/${dynamic.templates[template]}`,
    ...(revision === undefined ? {} : { revision }),
  };
}

function phasePlace(structure: WorkflowStructure, { phase, task }: PhasePart): ContentPlace | undefined {
  const owner = structure.phases.find(({ number }) => number === phase);
  const part = task === undefined ? owner : owner?.tasks.find(({ number }) => number === task);
  if (part === undefined) return undefined;
  const { type } = structure;
  const file = part.file === undefined ? undefined : `${type}/${part.file}`;
  const heading = task === undefined ? `Phase ${phase}` : `Phase ${phase} Task ${task}`;
  return {
    query: {
      query: [`${heading}: ${part.name}`, part.purpose ?? ""].join(" ").trim(),
      workflow: type,
      phase,
      ...(task === undefined ? {} : { task }),
    },
    // Asked again here: whatever retriever it is, a phase that lies ahead must not come through.
    holds: (chunk) =>
      chunk.workflow === type &&
      chunk.phase === phase &&
      chunk.task === task &&
      (file === undefined || chunk.file === file),
    ...(part.textRevision === undefined ? {} : { revision: part.textRevision }),
  };
}
