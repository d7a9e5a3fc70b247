/** MemoryContent and MemoryPlans: workflows and plans in memory, for tests and hosts without a file system. */
import { PhasegateError } from "../errors.js";
import type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  PlanSource,
  PlanText,
  SourceText,
  WorkflowDocument,
  WorkflowListing,
} from "../ports/content-provider.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { TimedReads, withoutMark } from "../workflow/files/workflow-files.js";
import { check, checkOptions, isOpen, type OptionChecks, optionally, texts } from "../workflow/host-options.js";
import { canonicalJson, digest, isJsonObject } from "../workflow/json.js";
import { isPlainPath, parseRelativePath, shown } from "../workflow/names.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import { readInput, type Workflow } from "../workflow/workflow-input.js";
import { contentOf, contentUnavailable, definitionInvalid, fileOf, listingOf } from "./answers.js";
import { Bases, documentsOf, textOfBase, viewWith } from "./bases.js";

/** The options of {@link MemoryContent}. */
export interface MemoryContentOptions {
  /**
   * Workflows in code. A type may have several revisions, for sessions that were started on them; new sessions get the
   * last one. Default: none.
   */
  readonly workflows?: readonly (Pick<Workflow, "definition" | "text"> & Partial<Pick<Workflow, "documents">>)[];
  /**
   * Workflow folders as texts, by workflow type and path in the folder. A type in `workflows` takes precedence.
   * Default: none.
   */
  readonly sources?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

type WorkflowInCode = NonNullable<MemoryContentOptions["workflows"]>[number];

const isWorkflow = (value: unknown) =>
  isJsonObject(value) && isJsonObject(value.definition) && "structure" in value.definition;

const isTexts = (value: unknown) => isOpen(value) && texts.accepts(Object.values(value));

const CHECKS: OptionChecks<MemoryContentOptions> = {
  workflows: optionally(
    check(
      "a list of workflows, as defineWorkflow() returns them",
      (value) => Array.isArray(value) && value.every(isWorkflow),
    ),
  ),
  sources: optionally(check("texts by type and path", (value) => isOpen(value) && Object.values(value).every(isTexts))),
};

/** Workflows from code and from texts in memory, for tests and hosts without a file system. */
export class MemoryContent implements ContentProvider {
  /** The revisions of each type, the newest first. */
  private readonly registered = new Map<string, readonly WorkflowInCode[]>();
  private readonly sources: ReadonlyMap<string, Readonly<Record<string, string>>>;
  private readonly reads = new Map<string, Promise<ReadWorkflow>>();
  private readonly timed = new TimedReads<WorkflowListing>((type, diagnostic) => {
    return { status: "broken", type, diagnostics: [diagnostic] };
  });
  private readonly bases: BaseWorkflows = new Bases([{ content: this, name: "the same content" }]);

  /**
   * Registers the workflows.
   *
   * @throws {PhasegateError} `INVALID_INPUT` when two different workflows have the same type and revision.
   */
  constructor(options: MemoryContentOptions) {
    checkOptions("new MemoryContent", options, CHECKS);
    this.sources = new Map(Object.entries(options.sources ?? {}));
    for (const workflow of options.workflows ?? []) this.register(workflow);
  }

  /** Returns the same workflows, with other ones that those in `sources` may extend. */
  within(bases: BaseWorkflows): MemoryContent {
    return viewWith(this, bases);
  }

  /** Lists all workflows by type; those with errors are listed as broken. */
  async list(): Promise<readonly WorkflowListing[]> {
    const types = new Set([...this.registered.keys(), ...this.sources.keys()]);
    return this.timed.all([...types].sort(), (type) => this.listing(type));
  }

