/**
 * Markers: empty files whose names are the index for lists and counts, so that no session is read to find it. A
 * marker is written before the commit that needs it, so an index may contain false markers but never lacks one.
 * Readers compare each marker with the session and remove false ones.
 */
import { join } from "node:path";
import type { SessionSummary } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { orDamaged } from "../common/failures.js";
import { comparePositions, isIsoTime, type ListPosition } from "../common/session-query.js";
import type { CommitHeader } from "./commit-file.js";
import type { Base } from "./layout.js";
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

/** Returns the markers that a session needs. */
export function markersOf(summary: SessionSummary): Marker[] {
  return [allMarker(summary), ...(summary.status === "active" ? [activeMarker(summary)] : [])];
}

/** Parses a marker's name; undefined if it is not a marker. */
export function parseMarker(tree: Tree, day: string, name: string): MarkerEntry | undefined {
  const [time = "", sessionId, version = "1"] = name.split("~");
  const createdAt = `${day}T${time.replace(/^(..)(..)(..)(...)$/, "$1:$2:$3.$4")}Z`;
  if (!isSessionId(sessionId) || !isIsoTime(createdAt) || !/^[1-9]\d{0,15}$/.test(version)) return undefined;
  return { sessionId, createdAt, version: Number(version), marker: { tree, day, name } };
}

/** Empty days older than this are deleted, so that lists do not read years of empty folders. */
const KEEP_EMPTY_MS = 30 * 86_400_000;

// Only old days are deleted when empty, so writers may remember the folders of newer days only.
function isOld(day: string): boolean {
  return Date.now() - Date.parse(day) > KEEP_EMPTY_MS;
}

/** A writer creates its marker right before its commit. A marker without a commit after this time was left by a crash. */
const ORPHAN_MS = 3_600_000;
/** Sessions read in parallel. */
export const BATCH = 64;

/** The header of a session's newest commit, if it can be read. */
type FoundHeader = CommitHeader | "damaged" | undefined;

/** The two indexes on the disk. */
export class Markers {
  readonly #base: Base;
  readonly #reader: CommitReader;
  readonly #newest: NewestVersion;

  constructor(base: Base, reader: CommitReader, newest: NewestVersion) {
    this.#base = base;
    this.#reader = reader;
    this.#newest = newest;
  }

  /** Creates markers and syncs them, with one sync per day. Calls `onMade` for each that did not exist. */
  async place(markers: readonly Marker[], onMade: (marker: Marker) => void = () => {}): Promise<void> {
    const { disk, folders } = this.#base;
    const days = new Map<string, Marker[]>();
    for (const marker of markers) {
      const folder = this.#day(marker.tree, marker.day);
      days.set(folder, [...(days.get(folder) ?? []), marker]);
    }
    for (const [folder, ofDay] of days) {
      const place = async () => {
        for (const marker of ofDay) if (await disk.create(join(folder, marker.name))) onMade(marker);
        await disk.syncFolder(folder);
      };
      const isTransient = ofDay.some(({ day }) => isOld(day));
      await folders.within(folder, place, isTransient);
    }
  }

  /** Removes a marker. A failure does no harm, since lists compare with the session. */
  async remove(marker: Marker): Promise<void> {
    await this.#base.disk.drop(this.#path(marker));
  }

  async has(marker: Marker): Promise<boolean> {
    return this.#base.disk.exists(this.#path(marker));
  }

