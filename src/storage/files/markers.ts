/**
 * Markers: empty files whose names are the index for lists and counts, so that no session is read to find it. A
 * marker is written before the commit that needs it, so an index may contain false markers but never lacks one.
 * Readers compare each marker with the session and remove false ones.
 */
import { join } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { isIsoTime, type ListPosition } from "../common/session-query.js";
import type { CommitHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import { type Background, FolderNames, type Folders, inOrder, type StoreLayout } from "./layout.js";
import type { CommitReader, NewestVersion } from "./read.js";

/** The two indexes: all sessions, and the active ones. */
export type Tree = "all" | "active";

/** An empty file whose name holds a session's position in a list. */
export interface Marker {
  readonly tree: Tree;
  /** The folder: the day of creation. */
  readonly day: string;
  /** `<HHMMSSmmm>~<id>`, followed by `~<activeSince>` in the index of active sessions. */
  readonly name: string;
}

/** The parsed name of a marker. */
export interface MarkerEntry extends ListPosition {
  readonly sessionId: SessionId;
  readonly marker: Marker;
  /** The version that made the session active; 1 in the index of all sessions. */
  readonly version: number;
}

/** Returns the marker of a session in the index of all sessions. */
export function allMarker({ createdAt, sessionId }: ListPosition): Marker {
  const time = createdAt.slice(11, 23).replace(/[:.]/g, "");
  return { tree: "all", day: createdAt.slice(0, 10), name: `${time}~${sessionId}` };
}

/** Returns the marker of a session in the index of active sessions. */
export function activeMarker(summary: Pick<SessionSummary, "createdAt" | "sessionId" | "activeSince">): Marker {
  const { day, name } = allMarker(summary);
  return { tree: "active", day, name: `${name}~${summary.activeSince}` };
}

/** Returns true if a name is a valid day. */
function isDay(name: string): boolean {
  return isIsoTime(`${name}T00:00:00.000Z`);
}

/** Parses a marker's name; undefined if it is not a marker. */
export function parseMarker(tree: Tree, day: string, name: string): MarkerEntry | undefined {
  const [time = "", sessionId, version = "1"] = name.split("~");
  const createdAt = `${day}T${time.replace(/^(..)(..)(..)(...)$/, "$1:$2:$3.$4")}Z`;
  if (!isSessionId(sessionId) || !isIsoTime(createdAt) || !/^[1-9]\d{0,15}$/.test(version)) return undefined;
  return { sessionId, createdAt, version: Number(version), marker: { tree, day, name } };
}

const DAY_MS = 86_400_000;
/** Empty days older than this are deleted, so that lists do not read years of empty folders. */
const KEEP_EMPTY_MS = 30 * DAY_MS;

/** The two indexes on the disk. */
export class MarkerTrees {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #folders: Folders;
  readonly #background: Background;
  readonly #names: FolderNames;
  /** Parsed names of large folders, whose cached listing is the same array until something changes. */
  readonly #parsed = new WeakMap<readonly string[], readonly MarkerEntry[]>();

  constructor(disk: Disk, layout: StoreLayout, folders: Folders, background: Background) {
    this.#disk = disk;
    this.#layout = layout;
    this.#folders = folders;
    this.#background = background;
    this.#names = new FolderNames(disk);
  }

  /** Creates a marker and syncs it. Calls `onMade` as soon as it is created, but not if it existed already. */
  async place(marker: Marker, onMade: () => void = () => {}): Promise<void> {
    const folder = this.#day(marker.tree, marker.day);
    const place = async () => {
      if (await this.#disk.create(join(folder, marker.name))) onMade();
      await this.#disk.syncFolder(folder);
    };
    await this.#folders.within(folder, place, isOld(marker.day));
  }

  /** Creates the missing ones of several markers, with one sync per day. */
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

  /** Removes a marker. A failure does no harm, since lists compare with the session. */
  async remove(marker: Marker): Promise<void> {
    await this.#disk.drop(this.path(marker));
  }

  async has(marker: Marker): Promise<boolean> {
    return this.#disk.exists(this.path(marker));
  }

  path(marker: Marker): string {
    return join(this.#day(marker.tree, marker.day), marker.name);
  }

  /** Counts the markers of active sessions up to `upTo`. */
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

  /** Yields the markers after `after` (or all), newest first, then by id, in batches. */
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

  /** Returns all markers of an index, unordered. */
  async all(tree: Tree): Promise<MarkerEntry[]> {
    return this.#entries(tree, await this.#days(tree));
  }

  /** Returns the markers of the newest days and of one older day. The older days take turns. */
  async someDays(tree: Tree, newest: number, turn: number): Promise<MarkerEntry[]> {
    const days = await this.#days(tree);
    const [one] = days.length > newest ? days.slice(newest + (turn % (days.length - newest))) : [];
    return this.#entries(tree, [...days.slice(0, newest), ...(one === undefined ? [] : [one])]);
  }

  async #entries(tree: Tree, days: readonly string[]): Promise<MarkerEntry[]> {
    const found: (readonly MarkerEntry[])[] = [];
    for (const day of days) {
      const names = await this.#dayNames(tree, day);
      const parsed = () => names.map((name) => parseMarker(tree, day, name)).filter((entry) => entry !== undefined);
      const entries = this.#parsed.get(names) ?? parsed();
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

// Only old days are deleted when empty, so writers may cache the folders of newer days only.
function isOld(day: string): boolean {
  return Date.now() - Date.parse(day) > KEEP_EMPTY_MS;
}

/**
 * A writer creates its marker right before its commit. A marker without a commit after this time was left by a crash.
 */
const ORPHAN_MS = 3_600_000;
/** Sessions read in parallel. */
const BATCH = 64;

/** The header of a session's newest commit, if it can be read. */
type FoundHeader = CommitHeader | "damaged" | undefined;

/** Compares markers with sessions and removes false markers. */
export class MarkerCheck {
  readonly #disk: Disk;
  readonly #layout: StoreLayout;
  readonly #reader: CommitReader;
  readonly #trees: MarkerTrees;
  readonly #newest: NewestVersion;
  readonly #background: Background;

  constructor(
    { disk, layout, background }: { disk: Disk; layout: StoreLayout; background: Background },
    reader: CommitReader,
    trees: MarkerTrees,
    newest: NewestVersion,
  ) {
    this.#disk = disk;
    this.#layout = layout;
    this.#reader = reader;
    this.#trees = trees;
    this.#newest = newest;
    this.#background = background;
  }

  /**
   * Returns the header of a session's newest commit. Lists skip a damaged session; reading that session reports the
   * damage.
   */
  async header(id: SessionId): Promise<FoundHeader> {
    try {
      return await this.#newest.header(id);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return "damaged";
      throw error;
    }
  }

  /** Compares a marker with the session's newest commit, and removes it in the background if it is false. */
  check(entry: MarkerEntry, newest: CommitHeader | undefined): void {
    const { marker, sessionId: id } = entry;
    if (newest === undefined) this.#background.run(id, () => this.#removeOrphan(entry));
    else if (isFalse(entry, newest)) this.#background.run(id, () => this.remove(id, marker));
  }

  /**
   * Counts the sessions whose newest commit is active, up to `upTo`. False markers, left by a crash or a suspended
   * process, are not counted and are removed.
   */
  async countActive(upTo: number): Promise<number> {
    const active = new Set<SessionId>();
    for await (const batch of this.#trees.walk("active", undefined, BATCH)) {
      const headers = await Promise.all(batch.map(({ sessionId }) => this.header(sessionId)));
      for (const [index, entry] of batch.entries()) {
        const newest = headers[index];
        if (newest === "damaged" || newest === undefined || !isFalse(entry, newest)) active.add(entry.sessionId);
        if (newest !== "damaged") this.check(entry, newest);
      }
      if (active.size >= upTo) return upTo;
    }
    return active.size;
  }

  /** Removes a marker unless the session's newest commit needs it. */
  async remove(id: SessionId, marker: Marker): Promise<void> {
    if (await this.#isNeeded(id, marker)) return;
    // Sync the commit that made the marker false: it must not be lost once the marker is gone.
    await this.#reader.sync(this.#layout.place(id));
    await this.#trees.remove(marker);
    // The commit that needs it may have been published just now.
    if (await this.#isNeeded(id, marker)) await this.restore(id, marker);
  }

  /**
   * Creates a marker that a commit needs. Checks again afterwards: the session may have ended meanwhile, and its
   * writer found no marker to remove.
   */
  async restore(id: SessionId, marker: Marker): Promise<void> {
    await this.#trees.place(marker);
    if (await this.#isNeeded(id, marker)) return;
    await this.#reader.sync(this.#layout.place(id));
    await this.#trees.remove(marker);
  }

  async #isNeeded(id: SessionId, marker: Marker): Promise<boolean> {
    const newest = await this.#newest.header(id);
    return newest !== undefined && isTrue(marker, newest);
  }

  async #removeOrphan({ sessionId: id, marker }: MarkerEntry): Promise<void> {
    const stat = await this.#disk.stat(this.#trees.path(marker));
    if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
    if ((await this.#disk.now(this.#layout.top("trash"))) - stat.mtimeMs >= ORPHAN_MS) await this.remove(id, marker);
  }
}

// A marker of a later version belongs to a commit that is being written.
function isFalse({ marker, version }: MarkerEntry, newest: CommitHeader): boolean {
  return version <= newest.version && !isTrue(marker, newest);
}

/** Returns true if the session's newest commit needs the marker. */
function isTrue(marker: Marker, { summary }: Pick<CommitHeader, "summary">): boolean {
  if (marker.tree === "active" && summary.status !== "active") return false;
  const { day, name } = marker.tree === "active" ? activeMarker(summary) : allMarker(summary);
  return marker.day === day && marker.name === name;
}
