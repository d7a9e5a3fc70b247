import { formatDiagnostic, hasErrors } from "../../definition/diagnostic.js";
import type { DiagnosticCode } from "../../definition/folder/diagnostic-codes.js";
import { isWorkflowType } from "../../definition/names.js";
import type { RoutedDefinition } from "../../definition/routed-definition.js";
import { TimedReads } from "../../definition/timed-reads.js";
import { PhasegateError } from "../../errors.js";
import type { RoutedListing, RoutedSource } from "../../ports/routed-source.js";
import type { TextSource } from "../../ports/text-source.js";
import { type ReadRoutedWorkflow, readRoutedWorkflow } from "./read-routed-workflow.js";

/** Where routed workflows lie. */
export interface RoutedFoldersOptions {
  /** Texts below one root; each folder directly in it that has an index.md or a folder `steps` is a workflow. */
  readonly source: TextSource;
  /** Folders of the same source that files may be included from, beside a workflow's own; `"."` for all of it. */
  readonly includeRoots?: readonly string[];
}

/** A workflow as it was read, and every text that it was read from. */
interface Kept {
  readonly paths: readonly string[];
  /** What each path held; undefined where there was nothing. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  readonly read: ReadRoutedWorkflow;
}

/**
 * Routed workflows from texts. What is edited, added or deleted shows at the next call; a workflow is read again when any
 * text that went into it has changed, included files too.
 */
export class RoutedFolders implements RoutedSource {
  readonly #source: TextSource;
  readonly #includeRoots: readonly string[];
  readonly #kept = new Map<string, Kept>();
  readonly #timed = new TimedReads<RoutedListing>((name, diagnostic) => {
    return { status: "broken", name, diagnostics: [diagnostic] };
  });

  constructor({ source, includeRoots = [] }: RoutedFoldersOptions) {
    this.#source = source;
    this.#includeRoots = includeRoots;
  }

  async list(): Promise<readonly RoutedListing[]> {
    const names = new Set((await this.#source.list("")).flatMap(folderOf));
    for (const name of this.#kept.keys()) if (!names.has(name)) this.#kept.delete(name);
    return this.#timed.all([...names].sort(), async (name) => listingOf(name, await this.read(name)));
  }

  async definition(name: string): Promise<RoutedDefinition | undefined> {
    // Names come from clients: no other one ever becomes a path.
    if (!isWorkflowType(name)) return undefined;
    const paths = await this.#source.list(name);
    if (!paths.some((path) => folderOf(path).includes(name))) {
      this.#kept.delete(name);
      return undefined;
    }
    const { definition, diagnostics } = await this.read(name);
    if (definition !== undefined) return definition;
    const errors = diagnostics.filter(({ severity }) => severity === "error").map(formatDiagnostic);
    throw new PhasegateError("DEFINITION_INVALID", `the workflow ${name} is broken: ${errors.join("; ")}`, {
      remedy: "Mend the files; `phasegate validate` shows every place.",
      details: { workflowType: name, diagnostics: errors },
    });
  }

  /** A workflow with its diagnostics, from the cache if nothing that it was read from has changed. */
  async read(name: string): Promise<ReadRoutedWorkflow> {
    const paths = await this.#source.list(name);
    const kept = this.#kept.get(name);
    if (kept !== undefined && (await this.#isCurrent(kept, paths))) return kept.read;
    const texts = new Map<string, string | undefined>();
    const source: TextSource = {
      list: (folder) => this.#source.list(folder),
      read: async (path) => {
        const text = texts.has(path) ? texts.get(path) : await this.#source.read(path);
        texts.set(path, text);
        return text;
      },
    };
    const read = await readRoutedWorkflow(name, source, this.#includeRoots);
    const hasFailed = read.diagnostics.some(({ code }) => code === ("DEFINITION_UNREADABLE" satisfies DiagnosticCode));
    // What has failed may work the next time.
    if (!hasFailed) this.#kept.set(name, { paths, texts, read });
    return read;
  }

  async #isCurrent(kept: Kept, paths: readonly string[]): Promise<boolean> {
    if (paths.length !== kept.paths.length || paths.some((path, index) => path !== kept.paths[index])) return false;
    const texts = await Promise.all([...kept.texts.keys()].map((path) => this.#source.read(path)));
    return [...kept.texts.values()].every((text, index) => text === texts[index]);
  }
}

/** The folder that a path says is a workflow, in a list of one. */
function folderOf(path: string): string[] {
  const [name, second, third] = path.split("/");
  return name !== undefined && (second === "index.md" || (second === "steps" && third !== undefined)) ? [name] : [];
}

function listingOf(name: string, { definition, diagnostics }: ReadRoutedWorkflow): RoutedListing {
  if (definition === undefined || hasErrors(diagnostics)) return { status: "broken", name, diagnostics };
  return { status: "ready", name, definition, diagnostics };
}
