import { constants as bufferConstants } from "node:buffer";
import type { Stats } from "node:fs";
import type * as nodeFs from "node:fs/promises";
import { closing, ignore, orMissing } from "./file-handles.js";
import { OddFile } from "./fs-failure.js";

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
export class ReadingDisk {
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
