/**
 * The input and output of preloading: the files of a workspace as a source, and the parts of a workflow, which are
 * loaded files, missing files and warnings. Also loads the two texts that all classic workflows share.
 */
import { isPhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import type { Location } from "../roots/paths.js";

/** A workflow's first file and its form. */
export interface FoundWorkflow {
  /** `classic`: a workflow.yaml. `skill`: a SKILL.md, or a workflow.md without one. */
  readonly shape: "classic" | "skill";
  readonly file: Location;
}

/** A file's text, and its size in bytes. */
export interface WholeText {
  readonly text: string;
  readonly size: number;
}

/** A name in a folder. */
export interface FolderEntry {
  readonly path: string;
  readonly kind: string;
}

/** The files of a workspace, read through the sandboxes of its roots. */
export interface FileSource {
  /** The names of all path variables, without braces. */
  readonly known: readonly string[];
  /** Resolves a path; a relative one in the folder of the file `from`. Throws `PATH_REFUSED`. */
  resolve(path: string, options?: { readonly from?: Location }): Location;
  /** Replaces the host's variables in a text. Roots and unknown names stay. */
  expand(text: string): string;
  /** Reads a whole file. Throws `FILE_NOT_FOUND`, `PATH_REFUSED`, `TOO_LARGE`, `INVALID_INPUT`. */
  read(location: Location, options: { readonly maxBytes: number }): Promise<WholeText>;
  /** Lists a folder, sorted by path. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`. */
  list(location: Location): Promise<readonly FolderEntry[]>;
  /** Returns existing files with names similar to a missing one, the most similar first. */
  nearest(location: Location): Promise<readonly Location[]>;
  /** The workflows found so far, by name: searching all folders is slow. */
  readonly found: Map<string, FoundWorkflow>;
  /** Formats a location as agents read it: `{bundle-root}/workflows/intake/workflow.yaml`. */
  show(location: Location): string;
}

/** The largest file that is loaded, in bytes. */
const FILE_MAX = 1_048_576;

/** Reads a whole text file. */
export function readWhole(source: FileSource, location: Location) {
  return source.read(location, { maxBytes: FILE_MAX });
}

/** Returns the folder of a file. */
export function folderOf({ root, path }: Location): Location {
  const end = path.lastIndexOf("/");
  return { root, path: end === -1 ? "." : path.slice(0, end) };
}

/** Returns the location of a name in a folder. */
export function inFolder({ root, path }: Location, name: string): Location {
  return { root, path: path === "." ? name : `${path}/${name}` };
}

/** Returns the last name of a location; for a root, the name of the root. */
export function nameOf({ root, path }: Location): string {
  return path === "." ? root : path.slice(path.lastIndexOf("/") + 1);
}

/** The role of a file in its workflow. */
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

/** A loaded file of a workflow. */
export interface PreloadedFile {
  /** Its path, as `read_file` accepts it: `{bundle-root}/workflows/intake/instructions.md`. */
  readonly path: string;
  /** Its role in its workflow. */
  readonly role: PreloadRole;
  /** The workflow that it belongs to, if that is another one, which the preloaded workflow invokes. */
  readonly workflow?: string;
  /** Its size on the disk, in bytes. */
  readonly size: number;
  /** Its whole text. In a workflow.yaml the variables are replaced; customization files are merged. */
  readonly content: string;
}

/** A file that a workflow names but that could not be loaded. */
export interface MissingFile {
  /** Its path: as `read_file` accepts it, or as the workflow names it if it cannot be resolved. */
  readonly path: string;
  /** Its role in its workflow. */
  readonly role: PreloadRole;
  /** The workflow that it belongs to, if that is another one, which the preloaded workflow invokes. */
  readonly workflow?: string;
  /** The reason why it could not be loaded. */
  readonly reason: string;
  /** The paths of existing files with similar names, the most similar first. */
  readonly nearest: readonly string[];
}

/** Parts of a workflow, in the order in which the workflow names them. */
export interface Parts {
  readonly files: readonly PreloadedFile[];
  readonly missing: readonly MissingFile[];
  readonly warnings: readonly string[];
}

/** Joins parts. A file or warning that occurs several times is kept once. */
export function joinParts(parts: readonly Parts[]): Parts {
  const byPath = new Map<string, PreloadedFile>();
  for (const file of parts.flatMap(({ files }) => files)) if (!byPath.has(file.path)) byPath.set(file.path, file);
  const missing = new Map<string, MissingFile>();
  for (const one of parts.flatMap((part) => part.missing)) if (!missing.has(one.path)) missing.set(one.path, one);
  return {
    files: [...byPath.values()],
    missing: [...missing.values()],
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
  };
}

/** Returns parts with only warnings. */
export function warned(...warnings: readonly string[]): Parts {
  return { files: [], missing: [], warnings };
}

/** The role of a part, and the invoked workflow that it belongs to. */
interface Wanted {
  readonly role: PreloadRole;
  readonly workflow?: string | undefined;
}

/** Returns a file as a part. */
export function filePart(path: string, { role, workflow }: Wanted, size: number, content: string): Parts {
  const owner = workflow === undefined ? {} : { workflow };
  return { files: [{ path, role, ...owner, size, content }], missing: [], warnings: [] };
}

/**
 * Reads a file that the file `from` names. If it is not there, `beside` is read instead, with a warning. If that cannot
 * be read either, the part is a missing file.
 */
export async function readPart(
  source: FileSource,
  path: string,
  wanted: Wanted,
  from: Location,
  beside?: string,
): Promise<Parts> {
  let location: Location | undefined;
  try {
    location = source.resolve(path, { from });
    const { text, size } = await readWhole(source, location);
    return filePart(source.show(location), wanted, size, text);
  } catch (error) {
    const isLost = isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED");
    const other = isLost && beside !== undefined ? await readPart(source, beside, wanted, from) : undefined;
    const [found] = other?.files ?? [];
    if (other === undefined || found === undefined) return missingPart(source, location, path, wanted, error);
    return joinParts([other, warned(`${path} can't be read: ${found.path} is read instead`)]);
  }
}

/** Returns a file that cannot be read as a part, with the reason and similar names. */
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

/** The state of one call while it loads a workflow and the workflows that it invokes. */
export interface LoadContext {
  readonly source: FileSource;
  /** The roots that contain workflows. Only files below them are loaded as data. */
  readonly definitionRoots: readonly string[];
  /** Loads a workflow of any form that the file `from` invokes; `trail` are the files that lead to it. */
  invoke(path: string, from: Location, trail: readonly string[]): Promise<Parts>;
  /** Returns the text of the core engine, read once. */
  engine(): Promise<Parts>;
  /** Returns the elicitation task, read once. */
  elicitation(): Promise<Parts>;
}

/**
 * The paths below the core root of the two texts that classic workflows share: the engine, which explains how to follow
 * a workflow, and the elicitation task. The current name is the first.
 */
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
/** The name of a table of methods next to a task. */
const TABLE = /(?<![\w-])[\w-]+\.csv\b/;

/** Loads the text of the core engine; nothing if the workspace has no core root. */
export function loadEngine(source: FileSource): Promise<Parts> {
  return loadFirst(source, "engine");
}

/** Loads the elicitation task, and the table of methods that it names. */
export async function loadElicitation(source: FileSource): Promise<Parts> {
  const task = await loadFirst(source, "elicitation");
  const [file] = task.files;
  const table = file === undefined ? undefined : TABLE.exec(file.content)?.[0];
  if (file === undefined || table === undefined) return task;
  const methods = await readOrMissing(source, source.resolve(table, { from: source.resolve(file.path) }), "data");
  return joinParts([task, methods]);
}

/** Loads the first text that exists; nothing if the workspace has no core root. */
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
