/**
 * The file system as the store uses it, and the one of a local disk. What looks at a path or reads a few bytes is done at
 * once there, on the caller's thread: it takes some microseconds, and a round trip to Node's pool of threads takes ten
 * times as long. What writes, syncs, deletes or reads much goes to the pool. A long series of looks leaves room for the
 * rest of the process every few milliseconds.
 */
import * as fs from "node:fs";
import * as pooled from "node:fs/promises";
import { dirname } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";

/** The file system calls that the store uses. `node:fs/promises` has all of them. */
export interface FileSystem
  extends Pick<typeof pooled, "link" | "mkdir" | "readdir" | "realpath" | "rename" | "rm" | "rmdir" | "unlink"> {
  /** Looks at a file or folder. */
  stat(path: string): Promise<fs.Stats>;
  /** Looks at a file or folder, with exact numbers. */
  stat(path: string, options: { readonly bigint: true }): Promise<fs.BigIntStats>;
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

/** Flags with which a file may be written or made. */
const WRITES = fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT;

/** The file system of a local disk. */
export const localFileSystem: FileSystem = { ...pooled, stat, open };

/** How long the looks of one turn of the event loop may take, in milliseconds. */
const TURN_MS = 5;

/** When the first look of this turn began. */
let turnBegan: number | undefined;

/** Returns true if other work of the process has waited for long enough. */
function isLate(): boolean {
  if (turnBegan !== undefined) return performance.now() - turnBegan > TURN_MS;
  turnBegan = performance.now();
  setImmediate(() => {
    turnBegan = undefined;
  });
  return false;
}

function stat(path: string): Promise<fs.Stats>;
function stat(path: string, options: { readonly bigint: true }): Promise<fs.BigIntStats>;
async function stat(path: string, options?: { readonly bigint: true }): Promise<fs.Stats | fs.BigIntStats> {
  if (isLate()) await nextTurn();
  const found = fs.statSync(path, { ...options, throwIfNoEntry: false });
  if (found === undefined) throw whyMissing(path);
  return found;
}

/** One error for all paths, since most looks find nothing: to make an error takes longer than the look. */
const MISSING = Object.freeze(Object.assign(new Error("ENOENT: no such file or directory"), { code: "ENOENT" }));

/** Nothing is found below a file either, but then something is wrong with the store. Windows doesn't tell them apart. */
function whyMissing(path: string): Error {
  const above = dirname(path);
  const folder = fs.statSync(above, { throwIfNoEntry: false });
  if (folder === undefined && above !== path) return whyMissing(above);
  if (folder === undefined || folder.isDirectory() || process.platform === "win32") return MISSING;
  return Object.assign(new Error(`ENOTDIR: not a directory, stat '${path}'`), { code: "ENOTDIR", path });
}

async function open(path: string, flags: number, mode?: number): Promise<OpenFile> {
  if ((flags & WRITES) !== 0) return new LocalFile(await inPool.open(path, flags, mode), inPool.close);
  if (isLate()) await nextTurn();
  return new LocalFile(fs.openSync(path, flags), async (descriptor) => fs.closeSync(descriptor));
}

/** The calls that take a file's descriptor, as promises. */
const inPool = {
  open: promisify(fs.open),
  read: promisify(fs.read),
  readFile: promisify(fs.readFile),
  writeFile: promisify(fs.writeFile),
  sync: promisify(fs.fsync),
  close: promisify(fs.close),
};

/** A longer read goes to the pool: other calls of the process need not wait for it. */
const SHORT = 64 * 1024;

class LocalFile implements OpenFile {
  readonly #descriptor: number;
  readonly #close: (descriptor: number) => Promise<void>;

  /** To close a file that was written can take long, as where a virus scanner looks at it. */
  constructor(descriptor: number, close: (descriptor: number) => Promise<void>) {
    this.#descriptor = descriptor;
    this.#close = close;
  }

  async stat(): Promise<fs.Stats> {
    return fs.fstatSync(this.#descriptor);
  }

  async read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }> {
    if (isLate()) await nextTurn();
    if (length > SHORT) return inPool.read(this.#descriptor, buffer, offset, length, position);
    return { bytesRead: fs.readSync(this.#descriptor, buffer, offset, length, position) };
  }

  readFile(): Promise<Buffer> {
    return inPool.readFile(this.#descriptor);
  }

  writeFile(data: string | Uint8Array): Promise<void> {
    return inPool.writeFile(this.#descriptor, data);
  }

  sync(): Promise<void> {
    return inPool.sync(this.#descriptor);
  }

  close(): Promise<void> {
    return this.#close(this.#descriptor);
  }
}
