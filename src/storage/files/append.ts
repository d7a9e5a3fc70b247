/**
 * Appends commits. The order makes it safe at every instant: first markers, payloads and the staged commit are synced;
 * then one system call gives the commit its version and decides who is first; then the folder is synced, and the call
 * returns. If this last sync fails, the outcome is unknown: a later read finds the commit complete or not at all.
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import { checkCommit, commitConflict, invalidCommit } from "../common/session-query.js";
import { encodeCommit, isPayloadHash, packOf, storePayloads } from "./commit-file.js";
import { deletePacked } from "./compact.js";
import { ignore, isMissing, isOutcomeUnknown, outcomeUnknown } from "./failures.js";
import type { SessionPlace, Store } from "./layout.js";
import {
  activeMarker,
  allMarker,
  hasMarker,
  type Marker,
  placeMarkers,
  removeMarker,
  removeUnneeded,
  restoreMarker,
} from "./markers.js";
import { throwUnknown } from "./publish.js";
import { hasVersion, highestVersion, noteVersion, packAt, pointHead, readCommit, readHeader } from "./read.js";
import { sweepTemporary } from "./trash.js";

/** How often a writer deletes what crashes left, in versions. It does so, too, when a session ends or pauses. */
const SWEEP_EVERY = 64;

/** The content of a version: one commit, or a session's first commits as a pack. */
interface Written {
  readonly at: SessionPlace;
  readonly first: Commit;
  readonly last: Commit;
  readonly data: string | Uint8Array;
  readonly payloads: NonNullable<Commit["payloads"]>;
  /** The body of the commit before, if the caller has it. */
  readonly follows?: string | undefined;
}

export async function appendCommit(store: Store, commit: Commit, follows: string | undefined): Promise<void> {
  const own = checkedCopy(commit, store.limits.maxCommitBytes);
  const { sessionId, payloads = [] } = own;
  const at = store.layout.place(sessionId);
  await write(store, { at, first: own, last: own, data: encodeCommit(own), payloads, follows });
}

/** Begins a session with several commits: one file and one sync per folder for all. */
export async function beginSession(store: Store, commits: readonly Commit[]): Promise<void> {
  const own = commits.map((commit) => checkedCopy(commit, store.limits.maxCommitBytes));
  const [first] = own;
  if (first === undefined) return;
  for (const [index, { sessionId, version, previousHash }] of own.entries()) {
    if (sessionId !== first.sessionId) throw invalidCommit("sessionId", sessionId);
    if (version !== index + 1) throw invalidCommit("version", version);
    if (previousHash !== (own[index - 1]?.hash ?? "")) throw invalidCommit("previousHash", previousHash);
  }
  const data = packOf(own.map((commit) => Buffer.from(encodeCommit(commit))));
  const payloads = own.flatMap((commit) => commit.payloads ?? []);
  await write(store, { at: store.layout.place(first.sessionId), first, last: own.at(-1) ?? first, data, payloads });
}

/** Copies a commit, which its caller may change. Refuses one too large, or with parts that can't be file names. */
function checkedCopy({ payloads = [], ...commit }: Commit, maxBytes: number): Commit {
  const copies = payloads.map((payload) => ({ ...payload }));
  const own = { ...commit, summary: { ...commit.summary }, payloads: copies };
  for (const { hash } of copies) if (!isPayloadHash(hash)) throw invalidCommit("payloads", hash);
  checkCommit(own, maxBytes);
  return own;
}

async function write(store: Store, written: Written): Promise<void> {
  const { at, first, last } = written;
  const needed = markersFor(first, last);
  /** The markers that this append has made. Others may belong to another writer. */
  const made: Marker[] = [];
  try {
    if (first.version === 1) await makeSession(store, written);
    else await checkPrevious(store, written);
    const staged = await stage(store, written, needed, made);
    // Told twice: a watch that begins between publishing and the second call would count this commit as an old one.
    tellWatchers(store, first);
    await publish(store, written, staged);
    // One that existed already may have been another writer's, who has just removed it.
    for (const marker of needed) {
      if (made.includes(marker)) continue;
      const isThere = await hasMarker(store, marker).catch(throwUnknown);
      if (!isThere) await restoreMarker(store, at.id, marker).catch(throwUnknown);
    }
    noteVersion(store, at.id, last.version, last.hash);
    tellWatchers(store, first);
    await afterwards(store, written, staged);
  } catch (error) {
    if (isOutcomeUnknown(error)) tellWatchers(store, first);
    // Another writer's commit may need them by now.
    else for (const marker of made) await removeUnneeded(store, at.id, marker).catch(ignore);
    throw error;
  }
}

function markersFor(first: Commit, { summary, version }: Commit): Marker[] {
  const { status, activeSince } = summary;
  const isActive = status === "active" && activeSince >= first.version && activeSince <= version;
  return [...(first.version === 1 ? [allMarker(summary)] : []), ...(isActive ? [activeMarker(summary)] : [])];
}

function tellWatchers({ listeners }: Store, { sessionId, version }: Commit): void {
  for (const listener of listeners) listener(sessionId, version);
}

