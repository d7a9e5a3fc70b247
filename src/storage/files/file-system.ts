/** The file system as the store uses it: `node:fs/promises` has all of it, and disk.ts a quicker one. */
import type * as fs from "node:fs";
import type * as pooled from "node:fs/promises";

/** The file system calls that the store uses. */
export interface FileSystem
  extends Pick<typeof pooled, "link" | "mkdir" | "realpath" | "rename" | "rm" | "rmdir" | "unlink"> {
  /** Looks at a file or folder. */
  stat(path: string): Promise<fs.Stats>;
  /** Looks at a file or folder, with exact numbers. */
  stat(path: string, options: { readonly bigint: true }): Promise<fs.BigIntStats>;
  /** Returns the names in a folder. */
  readdir(path: string, options: { readonly encoding: "latin1" }): Promise<string[]>;
  /** Opens a file or folder. The flags are a number, and the mode is that of a new file. */
  open(path: string, flags: number, mode?: number): Promise<OpenFile>;
}

/** A file or folder that is open. */
export interface OpenFile {
  /** What is known about the file. */
  stat(): Promise<fs.Stats>;
  /** Reads up to `length` bytes at `position` into the buffer. */
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  /** Reads the file from its beginning. */
  readFile(): Promise<Buffer>;
  /** Writes all data. */
  writeFile(data: string | Uint8Array): Promise<void>;
  /** Waits until the data is on the disk. */
  sync(): Promise<void>;
  /** Ends the use of the file. */
  close(): Promise<void>;
}
