/** The file system calls of the store. A missing file is undefined, not an error. */
import { constants as bufferConstants } from "node:buffer";
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errnoOf } from "../../errors.js";
import { ignore, ignoreMissing, OddFile } from "./failures.js";
import { type FileSystem, localFileSystem, type OpenFile } from "./file-system.js";

/** Prefix of temp files. Old files with it were left by a crash. */
export const TEMPORARY = "tmp-";

export function temporaryIn(folder: string, prefix = TEMPORARY): string {
  return join(folder, `${prefix}${randomUUID()}`);
}

/** Reads a range of bytes from a file; fewer at its end. */
export type ReadRange = (position: number, bytes: number) => Promise<Buffer>;

export type NewFile = Pick<OpenFile, "writeFile">;

type OpenFolder = Pick<OpenFile, "sync" | "close">;

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const NO_FOLDER_SYNC: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EISDIR", "EINVAL"]);
const OPEN_ELSEWHERE: ReadonlySet<string | undefined> = new Set(["EPERM", "EACCES", "EBUSY"]);
const RENAME_ATTEMPTS = 6;

/** With O_NONBLOCK, to open or use a FIFO in the place of a file fails; it would block its thread forever. */
const READ = fs.constants.O_RDONLY | fs.constants.O_NONBLOCK;
const WRITE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_TRUNC | fs.constants.O_NONBLOCK;
const TOUCH = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_APPEND | fs.constants.O_NONBLOCK;
const CREATE = fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL;

/** Reads and writes files, and knows the differences between operating systems. */
export class Disk {
  readonly fs: FileSystem;
  readonly #windows: boolean;
  #ahead = 0;

  constructor(fs: FileSystem = localFileSystem, platform: string = process.platform) {
    this.fs = fs;
    this.#windows = platform === "win32";
  }

  stat(path: string): Promise<fs.Stats | undefined> {
    return this.fs.stat(path).catch(ignoreMissing);
  }

  async exists(path: string): Promise<boolean> {
    return (await this.stat(path)) !== undefined;
  }

  /** Returns the device and the inode of a path; undefined if it does not exist. A copy has another inode. */
  async identity(path: string): Promise<{ readonly device: string; readonly number: string } | undefined> {
    const stat = await this.fs.stat(path, { bigint: true }).catch(ignoreMissing);
    return stat && { device: String(stat.dev), number: String(stat.ino) };
  }

  /** Returns the names in a folder; empty if it does not exist. All names are ASCII, and latin1 decodes faster. */
  async names(path: string): Promise<readonly string[]> {
    return (await this.fs.readdir(path, { encoding: "latin1" }).catch(ignoreMissing)) ?? [];
  }

  /** Reads a file, or its first `most` bytes; undefined if it does not exist. */
  async read(path: string, most?: number): Promise<Buffer | undefined> {
    const file = await this.fs.open(path, READ).catch(ignoreMissing);
    return file && readAndClose(file, most);
  }

  /** Reads several parts of one file, even if its name points to another file meanwhile. */
  async readParts<T>(path: string, use: (read: ReadRange, stat: fs.Stats) => Promise<T>): Promise<T | undefined> {
    const file = await this.fs.open(path, READ).catch(ignoreMissing);
    if (file === undefined) return undefined;
    try {
      const stat = await file.stat();
      if (!stat.isFile()) throw new OddFile(NOT_REGULAR);
      return await use((position, bytes) => readRange(file, position, bytes), stat);
    } finally {
      await file.close();
    }
  }

  /** Writes a new file and syncs it. Leaves no file behind on failure. */
  async writeNew(path: string, data: string | Uint8Array): Promise<void> {
    await this.fill(path, (file) => file.writeFile(data));
  }

  async fill(path: string, write: (file: NewFile) => Promise<void>): Promise<void> {
    const file = await this.fs.open(path, CREATE, FILE_MODE);
    try {
      await write(file);
      await file.sync();
    } catch (error) {
      await file.close().catch(ignore);
      await this.drop(path);
      throw error;
    }
    // Its content is on the disk, so nothing depends on the close. But Windows renames no folder with an open file in it.
    const closing = file.close().catch(ignore);
    if (this.#windows) await closing;
  }

  /** Writes a file that may be lost in a power failure. */
  async write(path: string, data: string): Promise<void> {
    const file = await this.fs.open(path, WRITE, FILE_MODE);
    try {
      await file.writeFile(data);
    } finally {
      await file.close();
    }
  }

  /** Returns the file system's time in milliseconds, by making a file: only it tells how old other files are. */
  async now(folder: string): Promise<number> {
    const probe = temporaryIn(folder);
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
  create(path: string): Promise<boolean> {
    return isNew(this.fs.open(path, CREATE, FILE_MODE).then((file) => file.close()));
  }

  async touch(path: string): Promise<void> {
    const file = await this.fs.open(path, TOUCH, FILE_MODE);
    await file.close();
  }

  async syncFolder(path: string): Promise<void> {
    const folder = await this.openFolder(path);
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  /** Opens a folder for a later sync, so that only the sync itself can fail then. */
  openFolder(path: string): Promise<OpenFolder> {
    const opening = this.fs.open(path, READ);
    return this.#windows ? openOnWindows(opening) : opening;
  }

  /** Returns false if it exists already. */
  makeFolder(path: string): Promise<boolean> {
    return isNew(this.fs.mkdir(path, { mode: FOLDER_MODE }));
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

  async replaceOrDrop(staged: string, to: string): Promise<void> {
    try {
      await this.replace(staged, to);
    } catch (error) {
      await this.drop(staged);
      throw error;
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

async function isNew(making: Promise<unknown>): Promise<boolean> {
  try {
    await making;
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** The maximum length of a string: every file that is read completely becomes one. */
const LONGEST = bufferConstants.MAX_STRING_LENGTH;
const TOO_LONG = `it has a part of more than ${LONGEST} bytes`;
/** A link may lead to a device, which has no end. */
const NOT_REGULAR = "it is not a regular file";

/** Node itself reads a longer file, in the pool of threads. In bytes. */
const LONG = 64 * 1024;

async function readAndClose(file: OpenFile, most = Number.POSITIVE_INFINITY): Promise<Buffer> {
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new OddFile(NOT_REGULAR);
    const length = Math.min(most, stat.size);
    if (length > LONGEST) throw new OddFile(TOO_LONG);
    return await (length > LONG ? file.readFile() : readRange(file, 0, length));
  } finally {
    await file.close();
  }
}

async function readRange(file: OpenFile, position: number, bytes: number): Promise<Buffer> {
  // The range comes from the file, which may be damaged, and Node aborts the process for 2 GiB.
  if (bytes > LONGEST) throw new OddFile(TOO_LONG);
  const buffer = Buffer.allocUnsafe(bytes);
  const { bytesRead } = await file.read(buffer, 0, bytes, position);
  return buffer.subarray(0, bytesRead);
}

/** Windows has no call that syncs a folder, and does it by itself: failures to open or sync one are ignored. */
async function openOnWindows(opening: Promise<OpenFolder>): Promise<OpenFolder> {
  const folder = await opening.catch(ignoreNoSync);
  return { sync: async () => folder?.sync().catch(ignoreNoSync), close: async () => folder?.close() };
}

function ignoreNoSync(error: unknown): undefined {
  if (!NO_FOLDER_SYNC.has(errnoOf(error))) throw error;
}
