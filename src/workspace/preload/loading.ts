/** The files of a workspace as preloading reads them, and what one call has loaded: files, missing files and warnings. */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { unreadable } from "../../workflow/diagnostic.js";
import { type Location, showLocation } from "../roots/paths.js";
import type { Roots } from "../roots/roots.js";

/** A workflow's first file and its form. */
export interface FoundWorkflow {
  /** `classic`: a workflow.yaml. `skill`: a SKILL.md, or a workflow.md without one. */
  readonly shape: "classic" | "skill";
  readonly file: Location;
}

/** The files of a workspace, read through the sandboxes of its roots. */
export type FileSource = Pick<Roots, "known" | "folders" | "resolve" | "expand" | "read" | "list" | "nearest">;

const FILES_MAX = 500;
const BYTES_MAX = 33_554_432;

/** Returns a source for one call: each file and folder is read once, and the files and bytes are limited. */
export function boundedSource(source: FileSource): FileSource {
  const texts = new Map<string, ReturnType<FileSource["read"]>>();
  const folders = new Map<string, ReturnType<FileSource["list"]>>();
  let files = 0;
  let bytes = 0;
  const read = async (location: Location) => {
    files += 1;
    if (files > FILES_MAX) throw tooMuch(showLocation(location), bytes, `${FILES_MAX} files`);
    if (bytes > BYTES_MAX) throw tooMuch(showLocation(location), bytes, `${BYTES_MAX} bytes`);
    const text = await source.read(location);
    bytes += text.size;
    return text;
  };
  return {
    ...source,
    read: (location) => onceFor(texts, location, read),
    list: (location) => onceFor(folders, location, (folder) => source.list(folder)),
  };
}

function onceFor<T>(known: Map<string, Promise<T>>, location: Location, read: (location: Location) => Promise<T>) {
  const path = showLocation(location);
  const result = known.get(path) ?? read(location);
  known.set(path, result);
  return result;
}

function tooMuch(file: string, bytes: number, limit: string): PhasegateError<"TOO_LARGE"> {
  return new PhasegateError("TOO_LARGE", `not loaded: the workflow has more than ${limit}`, {
    remedy: "Tell the user that the workflow names too many files to load at once. Read what you need with read_file.",
    details: { file, bytes, limit: BYTES_MAX },
  });
}

export function folderOf({ root, path }: Location): Location {
  const end = path.lastIndexOf("/");
  return { root, path: end === -1 ? "." : path.slice(0, end) };
}

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

/** The file of a workflow that is wanted: its role, and the workflow if that is another one. */
export type Wanted = Pick<PreloadedFile, "role" | "workflow">;

/** Why a file can't be loaded; it has a location if its path has been resolved. */
interface Unread {
  readonly location?: Location | undefined;
  readonly error: unknown;
}

/** The loaded files of a workflow, in the order in which it names them. The first of several with one path counts. */
export class Loading {
  readonly source: FileSource;
  readonly files = new Map<string, PreloadedFile>();
  readonly missing = new Map<string, MissingFile>();
  readonly warnings = new Set<string>();
  /** The invocations of workflows so far, also in parts of this one. */
  readonly invoked: { count: number };

  constructor(source: FileSource, invoked = { count: 0 }) {
    this.source = source;
    this.invoked = invoked;
  }

  /** Returns what an invoked workflow is loaded into, before it is added as a whole. */
  part(): Loading {
    return new Loading(this.source, this.invoked);
  }

  add(...files: readonly PreloadedFile[]): void {
    for (const file of files) if (!this.files.has(file.path)) this.files.set(file.path, file);
  }

  warn(...warnings: readonly string[]): void {
    for (const warning of warnings) this.warnings.add(warning);
  }

  join({ files, missing, warnings }: Loading): void {
    this.add(...files.values());
    for (const [path, one] of missing) if (!this.missing.has(path)) this.missing.set(path, one);
    this.warn(...warnings);
  }

  async read(path: string, wanted: Wanted, from?: Location): Promise<PreloadedFile | Unread> {
    let location: Location | undefined;
    try {
      location = this.source.resolve(path, from);
      const { text, size } = await this.source.read(location);
      return { path: showLocation(location), ...wanted, size, content: text };
    } catch (error) {
      return { location, error };
    }
  }

  async load(path: string, wanted: Wanted, from?: Location): Promise<PreloadedFile | undefined> {
    const read = await this.read(path, wanted, from);
    if ("error" in read) {
      await this.miss(path, wanted, read);
      return undefined;
    }
    this.add(read);
    return read;
  }

  /** Adds a file that can't be read, with the reason and similar names. */
  async miss(path: string, wanted: Wanted, { location, error }: Unread): Promise<void> {
    const reason = isPhasegateError(error) ? error.message : unreadable(error).message;
    const isThere = location === undefined || !isPhasegateError(error, "FILE_NOT_FOUND");
    const nearest = isThere ? [] : (await this.source.nearest(location)).map(showLocation);
    const shown = location === undefined ? path : showLocation(location);
    if (!this.missing.has(shown)) this.missing.set(shown, { path: shown, ...wanted, reason, nearest });
  }
}
