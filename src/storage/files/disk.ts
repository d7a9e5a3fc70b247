/**
 * The file system calls of the store. A missing file is returned as undefined, not as an error; everything that a
 * commit depends on is synced to the disk.
 */
import { constants as bufferConstants } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import * as nodeFs from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { asStorageFailure, errnoOf, isMissing, OddFile } from "./failures.js";
/** Prefix of temp files. Old files with it were left by a crash. */
export const TEMPORARY = "tmp-";

/** Returns a new unique name for a temp file. */
export function temporaryName(prefix = TEMPORARY): string {
  return `${prefix}${randomUUID()}`;
}

/**
 * Gives a commit its version: complete, synced, and only if the version is free. A commit is staged in the session's
 * own folder, so a writer that was overtaken by a removal finds its folder gone.
 */
export interface Publisher {
  /** The system call that publishes. */
  readonly way: "link" | "rename";
  /** Returns the path of a version. */
  path(folder: string, version: number): string;
  /** Returns the version to which a name in a session's folder belongs; 0 if it is not a version's. */
  versionOf(name: string): number;
  /** Writes a commit to a temp file and returns its path. */
  stage(folder: string, data: string | Uint8Array): Promise<string>;
  /**
   * Gives a staged commit its version. Returns false if the version is taken or the folder is gone. Any error except
   * `outcomeUnknown` means that the commit was not published.
   */
  publish(folder: string, staged: string, version: number): Promise<boolean>;
  /** Removes the temp file of a published commit. */
  tidy(staged: string): Promise<void>;
  /** Deletes a version's file because the version is in the pack or lost a race. */
  remove(folder: string, version: number): Promise<void>;
  /** Deletes a staged commit. */
  discard(staged: string): Promise<void>;
}

/** The part of `node:fs/promises` that the store uses. Tests can pass one whose calls fail. */
export type FileSystem = Pick<
  typeof nodeFs,
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "realpath" | "rename" | "rm" | "rmdir" | "stat" | "unlink"
>;

/** Reads a range of bytes from a file; fewer at its end. */
export type ReadRange = (position: number, bytes: number) => Promise<Buffer>;

/** Most commits are shorter, in bytes. */
const SHORT = 8192;

/** The maximum length of a string: every file that is read completely becomes one. */
const LONGEST = bufferConstants.MAX_STRING_LENGTH;

/** The reading calls. */
class ReadingDisk {
  readonly fs: FileSystem;

  constructor(fs: FileSystem) {
    this.fs = fs;
  }

  /** Returns the stats of a file or folder; undefined if it does not exist. */
  async stat(path: string): Promise<Stats | undefined> {
    return orMissing(this.fs.stat(path));
  }

  /** Returns device and inode of a path; undefined if it does not exist. */
  async identity(path: string): Promise<string | undefined> {
    const stat = await orMissing(this.fs.stat(path, { bigint: true }));
    return stat && `${stat.dev}:${stat.ino}`;
  }

  /** Returns the inode of a file or folder: a copy has another one. */
  async fileNumber(path: string): Promise<string | undefined> {
    const stat = await orMissing(this.fs.stat(path, { bigint: true }));
    return stat && String(stat.ino);
  }

  async exists(path: string): Promise<boolean> {
    return (await this.stat(path)) !== undefined;
  }

  /**
   * Reads a whole file; undefined if it does not exist. For a short file, stat and read run in parallel, and the
   * close is not awaited: each round trip to the thread pool costs more than the call itself. `onceOpen` runs in
   * parallel too, once the file is open.
   */
  async read(path: string, onceOpen: () => Promise<unknown> = async () => {}): Promise<Buffer | undefined> {
    const handle = await orMissing(this.fs.open(path, "r"));
    if (handle === undefined) return undefined;
    try {
      const start = Buffer.allocUnsafe(SHORT);
      const reading = [handle.stat(), handle.read(start, 0, SHORT, 0), onceOpen()] as const;
      // Wait for all, even if one fails: the file is closed afterwards.
      await Promise.allSettled(reading);
      const [stat, { bytesRead }] = await Promise.all(reading);
      requireFile(stat);
      const { size } = stat;
      if (size > LONGEST) throw tooLong();
      return bytesRead === size ? start.subarray(0, size) : await handle.readFile();
    } finally {
      void handle.close().catch(ignore);
    }
  }

