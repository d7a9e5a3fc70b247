/**
 * Reads commits and finds the newest version of a session. A version is in the pack or in a file of its own. `head`
 * and this process's memory are hints only; the newest version is the last one that exists. A missing commit is undefined, and
 * a damaged one throws `TAMPERED`.
 */
import { join } from "node:path";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { type CommitHeader, lookAtPack, parseCommit, parseHeader, readPacked } from "./commit-file.js";
import { temporaryIn } from "./disk.js";
import { ignoreMissing, throwDamage } from "./failures.js";
import type { Pack, SessionPlace, Store } from "./layout.js";

/** Most headers are shorter. A longer one costs a second read. In bytes. */
const HEADER_BYTES = 2048;
const HINT_BYTES = 256;
/** Older stores have a hard link to the newest commit in the place of the hint. It begins in the same way. */
const HINT = /^\{"sessionId":"([^"]+)","version":([1-9]\d{0,14})(?:,"folder":"(\d+)")?[,}]/;

export async function readCommit(store: Store, at: SessionPlace, version: number): Promise<Commit | undefined> {
  const { data } = await readVersion(store, at, version);
  return data && parseCommit(data, at.id, version);
}

export async function readHeader(store: Store, at: SessionPlace, version: number): Promise<CommitHeader | undefined> {
  const { data } = await readVersion(store, at, version, HEADER_BYTES);
  return data && headerIn(store, data, at, version);
}

async function headerIn(store: Store, start: Buffer, at: SessionPlace, version: number) {
  return parseHeader(start, at.id, version) ?? readCommit(store, at, version);
}

/**
 * Returns a version's file or its first bytes, unparsed, and the number of versions in the pack, looked at once the file was
 * open.
 *
 * If a version is both in the pack and in a file, the pack counts: after the file is deleted, a suspended writer can
 * create another file with that name, before it finds that it is too late. A file counts only if the pack did not
 * contain the version after the file had been opened.
 */
export async function readVersion(
  store: Store,
  at: SessionPlace,
  version: number,
  bytes?: number,
): Promise<{ readonly data: Buffer | undefined; readonly packed: number }> {
  const { disk, packs, publisher } = store;
  try {
    const pack = publisher.path(at.folder, 1);
    // Packs never shrink.
    if (version <= (packs.get(pack)?.count ?? 0)) {
      const found = await readPacked(store, pack, version, bytes);
      if (found !== undefined) return found;
    }
    const [own] = await Promise.allSettled([disk.read(publisher.path(at.folder, version), bytes)]);
    const { count: packed } = await packAt(store, at);
    const found = version <= packed ? await readPacked(store, pack, version, bytes) : undefined;
    if (found !== undefined) return found;
    // If the version is in the pack, its own file does not count, not even if it can't be read.
    if (own.status === "rejected") throw own.reason;
    return { data: own.value, packed };
  } catch (error) {
    return throwDamage(error, at.id, version);
  }
}

/** Reads from `head` the newest version of then, 0 without one, and the inode of the folder in which it was written. */
async function readHint({ disk }: Store, { id, folder }: SessionPlace) {
  const start = await disk.read(join(folder, "head"), HINT_BYTES).catch((error) => throwDamage(error, id, 0));
  const [, owner, version, place] = HINT.exec(start?.toString("latin1") ?? "") ?? [];
  return { version: owner === id ? Number(version) : 0, folder: place };
}

/** Returns the highest version in a session's folder without reading it; 0 if there is none. */
export async function highestVersion(store: Store, at: SessionPlace): Promise<number> {
  const versions = await versionsIn(store, at);
  return Math.max((await packAt(store, at)).count, ...versions.slice(-1));
}

/** Returns the versions that have a file of their own, in order. Version 1 is the first commit or the pack. */
export async function versionsIn({ disk, publisher }: Store, { id, folder }: SessionPlace): Promise<number[]> {
  const names = await disk.names(folder).catch((error) => throwDamage(error, id, 0));
  const versions = names.map((name) => publisher.versionOf(name));
  return versions.filter((version) => version > 0).sort((one, other) => one - other);
}

export async function packAt(store: Store, at: SessionPlace): Promise<Pack> {
  return lookAtPack(store, store.publisher.path(at.folder, 1)).catch((error) => throwDamage(error, at.id, 1));
}

/** Syncs the versions in a session's folder; returns false if there is no such folder. */
export async function syncVersions({ disk }: Store, { folder }: SessionPlace): Promise<boolean> {
  const synced = disk.syncFolder(folder).then(() => true);
  return (await synced.catch(ignoreMissing)) ?? false;
}

export async function hasVersion(store: Store, at: SessionPlace, version: number): Promise<boolean> {
  return (await hasFile(store, at, version)) || version <= (await packAt(store, at)).count;
}

async function hasFile({ disk, publisher }: Store, at: SessionPlace, version: number): Promise<boolean> {
  return disk.exists(publisher.path(at.folder, version)).catch((error) => throwDamage(error, at.id, version));
}

