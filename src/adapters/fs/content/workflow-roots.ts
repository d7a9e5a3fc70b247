import type { Diagnostic } from "../../../definition/diagnostic.js";
import type { DiagnosticCode } from "../../../definition/folder/diagnostic-codes.js";
import { METADATA_FILE, type ReadWorkflow } from "../../../definition/folder/read-workflow.js";
import { secretIn } from "../../../definition/kept-back.js";
import { TimedReads } from "../../../definition/timed-reads.js";
import { isPhasegateError, PhasegateError } from "../../../errors.js";
import { openWall } from "../../../walls/open-wall.js";
import type { Wall } from "../../../walls/wall.js";
import { WorkflowFolder } from "./workflow-folder.js";
import { workflowNames } from "./workflow-names.js";

/** A folder's workflow as it was found. */
export interface FoundFolder {
  readonly type: string;
  readonly folder: WorkflowFolder;
  readonly read: ReadWorkflow;
}

/** How a folder is read. */
export type Reading = (folder: WorkflowFolder) => Promise<ReadWorkflow | undefined>;

/** Reads all files of a folder. */
export const readWhole: Reading = (folder) => folder.read();

/** A root, and the names of the folders in it. */
interface Place {
  readonly wall: Wall;
  readonly names: ReadonlySet<string>;
}

/** The workflows in several folders; of two with the same type the one in the first root counts. */
export class WorkflowRoots {
  private readonly roots: readonly string[];
  private readonly walls = new Map<string, Wall>();
  private readonly reads = new TimedReads<Pick<FoundFolder, "type" | "read">>((type, diagnostic) => ({
    type,
    read: { diagnostics: [{ ...diagnostic, file: METADATA_FILE }] },
  }));
  private readonly folders = new WeakMap<Wall, Map<string, WorkflowFolder>>();

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
    for (const { wall, names } of places) {
      const folder = names.has(type) ? this.folderIn(wall, type) : undefined;
      const read = folder === undefined ? undefined : await reading(folder);
      if (folder === undefined || read === undefined) continue;
      if (first !== undefined) return { ...first, read: withWarning(first.read) };
      first = { type, folder, read };
    }
    return first;
  }

  private folderIn(wall: Wall, type: string): WorkflowFolder {
    const folders = this.folders.get(wall) ?? new Map<string, WorkflowFolder>();
    const folder = folders.get(type) ?? new WorkflowFolder(wall, type);
    this.folders.set(wall, folders.set(type, folder));
    return folder;
  }

  private async places(wanted?: string): Promise<readonly Place[]> {
    const walls = await this.openWalls();
    return Promise.all(walls.map(async (wall) => ({ wall, names: new Set(await workflowNames(wall, wanted)) })));
  }

  /** A root's wall; another one when its name leads elsewhere, undefined while it leads nowhere. */
  private async wallOf(root: string): Promise<Wall | undefined> {
    const known = this.walls.get(root);
    if (known !== undefined && (await known.isCurrent())) return known;
    const wall = await openIfThere(root);
    if (wall === undefined) this.walls.delete(root);
    else this.walls.set(root, wall);
    return wall;
  }

  /** The walls of the roots that are there. */
  private async openWalls(): Promise<readonly Wall[]> {
    const walls: Wall[] = [];
    for (const root of this.roots) {
      const wall = await this.wallOf(root);
      if (wall !== undefined) walls.push(wall);
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
    return await openWall(root, { refuse: secretIn });
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
