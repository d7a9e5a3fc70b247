/**
 * FileContent: workflows from folders. The entry file of this folder; what is decided where:
 * - files.ts: of two workflows with the same type the one in the first root counts; a root may be a link that moves
 * - workflow-folder.ts: when a workflow is read again, which of its files matter, and that an edit with errors does not
 *   stop running sessions
 * - file-plans.ts: a plan is a file or a folder with tasks.md; it is replaced only if it is unchanged
 * - memory.ts: workflows and plans in memory, without Node
 * - bases.ts: in which sources the workflow that another one extends is looked for, and that none extends itself
 * - combine.ts: of several providers the first that has a type counts; one that fails is not passed over
 * - load-workflow.ts: a folder as a workflow in code; which of its files are documents there
 * - answers.ts: texts, listings and errors of all providers
 */
import { isPhasegateError, PhasegateError } from "../errors.js";
import type {
  BaseWorkflows,
  Content,
  ContentPart,
  ContentProvider,
  WorkflowDocument,
  WorkflowListing,
} from "../ports/content-provider.js";
import { openIfThere, type Sandbox } from "../sandbox/sandbox.js";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import type { ReadWorkflow } from "../workflow/files/read-workflow.js";
import { METADATA_FILE, TimedReads } from "../workflow/files/workflow-files.js";
import { checkOptions, texts } from "../workflow/host-options.js";
import { isPlainPath, isWorkflowType, secretIn } from "../workflow/names.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import { contentOf, contentUnavailable, definitionInvalid, fileOf, listingOf } from "./answers.js";
import { Bases, documentsOf, textOfBase, viewWith } from "./bases.js";
import { WorkflowFolder } from "./workflow-folder.js";

/** The options of {@link FileContent}. */
export interface FileContentOptions {
  /**
   * Trusted folders. Each folder directly below one that has a metadata.json is a workflow, and its name is the
   * workflow's type. Of two with the same type the one in the first root counts. Paths are absolute, or relative to the
   * process's working folder.
   */
  readonly roots: readonly string[];
}

/**
 * Workflows from folders. Edits, additions and deletions are seen by the next call; unchanged files are not read again.
 * Roots that do not exist (yet) are skipped, unless none exists.
 */
export class FileContent implements ContentProvider {
  private readonly roots: readonly string[];
  private readonly sandboxes = new Map<string, Sandbox>();
  private readonly folders = new WeakMap<Sandbox, Map<string, WorkflowFolder>>();
  private readonly reads = new TimedReads<WorkflowListing>((type, diagnostic) =>
    listingOf(type, { diagnostics: [{ ...diagnostic, file: METADATA_FILE }] }),
  );
  private readonly bases: BaseWorkflows = new Bases([{ content: this, name: "its own folders" }]);

  /** Does not read anything yet. */
  constructor(options: FileContentOptions) {
    checkOptions("new FileContent", options, { roots: texts });
    this.roots = [...options.roots];
  }

  /** Returns the same workflows, with other ones that they may extend. What was read is shared. */
  within(bases: BaseWorkflows): FileContent {
    return viewWith(this, bases);
  }

  /**
   * Lists all workflows by type; those with errors are listed as broken.
   *
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root.
   */
  async list(): Promise<readonly WorkflowListing[]> {
    const places = await this.places();
    const types = [...new Set(places.flatMap(({ names }) => [...names]))].sort();
    return this.reads.all(types, async (type) => {
      const found = await this.findIn(places, type, this.readWhole);
      return found && listingOf(type, found.read);
    });
  }

