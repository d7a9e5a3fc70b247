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
import type { Store } from "./layout.js";
import { newestHeader, syncVersions } from "./read.js";

type Tree = "all" | "active";

export interface Marker {
  readonly tree: Tree;
  /** The folder: the day of creation. */
  readonly day: string;
  /** `<HHMMSSmmm>~<id>`, followed by `~<activeSince>` in the index of active sessions. */
  readonly name: string;
}

export interface MarkerEntry extends ListPosition {
  readonly sessionId: SessionId;
  readonly marker: Marker;
  /** The version that made the session active; 1 in the index of all sessions. */
  readonly version: number;
}

export function allMarker({ createdAt, sessionId }: ListPosition): Marker {
  const time = createdAt.slice(11, 23).replace(/[:.]/g, "");
  return { tree: "all", day: createdAt.slice(0, 10), name: `${time}~${sessionId}` };
}

export function activeMarker(summary: Pick<SessionSummary, "createdAt" | "sessionId" | "activeSince">): Marker {
  const { day, name } = allMarker(summary);
  return { tree: "active", day, name: `${name}~${summary.activeSince}` };
}

export function markersOf(summary: SessionSummary): Marker[] {
  return [allMarker(summary), ...(summary.status === "active" ? [activeMarker(summary)] : [])];
}

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

type FoundHeader = CommitHeader | "damaged" | undefined;

/** Creates markers and syncs them, with one sync per day. Calls `onMade` for each that did not exist. */
export async function placeMarkers(
  { disk, folders, layout }: Store,
  markers: readonly Marker[],
  onMade: (marker: Marker) => void = () => {},
): Promise<void> {
  const folderOf = ({ tree, day }: Marker) => join(layout.top(tree), day);
  for (const folder of new Set(markers.map(folderOf))) {
    const ofDay = markers.filter((marker) => folderOf(marker) === folder);
    const place = async () => {
      for (const marker of ofDay) if (await disk.create(join(folder, marker.name))) onMade(marker);
      await disk.syncFolder(folder);
    };
    const isTransient = ofDay.some(({ day }) => isOld(day));
    await folders.within(folder, place, isTransient);
  }
}

/** Removes a marker. A failure does no harm, since lists compare with the session. */
export async function removeMarker(store: Store, marker: Marker): Promise<void> {
  await store.disk.drop(pathOf(store, marker));
}

export async function hasMarker(store: Store, marker: Marker): Promise<boolean> {
  return store.disk.exists(pathOf(store, marker));
}

