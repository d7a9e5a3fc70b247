import { isPhasegateError } from "../../errors.js";
import type { Commit } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import { checkCommit, invalidCommit } from "../common/session-query.js";
import { encodeCommit, isPayloadHash, packOf } from "./commit-file.js";
import type { SessionCompactor } from "./compact.js";
import { ignore } from "./disk.js";
import { conflict, isMissing, isOutcomeUnknown, outcomeUnknown } from "./failures.js";
import type { SessionPlace } from "./layout.js";
import { activeMarker, allMarker, type Marker } from "./markers.js";
import type { StoreParts } from "./parts.js";
import { sweepTemporary } from "./tidy.js";

/**
 * Every so many versions the writer looks for what crashes left in the session's folder; and whenever a session ends
 * or rests, as most have fewer versions than that.
 */
const SWEEP_EVERY = 64;

/** What gets a version: a commit, or the first ones of a session as a pack. */
interface Written {
  readonly first: Commit;
  readonly last: Commit;
  readonly data: string | Uint8Array;
  readonly payloads: NonNullable<Commit["payloads"]>;
}

/**
 * Appends commits. The order makes it safe at every instant: markers and payloads, then the commit under a temporary
 * name, all on the disk; then its version, by the one call that decides who is first; then the folder to the disk,
 * and the answer. If that last sync fails the commit isn't acknowledged, and a later read finds it whole or not at all.
 */
export class CommitAppender {
  readonly #parts: StoreParts;
  readonly #compactor: SessionCompactor;

  constructor(parts: StoreParts, compactor: SessionCompactor) {
    this.#parts = parts;
    this.#compactor = compactor;
  }

  async append(commit: Commit): Promise<void> {
    const { payloads = [] } = commit;
    await this.#write({ first: commit, last: commit, data: encodeCommit(commit), payloads });
  }

  /** Begins a session with several commits: one file, and one sync of each folder, for all of them. */
  async begin(commits: readonly [Commit, ...Commit[]]): Promise<void> {
    const [first] = commits;
    const data = packOf(commits.map((commit) => Buffer.from(encodeCommit(commit))));
    const payloads = commits.flatMap((commit) => commit.payloads ?? []);
    await this.#write({ first, last: commits.at(-1) ?? first, data, payloads });
  }

