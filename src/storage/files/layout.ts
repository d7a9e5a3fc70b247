/**
 * The paths of a file store, and small helpers for folders: change detection, cached folder listings, folders made on
 * first use, ordered marker names, background work.
 */
import { hash } from "node:crypto";
import { dirname, join } from "node:path";
import { RecentMap } from "../../workflow/cache.js";
import { isSessionId, parseSessionId, type SessionId } from "../../workflow/names.js";
import { type Disk, ignore } from "./disk.js";
import { isMissing, oddityOf } from "./failures.js";

/** Device names that Windows reserves. A session id never begins with `_`, so the escaped name is free. */
const DEVICES = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])$/;

/** The folders directly below the root. */
export const TOP_FOLDERS = ["sessions", "all", "active", "removed", "packed", "trash", "watching"] as const;

/** How many sessions' places are kept: to find one takes as long as several looks at the disk. */
const PLACES_MAX = 1024;

/** A session and its folder; for a removed session, its folder in the trash. */
export interface SessionPlace {
  readonly id: SessionId;
  readonly folder: string;
}

/**
 * The paths of a store:
 *
 * ```
 * format.json                                format version and publishing method
 * sessions/<2 hex>/<id>/<version>.json       one commit each, immutable; 1.json may be a pack of the first commits
 * sessions/<2 hex>/<id>/head                 a hint: the newest version's number, or an earlier one
 * sessions/<2 hex>/<id>/payloads/<hash>.gz
 * all/<day>/<time>~<id>                      markers of all sessions, by creation time
 * active/<day>/<time>~<id>~<version>         markers of active sessions
 * removed/<2 hex>/<id>                       ids that are never used again
 * packed/<id>                                sessions that may still have files of packed versions
 * trash/removed~<id>~<time>~<unique>/        removed folders, until they are deleted
 * watching/<unique>                          heartbeats of watchers, which read removed sessions from the trash
 * ```
 *
 * The two hexadecimal digits are the first of the id's SHA-256, so that no folder gets too many entries.
 *
 * A tool that copies the tree file by file, in any order and over any time, must get each session complete. Therefore
 * a session keeps one folder for its whole life, its files never change, a replacement has the same name as the file
 * it replaces, and a file whose content has moved is deleted only after a delay.
 */
export class StoreLayout {
  readonly root: string;
  readonly #places = new RecentMap<SessionId, SessionPlace>(PLACES_MAX);

  constructor(root: string) {
    this.root = root;
  }

