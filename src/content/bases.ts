/** Finds the workflows that others extend, and gives their texts and documents. Runs without Node. */
import { isPhasegateError } from "../errors.js";
import type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  WorkflowDocument,
} from "../ports/content-provider.js";
import type { Extension } from "../workflow/files/read-extension.js";
import { isPlainPath } from "../workflow/names.js";
import { movedPath } from "../workflow/phase-names.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import type { Workflow, WorkflowPart } from "../workflow/workflow-input.js";
import { contentUnavailable } from "./answers.js";

interface NamedSource {
  readonly content: ContentProvider;
  /** What it is called in messages. */
  readonly name: string;
}

/** The workflows of some sources. Of several with the same type, that of the first source counts. */
export class Bases implements BaseWorkflows {
  readonly trail: readonly string[];
  readonly place: string;
  readonly #sources: readonly NamedSource[];

  constructor(sources: readonly NamedSource[], trail: readonly string[] = []) {
    this.#sources = sources;
    this.trail = trail;
    this.place = sources.map(({ name }) => name).join(" and ");
  }

  async types(): Promise<readonly string[]> {
    // Without bases: a listing with them would look for the missing one again.
    const lists = await Promise.all(this.#sources.map(({ content }) => (content.within?.(NO_BASES) ?? content).list()));
    return [...new Set(lists.flat().map(({ type }) => type))].sort();
  }

  async source(type: string, by: string): Promise<ContentProvider | undefined> {
    for (const content of this.#seenFrom(by)) {
      if (await hasWorkflow(content, type)) return content;
    }
    return undefined;
  }

  async find(type: string, by: string): Promise<Workflow | undefined> {
    for (const content of this.#seenFrom(by)) {
      const definition = await content.definition(type);
      if (definition !== undefined) return workflowIn(content, definition);
    }
    return undefined;
  }

  /** Returns the sources as they are for a base: it may extend another one, but none of the trail. */
  #seenFrom(by: string): ContentProvider[] {
    const bases = new Bases(this.#sources, [...this.trail, by]);
    return this.#sources.map(({ content }) => content.within?.(bases) ?? content);
  }
}

const NO_BASES: BaseWorkflows = {
  trail: [],
  place: "",
  types: async () => [],
  source: async () => undefined,
  find: async () => undefined,
};

/** Returns a provider that shares everything with another one but its bases, also what it has read. */
export function viewWith<T extends ContentProvider>(content: T, bases: BaseWorkflows): T {
  const view: T = Object.create(content, { bases: { value: bases } });
  return view;
}

/** Returns true also for a workflow that is broken. */
export async function hasWorkflow(content: ContentProvider, type: string): Promise<boolean> {
  try {
    return (await content.definition(type)) !== undefined;
  } catch (error) {
    if (isPhasegateError(error, "DEFINITION_INVALID")) return true;
    throw error;
  }
}

/** Returns a workflow of a provider as one in code. Its texts are read on request. */
async function workflowIn(content: ContentProvider, definition: WorkflowDefinition): Promise<Workflow> {
  const { type } = definition.structure;
  const text = async (part: WorkflowPart) => (await content.text(type, part)).text;
  const found = ((await content.documents?.(type)) ?? []).filter(({ path }) => isPlainPath(path));
  const documents = Object.fromEntries(
    found.map((document) => [document.path, async () => (await document.read()).text] as const),
  );
  // Loaded with the first workflow that extends another one.
  const { workflowInputOf } = await import("../workflow/files/workflow-input-of.js");
  const { phases } = workflowInputOf(definition, documents, (part) => () => text(part));
  return { definition, phases, documents, text };
}

/** Returns the text of a part that a workflow has from its base. */
export async function textOfBase(
  bases: BaseWorkflows,
  type: string,
  { base, numbers }: Extension,
  part: ContentPart,
): Promise<Content> {
  const source = await bases.source(base, type);
  if (source === undefined) throw contentUnavailable(type, part, `the workflow ${base}, which it extends, is gone`);
  if ("template" in part) return source.text(base, part);
  const [phase] = [...numbers].find(([, number]) => number === part.phase) ?? [];
  if (phase === undefined) throw contentUnavailable(type, part, "the definition has none");
  return source.text(base, { ...part, phase });
}

/** Returns the documents of a workflow, its own and those of its base, by the paths that they have in the whole. */
export async function documentsOf(
  bases: BaseWorkflows,
  type: string,
  { base, own, numbers, gone }: Extension,
  found: readonly WorkflowDocument[],
): Promise<readonly WorkflowDocument[]> {
  const paths = new Map([...own].map(([path, file]) => [file, path]));
  const ofBase = (await (await bases.source(base, type))?.documents?.(base)) ?? [];
  return [
    ...found.filter(({ path }) => paths.has(path)).map((document) => at(document, (path) => paths.get(path) ?? path)),
    ...ofBase
      .map((document) => at(document, (path) => movedPath(path, numbers)))
      .filter(({ path }) => !own.has(path) && !gone.has(path)),
  ];
}

function at(document: WorkflowDocument, pathOf: (path: string) => string): WorkflowDocument {
  const path = pathOf(document.path);
  const { aliases } = document;
  const read = async () => ({ ...(await document.read()), sources: [path] });
  return aliases === undefined ? { path, read } : { path, aliases: aliases.map(pathOf), read };
}
