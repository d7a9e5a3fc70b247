import { constants as bufferConstants } from "node:buffer";
import { randomUUID } from "node:crypto";
import { constants, type Stats } from "node:fs";
import * as nodeFs from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { asStorageFailure, errnoOf, isMissing, OddFile } from "./failures.js";
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

/** The part of `node:fs/promises` that the store uses; a test may give one that fails. */
export type FileSystem = Pick<
  typeof nodeFs,
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "realpath" | "rename" | "rm" | "rmdir" | "stat" | "unlink"
>;

/** Reads so many bytes from a place in a file; fewer at its end. */
export type ReadRange = (position: number, bytes: number) => Promise<Buffer>;

/** Most commits are shorter, in bytes. */
const SHORT = 8192;

/** No text is longer, and all that is read whole becomes a text. */
const LONGEST = bufferConstants.MAX_STRING_LENGTH;

/** What the store asks the file system. What isn't there is undefined, and no error. */
class ReadingDisk {
  readonly fs: FileSystem;

  constructor(fs: FileSystem) {
    this.fs = fs;
  }

  /** What a file or folder is; undefined if it isn't there. */
  async stat(path: string): Promise<Stats | undefined> {
    return orMissing(this.fs.stat(path));
  }

  /** Which file a name stands for; undefined if there is none. */
  async identity(path: string): Promise<string | undefined> {
    const stat = await orMissing(this.fs.stat(path, { bigint: true }));
    return stat && `${stat.dev}:${stat.ino}`;
  }

  /** The number that the file system gives a file or a folder: a copy has another one. */
  async fileNumber(path: string): Promise<string | undefined> {
    const stat = await orMissing(this.fs.stat(path, { bigint: true }));
    return stat && String(stat.ino);
  }

  async exists(path: string): Promise<boolean> {
    return (await this.stat(path)) !== undefined;
  }

  /**
   * A whole file; undefined if it isn't there. A short one is asked for with its length, and not waited for while it is
   * closed: each step costs more on its way to another thread and back than in the file system. `onceOpen` is done
   * beside the reading, and begun when the file is open.
   */
  async read(path: string, onceOpen: () => Promise<unknown> = async () => {}): Promise<Buffer | undefined> {
    const handle = await orMissing(this.fs.open(path, "r"));
    if (handle === undefined) return undefined;
    try {
      const start = Buffer.allocUnsafe(SHORT);
      const reading = [handle.stat(), handle.read(start, 0, SHORT, 0), onceOpen()] as const;
      // All of them, also if one fails: the file is closed afterwards.
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

  /** The first bytes of a file; undefined if it isn't there. */
  async readStart(path: string, bytes: number): Promise<Buffer | undefined> {
    return this.#opened(path, async (handle) => {
      const [stat, start] = await Promise.all([handle.stat(), rangesOf(handle)(0, bytes)]);
      requireFile(stat);
      return start;
    });
  }

  /** Reads some parts of a file, all of the same one, also if its name stands for another one meanwhile. */
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

  /** The names in a folder; none if it isn't there. All names are ASCII, and latin1 is read faster. */
  async names(path: string): Promise<readonly string[]> {
    return (await orMissing(this.fs.readdir(path, { encoding: "latin1" }))) ?? [];
  }
}

function rangesOf(handle: nodeFs.FileHandle): ReadRange {
  return async (position, bytes) => {
    // Where to read, and how much, is taken from the file, which may be damaged; Node ends the process for 2 GiB.
    if (bytes > LONGEST) throw tooLong();
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(bytes), 0, bytes, position);
    return buffer.subarray(0, bytesRead);
  };
}

/** A link may lead to a device, which has no end. */
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

/** What the flags stand for, and that nothing is waited for. */
const FLAGS: Readonly<Record<string, number>> = {
  r: constants.O_RDONLY | constants.O_NONBLOCK,
  a: constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NONBLOCK,
  w: constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NONBLOCK,
};

/**
 * Opening a FIFO that somebody has put in the place of a file would wait for its other end, for ever, and hold one of the
 * few threads that all files share. Opened like this, using it fails.
 */
const WITHOUT_WAITING: FileSystem = {
  ...nodeFs,
  open: (path, flags = "r", mode) => nodeFs.open(path, FLAGS[flags] ?? flags, mode),
};

/** The few things that the store does with files, and what differs between systems in doing them. */
export class Disk extends ReadingDisk {
  readonly #windows: boolean;
  #ahead = 0;

  constructor(fs: FileSystem = WITHOUT_WAITING, platform: string = process.platform) {
    super(fs);
    this.#windows = platform === "win32";
  }

  /** Writes a new file and brings it to the disk; leaves none behind if that fails. */
  async writeNew(path: string, data: string | Uint8Array): Promise<void> {
    await this.fill(path, (write) => write(data));
  }

  /** Writes a new file part by part, brings it to the disk, and leaves none behind if that fails. */
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

  /** Writes a file that need not outlive a loss of power. */
  async write(path: string, data: string): Promise<void> {
    const handle = await this.fs.open(path, "w", FILE_MODE);
    await closing(handle, () => handle.writeFile(data));
  }

  /**
   * What time it is by the file system's clock, in milliseconds: that of a file which is made in a folder for it. Only
   * this one says how old other files are, as this process's clock may be another one's, or be wrong.
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

  /** The same without asking: by this process's clock, and how far from the other one it was at the last time. */
  about(): number {
    return Date.now() + this.#ahead;
  }

  /** Makes an empty file; false if it is there already. */
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

  /** Makes an empty file; no error if it is there. */
  async touch(path: string): Promise<void> {
    const handle = await this.fs.open(path, "a", FILE_MODE);
    await handle.close();
  }

  /** Makes a file, or gives it the time of now. */
  async stamp(path: string): Promise<void> {
    await this.write(path, ".");
  }

  /** Brings a folder's entries to the disk. Windows can't, and does it by itself. */
  async syncFolder(path: string): Promise<void> {
    const folder = await this.openFolder(path);
    await closing(folder, () => folder.sync());
  }

  /** Opens a folder for a sync that is to come: so that only the sync itself can fail then. */
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

  /** Makes a folder; false if it is there already. */
  async makeFolder(path: string): Promise<boolean> {
    try {
      await this.fs.mkdir(path, { mode: FOLDER_MODE });
      return true;
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    }
  }

  /** Makes a folder and those above it, and brings each new entry to the disk. */
  async makeFolders(path: string): Promise<void> {
    const first = await this.fs.mkdir(path, { recursive: true, mode: FOLDER_MODE });
    if (first === undefined) return;
    for (let made = path; made.length >= first.length; made = dirname(made)) await this.syncFolder(dirname(made));
  }

  /** Renames over what is there. On Windows that fails while somebody reads the old file, so try again. */
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

  /** Unlinks a file whose being there does no harm. */
  async drop(path: string): Promise<void> {
    await this.fs.unlink(path).catch(ignore);
  }

  /** Deletes a folder whose being there does no harm. */
  async dropFolder(path: string): Promise<void> {
    await this.fs.rm(path, { recursive: true, force: true }).catch(ignore);
  }
}

/** A folder that is open for a sync. */
interface OpenFolder {
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Uses something that is open, and closes it whatever comes. */
async function closing<T>(handle: { close(): Promise<void> }, use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } finally {
    await handle.close();
  }
}

/** What a call gives; undefined if the file or the folder isn't there. */
export async function orMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** For failures that do no harm. */
export function ignore(): void {}

/** Does something whose failures are told as those of an operation. */
export async function guarded<T>(operation: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asStorageFailure(operation, error);
  }
}

/** The same for each step of an iteration. */
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