  /**
   * Returns the definition of a workflow; undefined if there is no such workflow or revision.
   *
   * @param revision Default: the newest.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the texts of the workflow have errors.
   */
  async definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    const known = this.revisions(type).find((one) => revision === undefined || revision === revisionIn(one));
    if (known !== undefined) return known.definition;
    const read = await this.readSource(type);
    if (read === undefined) return undefined;
    if (read.definition === undefined) throw definitionInvalid(type, read.diagnostics);
    return revision === undefined || read.definition.structure.revision === revision ? read.definition : undefined;
  }

  /**
   * Returns the text of a phase, a task or a template. If a type has several revisions, it is that of the given one; without
   * one, or if that is not registered, of the newest one that has the part.
   *
   * @param revision Default: the newest.
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` when there is no such text, or the function that returns it fails.
   * @throws {PhasegateError} `TEMPLATE` when there is no such template.
   */
  async text(type: string, part: ContentPart, revision?: string): Promise<Content> {
    const revisions = this.revisions(type);
    if (revisions.length === 0) return this.sourceText(type, part);
    const own = revisions.filter((workflow) => revisionIn(workflow) === revision);
    for (const workflow of own.length > 0 ? own : revisions) {
      const text = await textOf(workflow, type, part);
      if (text !== undefined) return contentOf(text, `${type}@${revisionIn(workflow)}`);
    }
    throw contentUnavailable(type, part, "there is none");
  }

  /** Returns the documents of a workflow; for one in code, those of all its revisions, the newest first. */
  async documents(type: string): Promise<readonly WorkflowDocument[]> {
    const revisions = this.revisions(type);
    const texts = revisions.length === 0 ? [this.sources.get(type)] : revisions.map(({ documents }) => documents);
    const found = new Map<string, WorkflowDocument>();
    for (const [path, text] of texts.flatMap((some) => Object.entries(some ?? {}))) {
      const read = async () => contentOf(withoutMark(await readInput(text)), path);
      if (isPlainPath(path) && !found.has(path)) found.set(path, { path, read });
    }
    const { extension } = (revisions.length === 0 && (await this.readSource(type))) || {};
    return extension ? documentsOf(this.bases, type, extension, [...found.values()]) : [...found.values()];
  }

  private revisions(type: string): readonly WorkflowInCode[] {
    return this.registered.get(type) ?? [];
  }

  private register(workflow: WorkflowInCode): void {
    const { type, revision } = workflow.definition.structure;
    const others = this.revisions(type);
    const same = others.find((other) => revisionIn(other) === revision);
    if (same !== undefined && !isSame(same, workflow)) {
      throw new PhasegateError(
        "INVALID_INPUT",
        `two different workflows have the type ${shown(type)} and the revision ${shown(revision)}`,
        {
          remedy: "Give the changed workflow another revision.",
          details: { field: "workflows", expected: "one workflow for each type and revision" },
        },
      );
    }
    this.registered.set(type, [workflow, ...others.filter((other) => other !== same)]);
  }

  private async listing(type: string): Promise<WorkflowListing> {
    const definition = this.revisions(type)[0]?.definition;
    if (definition !== undefined) return { status: "ready", type, definition, diagnostics: [] };
    return listingOf(type, (await this.readSource(type)) ?? { diagnostics: [] });
  }

  private async readSource(type: string): Promise<ReadWorkflow | undefined> {
    const source = this.sources.get(type);
    if (source === undefined) return undefined;
    // Each trail has reads of its own: one that waits for another is never waited for by that one.
    const key = [...this.bases.trail, type].join("\n");
    const known = this.reads.get(key);
    if (known !== undefined) return known;
    const files = Object.entries(source).map(([path, text]) => ({ path, text }));
    const read = readFiles(type, files, this.bases);
    this.reads.set(key, read);
    // The module that reads folders may have failed to load. The next call tries again. A base may be another one by then.
    read.then(
      ({ extends: isExtending }) => isExtending && this.reads.delete(key),
      () => this.reads.delete(key),
    );
    return read;
  }

