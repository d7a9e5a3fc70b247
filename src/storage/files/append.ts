/**
 * Appends commits. The order makes it safe at every instant: first markers, payloads and the staged commit are synced;
 * then one system call gives the commit its version and decides who is first; then the folder is synced, and the call
 * returns. If this last sync fails, the outcome is unknown: a later read finds the commit complete or not at all.
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { checkCommit, commitConflict, invalidCommit } from "../common/session-query.js";
import { encodeCommit, isPayloadHash, packOf } from "./commit-file.js";
import type { SessionCompactor } from "./compact.js";
import { ignore } from "./disk.js";
import { isMissing, isOutcomeUnknown, outcomeUnknown } from "./failures.js";
import type { SessionPlace } from "./layout.js";
import { activeMarker, allMarker, type Marker } from "./markers.js";
import { type StoreParts, sweepTemporary } from "./parts.js";

/**
 * Versions after which the writer deletes what crashes left in the session's folder. It also does so when a session
 * ends or pauses, since most sessions have fewer versions.
 */
const SWEEP_EVERY = 64;

/** The content of a version: one commit, or a session's first commits as a pack. */
interface Written {
  readonly first: Commit;
  readonly last: Commit;
  readonly data: string | Uint8Array;
  readonly payloads: NonNullable<Commit["payloads"]>;
  /** The body of the commit before, if the caller has it. */
  readonly follows?: string | undefined;
}

/** Appends commits and begins sessions. */
export class CommitAppender {
  readonly #parts: StoreParts;
  readonly #compactor: SessionCompactor;
  readonly #maxCommitBytes: number;

  constructor(parts: StoreParts, compactor: SessionCompactor, maxCommitBytes: number) {
    this.#parts = parts;
    this.#compactor = compactor;
    this.#maxCommitBytes = maxCommitBytes;
  }

