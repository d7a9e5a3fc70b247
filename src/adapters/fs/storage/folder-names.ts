import type { Disk } from "./disk.js";
import { folderState } from "./folder-stamp.js";

/** Smaller folders are read as fast as their time of change is. */
const MIN_NAMES = 256;
const MAX_FOLDERS = 16;
/** Against clocks that are set back, and servers whose clock differs. */
const MAX_AGE_MS = 10_000;

interface Seen {
  readonly stamp: string;
  readonly at: number;
  readonly names: readonly string[];
}

/** The names in folders, kept for large folders as long as these don't change. */
export class FolderNames {
  readonly #disk: Disk;
  readonly #seen = new Map<string, Seen>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async read(path: string): Promise<readonly string[]> {
    const seen = this.#seen.get(path);
    const isFresh = seen !== undefined && Date.now() - seen.at < MAX_AGE_MS;
    if (isFresh && seen.stamp === (await folderState(this.#disk, path))?.settled) return seen.names;
    this.#seen.delete(path);
    const at = Date.now();
    const stamp = (await folderState(this.#disk, path))?.settled;
    const names = await this.#disk.names(path);
    if (stamp !== undefined && names.length >= MIN_NAMES) this.#keep(path, { stamp, at, names });
    return names;
  }

  #keep(path: string, seen: Seen): void {
    if (this.#seen.size >= MAX_FOLDERS) this.#seen.clear();
    this.#seen.set(path, seen);
  }
}