  /** Returns the place of a session. */
  place(id: SessionId): SessionPlace {
    const known = this.#places.get(id);
    if (known !== undefined) return known;
    const place = { id, folder: this.#spread("sessions", id) };
    this.#places.set(id, place);
    return place;
  }

  /** Returns the folder that contains the session's folder. */
  shelf(id: SessionId): string {
    return dirname(this.#spread("sessions", id));
  }

  /** Returns the mark of an id that is never used again. */
  removed(id: SessionId): string {
    return this.#spread("removed", id);
  }

  #spread(top: "sessions" | "removed", id: SessionId): string {
    return join(this.root, top, hash("sha256", id, "hex").slice(0, 2), folderName(id));
  }

  /** Returns the note that a session was packed and has files to delete. */
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

/** Returns the session to which a folder's name belongs; undefined if it is not a session's. */
export function sessionOf(name: string): SessionId | undefined {
  const id = name.startsWith("_") && DEVICES.test(name.slice(1)) ? name.slice(1) : name;
  return isSessionId(id) ? id : undefined;
}

// The id was checked by the caller. It is checked again because it becomes a path, and callers may be untyped.
function folderName(id: SessionId): string {
  return DEVICES.test(parseSessionId(id)) ? `_${id}` : id;
}

/**
 * A folder that changed less than this ago may change again within the same tick of the file system's clock, unnoticed.
 */
const STABLE_MS = 100;
/** The same for file systems with a resolution of one or two seconds. */
const STABLE_COARSE_MS = 2500;

/** The state of a folder. `stamp` changes whenever its entries change. */
interface FolderState {
  /** Undefined while a further change could not yet be told from the last one. */
  readonly stamp: string | undefined;
}

/** Returns the state of a folder; undefined if there is none. Call it before reading the folder. */
export async function folderState(disk: Disk, path: string): Promise<FolderState | undefined> {
  const stat = await disk.stat(path).catch(orNone);
  if (stat === undefined) return undefined;
  const stableMs = Number.isInteger(stat.mtimeMs) ? STABLE_COARSE_MS : STABLE_MS;
  const isStable = Math.abs(disk.about() - stat.mtimeMs) >= stableMs;
  return { stamp: isStable ? `${stat.ino}:${stat.mtimeMs}` : undefined };
}

/** Ignores paths that are not folders: reading them reports the error. */
function orNone(error: unknown): undefined {
  if (oddityOf(error) === undefined) throw error;
}

/** Smaller folders are not cached: reading them is as fast as reading their state. */
const MIN_NAMES = 256;
const MAX_FOLDERS = 16;
/** Limits the effect of clocks that are set back, and of file servers with another clock. */
const MAX_AGE_MS = 10_000;

/** A cached listing. */
interface Seen {
  readonly stamp: string;
  readonly at: number;
  readonly names: readonly string[];
}

/** Reads the names in folders and caches large folders until they change. */
export class FolderNames {
  readonly #disk: Disk;
  readonly #seen = new Map<string, Seen>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  async read(path: string): Promise<readonly string[]> {
    const seen = this.#seen.get(path);
    const isFresh = seen !== undefined && Date.now() - seen.at < MAX_AGE_MS;
    if (isFresh && seen.stamp === (await folderState(this.#disk, path))?.stamp) return seen.names;
    this.#seen.delete(path);
    const at = Date.now();
    const stamp = (await folderState(this.#disk, path))?.stamp;
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

/** Makes folders on first use. Folders known to exist on the disk cost nothing afterwards. */
export class Folders {
  readonly #disk: Disk;
  readonly #known = new Set<string>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /**
   * Runs an action in a folder. Makes the folder if necessary and syncs it to the disk. `transient` marks a folder
   * that others may delete while it is empty: it is never cached, and is synced after the action, when it can no
   * longer be deleted.
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

/** Length of the time in a marker's name, `HHMMSSmmm`. */
const TIME_LENGTH = 9;

/**
 * Yields the names of a day that come after `after`, newest first, then by id. The first `count` are found in one
 * pass. For more, all are sorted once: one pass per page would take quadratic time.
 */
export function* inOrder(names: readonly string[], after: string | undefined, count: number): Generator<string> {
  const first = firstNames(names, after, count);
  yield* first;
  const last = first.at(-1);
  if (last === undefined || first.length < count) return;
  yield* names.filter((name) => compareNames(name, last) > 0).sort(compareNames);
}

/**
 * Returns the first `count` names of a day that come after `after`, newest first, then by id. One pass without a full
 * sort: a page is 50 of maybe 10,000 names.
 */
export function firstNames(names: readonly string[], after: string | undefined, count: number): string[] {
  let first: string[] = [];
  let last: string | undefined;
  // Folder listings are mostly sorted, so the newest names are at the end, and few candidates are discarded.
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

/** Runs tasks that no caller waits for and that may fail: in order for each key. `idle` waits for all. */
export class Background {
  readonly #tails = new Map<string, Promise<void>>();
  /** What ends each pause. */
  readonly #paused = new Set<() => void>();
  /** The number of callers that wait for tasks: none pauses then. */
  #waiting = 0;

  /** Runs a task after those of the same key. */
  run(key: string, task: () => Promise<void>): void {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const tail = before.then(task).catch(ignore);
    this.#tails.set(key, tail);
    void tail.then(() => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    });
  }

  /** Lets a task wait for a time in milliseconds, or until somebody waits for the tasks. */
  async pause(ms: number): Promise<void> {
    if (this.#waiting > 0) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#paused.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#paused.add(end);
    });
  }

  /** Resolves when no task is running. Tasks don't pause meanwhile. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await this.current();
  }

  /** Resolves when the tasks that are running now have ended, and ends their pauses. */
  async current(): Promise<void> {
    this.#waiting += 1;
    for (const end of this.#paused) end();
    // They never fail.
    await Promise.all(this.#tails.values());
    this.#waiting -= 1;
  }
}
