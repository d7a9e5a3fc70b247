import { join } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { isIsoTime, type ListPosition } from "../common/session-query.js";
import type { CommitHeader } from "./commit-file.js";
import type { Disk } from "./disk.js";
import { type Background, FolderNames, type Folders, inOrder, type StoreLayout } from "./layout.js";
import type { CommitReader, NewestVersion } from "./read.js";
/** The two indexes: of all sessions, and of those that are active. */
export type Tree = "all" | "active";

/** An empty file whose name says where in a list a session stands. */
export interface Marker {
  readonly tree: Tree;
  /** The folder: the day of creation. */
  readonly day: string;
  /** `<HHMMSSmmm>~<id>`, and `~<activeSince>` in the tree of the active ones. */
  readonly name: string;
}

/** What a marker says. */
export interface MarkerEntry extends ListPosition {
  readonly sessionId: SessionId;
  readonly marker: Marker;
  /** The version that made the session active; 1 in the tree of all. */
  readonly version: number;
}

/** The marker of a session among all. */
export function allMarker({ createdAt, sessionId }: ListPosition): Marker {
  const time = createdAt.slice(11, 23).replace(/[:.]/g, "");
  return { tree: "all", day: createdAt.slice(0, 10), name: `${time}~${sessionId}` };
}

/** The marker of a session among the active ones. */
export function activeMarker(summary: Pick<SessionSummary, "createdAt" | "sessionId" | "activeSince">): Marker {
  const { day, name } = allMarker(summary);
  return { tree: "active", day, name: `${name}~${summary.activeSince}` };
}

/** Whether a name may be a day's folder. */
function isDay(name: string): boolean {
  return isIsoTime(`${name}T00:00:00.000Z`);
}

/** Reads a marker; undefined if something else lies in its place. */
export function parseMarker(tree: Tree, day: string, name: string): MarkerEntry | undefined {
  const [time = "", sessionId, version = "1"] = name.split("~");
  const createdAt = `${day}T${time.replace(/^(..)(..)(..)(...)$/, "$1:$2:$3.$4")}Z`;
  if (!isSessionId(sessionId) || !isIsoTime(createdAt) || !/^[1-9]\d{0,15}$/.test(version)) return undefined;
  return { sessionId, createdAt, version: Number(version), marker: { tree, day, name } };
}

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

/** A writer makes its marker right before its commit; one that has none after so long was left by a crash. */
const ORPHAN_MS = 3_600_000;
/** So many sessions are read at once. */
const BATCH = 64;

/** What a session's newest commit is, where that can be told. */
type FoundHeader = CommitHeader | "damaged" | undefined;

/** Compares markers with sessions, and takes those away that say nothing true. */
export class MarkerTidy {
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

  /** A session's newest commit. Lists go on without a session that is damaged; reading that one tells. */
  async header(id: SessionId): Promise<FoundHeader> {
    try {
      return await this.#newest.header(id);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) return "damaged";
      throw error;
    }
  }

  /** Compares a marker with the session's newest commit, and takes it away later if it says nothing true. */
  check(entry: MarkerEntry, newest: CommitHeader | undefined): void {
    const { marker, sessionId: id } = entry;
    if (newest === undefined) this.#background.run(id, () => this.#liftOrphan(entry));
    else if (isFalse(entry, newest)) this.#background.run(id, () => this.lift(id, marker));
  }

  /**
   * Counts the active sessions, as their newest commits say, no further than `upTo`. What a crash or a pause of a process
   * left among the markers is not counted, and taken away.
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

  /** Takes a marker away, unless the session's newest commit needs it. */
  async lift(id: SessionId, marker: Marker): Promise<void> {
    if (await this.#isNeeded(id, marker)) return;
    // What made the marker false may not be on the disk yet, and must not be lost after the marker is.
    await this.#reader.settle(id);
    await this.#trees.lift(marker);
    // The commit that needs it may have been published just now.
    if (await this.#isNeeded(id, marker)) await this.restore(id, marker);
  }

  /** Makes a marker that a commit needs; the session may have gone on since, and who ended it have looked for none. */
  async restore(id: SessionId, marker: Marker): Promise<void> {
    await this.#trees.place(marker);
    if (await this.#isNeeded(id, marker)) return;
    await this.#reader.settle(id);
    await this.#trees.lift(marker);
  }

  async #isNeeded(id: SessionId, marker: Marker): Promise<boolean> {
    const newest = await this.#newest.header(id);
    return newest !== undefined && isTrue(marker, newest);
  }

  async #liftOrphan({ sessionId: id, marker }: MarkerEntry): Promise<void> {
    const stat = await this.#disk.stat(this.#trees.path(marker));
    if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
    if ((await this.#disk.now(this.#layout.top("trash"))) - stat.mtimeMs >= ORPHAN_MS) await this.lift(id, marker);
  }
}

// A marker of a version yet to come is that of a commit under way.
function isFalse({ marker, version }: MarkerEntry, newest: CommitHeader): boolean {
  return version <= newest.version && !isTrue(marker, newest);
}

/** Whether a marker is one that a session's newest commit needs. */
function isTrue(marker: Marker, { summary }: Pick<CommitHeader, "summary">): boolean {
  if (marker.tree === "active" && summary.status !== "active") return false;
  const { day, name } = marker.tree === "active" ? activeMarker(summary) : allMarker(summary);
  return marker.day === day && marker.name === name;
}
