import { isPhasegateError, PhasegateError } from "../errors.js";
import type { Content, ContentPart, ContentProvider, WorkflowListing } from "../ports/content-provider.js";
import type { Sandbox } from "../sandbox/sandbox.js";
import { openSandbox } from "../sandbox/sandbox.js";
import type { Diagnostic, DiagnosticCode } from "../workflow/diagnostic.js";
import { METADATA_FILE, type ReadWorkflow } from "../workflow/files/read-workflow.js";
import { TimedReads } from "../workflow/files/workflow-files.js";
import { secretIn } from "../workflow/kept-back.js";
import { isWorkflowType, parseRelativePath } from "../workflow/names.js";
import type { WorkflowDefinition } from "../workflow/structure.js";
import { contentOf, contentUnavailable, definitionInvalid, fileOf, listingOf } from "./answers.js";
import { WorkflowFolder } from "./workflow-folder.js";
/** Where workflows lie. */
export interface FileContentOptions {
  /**
   * Trusted folders; each folder directly below one that has a metadata.json is a workflow, and its
   * name is the workflow's type. Of two with the same type the one in the first root counts.
   */
  readonly roots: readonly string[];
}

/**
 * Workflows from folders. What is edited, added or deleted shows at the next call; what hasn't
 * changed is not read again. Roots that are not there (yet) are left out, unless none is.
 */
export class FileContent implements ContentProvider {
  private readonly roots: WorkflowRoots;

  constructor(options: FileContentOptions) {
    this.roots = new WorkflowRoots(options.roots);
  }

  async list(): Promise<readonly WorkflowListing[]> {
    return (await this.roots.all()).map(({ type, read }) => listingOf(type, read));
  }

  async definition(type: string, revision?: string): Promise<WorkflowDefinition | undefined> {
    const found = await this.find(type);
    if (found === undefined) return undefined;
    const { definition, diagnostics } = found.read;
    if (definition === undefined) throw definitionInvalid(type, diagnostics);
    return revision === undefined || definition.structure.revision === revision ? definition : undefined;
  }

  async text(type: string, part: ContentPart): Promise<Content> {
    const near = await this.place(type, part, (folder) => folder.forTexts());
    // What looked at metadata.json alone may not know of a file that was added beside it.
    const { folder, file } = near.file === undefined ? await this.place(type, part, readWhole) : near;
    if (file === undefined) throw contentUnavailable(type, part, "the definition has none");
    try {
      return contentOf(await folder.text(file), file);
    } catch (error) {
      if (!isPhasegateError(error)) throw error;
      throw contentUnavailable(type, part, error.message, { file, cause: error });
    }
  }

  /** The folder of a workflow, and the path of a text in it if it has such a one. */
  private async place(type: string, part: ContentPart, reading: Reading) {
    const found = await this.find(type, reading);
    if (found === undefined) throw contentUnavailable(type, part, "there is no such workflow any more");
    const { folder, read } = found;
    if (read.definition === undefined) {
      throw contentUnavailable(type, part, definitionInvalid(type, read.diagnostics).message);
    }
    return { folder, file: fileOf(read.definition.structure, part) };
  }

  private async find(type: string, reading?: Reading): Promise<FoundFolder | undefined> {
    return isWorkflowType(type) ? this.roots.find(type, reading) : undefined;
  }
}

/** A folder's workflow as it was found. */
interface FoundFolder {
  readonly type: string;
  readonly folder: WorkflowFolder;
  readonly read: ReadWorkflow;
}

/** How a folder is read. */
type Reading = (folder: WorkflowFolder) => Promise<ReadWorkflow | undefined>;

/** Reads all files of a folder. */
const readWhole: Reading = (folder) => folder.read();

/** A root, and the names of the folders in it. */
interface Place {
  readonly sandbox: Sandbox;
  readonly names: ReadonlySet<string>;
}

/** The workflows in several folders; of two with the same type the one in the first root counts. */
class WorkflowRoots {
  private readonly roots: readonly string[];
  private readonly sandboxes = new Map<string, Sandbox>();
  private readonly reads = new TimedReads<Pick<FoundFolder, "type" | "read">>((type, diagnostic) => ({
    type,
    read: { diagnostics: [{ ...diagnostic, file: METADATA_FILE }] },
  }));
  private readonly folders = new WeakMap<Sandbox, Map<string, WorkflowFolder>>();

  constructor(roots: readonly string[]) {
    this.roots = [...roots];
  }

