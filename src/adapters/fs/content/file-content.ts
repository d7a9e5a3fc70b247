import type { Diagnostic } from "../../../definition/diagnostic.js";
import type { DiagnosticCode } from "../../../definition/folder/diagnostic-codes.js";
import { METADATA_FILE, type ReadWorkflow } from "../../../definition/folder/read-workflow.js";
import { isWorkflowType } from "../../../definition/names.js";
import type { WorkflowDefinition } from "../../../definition/workflow-definition.js";
import { isPhasegateError, PhasegateError } from "../../../errors.js";
import type { Content, ContentPart, ContentProvider, WorkflowListing } from "../../../ports/content-provider.js";
import { openWall } from "../../../walls/open-wall.js";
import type { Wall } from "../../../walls/wall.js";
import { contentOf, contentUnavailable, definitionInvalid, listingOf } from "../../content-answers.js";
import { WorkflowFolder } from "./workflow-folder.js";

/** Where workflows lie. */
export interface FileContentOptions {
  /**
   * Trusted folders; each folder directly below one that has a metadata.json is a workflow, and its
   * name is the workflow's type. Of two with the same type the one in the first root counts.
   */
  readonly roots: readonly string[];
}

/** A root, and the names of the folders in it. */
interface Place {
  readonly wall: Wall;
  readonly has: ReadonlySet<string>;
}

/** A folder's workflow as it was found. */
interface Found {
  readonly folder: WorkflowFolder;
  readonly read: ReadWorkflow;
}

type Reading = (folder: WorkflowFolder) => Promise<ReadWorkflow | undefined>;

const readWhole: Reading = (folder) => folder.read();

/**
 * Workflows from folders. What is edited, added or deleted shows at the next call; what hasn't
 * changed is not read again. Roots that are not there (yet) are left out, unless none is.
 */
export class FileContent implements ContentProvider {
  private readonly roots: readonly string[];
  private readonly walls = new Map<string, Wall>();
  private readonly folders = new Map<Wall, Map<string, WorkflowFolder>>();

  constructor(options: FileContentOptions) {
    this.roots = [...options.roots];
  }

  async list(): Promise<readonly WorkflowListing[]> {
    const places = await Promise.all(
      (await this.openWalls()).map(async (wall) => ({ wall, has: await foldersOf(wall) })),
    );
    const listings: WorkflowListing[] = [];
    for (const type of [...new Set(places.flatMap(({ has }) => [...has]))].sort()) {
      const found = await this.findIn(places, type);
      if (found !== undefined) listings.push(listingOf(type, found.read));
    }
    return listings;
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
      throw contentUnavailable(type, part, error.message, error);
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
    return { folder, file: fileOf(read.definition, part) };
  }

  private async find(type: string, reading: Reading = readWhole): Promise<Found | undefined> {
    if (!isWorkflowType(type)) return undefined;
    const walls = await this.openWalls();
    return this.findIn(
      await Promise.all(walls.map(async (wall) => ({ wall, has: await foldersOf(wall, type) }))),
      type,
      reading,
    );
  }

  /** The workflow in the first root that has it, with a warning if a later root has it, too. */
  private async findIn(
    places: readonly Place[],
    type: string,
    reading: Reading = readWhole,
  ): Promise<Found | undefined> {
    let first: Found | undefined;
    for (const { wall, has } of places) {
      const folder = has.has(type) ? this.folderIn(wall, type) : undefined;
      const read = folder === undefined ? undefined : await reading(folder);
      if (folder === undefined || read === undefined) continue;
      if (first !== undefined) return { ...first, read: withWarning(first.read) };
      first = { folder, read };
    }
    return first;
  }

  private folderIn(wall: Wall, type: string): WorkflowFolder {
    const folders = this.folders.get(wall) ?? new Map<string, WorkflowFolder>();
    const folder = folders.get(type) ?? new WorkflowFolder(wall, type);
    this.folders.set(wall, folders.set(type, folder));
    return folder;
  }

  /** The walls of the roots that are there. */
  private async openWalls(): Promise<readonly Wall[]> {
    const walls: Wall[] = [];
    for (const root of this.roots) {
      const wall = this.walls.get(root) ?? (await openIfThere(root));
      if (wall === undefined) continue;
      this.walls.set(root, wall);
      walls.push(wall);
    }
    if (walls.length > 0) return walls;
    throw new PhasegateError("FILE_NOT_FOUND", "none of the folders for workflows is there", {
      remedy: "Give FileContent at least one root that exists, with a folder for each workflow in it.",
      details: { file: "." },
    });
  }
}

async function openIfThere(root: string): Promise<Wall | undefined> {
  try {
    return await openWall(root);
  } catch (error) {
    if (isPhasegateError(error, "FILE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/**
 * The folders in a root, by names that are the very same on every file system. A link that leads out
 * is none; but whoever asks for it by name is told that it is refused, not that there is nothing.
 */
async function foldersOf(wall: Wall, wanted?: string): Promise<ReadonlySet<string>> {
  const entries = await wall.list(".");
  if (wanted !== undefined && entries.some(({ path, kind }) => path === wanted && kind === "refused")) {
    await wall.check(wanted);
  }
  return new Set(
    entries.filter(({ kind, path }) => kind === "folder" && !path.startsWith(".")).map(({ path }) => path),
  );
}

function fileOf({ structure }: WorkflowDefinition, part: ContentPart): string | undefined {
  const phase = structure.phases.find(({ number }) => number === part.phase);
  return part.task === undefined ? phase?.file : phase?.tasks.find(({ number }) => number === part.task)?.file;
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
