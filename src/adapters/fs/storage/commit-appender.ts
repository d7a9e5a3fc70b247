import { isPhasegateError } from "../../../errors.js";
import type { Commit } from "../../../ports/storage-adapter.js";
import { orConflict, orUnknown } from "./append-outcome.js";
import { encodeCommit } from "./commit-file.js";
import { CommitMarkers } from "./commit-markers.js";
import { ignore } from "./file-handles.js";
import { conflict, isOutcomeUnknown, outcomeUnknown } from "./fs-failure.js";
import { activeMarker } from "./marker.js";
import { packOf } from "./packed-log.js";
import { beginSession, checkFolder, checkPack, checkPrevious } from "./place-in-log.js";
import type { SessionCompactor } from "./session-compactor.js";
import type { SessionPlace } from "./store-layout.js";
import type { StoreParts } from "./store-parts.js";
import { sweepTemporary } from "./sweep-temporary.js";

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
