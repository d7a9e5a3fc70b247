/** combineContent: several content providers as one. Runs without Node. */
import { systemClock } from "../ports/clock.js";
import type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  WorkflowDocument,
  WorkflowListing,
} from "../ports/content-provider.js";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import { WorkflowList } from "../workflow/files/workflow-list.js";
import { check, checkOptions, having, optionally, texts } from "../workflow/host-options.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import { contentUnavailable } from "./answers.js";
import { Bases, hasWorkflow } from "./bases.js";

/** The options of {@link combineContent}. */
export interface CombineContentOptions {
  /** How warnings call the sources, in their order: `the team's folder`. Default: `source 1`, `source 2`, … */
  readonly names?: readonly string[];
}

const PROVIDER = having("", "list", "definition", "text");
const CHECKS = {
  sources: check(
    "a list of providers of workflows, such as new MemoryContent({ workflows })",
    (value) => Array.isArray(value) && value.every(PROVIDER.accepts),
  ),
  names: optionally(texts),
};

/**
 * Makes one content provider out of several. The first source that has a workflow type counts, for its definition, its
 * texts and its documents, also if the workflow is broken there. An older revision comes from any source that still has it.
 * `list` warns about each workflow of a later source that is not used. If a source can't answer, it may have the workflow:
 * the call rejects with the error of that source, and no later one takes its place. A workflow of any source may extend one of
 * another.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when a source is not a content provider.
 */
export function combineContent(
  sources: readonly ContentProvider[],
  options: CombineContentOptions = {},
): ContentProvider {
  const { names } = options;
  checkOptions("combineContent", { ...options, sources }, CHECKS);
  const named = sources.map((content, index) => ({ content, name: names?.[index] ?? `source ${index + 1}` }));
  return new CombinedContent(named, new Bases(named));
}

/** One of the combined providers. */
class Source {
  readonly content: ContentProvider;
  readonly name: string;
  readonly workflows: WorkflowList;

  constructor(content: ContentProvider, name: string) {
    this.content = content;
    this.name = name;
    this.workflows = new WorkflowList(content, systemClock);
  }
}

class CombinedContent implements ContentProvider {
  readonly #given: readonly Pick<Source, "content" | "name">[];
  readonly #sources: readonly Source[];

  constructor(given: readonly Pick<Source, "content" | "name">[], bases: BaseWorkflows) {
    this.#given = given;
    this.#sources = given.map(({ content, name }) => new Source(content.within?.(bases) ?? content, name));
  }

  within(bases: BaseWorkflows): ContentProvider {
    return new CombinedContent(this.#given, bases);
  }

  async list(): Promise<readonly WorkflowListing[]> {
    const lists = await Promise.all(
      this.#sources.map(async (source) => ({ source, listings: await source.workflows.all() })),
    );
    const first = new Map<string, WorkflowListing>();
    const hidden = new Map<string, Source[]>();
    for (const { source, listings } of lists) {
      for (const listing of listings) {
        const { type } = listing;
        if (first.has(type)) hidden.set(type, [...(hidden.get(type) ?? []), source]);
        else first.set(type, listing);
      }
    }
    const listings = [...first.values()].sort((one, other) => (one.type < other.type ? -1 : 1));
    return listings.map((listing) => withWarnings(listing, hidden.get(listing.type) ?? []));
  }

  async definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    const failures: unknown[] = [];
    for (const { content } of this.#sources) {
      try {
        const found = await content.definition(type, revision);
        if (found !== undefined) return found;
      } catch (error) {
        // A revision is the same wherever it is found; the newest one is that of the first source with the type.
        if (revision === undefined) throw error;
        failures.push(error);
      }
    }
    const [failure] = failures;
    if (failures.length > 0) throw failure;
    return undefined;
  }

  async text(type: string, part: ContentPart, revision?: string): Promise<Content> {
    const source = await this.#owner(type);
    if (source === undefined) throw contentUnavailable(type, part, "there is no source of workflows");
    return source.content.text(type, part, revision);
  }

  async documents(type: string): Promise<readonly WorkflowDocument[]> {
    const source = await this.#owner(type);
    return (await source?.content.documents?.(type)) ?? [];
  }

  /** Returns the first source that has a workflow, else the last one, which says itself what it lacks. */
  async #owner(type: string): Promise<Source | undefined> {
    for (const source of this.#sources.slice(0, -1)) {
      if (await hasWorkflow(source.content, type)) return source;
    }
    return this.#sources.at(-1);
  }
}

function withWarnings(listing: WorkflowListing, hidden: readonly Source[]): WorkflowListing {
  const warnings = hidden.map(({ name }): Diagnostic => {
    const hint =
      listing.status === "broken"
        ? "Correct this one, or remove it: the other one then counts."
        : "Rename one of them, or remove it.";
    return {
      file: ".",
      severity: "warning",
      code: "WORKFLOW_HIDDEN" satisfies DiagnosticCode,
      message: `${name} has a workflow of the same type, which is not used`,
      hint,
    };
  });
  return warnings.length === 0 ? listing : { ...listing, diagnostics: [...listing.diagnostics, ...warnings] };
}