  async #write(written: Written): Promise<void> {
    const { first, last } = written;
    const markers = new CommitMarkers(this.#parts, first, last);
    const at = this.#parts.layout.place(first.sessionId);
    try {
      if (first.version === 1) await beginSession(this.#parts, first, at);
      else await checkPrevious(this.#parts, first, at);
      const staged = await this.#prepare(written, at, markers);
      // A watch that begins now may find the commit before it is told of it below, and take it for an old one.
      this.#parts.watchers.tell(first);
      await this.#publish(first, at, staged);
      await orUnknown(markers.keep());
      this.#parts.known.note(first.sessionId, last);
      this.#parts.watchers.tell(first);
      await this.#after(last, at, staged);
    } catch (error) {
      if (isOutcomeUnknown(error)) this.#parts.watchers.tell(first);
      else await markers.takeBack().catch(ignore);
      throw error;
    }
  }

  // The folder is opened first: once the commit has its version, nothing but the sync itself can fail.
  async #publish(commit: Commit, at: SessionPlace, staged: string): Promise<void> {
    const { disk, publisher } = this.#parts;
    const { sessionId: id, version } = commit;
    try {
      const opening = orConflict(disk.openFolder(at.folder), commit);
      const [opened, followed] = await Promise.allSettled([opening, checkFolder(this.#parts, commit, at)]);
      if (opened.status === "rejected") throw opened.reason;
      const names = opened.value;
      try {
        if (followed.status === "rejected") throw followed.reason;
        if (!(await publisher.publish(at.folder, staged, version)))
          throw conflict(id, version, "another writer was first");
        const [synced, checked] = await Promise.allSettled([names.sync(), checkPack(this.#parts, commit, at)]);
        // Once it is known that the commit isn't in the log, it is no question any more whether it is on the disk.
        if (checked.status === "rejected")
          throw isPhasegateError(checked.reason) ? checked.reason : outcomeUnknown(checked.reason);
        if (synced.status === "rejected") throw outcomeUnknown(synced.reason);
      } finally {
        // Nothing depends on it, and so nobody waits for it.
        void names.close().catch(ignore);
      }
    } catch (error) {
      await publisher.discard(staged);
      throw error;
    }
  }

  /** Brings all to the disk that has to be there before the commit, and the commit under a temporary name. */
  async #prepare(written: Written, at: SessionPlace, markers: CommitMarkers): Promise<string> {
    const { disk, layout, payloads, publisher } = this.#parts;
    const { first: commit } = written;
    const staging = publisher.stage(at.folder, written.data);
    const evidence = orConflict(payloads.store(at, written.payloads), commit);
    const others = [evidence, ...markers.place()];
    if (commit.version === 1) others.push(disk.syncFolder(layout.shelf(commit.sessionId)));
    // All of them, also if one fails: none may go on behind the caller's back.
    await Promise.allSettled([staging, ...others]);
    try {
      await Promise.all(others);
    } catch (error) {
      await staging.then((staged) => publisher.discard(staged)).catch(ignore);
      throw error;
    }
    return orConflict(staging, commit);
  }

  async #after({ summary, version }: Commit, at: SessionPlace, staged: string): Promise<void> {
    const { background, disk, heads, publisher, trees } = this.#parts;
    if (summary.status !== "active") await trees.lift(activeMarker(summary));
    background.run(at.id, () => publisher.tidy(staged));
    heads.point(at, version);
    if (version % SWEEP_EVERY !== 0 && summary.status === "active") return;
    background.run(at.id, () => sweepTemporary(disk, at.folder));
    background.run(at.id, async () => void (await this.#compactor.tidy(at)));
  }
}

/** In a session's folder, a missing file means that the session was removed meanwhile. */
async function orConflict<T>(result: Promise<T>, { sessionId, version }: Commit) {
  return result.catch((error: unknown): never => {
    throw isMissing(error) ? conflict(sessionId, version, "the session was removed") : error;
  });
}

/**
 * The version has its name, but whether the name outlives a loss of power is not known: the call failed,
 * and the commit may be there.
 */
async function orUnknown(synced: Promise<void>): Promise<void> {
  try {
    await synced;
  } catch (error) {
    throw outcomeUnknown(error);
  }
}

/** Refuses a commit that can't be a file: what becomes part of a name is checked here, and the size. */
export function checkFileCommit(commit: Commit, maxBytes: number): void {
  for (const { hash } of commit.payloads ?? []) if (!isPayloadHash(hash)) throw invalidCommit("payloads", hash);
  checkCommit(commit, maxBytes);
}

/** Refuses commits that are not the first ones of a session, each following the one before. */
export function checkChain(commits: readonly [Commit, ...Commit[]]): void {
  const [{ sessionId }] = commits;
  for (const [index, commit] of commits.entries()) {
    if (commit.sessionId !== sessionId) throw invalidCommit("sessionId", commit.sessionId);
    if (commit.version !== index + 1) throw invalidCommit("version", commit.version);
    const before = commits[index - 1]?.hash ?? "";
    if (commit.previousHash !== before) throw invalidCommit("previousHash", commit.previousHash);
  }
}

/**
 * Makes the folder of a new session. The folder first, then the look at the ids that are used up: a removal goes the
 * other way round, so one sees the other.
 */
async function beginSession(parts: StoreParts, commit: Commit, { folder }: SessionPlace): Promise<void> {
  const { disk, folders, layout, reader } = parts;
  const { sessionId: id, version, previousHash } = commit;
  if (previousHash !== "") throw conflict(id, version, "a first version has none before it");
  const isNew = await folders.within(layout.shelf(id), () => disk.makeFolder(folder));
  if (await disk.exists(layout.removed(id))) {
    await disk.fs.rmdir(folder).catch(ignore);
    throw conflict(id, version, "the session exists, or was removed");
  }
  if (!isNew && (await reader.has(id, version))) throw conflict(id, version, "the session exists");
}

/** Refuses a commit that doesn't follow the one before it. That this one is there is looked at later. */
async function checkPrevious(parts: StoreParts, commit: Commit, at: SessionPlace): Promise<void> {
  const { known, reader } = parts;
  const { sessionId: id, version, previousHash } = commit;
  const newer = known.get(id);
  // A backup may have been put back: what isn't there any more is not what a commit can come too late for.
  if (newer !== undefined && newer.version >= version && !(await reader.has(id, newer.version, at))) known.forget(id);
  const seen = known.get(id);
  if (seen !== undefined && seen.version >= version) throw conflict(id, version, "another writer was first");
  const previous = seen?.version === version - 1 ? seen : await reader.header(id, version - 1, at);
  if (previous?.hash !== previousHash) throw conflict(id, version, "it does not follow the newest version");
}

/**
 * Looks that the commit before is where this one is about to be. After staging: what was staged can only be published
 * out of the folder that it was staged in, so that folder is the session's own, and not one that a late beginning has
 * just made under its name.
 */
async function checkFolder(parts: StoreParts, { sessionId: id, version }: Commit, at: SessionPlace): Promise<void> {
  if (version === 1 || (await parts.reader.has(id, version - 1, at))) return;
  parts.known.forget(id);
  throw conflict(id, version, "it does not follow the newest version");
}

/**
 * Refuses a commit whose version is another one's in the pack: its writer slept while the file of that version was
 * packed, and deleted, so that the name was free. To be asked once it has its name: a file is deleted after it was packed.
 */
async function checkPack(parts: StoreParts, { sessionId: id, version, hash }: Commit, at: SessionPlace) {
  const { known, publisher, reader } = parts;
  if (version === 1 || version > (await reader.packed(at))) return;
  if ((await reader.header(id, version, at))?.hash === hash) return;
  await publisher.remove(at.folder, version);
  known.forget(id);
  throw conflict(id, version, "another writer was first");
}

/** The markers that have to be there before a commit is: made for it, kept for it, and taken back if it fails. */
class CommitMarkers {
  readonly #parts: StoreParts;
  readonly #id: SessionId;
  readonly #needed: readonly Marker[];
  /** Those that this append made: any other may be another writer's. */
  readonly #made: Marker[] = [];

  /** Of several commits that appear at once, the first and the last one. */
  constructor(parts: StoreParts, first: Commit, last: Commit) {
    this.#parts = parts;
    this.#id = first.sessionId;
    this.#needed = markersBefore(first, last);
  }

  /** Brings them to the disk. */
  place(): Promise<void>[] {
    const { trees } = this.#parts;
    return this.#needed.map((marker) => trees.place(marker, () => this.#made.push(marker)));
  }

  /** A marker that was there already may be another writer's, who has just taken it back. */
  async keep(): Promise<void> {
    const { trees } = this.#parts;
    for (const marker of this.#needed) {
      if (this.#made.some(({ tree }) => tree === marker.tree) || (await trees.has(marker))) continue;
      await this.#parts.tidy.restore(this.#id, marker);
    }
  }

  /** Takes back those that were made for a commit that isn't there, unless another writer's is and needs them. */
  async takeBack(): Promise<void> {
    for (const marker of this.#made) await this.#parts.tidy.lift(this.#id, marker);
  }
}

function markersBefore({ version }: Commit, { summary, version: last }: Commit): Marker[] {
  const { activeSince, status } = summary;
  const opens = status === "active" && activeSince >= version && activeSince <= last;
  return [...(version === 1 ? [allMarker(summary)] : []), ...(opens ? [activeMarker(summary)] : [])];
}