  /** Yields the markers after `after` (or all), newest first, then by id, in batches. */
  async *walk(tree: Tree, after?: ListPosition, size = BATCH): AsyncGenerator<readonly MarkerEntry[]> {
    let batch: MarkerEntry[] = [];
    for (const day of await this.#days(tree)) {
      if (after !== undefined && day > after.createdAt.slice(0, 10)) continue;
      for (const entry of (await this.#entries(tree, day)).sort(comparePositions)) {
        if (after !== undefined && comparePositions(entry, after) <= 0) continue;
        batch.push(entry);
        if (batch.length < size) continue;
        yield batch;
        batch = [];
      }
    }
    yield batch;
  }

  /** Returns all markers of an index, unordered; with `upTo`, not many more than these. */
  async all(tree: Tree, upTo = Number.POSITIVE_INFINITY): Promise<MarkerEntry[]> {
    const found: MarkerEntry[] = [];
    for (const day of await this.#days(tree)) {
      if (found.length >= upTo) break;
      found.push(...(await this.#entries(tree, day)));
    }
    return found;
  }

  /** Returns the markers of the newest days and of one older day. The older days take turns. */
  async someDays(tree: Tree, newest: number, turn: number): Promise<MarkerEntry[]> {
    const days = await this.#days(tree);
    const older = days.slice(newest);
    const chosen = [...days.slice(0, newest), ...older.slice(turn % Math.max(older.length, 1)).slice(0, 1)];
    return (await Promise.all(chosen.map((day) => this.#entries(tree, day)))).flat();
  }

  /** Returns the header of a session's newest commit. Reading a damaged session reports the damage. */
  async header(id: SessionId): Promise<FoundHeader> {
    return this.#newest.header(id).catch((error) => orDamaged(error) ?? "damaged");
  }

  /** Compares a marker with the session's newest commit, and removes it in the background if it is false. */
  check(entry: MarkerEntry, newest: FoundHeader): void {
    const { marker, sessionId: id } = entry;
    if (newest === "damaged") return;
    if (newest === undefined) this.#base.background.run(id, () => this.#removeOrphan(entry));
    else if (isFalse(entry, newest)) this.#base.background.run(id, () => this.removeUnneeded(id, marker));
  }

  /** Yields all markers of an index with their sessions, and checks each. */
  async *checkAll(tree: Tree): AsyncGenerator<{ readonly entry: MarkerEntry; readonly newest: FoundHeader }> {
    for await (const batch of this.walk(tree)) {
      const headers = await Promise.all(batch.map(({ sessionId }) => this.header(sessionId)));
      for (const [index, entry] of batch.entries()) {
        this.check(entry, headers[index]);
        yield { entry, newest: headers[index] };
      }
    }
  }

  /**
   * Counts active sessions up to `upTo`. Reads sessions only if their markers reach it: false markers, left by a crash or a
   * suspended process, are then not counted, and removed.
   */
  async countActive(upTo: number): Promise<number> {
    const markers = await this.all("active", upTo);
    if (markers.length < upTo) return markers.length;
    const active = new Set<SessionId>();
    for await (const { entry, newest } of this.checkAll("active")) {
      if (newest === "damaged" || newest === undefined || !isFalse(entry, newest)) active.add(entry.sessionId);
      if (active.size >= upTo) return upTo;
    }
    return active.size;
  }

  /** Removes a marker unless the session's newest commit needs it. */
  async removeUnneeded(id: SessionId, marker: Marker): Promise<void> {
    if (await this.#isNeeded(id, marker)) return;
    // Sync the commit that made the marker false: it must not be lost once the marker is gone.
    await this.#reader.sync(this.#base.layout.place(id));
    await this.remove(marker);
    // The commit that needs it may have been published just now.
    if (await this.#isNeeded(id, marker)) await this.restore(id, marker);
  }

  /**
   * Creates a marker that a commit needs. Checks again afterwards: the session may have ended meanwhile, and its
   * writer found no marker to remove.
   */
  async restore(id: SessionId, marker: Marker): Promise<void> {
    await this.place([marker]);
    if (await this.#isNeeded(id, marker)) return;
    await this.#reader.sync(this.#base.layout.place(id));
    await this.remove(marker);
  }

  async #isNeeded(id: SessionId, marker: Marker): Promise<boolean> {
    const newest = await this.#newest.header(id);
    return newest !== undefined && isTrue(marker, newest);
  }

  async #removeOrphan({ sessionId: id, marker }: MarkerEntry): Promise<void> {
    const { disk, layout } = this.#base;
    const stat = await disk.stat(this.#path(marker));
    if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
    const now = await disk.now(layout.top("trash"));
    if (now - stat.mtimeMs >= ORPHAN_MS) await this.removeUnneeded(id, marker);
  }

  /** Returns the days of an index, newest first. */
  async #days(tree: Tree): Promise<readonly string[]> {
    const names = await this.#base.disk.names(this.#base.layout.top(tree));
    return names
      .filter((name) => isIsoTime(`${name}T00:00:00.000Z`))
      .sort()
      .reverse();
  }

  async #entries(tree: Tree, day: string): Promise<MarkerEntry[]> {
    const { background, disk } = this.#base;
    const folder = this.#day(tree, day);
    const names = await disk.names(folder);
    if (names.length === 0 && isOld(day)) background.run(folder, () => disk.fs.rmdir(folder));
    return names.map((name) => parseMarker(tree, day, name)).filter((entry) => entry !== undefined);
  }

  #day(tree: Tree, day: string): string {
    return join(this.#base.layout.top(tree), day);
  }

  #path({ tree, day, name }: Marker): string {
    return join(this.#day(tree, day), name);
  }
}

// A marker of a later version belongs to a commit that is being written.
function isFalse({ marker, version }: MarkerEntry, newest: CommitHeader): boolean {
  return version <= newest.version && !isTrue(marker, newest);
}

/** Returns true if the session's newest commit needs the marker. */
function isTrue(marker: Marker, { summary }: Pick<CommitHeader, "summary">): boolean {
  return markersOf(summary).some(
    ({ tree, day, name }) => tree === marker.tree && day === marker.day && name === marker.name,
  );
}
