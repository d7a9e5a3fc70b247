import type { SessionId } from "../../../definition/names.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { encodeCommit } from "./commit-file.js";
import { conflict, isMissing, isOutcomeUnknown, outcomeUnknown } from "./fs-failure.js";
import { activeMarker, allMarker, type Marker } from "./marker.js";
import type { StoreParts } from "./store-parts.js";
import { sweepTemporary } from "./sweep-temporary.js";

/**
 * Every so many versions the writer looks for what crashes left in the session's folder; and whenever a session ends
 * or rests, as most have fewer versions than that.
 */
const SWEEP_EVERY = 64;

/**
 * Appends commits. The order makes it safe at every instant: markers and payloads, then the commit under a temporary
 * name, all on the disk; then its version, by the one call that decides who is first; then the folder to the disk,
 * and the answer. If that last sync fails the commit isn't acknowledged, and a later read finds it whole or not at all.
 */
export class CommitAppender {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async append(commit: Commit): Promise<void> {
    const { layout, known } = this.#parts;
    const { sessionId: id, version } = commit;
    const folder = layout.session(id);
    if (version === 1) await this.#begin(commit);
    else await this.#checkPrevious(commit);
    const text = encodeCommit(commit);
    const made: Marker[] = [];
    try {
      const staged = await this.#prepare(commit, folder, text, made);
      await this.#publish(commit, folder, staged);
      await orUnknown(this.#keepMarkers(commit, made));
      known.note(id, commit);
      await this.#after(commit, folder, staged, text);
    } catch (error) {
      if (!isOutcomeUnknown(error)) await this.#takeBack(commit, made).catch(ignore);
      throw error;
    }
  }

  // The folder is opened first: once the commit has its version, nothing but the sync itself can fail.
  async #publish(commit: Commit, folder: string, staged: string): Promise<void> {
    const { disk, publisher } = this.#parts;
    const { sessionId: id, version } = commit;
    try {
      const names = await orConflict(disk.openFolder(folder), commit);
      try {
        if (!(await publisher.publish(folder, staged, version)))
          throw conflict(id, version, "another writer was first");
        await orUnknown(names.sync());
      } finally {
        await names.close().catch(ignore);
      }
    } catch (error) {
      await publisher.discard(staged);
      throw error;
    }
  }

  /** A marker that was there already may be another writer's, who has just taken it back. */
  async #keepMarkers(commit: Commit, made: readonly Marker[]): Promise<void> {
    const { trees } = this.#parts;
    for (const marker of markersBefore(commit)) {
      if (!made.some(({ tree }) => tree === marker.tree) && !(await trees.has(marker))) await trees.place(marker);
    }
  }

  /** Takes back the markers that were made for a commit that isn't there, unless another writer's is and needs them. */
  async #takeBack({ sessionId: id, version }: Commit, made: readonly Marker[]): Promise<void> {
    const { reader, trees } = this.#parts;
    for (const marker of made) {
      if (await reader.has(id, version)) return;
      await trees.lift(marker);
      if (await reader.has(id, version)) await trees.place(marker);
    }
  }

  // The folder first, then the look at the removed ids: a removal goes the other way round, so one sees the other.
  async #begin({ sessionId: id, version, previousHash }: Commit): Promise<void> {
    const { disk, folders, layout, reader } = this.#parts;
    if (previousHash !== "") throw conflict(id, version, "a first version has none before it");
    const folder = layout.session(id);
    const isNew = await folders.within(layout.shelf(id), () => disk.makeFolder(folder));
    if (await disk.exists(layout.removed(id))) {
      await disk.fs.rmdir(folder).catch(() => {});
      throw conflict(id, version, "the session was removed");
    }
    if (!isNew && (await reader.has(id, version))) throw conflict(id, version, "the session exists");
  }

  async #checkPrevious({ sessionId: id, version, previousHash }: Commit): Promise<void> {
    const { known, reader } = this.#parts;
    const before = known.get(id);
    // A backup may have been put back: what isn't there any more is not what a commit can follow.
    if (before !== undefined && !(await reader.has(id, before.version))) known.forget(id);
    const seen = known.get(id);
    if (seen !== undefined && seen.version >= version) throw conflict(id, version, "another writer was first");
    const previous = seen?.version === version - 1 ? seen : await reader.header(id, version - 1);
    if (previous?.hash !== previousHash) throw conflict(id, version, "it does not follow the newest version");
  }

  /** Brings all to the disk that has to be there before the commit, and the commit under a temporary name. */
  async #prepare(commit: Commit, folder: string, text: string, made: Marker[]): Promise<string> {
    const { disk, layout, payloads, publisher, trees } = this.#parts;
    const { sessionId: id, version } = commit;
    const staging = publisher.stage(folder, text);
    const evidence = orConflict(payloads.store(id, commit.payloads ?? []), commit);
    const markers = markersBefore(commit).map((marker) => trees.place(marker, () => made.push(marker)));
    const others = [evidence, ...markers];
    if (version === 1) others.push(disk.syncFolder(layout.shelf(id)));
    // All of them, also if one fails: none may go on behind the caller's back.
    await Promise.allSettled([staging, ...others]);
    try {
      await Promise.all(others);
    } catch (error) {
      await staging.then((staged) => publisher.discard(staged)).catch(() => {});
      throw error;
    }
    return orConflict(staging, commit);
  }

  async #after(commit: Commit, folder: string, staged: string, text: string): Promise<void> {
    const { background, disk, publisher, trees } = this.#parts;
    const { sessionId: id, summary, version } = commit;
    if (summary.status !== "active") await trees.lift(activeMarker(summary));
    background.run(id, () => publisher.point(folder, staged, text));
    if (version % SWEEP_EVERY === 0 || summary.status !== "active")
      background.run(id, () => sweepTemporary(disk, folder));
  }
}

/** The markers that have to be there before a commit is. */
function markersBefore({ summary, version }: Commit): Marker[] {
  const opens = summary.status === "active" && summary.activeSince === version;
  return [...(version === 1 ? [allMarker(summary)] : []), ...(opens ? [activeMarker(summary)] : [])];
}

/** In a session's folder, a missing file means that the session was removed meanwhile. */
async function orConflict<T>(result: Promise<T>, { sessionId, version }: { sessionId: SessionId; version: number }) {
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

function ignore(): void {}