/** Records that this process has seen a version, unless it knows a newer one. `hash` is given if the version is synced. */
export function noteVersion({ newest }: Store, id: SessionId, version: number, hash?: string): void {
  const before = newest.get(id);
  if (before === undefined || before.version < version || (before.version === version && hash !== undefined)) {
    newest.set(id, { version, hash });
  }
}

/** Returns a commit; a synced one if it is to be durable: its writer may have died before its own sync, and what was read must last. */
export async function newestCommit(store: Store, id: SessionId, durable: boolean): Promise<Commit | undefined> {
  const at = store.layout.place(id);
  const known = store.newest.get(id);
  const found = await findNewest(store, at);
  const commit = found && parseCommit(found.data, id, found.version);
  // The versions that this process knows with their hashes were synced.
  if (commit !== undefined && commit.hash === known?.hash) return commit;
  if (commit === undefined || (durable && !(await syncVersions(store, at)))) {
    store.newest.delete(id);
    return undefined;
  }
  noteVersion(store, id, commit.version, durable ? commit.hash : undefined);
  return commit;
}

/** Returns the newest header. The commit may not be synced. */
export async function newestHeader(store: Store, id: SessionId): Promise<CommitHeader | undefined> {
  const at = store.layout.place(id);
  const found = await findNewest(store, at, HEADER_BYTES);
  if (found === undefined) return undefined;
  noteVersion(store, id, found.version);
  return headerIn(store, found.data, at, found.version);
}

/** Returns the version in `head` if it was written here: that of a copy may be later than the folder's names. */
export async function hintedVersion(store: Store, id: SessionId): Promise<number> {
  const at = store.layout.place(id);
  const { version, folder } = await readHint(store, at);
  return folder === undefined || folder === (await store.disk.identity(at.folder))?.number ? version : 0;
}

// This process's memory is a better hint than `head`, which is written after the answer. Both are only hints: a backup
// may have been restored, and `head` may be wrong.
async function findNewest(store: Store, at: SessionPlace, bytes?: number) {
  const newest = await newestFrom(store, at, store.newest.get(at.id)?.version ?? 0, bytes);
  if (newest !== undefined) return newest;
  store.newest.delete(at.id);
  const hinted = await newestFrom(store, at, (await readHint(store, at)).version, bytes);
  return hinted ?? newestFrom(store, at, await highestVersion(store, at), bytes);
}

/** Returns the newest version, if the given version or a later one exists. The given one nearly always is the newest. */
async function newestFrom(
  store: Store,
  at: SessionPlace,
  version: number,
  bytes?: number,
): Promise<{ readonly version: number; readonly data: Buffer } | undefined> {
  if (version === 0) return undefined;
  if (await hasFile(store, at, version + 1))
    return newestFrom(store, at, await lastFile(store, at, version + 1), bytes);
  // The pack is looked at last: a version whose file is gone was packed before.
  const { data, packed } = await readVersion(store, at, version, bytes);
  if (packed > version) return newestFrom(store, at, packed, bytes);
  return data && { version, data };
}

// After the pack, versions have no gaps: search with doubling steps, then by bisection.
async function lastFile(store: Store, at: SessionPlace, from: number): Promise<number> {
  let [low, step] = [from, 1];
  for (; await hasFile(store, at, low + step); step *= 2) low += step;
  for (let high = low + step; high - low > 1; ) {
    const middle = Math.floor((low + high) / 2);
    if (await hasFile(store, at, middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** The delay of a head, in milliseconds: its write takes as long as a commit without syncs. */
const PAUSE_MS = 1000;

/**
 * Writes a version into `head`, a second after the answer and not synced: readers take it for a hint. Of several
 * versions, only the highest is written. It is no hard link to the commit: backup tools that preserve hard links would
 * confuse later contents of the two names. It has the inode of its folder, which differs in a copy: there it may be
 * ahead of the log.
 */
export function pointHead(store: Store, at: SessionPlace, version: number): void {
  const { background, heads } = store;
  const planned = heads.get(at.id);
  heads.set(at.id, Math.max(version, planned ?? 0));
  if (planned !== undefined) return;
  background.run(`${at.id} head`, async () => {
    await background.pause(PAUSE_MS);
    await writeHead(store, at);
  });
}

async function writeHead(store: Store, at: SessionPlace): Promise<void> {
  const { id, folder } = at;
  const { disk, heads } = store;
  const version = heads.get(id) ?? 0;
  heads.delete(id);
  const number = (await disk.identity(folder))?.number;
  // Another process may have written a later version meanwhile. An older one would hide that commits are gone.
  const current = await readHint(store, at);
  if (number === undefined || (current.folder === number && current.version >= version)) return;
  const staged = temporaryIn(folder);
  try {
    await disk.write(staged, `{"sessionId":"${id}","version":${version},"folder":"${number}"}\n`);
    await disk.replace(staged, join(folder, "head"));
    // It may have written it between the check and the replacement: its commit is there then.
    if (await hasFile(store, at, version + 1)) pointHead(store, at, version + 1);
  } catch (error) {
    await disk.drop(staged);
    throw error;
  }
}
