import type { Disk } from "./disk.js";

/** Smaller folders are read as fast as their time of change is. */
const MIN_NAMES = 256;
const MAX_FOLDERS = 16;
/** What changed just now may change again within the same tick of the file system's clock, unseen. */
const SETTLED_MS = 100;
/** Some file systems keep whole seconds only, or every second one. */
const SETTLED_COARSE_MS = 2500;
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
    if (isFresh && seen.stamp === (await this.#stamp(path))) return seen.names;
    this.#seen.delete(path);
    const at = Date.now();
    const stamp = await this.#stamp(path);
    const names = await this.#disk.names(path);
    if (stamp !== undefined && names.length >= MIN_NAMES) this.#keep(path, { stamp, at, names });
    return names;
  }

  #keep(path: string, seen: Seen): void {
    if (this.#seen.size >= MAX_FOLDERS) this.#seen.clear();
    this.#seen.set(path, seen);
  }

  /** Which state a folder is in; undefined if that can't be told yet. */
  async #stamp(path: string): Promise<string | undefined> {
    const stat = await this.#disk.stat(path);
    if (stat === undefined) return undefined;
    const settled = Number.isInteger(stat.mtimeMs) ? SETTLED_COARSE_MS : SETTLED_MS;
    if (Math.abs(Date.now() - stat.mtimeMs) < settled) return undefined;
    return `${stat.ino}:${stat.mtimeMs}`;
  }
}
