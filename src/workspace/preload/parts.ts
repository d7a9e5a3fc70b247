import { unreadable } from "../../definition/diagnostic.js";
import { isPhasegateError } from "../../errors.js";
import type { Location } from "../roots/location.js";
import { type FileSource, readWhole } from "./source.js";

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
export interface Wanted {
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