  /**
   * Returns the definition of a workflow; undefined if there is no such workflow, or it has another revision.
   *
   * @param revision Default: any.
   * @throws {PhasegateError} `DEFINITION_INVALID` when the workflow has errors.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root.
   */
  async definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    const found = await this.find(type);
    if (found === undefined) return undefined;
    const { definition, diagnostics } = found.read;
    if (definition === undefined) throw definitionInvalid(type, diagnostics);
    return revision === undefined || definition.structure.revision === revision ? definition : undefined;
  }

  /**
   * Returns the text of a phase, a task or a template as it is now.
   *
   * @throws {PhasegateError} `CONTENT_UNAVAILABLE` when there is no such workflow, phase or task, or its file cannot be
   * read.
   * @throws {PhasegateError} `TEMPLATE` when a template cannot be read.
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root.
   */
  async text(type: string, part: ContentPart): Promise<Content> {
    const near = await this.place(type, part, this.readForTexts);
    // The cached definition depends on metadata.json alone and may not know a file that was added since.
    const { folder, extension, ...found } =
      near.file === undefined ? await this.place(type, part, this.readWhole) : near;
    const file = extension === undefined ? found.file : extension.own.get(found.file ?? "");
    if (extension !== undefined && file === undefined) return textOfBase(this.bases, type, extension, part);
    if (file === undefined) throw contentUnavailable(type, part, "the definition has none");
    try {
      return contentOf(await folder.text(file), file);
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      throw contentUnavailable(type, part, error.message, { file, cause: error });
    }
  }

  /**
   * Lists all files of a workflow's folder, except hidden ones; none if there is no such workflow. Each is at most 1 MiB.
   *
   * @throws {PhasegateError} `FILE_NOT_FOUND` when none of the roots exists.
   * @throws {PhasegateError} `PATH_REFUSED` when a root is not a folder.
   * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read a root or the folder.
   */
  async documents(type: string): Promise<readonly WorkflowDocument[]> {
    const found = await this.find(type, this.readForTexts);
    if (found === undefined) return [];
    const documents = await found.folder.documents();
    const { extension } = found.read;
    return extension === undefined ? documents : documentsOf(this.bases, type, extension, documents);
  }

  /** Returns the folder of a workflow, and the path of a text in it, if the definition has it. */
  private async place(type: string, part: ContentPart, reading: Reading) {
    const found = await this.find(type, reading);
    if (found === undefined) throw contentUnavailable(type, part, "the workflow no longer exists");
    const { folder, read } = found;
    if (read.definition === undefined) {
      throw contentUnavailable(type, part, definitionInvalid(type, read.diagnostics).message);
    }
    return { folder, file: fileOf(read.definition.structure, part), extension: read.extension };
  }

  private async find(type: string, reading: Reading = this.readWhole): Promise<FoundFolder | undefined> {
    return isWorkflowType(type) ? this.findIn(await this.places(type), type, reading) : undefined;
  }

  /** Finds a workflow in the first root that has it, and adds a warning if a later root has it, too. */
  private async findIn(places: readonly Place[], type: string, reading: Reading): Promise<FoundFolder | undefined> {
    let first: FoundFolder | undefined;
    for (const { sandbox, names } of places) {
      const folder = names.has(type) ? this.folderIn(sandbox, type) : undefined;
      const read = folder && (await reading(folder));
      if (folder === undefined || read === undefined) continue;
      if (first !== undefined) return { ...first, read: withWarning(first.read) };
      first = { folder, read };
    }
    return first;
  }

  private get readWhole(): Reading {
    return (folder) => folder.read(this.bases);
  }

  private get readForTexts(): Reading {
    return (folder) => folder.forTexts(this.bases);
  }

  private folderIn(sandbox: Sandbox, type: string): WorkflowFolder {
    const folders = this.folders.get(sandbox) ?? new Map<string, WorkflowFolder>();
    const folder = folders.get(type) ?? new WorkflowFolder(sandbox, type);
    this.folders.set(sandbox, folders.set(type, folder));
    return folder;
  }

  /** Opens all existing roots, and again those whose paths now lead elsewhere. Throws `FILE_NOT_FOUND` if none exists. */
  private async places(wanted?: string): Promise<readonly Place[]> {
    const opened: Sandbox[] = [];
    for (const root of this.roots) {
      const known = this.sandboxes.get(root);
      const isCurrent = known !== undefined && (await known.isCurrent());
      const sandbox = isCurrent ? known : await openIfThere(root, { refuse: secretIn });
      if (sandbox === undefined) this.sandboxes.delete(root);
      else {
        this.sandboxes.set(root, sandbox);
        opened.push(sandbox);
      }
    }
    if (opened.length === 0) {
      throw new PhasegateError("FILE_NOT_FOUND", "none of the folders for workflows exists", {
        remedy: "Give FileContent at least one existing root that contains a folder for each workflow.",
        details: { file: "." },
      });
    }
    return Promise.all(
      opened.map(async (sandbox) => ({ sandbox, names: new Set(await workflowNames(sandbox, wanted)) })),
    );
  }
}

interface FoundFolder {
  readonly folder: WorkflowFolder;
  readonly read: ReadWorkflow;
}

/** A way to read a folder: completely, or only for the names of its texts. */
type Reading = (folder: WorkflowFolder) => Promise<ReadWorkflow | undefined>;

interface Place {
  readonly sandbox: Sandbox;
  readonly names: ReadonlySet<string>;
}

function withWarning(read: ReadWorkflow): ReadWorkflow {
  const warning: Diagnostic = {
    file: METADATA_FILE,
    severity: "warning",
    code: "WORKFLOW_HIDDEN" satisfies DiagnosticCode,
    message: "a later root has a workflow of the same type, which is not used",
    hint: "Rename one of the two folders and its workflow_type.",
  };
  return { ...read, diagnostics: [...read.diagnostics, warning] };
}

/** Lists the folders in a root, or the `wanted` one, by its exact name. A link that leads out is a broken workflow. */
export async function workflowNames(sandbox: Sandbox, wanted?: string): Promise<string[]> {
  const entries = (await sandbox.list(".")).filter(
    ({ path }) => !path.startsWith(".") && (wanted === undefined || path === wanted),
  );
  const names = entries.map(async ({ path, kind }) => {
    return kind === "folder" || (kind === "refused" && (await leadsOut(sandbox, path))) ? [path] : [];
  });
  return (await Promise.all(names)).flat();
}

/** Returns true for a link that leads out or nowhere; false for what else is refused, such as FIFOs. */
async function leadsOut(sandbox: Sandbox, path: string): Promise<boolean> {
  if (!isPlainPath(path)) return false;
  try {
    await sandbox.check(path);
    return false;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return true;
    throw error;
  }
}
