import type { Location } from "../roots/location.js";
import type { Parts } from "./parts.js";
import type { FileSource } from "./source.js";

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