  async append(commit: Commit, follows: string | undefined): Promise<void> {
    const own = checkedCopy(commit, this.#maxCommitBytes);
    await this.#write({ first: own, last: own, data: encodeCommit(own), payloads: own.payloads ?? [], follows });
  }

  /** Begins a session with several commits: one file and one sync per folder for all. */
  async begin(commits: readonly Commit[]): Promise<void> {
    const own = commits.map((commit) => checkedCopy(commit, this.#maxCommitBytes));
    const [first] = own;
    if (first === undefined) return;
    checkChain(own, first);
    const data = packOf(own.map((commit) => Buffer.from(encodeCommit(commit))));
    const payloads = own.flatMap((commit) => commit.payloads ?? []);
    await this.#write({ first, last: own.at(-1) ?? first, data, payloads });
  }

  async #write(written: Written): Promise<void> {
    const { first, last } = written;
    const { known, layout, watchers } = this.#parts;
    const at = layout.place(first.sessionId);
    const markers = new CommitMarkers(this.#parts, first, last);
    try {
      if (first.version === 1) await beginSession(this.#parts, first, at);
      else await checkPrevious(this.#parts, written, at);
      const staged = await this.#stage(written, at, markers);
      // Told twice: a watch that begins between publishing and the second call would count this commit as an old one.
      watchers.tell(first);
      await this.#publish(first, at, staged);
      await markers.keep().catch(throwUnknown);
      known.note(first.sessionId, last);
      watchers.tell(first);
      await this.#after(last, at, staged);
    } catch (error) {
      if (isOutcomeUnknown(error)) watchers.tell(first);
      else await markers.takeBack().catch(ignore);
      throw error;
    }
  }

  /** Syncs everything that must be on the disk before the commit, and the staged commit. Returns its path. */
  async #stage({ first, data, payloads, follows }: Written, at: SessionPlace, markers: CommitMarkers): Promise<string> {
    const { disk, layout, payloads: files, publisher } = this.#parts;
    const staging = publisher.stage(at.folder, data).catch((error) => throwConflict(error, first));
    const others = markers.place();
    if (payloads.length > 0) others.push(files.store(at, payloads).catch((error) => throwConflict(error, first)));
    if (first.version === 1) others.push(disk.syncFolder(layout.shelf(at.id)));
    if (follows !== undefined) others.push(checkUnedited(this.#parts, first, at, follows));
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

  async #publish(commit: Commit, at: SessionPlace, staged: string): Promise<void> {
    const { disk, publisher } = this.#parts;
    const { sessionId: id, version } = commit;
    try {
      const checking = checkFolder(this.#parts, commit, at);
      checking.catch(ignore);
      // The folder is opened first: once the commit has its version, only the sync itself can fail.
      const folder = await disk.openFolder(at.folder).catch((error) => throwConflict(error, commit));
      try {
        await checking;
        if (!(await publisher.publish(at.folder, staged, version))) {
          throw commitConflict(id, version, "another writer was first");
        }
        const [synced, checked] = await Promise.allSettled([folder.sync(), checkPack(this.#parts, commit, at)]);
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

  async #after({ summary, version }: Commit, at: SessionPlace, staged: string): Promise<void> {
    const { background, disk, heads, publisher, trees } = this.#parts;
    if (summary.status !== "active") await trees.remove(activeMarker(summary));
    background.run(at.id, () => publisher.discard(staged));
    heads.point(at, version);
    if (version % SWEEP_EVERY !== 0 && summary.status === "active") return;
    background.run(at.id, () => sweepTemporary(disk, at.folder));
    background.run(at.id, async () => void (await this.#compactor.deletePacked(at)));
  }
}

/**
 * Returns a copy of a commit, so that changes by the caller during the call do not reach the store. Refuses a commit
 * that cannot be stored as a file: checks the parts that become file names, and the size.
 */
function checkedCopy({ payloads, ...commit }: Commit, maxBytes: number): Commit {
  const copies = payloads?.map((payload) => ({ ...payload }));
  const own = { ...commit, summary: { ...commit.summary }, ...(copies === undefined ? {} : { payloads: copies }) };
  for (const { hash } of copies ?? []) if (!isPayloadHash(hash)) throw invalidCommit("payloads", hash);
  checkCommit(own, maxBytes);
  return own;
}

/** Refuses commits that are not a session's first ones in order. */
function checkChain(commits: readonly Commit[], { sessionId }: Commit): void {
  for (const [index, commit] of commits.entries()) {
    if (commit.sessionId !== sessionId) throw invalidCommit("sessionId", commit.sessionId);
    if (commit.version !== index + 1) throw invalidCommit("version", commit.version);
    const before = commits[index - 1]?.hash ?? "";
    if (commit.previousHash !== before) throw invalidCommit("previousHash", commit.previousHash);
  }
}

/** Throws a failure: a conflict if a file in the session's folder is missing, since the session was removed then. */
function throwConflict(error: unknown, { sessionId, version }: Commit): never {
  throw isMissing(error) ? commitConflict(sessionId, version, "the session was removed") : error;
}

/** Throws a failure as `outcomeUnknown`: the version has its name, but the name may not survive a power failure. */
function throwUnknown(error: unknown): never {
  throw outcomeUnknown(error);
}

/**
 * Makes the folder of a new session. The folder is made before the removed ids are checked; a removal works in the
 * opposite order, so one sees the other.
 */
async function beginSession(parts: StoreParts, commit: Commit, at: SessionPlace): Promise<void> {
  const { disk, folders, layout, reader } = parts;
  const { sessionId: id, version, previousHash } = commit;
  if (previousHash !== "") throw commitConflict(id, version, "a first version has none before it");
  const isNew = await folders.within(layout.shelf(id), () => disk.makeFolder(at.folder));
  if (await disk.exists(layout.removed(id))) {
    await disk.fs.rmdir(at.folder).catch(ignore);
    throw commitConflict(id, version, "the session exists, or was removed");
  }
  // Any version: the first one of a damaged session may be missing.
  if (!isNew && (await reader.highest(at)) > 0) throw commitConflict(id, version, "the session exists");
}

/** Refuses a commit that does not follow the previous one. `checkFolder` checks later that this one still exists. */
async function checkPrevious(parts: StoreParts, { first, payloads }: Written, at: SessionPlace): Promise<void> {
  const { known, reader } = parts;
  const { sessionId: id, version, previousHash } = first;
  let seen = known.get(id);
  // A backup may have been restored: a version that no longer exists must not cause a conflict.
  if (seen !== undefined && seen.version >= version && !(await reader.has(at, seen.version))) {
    known.forget(id);
    seen = undefined;
  }
  if (seen !== undefined && seen.version >= version) throw commitConflict(id, version, "another writer was first");
  const previous = seen?.version === version - 1 ? seen : await reader.header(at, version - 1);
  if (previous?.hash !== previousHash) throw commitConflict(id, version, "it does not follow the newest version");
  // Payloads of a refused commit would stay.
  if (payloads.length > 0 && (await reader.has(at, version)))
    throw commitConflict(id, version, "another writer was first");
}

/**
 * Checks that the previous commit has the body that the commit was decided on: somebody may have edited its file. Done while
 * the new file is made, so that it takes no time. Who gets the conflict reads the session, and finds what was edited.
 */
async function checkUnedited(
  { reader }: StoreParts,
  { sessionId: id, version }: Commit,
  at: SessionPlace,
  follows: string,
) {
  const previous = await reader.commit(at, version - 1);
  if (previous?.body !== follows) throw commitConflict(id, version, "the newest version was edited");
}

/**
 * Checks that the previous commit exists in the folder. Called after staging: a staged file can only be published in
 * the folder in which it was staged, so this proves that it is the session's folder, and not one that a delayed
 * `begin` has just made under the same name.
 */
async function checkFolder(parts: StoreParts, { sessionId: id, version }: Commit, at: SessionPlace): Promise<void> {
  if (version === 1 || (await parts.reader.has(at, version - 1))) return;
  parts.known.forget(id);
  throw commitConflict(id, version, "it does not follow the newest version");
}

/**
 * Refuses a commit whose version another commit has in the pack: its writer was suspended while that version's file
 * was packed and deleted, so that the name was free. Called after publishing, since files are deleted only after they
 * are packed.
 */
async function checkPack(parts: StoreParts, { sessionId: id, version, hash }: Commit, at: SessionPlace) {
  const { known, publisher, reader } = parts;
  if (version === 1 || version > (await reader.pack(at)).count) return;
  if ((await reader.header(at, version))?.hash === hash) return;
  await publisher.remove(at.folder, version);
  known.forget(id);
  throw commitConflict(id, version, "another writer was first");
}

/** The markers that must exist before a commit: created for it, and removed if it fails. */
class CommitMarkers {
  readonly #parts: StoreParts;
  readonly #id: SessionId;
  readonly #needed: readonly Marker[];
  /** The markers that this append created. Others may belong to another writer. */
  readonly #made: Marker[] = [];

  /** Takes the first and the last of the commits that are written at once. */
  constructor(parts: StoreParts, first: Commit, last: Commit) {
    this.#parts = parts;
    this.#id = first.sessionId;
    const { summary, version } = last;
    const isActive =
      summary.status === "active" && summary.activeSince >= first.version && summary.activeSince <= version;
    this.#needed = [...(first.version === 1 ? [allMarker(summary)] : []), ...(isActive ? [activeMarker(summary)] : [])];
  }

  /** Creates and syncs the markers. */
  place(): Promise<void>[] {
    const { trees } = this.#parts;
    return this.#needed.map((marker) => trees.place(marker, () => this.#made.push(marker)));
  }

  /** Restores a marker that existed already but was another writer's, who has just removed it. */
  async keep(): Promise<void> {
    const { trees } = this.#parts;
    for (const marker of this.#needed) {
      if (this.#made.some(({ tree }) => tree === marker.tree) || (await trees.has(marker))) continue;
      await this.#parts.markerCheck.restore(this.#id, marker);
    }
  }

  /** Removes the created markers of a commit that failed, unless another writer's commit needs them. */
  async takeBack(): Promise<void> {
    for (const marker of this.#made) await this.#parts.markerCheck.remove(this.#id, marker);
  }
}