  /** All workflows, by type, each read on its own. */
  async all(): Promise<readonly Pick<FoundFolder, "type" | "read">[]> {
    const places = await this.places();
    const types = [...new Set(places.flatMap(({ names }) => [...names]))].sort();
    return this.reads.all(types, async (type) => {
      const found = await this.findIn(places, type, readWhole);
      return found === undefined ? undefined : { type, read: found.read };
    });
  }

  /** The workflow of a type; undefined if there is none. */
  async find(type: string, reading: Reading = readWhole): Promise<FoundFolder | undefined> {
    return this.findIn(await this.places(type), type, reading);
  }

  /** The workflow in the first root that has it, with a warning if a later root has it, too. */
  private async findIn(places: readonly Place[], type: string, reading: Reading): Promise<FoundFolder | undefined> {
    let first: FoundFolder | undefined;
    for (const { sandbox, names } of places) {
      const folder = names.has(type) ? this.folderIn(sandbox, type) : undefined;
      const read = folder === undefined ? undefined : await reading(folder);
      if (folder === undefined || read === undefined) continue;
      if (first !== undefined) return { ...first, read: withWarning(first.read) };
      first = { type, folder, read };
    }
    return first;
  }

  private folderIn(sandbox: Sandbox, type: string): WorkflowFolder {
    const folders = this.folders.get(sandbox) ?? new Map<string, WorkflowFolder>();
    const folder = folders.get(type) ?? new WorkflowFolder(sandbox, type);
    this.folders.set(sandbox, folders.set(type, folder));
    return folder;
  }

  private async places(wanted?: string): Promise<readonly Place[]> {
    const sandboxes = await this.openSandboxes();
    return Promise.all(
      sandboxes.map(async (sandbox) => ({ sandbox, names: new Set(await workflowNames(sandbox, wanted)) })),
    );
  }

  /** A root's sandbox; another one when its name leads elsewhere, undefined while it leads nowhere. */
  private async sandboxOf(root: string): Promise<Sandbox | undefined> {
    const known = this.sandboxes.get(root);
    if (known !== undefined && (await known.isCurrent())) return known;
    const sandbox = await openIfThere(root);
    if (sandbox === undefined) this.sandboxes.delete(root);
    else this.sandboxes.set(root, sandbox);
    return sandbox;
  }

  /** The sandboxes of the roots that are there. */
  private async openSandboxes(): Promise<readonly Sandbox[]> {
    const sandboxes: Sandbox[] = [];
    for (const root of this.roots) {
      const sandbox = await this.sandboxOf(root);
      if (sandbox !== undefined) sandboxes.push(sandbox);
    }
    if (sandboxes.length > 0) return sandboxes;
    throw new PhasegateError("FILE_NOT_FOUND", "none of the folders for workflows is there", {
      remedy: "Give FileContent at least one root that exists, with a folder for each workflow in it.",
      details: { file: "." },
    });
  }
}

async function openIfThere(root: string): Promise<Sandbox | undefined> {
  try {
    return await openSandbox(root, { refuse: secretIn });
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

function withWarning(read: ReadWorkflow): ReadWorkflow {
  const warning: Diagnostic = {
    file: METADATA_FILE,
    severity: "warning",
    code: "WORKFLOW_HIDDEN" satisfies DiagnosticCode,
    message: "a later root has a workflow of the same type, which is not used",
    hint: "Rename one of the two folders, and its workflow_type.",
  };
  return { ...read, diagnostics: [...read.diagnostics, warning] };
}

/**
 * The names of the folders in a root, the very same on every file system, or the `wanted` one of them. A
 * link that leads out or nowhere is one of them: it is read as a broken workflow, where it would vanish.
 */
export async function workflowNames(sandbox: Sandbox, wanted?: string): Promise<string[]> {
  const entries = (await sandbox.list(".")).filter(
    ({ path }) => !path.startsWith(".") && (wanted === undefined || path === wanted),
  );
  const names = entries.map(async ({ path, kind }) => {
    return kind === "folder" || (kind === "refused" && (await leadsOut(sandbox, path))) ? [path] : [];
  });
  return (await Promise.all(names)).flat();
}

/** What else is refused, a FIFO or a name that no path may have, is no folder that somebody has put there. */
async function leadsOut(sandbox: Sandbox, path: string): Promise<boolean> {
  try {
    parseRelativePath(path);
  } catch {
    return false;
  }
  try {
    await sandbox.check(path);
    return false;
  } catch (error) {
    if (isPhasegateError(error, "PATH_REFUSED")) return true;
    throw error;
  }
}
