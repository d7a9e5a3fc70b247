import type { FileSignature } from "./read.js";
import type { Saved } from "./save.js";
/** What a folder holds under a name. */
export interface WallEntry {
  /** Relative to the root, with `/`. */
  readonly path: string;
  /** `refused`: a link that leads out or nowhere, a name that no path may have, a device, a FIFO. */
  readonly kind: "file" | "folder" | "refused";
  /** Of files and folders. */
  readonly signature?: FileSignature;
}

/** What lies below a folder. */
export interface WallTree {
  /** Files and refused entries, by path. */
  readonly entries: readonly WallEntry[];
  /** Whether there were more, or deeper ones, than the caller wanted to see. */
  readonly truncated: boolean;
}

/**
 * A root, and the only way to the files in it. Paths are relative to the root. Links inside it may
 * point anywhere inside it; whatever leads out throws `PATH_REFUSED`, and no message says where
 * the root lies.
 */
export interface Wall {
  /**
   * A file's text. Throws `FILE_NOT_FOUND`, `PATH_REFUSED`, `TOO_LARGE` (over `maxBytes`), and
   * `INVALID_INPUT` for what isn't UTF-8. A byte order mark stays in the text.
   */
  read(
    path: string,
    options: { readonly maxBytes: number },
  ): Promise<{ readonly text: string; readonly signature: FileSignature }>;
  /** A file's bytes; throws as `read` does. */
  readBytes(
    path: string,
    options: { readonly maxBytes: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly signature: FileSignature }>;
  /**
   * A part of a file's bytes, from `offset` on, at most `length`; the file may be of any size. Empty behind its end.
   * Throws as `read` does, but never `TOO_LARGE`.
   */
  readPart(
    path: string,
    part: { readonly offset: number; readonly length: number },
  ): Promise<{ readonly bytes: Uint8Array; readonly signature: FileSignature }>;
  /**
   * Puts another text in the place of a file's, whole or not at all: false, and nothing is changed, if
   * its bytes have another SHA-256 than `hash`. Its mode stays; a link inside the root stays one, and
   * what it leads to is replaced. Of several that replace one text, in any number of processes, one does. Throws
   * `FILE_NOT_FOUND`, `PATH_REFUSED` and `TOO_LARGE`, and `STORAGE_FAILED` for a file that has several names; one
   * that is write-protected is replaced, since its folder isn't.
   */
  replace(
    path: string,
    replacement: { readonly text: string; readonly hash: string; readonly maxBytes: number },
  ): Promise<boolean>;
  /**
   * Saves a file for its owner alone, new or in the place of one that is there, whole or not at all, and makes the folders
   * on the way. Nothing on the way may be a link, and a file that has several names is refused: so nothing that lies
   * elsewhere, inside the root or outside, has another text afterwards. Throws `PATH_REFUSED`, `TOO_LARGE` and
   * `STORAGE_FAILED`.
   */
  save(path: string, saving: { readonly text: string; readonly maxBytes: number }): Promise<Saved>;
  /** Makes a folder for its owner alone, and those on the way; false if it is there already. Throws as `save` does. */
  makeFolder(path: string): Promise<boolean>;
  /** What a folder holds, sorted by path; `.` is the root. Throws `FILE_NOT_FOUND` and `PATH_REFUSED`. */
  list(folder: string): Promise<readonly WallEntry[]>;
  /** The same without signatures: names that are no links are not looked at one by one. Throws as `list` does. */
  names(folder: string): Promise<readonly WallEntry[]>;
  /** All files below a folder, names that begin with `.` left out. Throws as `list` does. */
  walk(folder: string, options?: { readonly maxEntries?: number; readonly maxDepth?: number }): Promise<WallTree>;
  /** A file's signature without reading it; undefined if there is no such file. Throws `PATH_REFUSED`. */
  signature(path: string): Promise<FileSignature | undefined>;
  /**
   * Whether the last name of a path is a link, wherever it leads; false if there is no such name.
   * Throws `PATH_REFUSED` where the folders before it lead out.
   */
  isLink(path: string): Promise<boolean>;
  /** Whether the root's name still leads to the folder that was opened: a link may lead elsewhere by now. */
  isCurrent(): Promise<boolean>;
  /** Resolves if the path, or what exists of it, lies inside the root; throws `PATH_REFUSED` if not. */
  check(path: string): Promise<void>;
}
