/**
 * Keeps a store in shape. Compaction puts a session's versions into one file, the pack, and deletes their own files later.
 * A repair rebuilds what can be derived from the sessions: the markers for lists, and the heads. Commits never change, and
 * others may use the store meanwhile.
 */
import { dirname, join } from "node:path";
import { isPhasegateError } from "../../errors.js";
import type { RepairReport } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { orDamaged } from "../common/failures.js";
import { eachPacked, newestPayload, packIndex, parseCommit } from "./commit-file.js";
import { type NewFile, TEMPORARY, temporaryIn } from "./disk.js";
import { ignoreMissing, isMissing, tampered, throwDamage } from "./failures.js";
import { type SessionPlace, type Store, sessionOf } from "./layout.js";
import {
  allMarker,
  allMarkers,
  BATCH,
  checkAllMarkers,
  hasMarker,
  type Marker,
  markersOf,
  placeMarkers,
  removeUnneeded,
} from "./markers.js";
import {
  hasVersion,
  hintedVersion,
  newestHeader,
  packAt,
  pointHead,
  readHeader,
  readVersion,
  versionsIn,
} from "./read.js";
import { putInTrash } from "./trash.js";

const STAGED = `${TEMPORARY}pack-`;

/**
 * Puts a session's versions into the pack, which replaces the first version's file by a rename. So each version
 * exists at every instant, and a tool that copies the folder from an older listing finds the pack under a name in
 * that listing. The other files are deleted after the copy window: a tool that copied the first version's file before
 * it was replaced still finds them. A commit is packed only when the payloads are older than the window: a tool that
 * copied the payloads earlier would otherwise copy the pack without them.
 *
 * The deletion must lose nothing to a suspended compaction that resumes with a shorter pack:
 *
 * - A compaction creates its file before it reads what is already packed.
 * - Before files are deleted, all packs that are being written are deleted; their compactions start again.
 * - Files are deleted only if the pack is the same before and after that. A later compaction then contains these versions.
 *
 * Nor may it lose anything to a suspended writer that finds the name of its version free again: the writer checks the
 * pack afterwards.
 */
export async function compactSession(store: Store, id: SessionId): Promise<void> {
  const at = store.layout.place(id);
  await deletePacked(store, at);
  for (;;) {
    const last = await newestHeader(store, id);
    if (last === undefined) return;
    const { count: packed } = await packAt(store, at);
    const version = await packable(store, at, packed, last.version);
    if (version - packed < 2 || (await pack(store, at, version))) return;
  }
}

/** Returns the last version that may be packed now: all, or those older than the copy window. */
async function packable(store: Store, at: SessionPlace, packed: number, newest: number): Promise<number> {
  const { disk, publisher, limits } = store;
  const last = await newestPayload(store, at);
  if (last === undefined) return newest;
  const now = await disk.now(at.folder).catch(ignoreMissing);
  if (now === undefined) return 0;
  const before = now - limits.copyWindowMs;
  if (last <= before) return newest;
  for (let version = packed + 1; version <= newest; version++) {
    const stat = await disk.stat(publisher.path(at.folder, version));
    if (stat !== undefined && stat.mtimeMs > before) return version - 1;
  }
  return newest;
}

/** Deletes the files of packed versions if the pack is old enough. Returns true if none are left. */
export async function deletePacked(store: Store, at: SessionPlace): Promise<boolean> {
  const { disk, publisher, limits } = store;
  const pack = await packAt(store, at);
  if (pack.count === 0) return true;
  const packed = (await versionsIn(store, at)).filter((version) => version > 1 && version <= pack.count);
  if (packed.length === 0) return true;
  const now = await disk.now(at.folder).catch(ignoreMissing);
  if (now === undefined || now - pack.mtimeMs < limits.copyWindowMs) return now === undefined;
  for (const name of await disk.names(at.folder)) {
    if (name.startsWith(STAGED)) await disk.fs.unlink(join(at.folder, name)).catch(ignoreMissing);
  }
  if ((await packAt(store, at)).identity !== pack.identity) return false;
  // The process that packed them may have died before it synced the pack's name.
  await syncPack(store, at);
  // In order, so that the remaining ones have no gaps.
  for (const version of packed) await publisher.remove(at.folder, version);
  return true;
}

export async function deleteAllPacked(store: Store): Promise<void> {
  const { disk, layout } = store;
  for (const name of await disk.names(layout.top("packed"))) {
    const id = sessionOf(name);
    if (id !== undefined && (await deletePacked(store, layout.place(id)))) await disk.drop(layout.packed(id));
  }
}

/** Writes the pack. Returns false if another compaction was faster, or the session was removed. */
async function pack(store: Store, at: SessionPlace, version: number): Promise<boolean> {
  const { disk, layout, publisher } = store;
  const staged = temporaryIn(at.folder, STAGED);
  let isGone = false;
  try {
    await disk.fill(staged, async (file) => {
      try {
        await writePack(store, file, at, version);
      } catch (error) {
        // A compaction that deletes versions first deletes the staged packs of others.
        isGone = !(await disk.exists(staged));
        throw error;
      }
    });
    await disk.touch(layout.packed(at.id));
    await disk.replace(staged, publisher.path(at.folder, 1));
  } catch (error) {
    // The staged pack was deleted by another compaction, or moved to the trash with the session's folder.
    if (isGone || (isMissing(error) && !(await disk.exists(staged)))) return false;
    throw error;
  } finally {
    await disk.drop(staged);
  }
  await syncPack(store, at);
  return true;
}

