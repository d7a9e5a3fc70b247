import { isPhasegateError } from "../../../errors.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { orConflict, orUnknown } from "./append-outcome.js";
import { encodeCommit } from "./commit-file.js";
import { CommitMarkers } from "./commit-markers.js";
import { ignore } from "./file-handles.js";
import { conflict, isOutcomeUnknown } from "./fs-failure.js";
import type { Generation } from "./generations.js";
import { activeMarker } from "./marker.js";
import { beginSession, checkFolder, checkPrevious } from "./place-in-log.js";
import type { SessionCompactor } from "./session-compactor.js";
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
  readonly #compactor: SessionCompactor;

  constructor(parts: StoreParts, compactor: SessionCompactor) {
    this.#parts = parts;
    this.#compactor = compactor;
  }

  async append(commit: Commit): Promise<void> {
    const markers = new CommitMarkers(this.#parts, commit);
    const text = encodeCommit(commit);
    try {
      while (!(await this.#attempt(commit, text, markers)));
    } catch (error) {
      if (isOutcomeUnknown(error)) this.#parts.watchers.tell(commit);
      else await markers.takeBack().catch(ignore);
      throw error;
    }
  }

  /** False if a compaction came in between: nothing was decided then, and the commit has its place elsewhere. */
  async #attempt(commit: Commit, text: string, markers: CommitMarkers): Promise<boolean> {
    const { generations, known, watchers } = this.#parts;
    const { sessionId: id, version } = commit;
    const at = version === 1 ? generations.at(id, 0) : generations.current(id);
    try {
      if (version === 1) await beginSession(this.#parts, commit, at);
      else await checkPrevious(this.#parts, commit, at);
      const staged = await this.#prepare(commit, at, text, markers);
      await this.#publish(commit, at, staged);
      await orUnknown(markers.keep());
      known.note(id, commit);
      watchers.tell(commit);
      await this.#after(commit, at, staged, text);
      return true;
    } catch (error) {
      if (isPhasegateError(error, "CONFLICT") && version > 1 && (await this.#compactor.cameBetween(at, version)))
        return false;
      throw error;
    }
  }

  // The folder is opened first: once the commit has its version, nothing but the sync itself can fail.
  async #publish(commit: Commit, at: Generation, staged: string): Promise<void> {
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
        await orUnknown(names.sync());
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
  async #prepare(commit: Commit, at: Generation, text: string, markers: CommitMarkers): Promise<string> {
    const { disk, layout, payloads, publisher } = this.#parts;
    const { sessionId: id, version } = commit;
    const staging = publisher.stage(at.folder, text);
    const evidence = orConflict(payloads.store(at, commit.payloads ?? []), commit);
    const others = [evidence, ...markers.place()];
    if (version === 1) others.push(disk.syncFolder(layout.shelf(id)));
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

  async #after(commit: Commit, { folder }: Generation, staged: string, text: string): Promise<void> {
    const { background, disk, publisher, trees } = this.#parts;
    const { sessionId: id, summary, version } = commit;
    if (summary.status !== "active") await trees.lift(activeMarker(summary));
    background.run(id, () => publisher.point(folder, staged, text));
    if (version % SWEEP_EVERY === 0 || summary.status !== "active")
      background.run(id, () => sweepTemporary(disk, folder));
  }
}
