import { hash } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, parseSessionId, type SessionId } from "../../workflow/names.js";
import type { Disk } from "./disk.js";
import { isMissing, oddityOf } from "./failures.js";

/** The names that Windows keeps for devices. An id never begins with `_`, so the escaped name is free. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** The folders right under the root. */
export const TOP_FOLDERS = ["sessions", "all", "active", "removed", "packed", "trash", "watching"] as const;

/** Where a session's files are; for a removed session, in the trash. */
export interface SessionPlace {
  readonly id: SessionId;
  readonly folder: string;
}

/**
 * Where things are:
 *
 * ```
 * format.json                                what this store is
 * sessions/<2 hex>/<id>/<version>.json       one commit each, never changed; 1.json may be a pack of the first commits
 * sessions/<2 hex>/<id>/head                 a hint: most of the time the newest version's number
 * sessions/<2 hex>/<id>/payloads/<hash>.gz
 * all/<day>/<time>~<id>                      markers, by the time of creation
 * active/<day>/<time>~<id>~<version>         markers of the active ones
 * removed/<2 hex>/<id>                       ids that are never used again
 * packed/<id>                                sessions that may have files of versions that are in the pack, too
 * trash/<why>~<id>~<time>~<unique>/          what was removed, until it is deleted
 * watching/<unique>                          who watches: these read removed sessions out of the trash
 * ```
 *
 * The two hexadecimal digits are the first of the id's SHA-256, so that no folder holds too many.
 *
 * A tool that copies the tree file by file, in any order and over any time, must find each session whole. So a session
 * has one folder for its whole life, files in it never change, what takes a file's place has the same name, and a file
 * whose content is elsewhere by now is deleted only after a delay.
 */
export class StoreLayout {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** The folder that holds a session's own. */
  shelf(id: SessionId): string {
    return join(this.root, "sessions", spread(id));
  }

  session(id: SessionId): string {
    return join(this.shelf(id), folderName(id));
  }

  place(id: SessionId): SessionPlace {
    return { id, folder: this.session(id) };
  }

  removedShelf(id: SessionId): string {
    return join(this.root, "removed", spread(id));
  }

  removed(id: SessionId): string {
    return join(this.removedShelf(id), folderName(id));
  }

  /** The note that a session was packed, and has files that are to be deleted. */
  packed(id: SessionId): string {
    return join(this.root, "packed", folderName(id));
  }

  top(name: (typeof TOP_FOLDERS)[number]): string {
    return join(this.root, name);
  }

  format(): string {
    return join(this.root, "format.json");
  }
}

/** Which session a folder's name stands for; undefined if it stands for none. */
export function sessionOf(name: string): SessionId | undefined {
  const id = name.startsWith("_") && DEVICES.test(name.slice(1)) ? name.slice(1) : name;
  return isSessionId(id) ? id : undefined;
}

function spread(id: SessionId): string {
  return hash("sha256", id, "hex").slice(0, 2);
}

// The id was checked at the door; a path is made of it here, so a caller without types is stopped here too.
function folderName(id: SessionId): string {
  return DEVICES.test(parseSessionId(id)) ? `_${id}` : id;
}

/** What changed just now may change again within the same tick of the file system's clock, unseen. */
const SETTLED_MS = 100;
/** Some file systems keep whole seconds only, or every second one. */
const SETTLED_COARSE_MS = 2500;

/** Which state a folder is in: `settled` changes with its names. Undefined if there is no such folder. */
interface FolderState {
  /** Undefined if a second change could not be told from the last one yet. */
  readonly settled: string | undefined;
}

/** Asks for the state of a folder. Ask before you look into it. */
export async function folderState(disk: Disk, path: string): Promise<FolderState | undefined> {
  const stat = await disk.stat(path).catch(orNone);
  if (stat === undefined) return undefined;
  const settledMs = Number.isInteger(stat.mtimeMs) ? SETTLED_COARSE_MS : SETTLED_MS;
  const isSettled = Math.abs(disk.about() - stat.mtimeMs) >= settledMs;
  return { settled: isSettled ? `${stat.ino}:${stat.mtimeMs}` : undefined };
}

/** What is no folder is told of by those who look into it. */
function orNone(error: unknown): undefined {
  if (oddityOf(error) === undefined) throw error;
}

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

const MAX_KNOWN = 4096;
const ATTEMPTS = 3;

/**
 * Folders that are made when first used. Those known to be there, and on the disk, cost nothing afterwards.
 */
export class Folders {
  readonly #disk: Disk;
  readonly #known = new Set<string>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Does something in a folder, which is made if need be, and brings the folder itself to the disk. `transient` is a
   * folder that others may delete while it is empty: it is never taken for known, and is synced after the action, as
   * it can't be deleted with something in it.
   */
  async within<T>(folder: string, action: () => Promise<T>, transient = false): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const known = this.#known.has(folder);
      if (!known) await this.#disk.makeFolder(folder);
      try {
        const result = await action();
        if (!known) await this.#keep(folder, transient);
        return result;
      } catch (error) {
        this.#known.delete(folder);
        if (!isMissing(error) || attempt === ATTEMPTS) throw error;
      }
    }
  }

  async #keep(folder: string, transient: boolean): Promise<void> {
    await this.#disk.syncFolder(dirname(folder));
    if (transient) return;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.add(folder);
  }
}

/** A time in a marker's name, `HHMMSSmmm`. */
const TIME_LENGTH = 9;

/**
 * Gives the names of a day, newest first, then by id, that come after `after`. The first `count` are found in one pass;
 * who wants more has all of them sorted, once: with a pass for each page the time would grow with the square of their number.
 */
export function* inOrder(names: readonly string[], after: string | undefined, count: number): Generator<string> {
  const first = firstNames(names, after, count);
  yield* first;
  const last = first.at(-1);
  if (last === undefined || first.length < count) return;
  yield* names.filter((name) => compareNames(name, last) > 0).sort(compareNames);
}

/**
 * The first names of a day, newest first, then by id, that come after `after`. One pass and no sort of the whole: a
 * page is fifty of what may be ten thousand.
 */
export function firstNames(names: readonly string[], after: string | undefined, count: number): string[] {
  let first: string[] = [];
  let last: string | undefined;
  // Folders mostly come sorted: from the end, the newest come first and little is thrown away again.
  for (const name of names.toReversed()) {
    if (after !== undefined && compareNames(name, after) <= 0) continue;
    if (last !== undefined && compareNames(name, last) > 0) continue;
    first.push(name);
    if (first.length < 4 * count) continue;
    first = first.sort(compareNames).slice(0, count);
    last = first.at(-1);
  }
  return first.sort(compareNames).slice(0, count);
}

function compareNames(a: string, b: string): number {
  for (let index = 0; index < TIME_LENGTH; index++) {
    const difference = (b.charCodeAt(index) || 0) - (a.charCodeAt(index) || 0);
    if (difference !== 0) return difference;
  }
  const [idA, idB] = [idIn(a), idIn(b)];
  return idA < idB ? -1 : idA > idB ? 1 : 0;
}

function idIn(name: string): string {
  const end = name.indexOf("~", TIME_LENGTH + 1);
  return name.slice(TIME_LENGTH + 1, end < 0 ? undefined : end);
}

/**
 * Work that nobody waits for and whose failure does no harm: in order for each key, and waited for at the end.
 */
export class Background {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs a task after those of the same key. */
  run(key: string, task: () => Promise<void>): void {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const tail = before.then(task).catch(ignore);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}

function ignore(): void {}