  /** Reads the first bytes of a file; undefined if it does not exist. */
  async readStart(path: string, bytes: number): Promise<Buffer | undefined> {
    return this.#opened(path, async (handle) => {
      const [stat, start] = await Promise.all([handle.stat(), rangesOf(handle)(0, bytes)]);
      requireFile(stat);
      return start;
    });
  }

  /** Reads several parts of one file, even if its name points to another file meanwhile. */
  async readParts<T>(path: string, use: (read: ReadRange, stat: Stats) => Promise<T>): Promise<T | undefined> {
    return this.#opened(path, async (handle) => {
      const stat = await handle.stat();
      requireFile(stat);
      return use(rangesOf(handle), stat);
    });
  }

  async #opened<T>(path: string, use: (handle: nodeFs.FileHandle) => Promise<T>): Promise<T | undefined> {
    const handle = await orMissing(this.fs.open(path, "r"));
    return handle && closing(handle, () => use(handle));
  }

  /** Returns the names in a folder; empty if it does not exist. All names are ASCII, and latin1 decodes faster. */
  async names(path: string): Promise<readonly string[]> {
    return (await orMissing(this.fs.readdir(path, { encoding: "latin1" }))) ?? [];
  }
}

function rangesOf(handle: nodeFs.FileHandle): ReadRange {
  return async (position, bytes) => {
    // The range comes from the file, which may be damaged, and Node aborts the process for 2 GiB.
    if (bytes > LONGEST) throw tooLong();
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(bytes), 0, bytes, position);
    return buffer.subarray(0, bytesRead);
  };
}

/** Refuses everything but a regular file: a link may lead to a device, which has no end. */
function requireFile(stat: Stats): void {
  if (!stat.isFile()) throw new OddFile("it is not a regular file");
}

function tooLong(): OddFile {
  return new OddFile(`it has a part of more than ${LONGEST} bytes`);
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const NO_FOLDER_SYNC: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EISDIR", "EINVAL"]);
const OPEN_ELSEWHERE: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);
const RENAME_ATTEMPTS = 6;

/** The numeric open flags, with O_NONBLOCK. */
const FLAGS: Readonly<Record<string, number>> = {
  r: constants.O_RDONLY | constants.O_NONBLOCK,
  a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK,
};

/**
 * Opens files without blocking. Opening a FIFO in the place of a file would otherwise block one of the few pool
 * threads forever. With O_NONBLOCK, the open or the use of it fails.
 */
const WITHOUT_WAITING: FileSystem = {
  ...nodeFs,
  open: (path, flags = "r", mode) => nodeFs.open(path, FLAGS[flags] ?? flags, mode),
};

/** The reading and writing calls, and the differences between operating systems. */
export class Disk extends ReadingDisk {
  readonly #windows: boolean;
  #ahead = 0;

  constructor(fs: FileSystem = WITHOUT_WAITING, platform: string = process.platform) {
    super(fs);
    this.#windows = platform === "win32";
  }

  /** Writes a new file and syncs it. Leaves no file behind on failure. */
  async writeNew(path: string, data: string | Uint8Array): Promise<void> {
    await this.fill(path, (write) => write(data));
  }

  /** Writes a new file in parts and syncs it. Leaves no file behind on failure. */
  async fill(path: string, use: (write: (data: string | Uint8Array) => Promise<void>) => Promise<void>): Promise<void> {
    const handle = await this.fs.open(path, "wx", FILE_MODE);
    try {
      await closing(handle, async () => {
        await use((data) => handle.writeFile(data));
        await handle.sync();
      });
    } catch (error) {
      await this.drop(path);
      throw error;
    }
  }

  /** Writes a file that may be lost in a power failure. */
  async write(path: string, data: string): Promise<void> {
    const handle = await this.fs.open(path, "w", FILE_MODE);
    await closing(handle, () => handle.writeFile(data));
  }