  private async sourceText(type: string, part: ContentPart): Promise<Content> {
    const { definition, extension } = (await this.readSource(type)) ?? {};
    const path = definition === undefined ? undefined : fileOf(definition.structure, part);
    const file = extension === undefined ? path : extension.own.get(path ?? "");
    if (extension !== undefined && file === undefined) return textOfBase(this.bases, type, extension, part);
    const text = file === undefined ? undefined : this.sources.get(type)?.[file];
    if (file === undefined || text === undefined) throw contentUnavailable(type, part, "there is none");
    return contentOf(withoutMark(text), file);
  }
}

/** Loads the module that reads folders when it is needed: workflows in code do not need it. */
async function readFiles(type: string, files: readonly SourceText[], bases: BaseWorkflows): Promise<ReadWorkflow> {
  const { readWorkflow } = await import("../workflow/files/read-workflow.js");
  return readWorkflow(type, files, [], [], bases);
}

function revisionIn({ definition }: WorkflowInCode): string {
  return definition.structure.revision;
}

function isSame(a: WorkflowInCode, b: WorkflowInCode): boolean {
  return a === b || canonicalJson(a.definition.structure) === canonicalJson(b.definition.structure);
}

async function textOf(workflow: WorkflowInCode, type: string, part: ContentPart): Promise<string | undefined> {
  try {
    return await workflow.text(part);
  } catch (error) {
    throw contentUnavailable(type, part, "the function that returns it failed", { cause: error });
  }
}

/** Plans in memory, for tests and hosts without a file system. */
export class MemoryPlans implements PlanSource {
  private readonly texts = new Map<string, string>();

  /**
   * Stores the plans.
   *
   * @param plans Texts by path. Default: none.
   * @throws {PhasegateError} `PATH_REFUSED` when a path is not a valid relative path.
   */
  constructor(plans: Readonly<Record<string, string>> = {}) {
    for (const [path, text] of Object.entries(plans)) this.set(path, text);
  }

  /**
   * Returns the current text at a path; undefined if there is none.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path is not a valid relative path.
   */
  get(path: string): string | undefined {
    return this.texts.get(parseRelativePath(path));
  }

  /**
   * Sets the text at a path; `undefined` removes it.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path is not a valid relative path.
   */
  set(path: string, text: string | undefined): void {
    const place = parseRelativePath(path);
    if (text === undefined) this.texts.delete(place);
    else this.texts.set(place, text);
  }

  /**
   * Returns the plan at a path: a text, or `tasks.md` below the path; undefined if there is none.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path is not a valid relative path.
   */
  async read(path: string): Promise<PlanText | undefined> {
    const place = this.locate(path);
    const text = this.texts.get(place);
    return text === undefined ? undefined : { path: place, text, hash: digest(text) };
  }

  /**
   * Replaces the text with this hash. Returns false without a change if the current text has another hash.
   *
   * @throws {PhasegateError} `PATH_REFUSED` when the path is not a valid relative path.
   */
  async replace(path: string, hash: string, text: string): Promise<boolean> {
    const place = this.locate(path);
    const current = this.texts.get(place);
    if (current === undefined || digest(current) !== hash) return false;
    this.texts.set(place, text);
    return true;
  }

  private locate(path: string): string {
    const { file, inFolder } = planPlaces(path);
    return this.texts.has(inFolder) ? inFolder : file;
  }
}

const PLAN_FILE = "tasks.md";

/** Returns the possible paths of a plan: the file itself, or `tasks.md` in the folder. Throws `PATH_REFUSED`. */
export function planPlaces(path: string): { readonly file: string; readonly inFolder: string } {
  const file = parseRelativePath(path);
  return { file, inFolder: file === "." ? PLAN_FILE : `${file}/${PLAN_FILE}` };
}

export function notAPlan(file: string, reason: string, remedy: string): PhasegateError<"PLAN_PARSE"> {
  return new PhasegateError("PLAN_PARSE", `could not parse ${shown(file)}: ${reason}`, { remedy, details: { file } });
}
