import { randomUUID } from "node:crypto";

/** What temporary names begin with; anything of that name that is old was left by a crash. */
export const TEMPORARY = "tmp-";

/** A fresh temporary name. */
export function temporaryName(prefix = TEMPORARY): string {
  return `${prefix}${randomUUID()}`;
}

/**
 * How a commit appears under its version: whole, on the disk, and only if nobody was first. A staged commit lies in
 * the session's own folder, so a writer that was overtaken by a removal finds its folder gone.
 */
export interface Publisher {
  /** Which system call does it. */
  readonly way: "link" | "rename";
  /** Where a version is. */
  path(folder: string, version: number): string;
  /** Which version a name in a session's folder is; 0 if it is none. */
  versionOf(name: string): number;
  /** Writes a commit under a temporary name, which it gives back. */
  stage(folder: string, data: string | Uint8Array): Promise<string>;
  /**
   * Gives a staged commit its version; false if that is taken, or the folder is gone. Any error but `outcomeUnknown`
   * means that it didn't get it.
   */
  publish(folder: string, staged: string, version: number): Promise<boolean>;
  /** Clears away what staging leaves of a commit that was published. */
  tidy(staged: string): Promise<void>;
  /** Deletes a version's file: one that the pack has, or that came too late. */
  remove(folder: string, version: number): Promise<void>;
  /** Clears a staged commit away. */
  discard(staged: string): Promise<void>;
}
