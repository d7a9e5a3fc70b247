import { join } from "node:path";
import type { Background } from "./background.js";
import type { Disk } from "./disk.js";
import { firstNames } from "./first-names.js";
import { FolderNames } from "./folder-names.js";
import type { Folders } from "./folders.js";
import { isDay, type Marker, type MarkerEntry, parseMarker, type Tree } from "./marker.js";
import type { StoreLayout } from "./store-layout.js";

const DAY_MS = 86_400_000;
/** Empty days older than this are deleted, so that a list needn't look into years of them. */
const KEEP_EMPTY_MS = 30 * DAY_MS;

/** The two trees of markers: who is in which list, found without reading sessions. */
export class MarkerTrees {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #folders: Folders;
  readonly #background: Background;
  readonly #names: FolderNames;

  constructor(disk: Disk, layout: StoreLayout, folders: Folders, background: Background) {
    this.#disk = disk;
    this.#layout = layout;
    this.#folders = folders;
    this.#background = background;
    this.#names = new FolderNames(disk);
  }

  /** Makes a marker and brings it to the disk; says as soon as it is made, which it isn't if it was there already. */
  async place(marker: Marker, onMade: () => void = () => {}): Promise<void> {
    const folder = this.#day(marker.tree, marker.day);
    const place = async () => {
      if (await this.#disk.create(join(folder, marker.name))) onMade();
      await this.#disk.syncFolder(folder);
    };
    await this.#folders.within(folder, place, isOld(marker.day));
  }

  /** Takes a marker away. It does no harm if that fails: a list looks at the session too. */
  async lift(marker: Marker): Promise<void> {
    await this.#disk.drop(this.path(marker));
  }

  async has(marker: Marker): Promise<boolean> {
    return this.#disk.exists(this.path(marker));
  }

  path(marker: Marker): string {
    return join(this.#day(marker.tree, marker.day), marker.name);
  }

  /** How many markers of active sessions there are, counted no further than `upTo`. */
  async countActive(upTo: number): Promise<number> {
    let count = 0;
    for (const day of await this.#days("active")) {
      for (const name of await this.#dayNames("active", day)) {
        if (count >= upTo) return count;
        if (parseMarker("active", day, name) !== undefined) count++;
      }
    }
    return count;
  }

  /** The markers that come after another one (or all), newest first, then by id, some at a time. */
  async *walk(tree: Tree, after: Marker | undefined, size: number): AsyncGenerator<readonly MarkerEntry[]> {
    let batch: MarkerEntry[] = [];
    for (const day of await this.#days(tree)) {
      if (after !== undefined && day > after.day) continue;
      const names = await this.#dayNames(tree, day);
      for (let from = day === after?.day ? after.name : undefined; ; ) {
        const first = firstNames(names, from, size - batch.length);
        batch.push(...first.map((name) => parseMarker(tree, day, name)).filter((entry) => entry !== undefined));
        from = first.at(-1);
        if (from === undefined) break;
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
    }
    yield batch;
  }

  async #days(tree: Tree): Promise<readonly string[]> {
    const names = await this.#disk.names(this.#layout.top(tree));
    return names.filter(isDay).sort().reverse();
  }

  async #dayNames(tree: Tree, day: string): Promise<readonly string[]> {
    const folder = this.#day(tree, day);
    const names = await this.#names.read(folder);
    if (names.length === 0 && isOld(day)) this.#background.run(folder, () => this.#disk.fs.rmdir(folder));
    return names;
  }

  #day(tree: Tree, day: string): string {
    return join(this.#layout.top(tree), day);
  }
}

// Only what is old is deleted when empty, and only what isn't is taken for known by those who place markers.
function isOld(day: string): boolean {
  return Date.now() - Date.parse(day) > KEEP_EMPTY_MS;
}