/** Syncs everything that must be on the disk before the commit, and the staged commit. Returns its path. */
async function stage(store: Store, written: Written, needed: readonly Marker[], made: Marker[]): Promise<string> {
  const { disk, layout, publisher } = store;
  const { at, first, data, payloads, follows } = written;
  const staging = publisher.stage(at.folder, data).catch((error) => throwConflict(error, first));
  const others: Promise<void>[] = [];
  if (needed.length > 0) others.push(placeMarkers(store, needed, (marker) => made.push(marker)));
  if (payloads.length > 0) {
    others.push(storePayloads(store, at, payloads).catch((error) => throwConflict(error, first)));
  }
  if (first.version === 1) others.push(disk.syncFolder(layout.shelf(at.id)));
  if (follows !== undefined) others.push(checkUnedited(store, written, follows));
  // Wait for all, even if one fails: none may still be running after the call.
  await Promise.allSettled([staging, ...others]);
  try {
    await Promise.all(others);
  } catch (error) {
    await staging.then((staged) => publisher.discard(staged)).catch(ignore);
    throw error;
  }
  return staging;
}

async function publish(store: Store, { at, first }: Written, staged: string): Promise<void> {
  const { disk, newest, publisher } = store;
  const { sessionId: id, version } = first;
  try {
    // A staged file can only be published in the folder in which it was staged. So the previous commit proves that it is the
    // session's folder, and not one that a delayed beginning has just made under the same name.
    if (version > 1 && !(await hasVersion(store, at, version - 1))) {
      newest.delete(id);
      throw commitConflict(id, version, "it does not follow the newest version");
    }
    // The folder is opened first: once the commit has its version, only the sync itself can fail.
    const folder = await disk.openFolder(at.folder).catch((error) => throwConflict(error, first));
    try {
      if (!(await publisher.publish(at.folder, staged, version))) {
        throw commitConflict(id, version, "another writer was first");
      }
      const [synced, checked] = await Promise.allSettled([folder.sync(), checkPack(store, at, first)]);
      // If the commit is not in the log, it no longer matters whether the sync failed.
      if (checked.status === "rejected") {
        throw isPhasegateError(checked.reason) ? checked.reason : outcomeUnknown(checked.reason);
      }
      if (synced.status === "rejected") throw outcomeUnknown(synced.reason);
    } finally {
      // Nothing depends on the close, so it is not awaited.
      void folder.close().catch(ignore);
    }
  } catch (error) {
    await publisher.discard(staged);
    throw error;
  }
}

async function afterwards(store: Store, { at, last }: Written, staged: string): Promise<void> {
  const { background, disk, publisher } = store;
  const { summary, version } = last;
  if (summary.status !== "active") await removeMarker(store, activeMarker(summary));
  background.run(at.id, () => publisher.discard(staged));
  pointHead(store, at, version);
  if (version % SWEEP_EVERY !== 0 && summary.status === "active") return;
  background.run(at.id, () => sweepTemporary(disk, at.folder));
  background.run(at.id, async () => void (await deletePacked(store, at)));
}

/** Throws a failure: a conflict if a file in the session's folder is missing, since the session was removed then. */
function throwConflict(error: unknown, { sessionId, version }: Commit): never {
  throw isMissing(error) ? commitConflict(sessionId, version, "the session was removed") : error;
}

/** The folder is made before the removed ids are checked; a removal does the opposite, so one sees the other. */
async function makeSession(store: Store, { at, first }: Written): Promise<void> {
  const { disk, folders, layout } = store;
  const { sessionId: id, version, previousHash } = first;
  if (previousHash !== "") throw commitConflict(id, version, "a first version has none before it");
  const isNew = await folders.within(layout.shelf(id), () => disk.makeFolder(at.folder));
  if (await disk.exists(layout.removed(id))) {
    await disk.fs.rmdir(at.folder).catch(ignore);
    throw commitConflict(id, version, "the session exists, or was removed");
  }
  // Any version: the first one of a damaged session may be missing.
  if (!isNew && (await highestVersion(store, at)) > 0) throw commitConflict(id, version, "the session exists");
}

/** Refuses a commit that does not follow the previous one. `publish` checks later that this one still exists. */
async function checkPrevious(store: Store, { at, first, payloads }: Written): Promise<void> {
  const { sessionId: id, version, previousHash } = first;
  const seen = store.newest.get(id);
  if (seen !== undefined && seen.version >= version) {
    if (await hasVersion(store, at, seen.version)) throw commitConflict(id, version, "another writer was first");
    // A backup may have been restored: a version that no longer exists must not cause a conflict.
    store.newest.delete(id);
  }
  const known = seen?.version === version - 1 ? seen.hash : undefined;
  const hash = known ?? (await readHeader(store, at, version - 1))?.hash;
  if (hash !== previousHash) throw commitConflict(id, version, "it does not follow the newest version");
  // Payloads of a refused commit would stay.
  if (payloads.length > 0 && (await hasVersion(store, at, version))) {
    throw commitConflict(id, version, "another writer was first");
  }
}

/** Somebody may have edited the previous commit. The check takes no time while the new file is made. */
async function checkUnedited(store: Store, { at, first }: Written, follows: string): Promise<void> {
  const previous = await readCommit(store, at, first.version - 1);
  if (previous?.body !== follows) throw commitConflict(at.id, first.version, "the newest version was edited");
}

/**
 * Refuses a commit whose version was packed, and its name free again, while its writer was suspended. Called after
 * publishing, since files are deleted only after they are packed.
 */
async function checkPack(store: Store, at: SessionPlace, commit: Commit): Promise<void> {
  const { sessionId: id, version, hash } = commit;
  if (version === 1 || version > (await packAt(store, at)).count) return;
  if ((await readHeader(store, at, version))?.hash === hash) return;
  await store.publisher.remove(at.folder, version);
  store.newest.delete(id);
  throw commitConflict(id, version, "another writer was first");
}
