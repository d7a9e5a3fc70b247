/** The file system as the store uses it. `node:fs/promises` has all of it; the one for a local disk below is quicker. */
import * as fs from "node:fs";
import * as pooled from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

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

/**
 * The file system of a local disk. Calls that look at a path, link a file, or read or write a few bytes run on the caller's
 * thread: they take some microseconds, and a round trip to Node's pool of threads takes ten times as long. Calls that make,
 * sync or delete a file, or read or write much, go to the pool. A long series of calls leaves room for the rest of the process
 * every few milliseconds.
 */
export const localFileSystem: FileSystem = { ...pooled, stat, readdir, open, link };

/** Flags with which a file may be written or made. */
const WRITES = fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT;

/** A longer read or write goes to the pool: other calls of the process need not wait for it. In bytes, or characters. */
const AT_ONCE_MAX = 64 * 1024;

/** A larger folder is read in the pool, in bytes: this is one of some hundred names, or of some thousand where names are counted. */
const FOLDER_AT_ONCE_MAX = 8 * 1024;

/** How long calls may go on before the rest of the process has its turn, in milliseconds, and when it has its turn next. */
const CALLS_MS = 5;
let callsEnd = 0;

function stat(path: string): Promise<fs.Stats>;
function stat(path: string, options: { readonly bigint: true }): Promise<fs.BigIntStats>;
async function stat(path: string, options?: { readonly bigint: true }): Promise<fs.Stats | fs.BigIntStats> {
  if (performance.now() > callsEnd) callsEnd = await nextTurn(performance.now() + CALLS_MS);
  return options === undefined ? fs.statSync(path) : fs.statSync(path, options);
}

async function readdir(path: string, options: { readonly encoding: "latin1" }): Promise<string[]> {
  const { size } = await stat(path);
  // Windows does not tell how large a folder is.
  const isSmall = size > 0 && size <= FOLDER_AT_ONCE_MAX;
  return isSmall ? fs.readdirSync(path, options) : pooled.readdir(path, options);
}

async function link(from: fs.PathLike, to: fs.PathLike): Promise<void> {
  if (performance.now() > callsEnd) callsEnd = await nextTurn(performance.now() + CALLS_MS);
  fs.linkSync(from, to);
}

/** The calls of the pool, as promises. */
const inPool = {
  open: promisify(fs.open),
  read: promisify(fs.read),
  readFile: promisify(fs.readFile),
  writeFile: promisify(fs.writeFile),
  sync: promisify(fs.fsync),
  close: promisify(fs.close),
};

async function open(path: string, flags: number, mode?: number): Promise<OpenFile> {
  const isWritten = (flags & WRITES) !== 0;
  if (!isWritten && performance.now() > callsEnd) callsEnd = await nextTurn(performance.now() + CALLS_MS);
  const file = isWritten ? await inPool.open(path, flags, mode) : fs.openSync(path, flags);
  return {
    stat: async () => fs.fstatSync(file),
    read: async (buffer, offset, length, position) => {
      if (length > AT_ONCE_MAX) return inPool.read(file, buffer, offset, length, position);
      if (performance.now() > callsEnd) callsEnd = await nextTurn(performance.now() + CALLS_MS);
      return { bytesRead: fs.readSync(file, buffer, offset, length, position) };
    },
    readFile: () => inPool.readFile(file),
    writeFile: async (data) => {
      if (data.length > AT_ONCE_MAX) return inPool.writeFile(file, data);
      if (performance.now() > callsEnd) callsEnd = await nextTurn(performance.now() + CALLS_MS);
      fs.writeFileSync(file, data);
    },
    sync: () => inPool.sync(file),
    // Where a virus scanner looks at a file that was written, even to close it takes long.
    close: isWritten ? () => inPool.close(file) : async () => fs.closeSync(file),
  };
}