/** Yields the markers after `after` (or all), newest first, then by id, in batches. */
export async function* walkMarkers(
  store: Store,
  tree: Tree,
  after?: ListPosition,
  size = BATCH,
): AsyncGenerator<readonly MarkerEntry[]> {
  let batch: MarkerEntry[] = [];
  for (const day of await daysOf(store, tree)) {
    if (after !== undefined && day > after.createdAt.slice(0, 10)) continue;
    for (const entry of (await entriesOf(store, tree, day)).sort(comparePositions)) {
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
export async function allMarkers(store: Store, tree: Tree, upTo = Number.POSITIVE_INFINITY): Promise<MarkerEntry[]> {
  const found: MarkerEntry[] = [];
  for (const day of await daysOf(store, tree)) {
    if (found.length >= upTo) break;
    found.push(...(await entriesOf(store, tree, day)));
  }
  return found;
}

/** Returns the markers of all sessions of the newest days, and of one older day. The older days take turns. */
export async function markersOfSomeDays(store: Store, newest: number, turn: number): Promise<MarkerEntry[]> {
  const days = await daysOf(store, "all");
  const older = days.slice(newest);
  const chosen = [...days.slice(0, newest), ...older.slice(turn % Math.max(older.length, 1)).slice(0, 1)];
  return (await Promise.all(chosen.map((day) => entriesOf(store, "all", day)))).flat();
}

/** Returns the header of a session's newest commit. Reading a damaged session reports the damage. */
export async function headerOrDamaged(store: Store, id: SessionId): Promise<FoundHeader> {
  return newestHeader(store, id).catch((error) => orDamaged(error) ?? "damaged");
}

/** Compares a marker with the session's newest commit, and removes it in the background if it is false. */
export function checkMarker(store: Store, entry: MarkerEntry, newest: FoundHeader): void {
  const { marker, sessionId: id } = entry;
  if (newest === "damaged") return;
  if (newest === undefined) store.background.run(id, () => removeOrphan(store, entry));
  else if (isFalse(entry, newest)) store.background.run(id, () => removeUnneeded(store, id, marker));
}

export async function* checkAllMarkers(store: Store, tree: Tree) {
  for await (const batch of walkMarkers(store, tree)) {
    const headers = await Promise.all(batch.map(({ sessionId }) => headerOrDamaged(store, sessionId)));
    for (const [index, entry] of batch.entries()) {
      const newest = headers[index];
      checkMarker(store, entry, newest);
      yield { entry, newest };
    }
  }
}

/** Reads sessions only if their markers reach `upTo`: false ones, left by a crash, are then removed and not counted. */
export async function countActive(store: Store, upTo: number): Promise<number> {
  const markers = await allMarkers(store, "active", upTo);
  if (markers.length < upTo) return markers.length;
  const active = new Set<SessionId>();
  for await (const { entry, newest } of checkAllMarkers(store, "active")) {
    if (newest === "damaged" || newest === undefined || !isFalse(entry, newest)) active.add(entry.sessionId);
    if (active.size >= upTo) return upTo;
  }
  return active.size;
}

export async function removeUnneeded(store: Store, id: SessionId, marker: Marker): Promise<void> {
  if (await isNeeded(store, id, marker)) return;
  // Sync the commit that made the marker false: it must not be lost once the marker is gone.
  await syncVersions(store, store.layout.place(id));
  await removeMarker(store, marker);
  // The commit that needs it may have been published just now.
  if (await isNeeded(store, id, marker)) await restoreMarker(store, id, marker);
}

/** Checks again afterwards: the session may have ended meanwhile, and its writer found no marker to remove. */
export async function restoreMarker(store: Store, id: SessionId, marker: Marker): Promise<void> {
  await placeMarkers(store, [marker]);
  if (await isNeeded(store, id, marker)) return;
  await syncVersions(store, store.layout.place(id));
  await removeMarker(store, marker);
}

async function isNeeded(store: Store, id: SessionId, marker: Marker): Promise<boolean> {
  const newest = await newestHeader(store, id);
  return newest !== undefined && isTrue(marker, newest);
}

async function removeOrphan(store: Store, { sessionId: id, marker }: MarkerEntry): Promise<void> {
  const { disk, layout } = store;
  const stat = await disk.stat(pathOf(store, marker));
  if (stat === undefined || Date.now() - stat.mtimeMs < ORPHAN_MS) return;
  const now = await disk.now(layout.top("trash"));
  if (now - stat.mtimeMs >= ORPHAN_MS) await removeUnneeded(store, id, marker);
}

async function daysOf({ disk, layout }: Store, tree: Tree): Promise<readonly string[]> {
  const days = (await disk.names(layout.top(tree))).filter((name) => isIsoTime(`${name}T00:00:00.000Z`));
  return days.sort().reverse();
}

async function entriesOf({ background, disk, layout }: Store, tree: Tree, day: string): Promise<MarkerEntry[]> {
  const folder = join(layout.top(tree), day);
  const names = await disk.names(folder);
  if (names.length === 0 && isOld(day)) background.run(folder, () => disk.fs.rmdir(folder));
  return names.map((name) => parseMarker(tree, day, name)).filter((entry) => entry !== undefined);
}

function pathOf({ layout }: Store, { tree, day, name }: Marker): string {
  return join(layout.top(tree), day, name);
}

// A marker of a later version belongs to a commit that is being written.
function isFalse({ marker, version }: MarkerEntry, newest: CommitHeader): boolean {
  return version <= newest.version && !isTrue(marker, newest);
}

function isTrue(marker: Marker, { summary }: Pick<CommitHeader, "summary">): boolean {
  return markersOf(summary).some(
    ({ tree, day, name }) => tree === marker.tree && day === marker.day && name === marker.name,
  );
}
