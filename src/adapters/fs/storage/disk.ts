import { constants } from "node:fs";
import * as nodeFs from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { closing, ignore, type OpenFolder } from "./file-handles.js";
import { errnoOf } from "./fs-failure.js";
import { temporaryName } from "./publisher.js";
import { type FileSystem, ReadingDisk } from "./reading-disk.js";

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