  /**
   * Returns the file system's current time in milliseconds, by creating a file in the folder. Only this clock tells
   * how old other files are: this process's clock may differ or be wrong.
   */
  async now(folder: string): Promise<number> {
    const probe = join(folder, temporaryName());
    await this.touch(probe);
    try {
      const { mtimeMs } = await this.fs.stat(probe);
      this.#ahead = mtimeMs - Date.now();
      return mtimeMs;
    } finally {
      await this.drop(probe);
    }
  }

  /** Estimates the file system's current time from this process's clock and the offset measured last. */
  about(): number {
    return Date.now() + this.#ahead;
  }

  /** Creates an empty file; returns false if it exists already. */
  async create(path: string): Promise<boolean> {
    try {
      const handle = await this.fs.open(path, "wx", FILE_MODE);
      await handle.close();
      return true;
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    }
  }

  /** Creates an empty file unless it exists. */
  async touch(path: string): Promise<void> {
    const handle = await this.fs.open(path, "a", FILE_MODE);
    await handle.close();
  }

  /** Creates a file or updates its modification time. */
  async stamp(path: string): Promise<void> {
    await this.write(path, ".");
  }

  /** Syncs a folder's entries to the disk. Windows has no call for it and does it by itself. */
  async syncFolder(path: string): Promise<void> {
    const folder = await this.openFolder(path);
    await closing(folder, () => folder.sync());
  }

  /** Opens a folder for a later sync, so that only the sync itself can fail then. */
  async openFolder(path: string): Promise<OpenFolder> {
    try {
      const handle = await this.fs.open(path, "r");
      return { sync: () => this.#unlessWindows(handle.sync()), close: () => handle.close() };
    } catch (error) {
      await this.#unlessWindows(Promise.reject(error));
      return { sync: async () => {}, close: async () => {} };
    }
  }

  async #unlessWindows(result: Promise<void>): Promise<void> {
    try {
      await result;
    } catch (error) {
      if (!this.#windows || !NO_FOLDER_SYNC.has(errnoOf(error))) throw error;
    }
  }

  /** Makes a folder; returns false if it exists already. */
  async makeFolder(path: string): Promise<boolean> {
    try {
      await this.fs.mkdir(path, { mode: FOLDER_MODE });
      return true;
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    }
  }

  /** Makes a folder and its parents, and syncs each new entry. */
  async makeFolders(path: string): Promise<void> {
    const first = await this.fs.mkdir(path, { recursive: true, mode: FOLDER_MODE });
    if (first === undefined) return;
    for (let made = path; made.length >= first.length; made = dirname(made)) await this.syncFolder(dirname(made));
  }

  /** Renames over an existing file. On Windows this fails while somebody reads the old file, so it is retried. */
  async replace(from: string, to: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.fs.rename(from, to);
      } catch (error) {
        if (!this.#windows || attempt === RENAME_ATTEMPTS || !OPEN_ELSEWHERE.has(errnoOf(error))) throw error;
        await delay(2 ** attempt);
      }
    }
  }

  /** Deletes a file if possible: a file that remains does no harm. */
  async drop(path: string): Promise<void> {
    await this.fs.unlink(path).catch(ignore);
  }

  /** Deletes a folder if possible: a folder that remains does no harm. */
  async dropFolder(path: string): Promise<void> {
    await this.fs.rm(path, { recursive: true, force: true }).catch(ignore);
  }
}

/** A folder that is open for a sync. */
interface OpenFolder {
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Uses an open handle and closes it in any case. */
async function closing<T>(handle: { close(): Promise<void> }, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    await handle.close();
  }
}

/** Returns a call's result; undefined if the file or folder does not exist. */
export async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Ignores failures that do no harm. */
export function ignore(): void {}

/** Runs an action and reports its failures as those of an operation. */
export async function guarded<T>(operation: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asStorageFailure(operation, error);
  }
}

/** Does the same for each step of an iteration. */
export async function* guardedEach<T>(operation: string, items: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (;;) {
      const next = await guarded(operation, () => items.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await items.return(undefined);
  }
}
