/** Removed sessions, the watchers that still read them, and what crashes have left: deleted by age. */
import { randomUUID } from "node:crypto";
import { dirname, join } from "node:path";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { orDamaged } from "../common/failures.js";
import { type Disk, TEMPORARY } from "./disk.js";
import { ignore, ignoreMissing } from "./failures.js";
import type { SessionPlace, Store } from "./layout.js";
import { activeMarker, allMarker, removeMarker } from "./markers.js";
import { newestHeader } from "./read.js";

/** Marks the id as used, moves the folder to the trash in one step, and deletes it. Lists remove its markers. */
export async function removeSession(store: Store, id: SessionId): Promise<void> {
  const { background, disk, folders, layout } = store;
  const at = layout.place(id);
  if (!(await disk.exists(at.folder))) return;
  // A damaged session must be removable too. Lists remove its markers later.
  const header = await newestHeader(store, id).catch(orDamaged);
  // Synced before the folder disappears: no session can begin under the id again.
  const mark = layout.removed(id);
  await folders.within(dirname(mark), async () => {
    await disk.touch(mark);
    await disk.syncFolder(dirname(mark));
  });
  const folder = await putInTrash(store, at);
  store.newest.delete(id);
  if (header !== undefined) {
    await Promise.all([allMarker, activeMarker].map((of) => removeMarker(store, of(header.summary))));
  }
  // Watchers read the last commits from the trash.
  if (await isWatched(store)) return;
  if (folder !== undefined) background.run(id, () => disk.dropFolder(folder));
}

/** Interval of a watcher's heartbeat, and the age from which it counts as dead. */
const HEARTBEAT_MS = 10_000;
const DEAD_AFTER_MS = 60_000;

/** Names of heartbeat files. Other files in the folder are not touched. */
const HEARTBEAT_NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The heartbeat file keeps removed sessions in the trash. `isIn` resolves when others see it; `leave` ends it. */
export function enterWatch({ disk, layout, listeners }: Store, listener: (id: SessionId, version: number) => void) {
  const path = join(layout.top("watching"), randomUUID());
  listeners.add(listener);
  const beat = () => disk.write(path, ".");
  const heartbeat = setInterval(() => void beat().catch(ignore), HEARTBEAT_MS);
  // A watch that is never ended must not keep the process alive.
  heartbeat.unref();
  const isIn = beat();
  const leave = async () => {
    clearInterval(heartbeat);
    listeners.delete(listener);
    await isIn.catch(ignore);
    await disk.drop(path);
  };
  return { isIn, leave };
}

/** Returns true if anybody watches. Deletes the heartbeats of dead processes. */
async function isWatched({ disk, layout, listeners }: Store): Promise<boolean> {
  if (listeners.size > 0) return true;
  const folder = layout.top("watching");
  const names = (await disk.names(folder)).filter((name) => HEARTBEAT_NAME.test(name));
  if (names.length === 0) return false;
  const now = await disk.now(layout.top("trash"));
  const alive = await Promise.all(names.map((name) => isAlive(disk, join(folder, name), now)));
  return alive.includes(true);
}

async function isAlive(disk: Disk, path: string, now: number): Promise<boolean> {
  const stat = await disk.stat(path);
  if (stat === undefined) return false;
  if (now - stat.mtimeMs < DEAD_AFTER_MS) return true;
  await disk.drop(path);
  return false;
}

/** No call takes this long: older temp files were left by a crash. */
const LEFT_MS = 3_600_000;

export async function sweepTemporary(disk: Disk, folder: string): Promise<void> {
  for (const place of [folder, join(folder, "payloads")]) await sweepOld(disk, place);
}

/** The file system's clock tells the age: this process's own may be hours ahead, and calls of others may be running. */
async function sweepOld(disk: Disk, folder: string): Promise<void> {
  const paths = (await disk.names(folder))
    .filter((name) => name.startsWith(TEMPORARY))
    .map((name) => join(folder, name));
  if (paths.length === 0) return;
  const now = await disk.now(folder);
  for (const path of paths) {
    const stat = await disk.stat(path);
    if (stat !== undefined && now - stat.mtimeMs > LEFT_MS) await disk.dropFolder(path);
  }
}

export interface TrashEntry {
  readonly name: string;
  readonly path: string;
  readonly id: SessionId;
  /** The time of removal in milliseconds, by the file system's clock. */
  readonly at: number;
}

/** Names of trash folders. Other files there are not touched. */
const NAME = /^removed~([^~]+)~(\d{1,15})~[0-9a-f-]{36}$/;

/** A removed session is kept this long for watchers to read its last commits. */
const GRACE_MS = 60_000;

/** Moves a session's folder to the trash and returns its new path; undefined if another process was faster. */
export async function putInTrash({ disk, layout }: Store, { id, folder }: SessionPlace): Promise<string | undefined> {
  const trash = layout.top("trash");
  const now = Math.floor(await disk.now(trash));
  const to = join(trash, `removed~${id}~${now}~${randomUUID()}`);
  const isMoved = disk.replace(folder, to).then(() => true);
  if (!(await isMoved.catch(ignoreMissing))) return undefined;
  // Without the sync, a power failure could bring the folder back with some of its files deleted.
  await disk.syncFolder(dirname(folder)).catch(ignoreMissing);
  return to;
}

export async function trashEntries({ disk, layout }: Store): Promise<TrashEntry[]> {
  const folder = layout.top("trash");
  return (await disk.names(folder)).flatMap((name) => {
    const [, id, at] = NAME.exec(name) ?? [];
    return isSessionId(id) ? [{ name, path: join(folder, name), id, at: Number(at) }] : [];
  });
}

/** Deletes what dead processes left and what watchers have had time to read. */
export async function emptyTrash(store: Store): Promise<void> {
  const { disk, layout } = store;
  const folder = layout.top("trash");
  const mustWait = await isWatched(store);
  const entries = await trashEntries(store);
  const now = mustWait && entries.length > 0 ? await disk.now(folder) : 0;
  for (const { path, id, at } of entries) {
    if (mustWait && now - at < GRACE_MS) continue;
    // The process that moved a folder may have died before its sync.
    await disk.syncFolder(layout.shelf(id)).catch(ignoreMissing);
    await disk.dropFolder(path);
  }
  await sweepOld(disk, folder);
}