async function writePack(store: Store, file: NewFile, at: SessionPlace, version: number): Promise<void> {
  const lengths: number[] = [];
  let [next, hash] = [1, ""];
  const take = async (data: Buffer) => {
    const commit = parseCommit(data, at.id, next);
    if (commit.previousHash !== hash) throw tampered(at.id, next, "it does not follow the one before it");
    [next, hash] = [next + 1, commit.hash];
    lengths.push(data.length);
    await file.writeFile(data);
  };
  await eachPacked(store, store.publisher.path(at.folder, 1), take).catch((error) => throwDamage(error, at.id, 1));
  while (next <= version) {
    const { data } = await readVersion(store, at, next);
    if (data === undefined) throw tampered(at.id, next, "it is missing, though later versions are there");
    await take(data);
  }
  await file.writeFile(packIndex(lengths));
}

async function syncPack({ disk, publisher }: Store, at: SessionPlace): Promise<void> {
  const around = new Set([dirname(publisher.path(at.folder, 1)), at.folder]);
  // If they no longer exist, the session was removed.
  for (const folder of around) await disk.syncFolder(folder).catch(ignoreMissing);
}

interface Repaired {
  sessions: number;
  removed: number;
  heads: number;
  readonly missing: { readonly id: SessionId; readonly marker: Marker }[];
  readonly damaged: { readonly sessionId: SessionId; readonly reason: string }[];
}

/** Creates missing markers and completes removals: the parts of a copy may be from different times. */
export async function rebuild(store: Store): Promise<Repaired> {
  const sum: Repaired = { sessions: 0, removed: 0, heads: 0, missing: [], damaged: [] };
  for await (const ids of sessionFolders(store)) await Promise.all(ids.map((id) => repairOne(store, id, sum)));
  await placeMarkers(
    store,
    sum.missing.map(({ marker }) => marker),
  );
  // A session may have ended since its newest commit was read.
  for (const { id, marker } of sum.missing) if (marker.tree === "active") await removeUnneeded(store, id, marker);
  return sum;
}

export async function repairStore(store: Store): Promise<RepairReport> {
  const { background } = store;
  // Wait for heads that are about to be written. Not for all that follows: this process may go on committing.
  await background.current();
  const { sessions, removed, heads, missing, damaged } = await rebuild(store);
  const count = async () => (await allMarkers(store, "all")).length + (await allMarkers(store, "active")).length;
  const before = await count();
  for (const tree of ["all", "active"] as const) for await (const _ of checkAllMarkers(store, tree));
  await deleteAllPacked(store);
  await background.current();
  const found = {
    "list markers made": missing.length,
    "list markers taken away": Math.max(0, before - (await count())),
    "heads written": heads,
    "removals finished": removed,
  };
  const repaired = Object.entries(found).map(([what, count]) => ({ what, count }));
  return { sessions, repaired: repaired.filter(({ count }) => count > 0), damaged };
}

async function repairOne(store: Store, id: SessionId, sum: Repaired): Promise<void> {
  const { disk, layout } = store;
  const at = layout.place(id);
  if (await disk.exists(layout.removed(id))) {
    const folder = await putInTrash(store, at);
    if (folder !== undefined) await disk.dropFolder(folder);
    sum.removed += 1;
    return;
  }
  const found = await lookAt(store, at);
  // A folder without a commit belongs to a session that is about to begin, or never did.
  if (found === undefined) return;
  sum.sessions += 1;
  for (const marker of found.markers) if (!(await hasMarker(store, marker))) sum.missing.push({ id, marker });
  const hinted = found.damage === undefined ? await hintedVersion(store, id) : 0;
  // This head was written in this folder (a copy's may be ahead), so commits are missing. It stays as the evidence.
  const isAhead = hinted > found.version;
  const gone = `Commits are gone: there was a version ${hinted}, and the newest one is ${found.version}`;
  const reason = found.damage ?? (isAhead ? gone : undefined);
  if (reason !== undefined) sum.damaged.push({ sessionId: id, reason });
  if (reason !== undefined || hinted === found.version) return;
  pointHead(store, at, found.version);
  sum.heads += 1;
}

/** Returns the version of the newest commit, the markers that it needs, and what is wrong with the log. */
async function lookAt(store: Store, at: SessionPlace) {
  try {
    const header = await newestHeader(store, at.id);
    if (header === undefined) return undefined;
    const damage = await gapIn(store, at, header.version);
    const markers = damage === undefined ? markersOf(header.summary) : [allMarker(header.summary)];
    return { version: header.version, markers, damage };
  } catch (error) {
    if (!isPhasegateError(error, "TAMPERED")) throw error;
    // If the first commit can't be read either, its damage is reported already.
    const first = await readHeader(store, at, 1).catch(orDamaged);
    return { version: 0, markers: first === undefined ? [] : [allMarker(first.summary)], damage: error.message };
  }
}

async function gapIn(store: Store, at: SessionPlace, newest: number): Promise<string | undefined> {
  const { count: packed } = await packAt(store, at);
  const versions = new Set(await versionsIn(store, at));
  for (let version = packed + 1; version <= newest; version++) {
    if (!versions.has(version) && !(await hasVersion(store, at, version))) return `Version ${version} is missing`;
  }
  return undefined;
}

async function* sessionFolders({ disk, layout }: Store): AsyncGenerator<SessionId[]> {
  const top = layout.top("sessions");
  for (const shelf of await disk.names(top)) {
    if (!/^[0-9a-f]{2}$/.test(shelf)) continue;
    const ids = (await disk.names(join(top, shelf))).map(sessionOf).filter((id) => id !== undefined);
    for (let from = 0; from < ids.length; from += BATCH) yield ids.slice(from, from + BATCH);
  }
}
