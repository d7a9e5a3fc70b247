import { join } from "node:path";
import type { Background } from "./background.js";
import type { Disk } from "./disk.js";
import { inOrder } from "./first-names.js";
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
  /** What names say, for those of large folders, which are the same until something changes. */
  readonly #parsed = new WeakMap<readonly string[], readonly MarkerEntry[]>();

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

  /** Makes those of some markers that are not there, and brings them to the disk with one sync for each day. */
  async placeAll(markers: readonly Marker[]): Promise<void> {
    const days = new Map<string, Marker[]>();
    for (const marker of markers) {
      const folder = this.#day(marker.tree, marker.day);
      days.set(folder, [...(days.get(folder) ?? []), marker]);
    }
    for (const [folder, ofDay] of days) {
      const place = async () => {
        for (const { name } of ofDay) await this.#disk.create(join(folder, name));
        await this.#disk.syncFolder(folder);
      };
      await this.#folders.within(
        folder,
        place,
        ofDay.some(({ day }) => isOld(day)),
      );
    }
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
      for (const name of inOrder(names, day === after?.day ? after.name : undefined, size)) {
        const entry = parseMarker(tree, day, name);
        if (entry === undefined) continue;
        batch.push(entry);
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
    }
    yield batch;
  }

  /** All markers of a tree, in no order. */
  async all(tree: Tree): Promise<MarkerEntry[]> {
    return this.#entries(tree, await this.#days(tree));
  }

  /** The markers of the newest days, and of one of the others: each is looked at once in as many turns as there are. */
  async someDays(tree: Tree, newest: number, turn: number): Promise<MarkerEntry[]> {
    const days = await this.#days(tree);
    const [one] = days.length > newest ? days.slice(newest + (turn % (days.length - newest))) : [];
    return this.#entries(tree, [...days.slice(0, newest), ...(one === undefined ? [] : [one])]);
  }

  async #entries(tree: Tree, days: readonly string[]): Promise<MarkerEntry[]> {
    const found: (readonly MarkerEntry[])[] = [];
    for (const day of days) {
      const names = await this.#dayNames(tree, day);
      const entries = this.#parsed.get(names) ?? names.map((name) => parseMarker(tree, day, name)).filter(isPresent);
      this.#parsed.set(names, entries);
      found.push(entries);
    }
    return found.flat();
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

function isPresent(entry: MarkerEntry | undefined): entry is MarkerEntry {
  return entry !== undefined;
}
