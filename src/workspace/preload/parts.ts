import { isPhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import type { Location } from "../roots/paths.js";
/** What a file is to its workflow. */
export type PreloadRole =
  | "workflow"
  | "config"
  | "instructions"
  | "template"
  | "validation"
  | "data"
  | "engine"
  | "elicitation"
  | "skill"
  | "customization"
  | "step";

/** A file of a workflow, whole. */
export interface PreloadedFile {
  /** As `read_file` takes it: `{bundle-root}/workflows/intake/instructions.md`. */
  readonly path: string;
  readonly role: PreloadRole;
  /** The workflow that it belongs to, where that is one that the preloaded one invokes. */
  readonly workflow?: string;
  /** In bytes, as it lies on the disk. */
  readonly size: number;
  readonly content: string;
}

/** A file that a workflow names and that could not be loaded. */
export interface MissingFile {
  readonly path: string;
  readonly role: PreloadRole;
  readonly workflow?: string;
  /** Why, in a sentence. */
  readonly reason: string;
  /** What lies in its folder under a similar name, the nearest first. */
  readonly nearest: readonly string[];
}

/** What was found of a workflow: in the order in which it is named, whatever was read first. */
export interface Parts {
  readonly files: readonly PreloadedFile[];
  readonly missing: readonly MissingFile[];
  readonly warnings: readonly string[];
}

/** One part, or several, as one list. */
export function joinParts(parts: readonly Parts[]): Parts {
  const byPath = new Map<string, PreloadedFile>();
  // Two workflows may share an engine: it is loaded once, for the first.
  for (const file of parts.flatMap(({ files }) => files)) if (!byPath.has(file.path)) byPath.set(file.path, file);
  const missing = new Map<string, MissingFile>();
  for (const one of parts.flatMap((part) => part.missing)) if (!missing.has(one.path)) missing.set(one.path, one);
  return {
    files: [...byPath.values()],
    missing: [...missing.values()],
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
  };
}

/** Nothing but warnings. */
export function warned(...warnings: readonly string[]): Parts {
  return { files: [], missing: [], warnings };
}

/** What a part is asked for as. */
interface Wanted {
  readonly role: PreloadRole;
  readonly workflow?: string | undefined;
}

/** A file as a part, its content as it is or changed. */
export function filePart(path: string, { role, workflow }: Wanted, size: number, content: string): Parts {
  const owner = workflow === undefined ? {} : { workflow };
  return { files: [{ path, role, ...owner, size, content }], missing: [], warnings: [] };
}

/** Reads a file that another one (`from`) names; one that isn't there is a part too, with what there is under a similar name. */
export async function readPart(source: FileSource, path: string, wanted: Wanted, from: Location): Promise<Parts> {
  let location: Location | undefined;
  try {
    location = source.resolve(path, { from });
    const { text, size } = await readWhole(source, location);
    return filePart(source.show(location), wanted, size, text);
  } catch (error) {
    return missingPart(source, location, path, wanted, error);
  }
}

/** A file that can't be read, as a part, whatever the reason is. */
export async function missingPart(
  source: FileSource,
  location: Location | undefined,
  path: string,
  { role, workflow }: Wanted,
  error: unknown,
): Promise<Parts> {
  const reason = isPhasegateError(error) ? error.message : unreadable(error).message;
  const near =
    location !== undefined && isPhasegateError(error, "FILE_NOT_FOUND") ? await source.nearest(location) : [];
  const nearest = near.map((one) => source.show(one));
  const owner = workflow === undefined ? {} : { workflow };
  const shownPath = location === undefined ? path : source.show(location);
  return { files: [], missing: [{ path: shownPath, role, ...owner, reason, nearest }], warnings: [] };
}

/** What the loading of one workflow, and of those that it invokes, is done with. */
export interface LoadContext {
  readonly source: FileSource;
  /** The roots that workflows lie in: what is named below them belongs to a workflow. */
  readonly definitionRoots: readonly string[];
  /** Loads a workflow of any shape that the file `from` invokes. */
  invoke(path: string, from: Location, trail: readonly string[]): Promise<Parts>;
  /** The core engine's text, read once. */
  engine(): Promise<Parts>;
  /** The elicitation task, read once. */
  elicitation(): Promise<Parts>;
}

/** The folder that a file lies in. */
export function folderOf({ root, path }: Location): Location {
  const end = path.lastIndexOf("/");
  return { root, path: end === -1 ? "." : path.slice(0, end) };
}

/** A name in a folder. */
export function inFolder({ root, path }: Location, name: string): Location {
  return { root, path: path === "." ? name : `${path}/${name}` };
}

/** The last name of a location; the root's where it is the root itself. */
export function nameOf({ root, path }: Location): string {
  return path === "." ? root : path.slice(path.lastIndexOf("/") + 1);
}

/** What all classic workflows share: the engine that tells how they are followed, and the task of elicitation. */

/** Where each lies below the core root, the name of today first. */
const PLACES = {
  engine: ["tasks/workflow.md", "tasks/workflow.xml"],
  elicitation: [
    "tasks/adv-elicit.md",
    "tasks/adv-elicit.xml",
    "tasks/advanced-elicitation.md",
    "tasks/advanced-elicitation.xml",
    "workflows/advanced-elicitation/workflow.md",
    "workflows/advanced-elicitation/workflow.xml",
  ],
} as const;
/** A table of methods that a task names, beside itself. */
const TABLE = /(?<![\w-])[\w-]+\.csv\b/;

/** The core engine's text. Nothing where the workspace has no core root. */
export function loadEngine(source: FileSource): Promise<Parts> {
  return loadFirst(source, "engine");
}

/** The elicitation task, and the table of methods that it draws from. */
export async function loadElicitation(source: FileSource): Promise<Parts> {
  const task = await loadFirst(source, "elicitation");
  const [file] = task.files;
  const table = file === undefined ? undefined : TABLE.exec(file.content)?.[0];
  if (file === undefined || table === undefined) return task;
  const methods = await readOrMissing(source, source.resolve(table, { from: source.resolve(file.path) }), "data");
  return joinParts([task, methods]);
}

/** The first that is there, one after the other: as a rule it is the first of all. */
async function loadFirst(source: FileSource, role: keyof typeof PLACES): Promise<Parts> {
  if (!source.known.includes("core-root")) return joinParts([]);
  for (const path of PLACES[role]) {
    const location = { root: "core-root", path };
    try {
      const { text, size } = await readWhole(source, location);
      return filePart(source.show(location), { role }, size, text);
    } catch (error) {
      if (!isPhasegateError(error, "FILE_NOT_FOUND")) throw error;
    }
  }
  return readOrMissing(source, { root: "core-root", path: PLACES[role][0] }, role);
}

async function readOrMissing(source: FileSource, location: Location, role: PreloadRole): Promise<Parts> {
  const path = source.show(location);
  try {
    const { text, size } = await readWhole(source, location);
    return filePart(path, { role }, size, text);
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    return missingPart(source, location, path, { role }, error);
  }
}

/** A workflow's first file, and which shape it is of. */
export interface FoundWorkflow {
  /** `classic`: a workflow.yaml. `skill`: a SKILL.md, or a workflow.md that stands alone. */
  readonly shape: "classic" | "skill";
  readonly file: Location;
}

/** A file's text, and its bytes. */
export interface WholeText {
  readonly text: string;
  readonly size: number;
}

/** What a folder holds under a name. */
export interface FolderEntry {
  readonly path: string;
  readonly kind: string;
}

/** What preloading needs of a workspace: its files, behind their sandboxes. */
export interface FileSource {
  /** The names of all path variables, without braces. */
  readonly known: readonly string[];
  /** Where a path with path variables leads; a relative one in the folder of the file `from`. Throws `PATH_REFUSED`. */
  resolve(path: string, options?: { readonly from?: Location }): Location;
  /** The host's words put into a text; roots, and what nobody knows, stay as they are. */
  expand(text: string): string;
  /** A file, whole. Throws `FILE_NOT_FOUND`, `PATH_REFUSED`, `TOO_LARGE`, `INVALID_INPUT`. */
  read(location: Location, options: { readonly maxBytes: number }): Promise<WholeText>;
  /** What a folder holds, sorted by path. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`. */
  list(location: Location): Promise<readonly FolderEntry[]>;
  /** What lies in a missing file's folder under a similar name, the nearest first. */
  nearest(location: Location): Promise<readonly Location[]>;
  /** Where workflows were found before, by name: looking through all folders is worth it once. */
  readonly found: Map<string, FoundWorkflow>;
  /** How agents write a location: `{bundle-root}/workflows/intake/workflow.yaml`. */
  show(location: Location): string;
}

/** The largest file that is loaded whole, in bytes. */
const FILE_MAX = 1_048_576;

/** Reads a whole text. */
export function readWhole(source: FileSource, location: Location) {
  return source.read(location, { maxBytes: FILE_MAX });
}
