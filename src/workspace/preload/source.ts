import type { Location } from "../roots/paths.js";

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

/** What preloading needs of a workspace: its files, behind their walls. */
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
