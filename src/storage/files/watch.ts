/** Polls sessions: those that can change in every round, others in turns. This process's own commits wake the watch. */
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { orDamaged, Pause } from "../common/failures.js";
import { matchesQuery } from "../common/session-query.js";
import type { Disk } from "./disk.js";
import { ignore, oddityOf } from "./failures.js";
import type { Store } from "./layout.js";
import { readLog } from "./list.js";
import { allMarkers, BATCH, markersOfSomeDays, walkMarkers } from "./markers.js";
import { hasVersion, highestVersion, newestHeader, readCommit, syncVersions } from "./read.js";
import { emptyTrash, enterWatch, type TrashEntry, trashEntries } from "./trash.js";

/** Sessions that began in the newest days are polled in every round; of the older days, one per round. */
const NEWEST_DAYS = 2;

/** A folder that changed less than this ago may change again within the same tick of the file system's clock, unnoticed. */
const STABLE_MS = 100;
/** The same for file systems with a resolution of one or two seconds. */
const STABLE_COARSE_MS = 2500;

/** Returns a text that changes whenever a folder's entries change; undefined if there is none, or a change may be hidden. */
async function folderStamp(disk: Disk, path: string): Promise<string | undefined> {
  const stat = await disk.stat(path).catch((error) => {
    // Reading a path that is no folder reports the error.
    if (oddityOf(error) === undefined) throw error;
  });
  if (stat === undefined) return undefined;
  const stableMs = Number.isInteger(stat.mtimeMs) ? STABLE_COARSE_MS : STABLE_MS;
  return Math.abs(disk.about() - stat.mtimeMs) >= stableMs ? `${stat.ino}:${stat.mtimeMs}` : undefined;
}

interface Watched {
  /** The last version that was yielded, or the newest one when the watch began. */
  version: number;
  /** The state of its folder when it contained nothing new. */
  stamp: string | undefined;
}

const EMPTY_EVERY = 50;

/** So few sessions are looked at together: a watch over thousands must not hold up other calls, such as a list's. */
const AT_ONCE = 4;

export class SessionWatch {
  readonly #store: Store;
  readonly #query: SessionQuery;
  readonly #signal: AbortSignal;
  readonly #sessions = new Map<SessionId, Watched>();
  /** The sessions that had a marker of an active one in the last round. */
  #active: ReadonlySet<SessionId> = new Set();
  /** Where the turns of the other sessions, and of the older days, stand. */
  #turn = 0;
  #day = 0;
  /** The removed sessions whose last commits were yielded, by their names in the trash. */
  readonly #removed = new Set<string>();
  /** The first version that this process appended to each session since the last round. */
  #heard = new Map<SessionId, number>();
  readonly #pause = new Pause();
  readonly #aborted = () => void this.#end();
  readonly #leave: () => Promise<void>;
  /** Resolves when the commits of other processes are seen, too. */
  readonly ready: Promise<void>;
  #ended: Promise<void> | undefined;

  /** Begins to watch immediately: all later appends of this process are seen. */
  constructor(store: Store, query: SessionQuery, signal: AbortSignal) {
    this.#store = store;
    this.#query = query;
    this.#signal = signal;
    const { isIn, leave } = enterWatch(store, (id, version) => {
      this.#heard.set(id, Math.min(version, this.#heard.get(id) ?? version));
      this.#pause.wake();
    });
    this.#leave = leave;
    this.ready = this.#begin(isIn);
    // The iterator's first call reports the failure, if there ever is one.
    this.ready.catch(ignore);
    signal.addEventListener("abort", this.#aborted, { once: true });
    if (signal.aborted) void this.#end();
  }

  async *commits(): AsyncGenerator<Commit> {
    try {
      await this.ready;
      for (let round = 1; !this.#signal.aborted; round++) {
        for await (const commit of this.#round()) {
          if (!this.#signal.aborted && matchesQuery(commit.summary, this.#query)) yield commit;
          if (this.#signal.aborted) return;
        }
        if (round % EMPTY_EVERY === 0) await emptyTrash(this.#store);
        if (!this.#signal.aborted) await this.#pause.wait(this.#store.limits.watchIntervalMs);
      }
    } finally {
      await this.#end();
    }
  }

  /** Records the newest version of all sessions, and what was removed before the watch. */
  async #begin(isIn: Promise<void>): Promise<void> {
    await isIn;
    for (const { name } of await trashEntries(this.#store)) this.#removed.add(name);
    for await (const batch of walkMarkers(this.#store, "all", undefined, AT_ONCE)) {
      const own = this.#own(batch.map(({ sessionId }) => sessionId));
      await Promise.all(own.map(async (id) => this.#watched(id, await this.#newest(id))));
    }
    // Some of these may be older than the version just recorded.
    for (const [id, version] of this.#heard) {
      const watched = this.#watched(id);
      watched.version = Math.min(watched.version, version - 1);
    }
  }

  async #newest(id: SessionId): Promise<number> {
    const header = await newestHeader(this.#store, id).catch(orDamaged);
    // The path of its folder may not be a folder.
    return header?.version ?? (await highestVersion(this.#store, this.#store.layout.place(id)).catch(orDamaged)) ?? 0;
  }

  /** Returns a session's state. One that is new is watched from a version on. */
  #watched(id: SessionId, version = 0): Watched {
    const watched = this.#sessions.get(id) ?? { version, stamp: undefined };
    this.#sessions.set(id, watched);
    return watched;
  }

  async *#round(): AsyncGenerator<Commit> {
    for (const id of await this.#toPoll()) yield* this.#newCommits(id);
    const entries = await trashEntries(this.#store);
    for (const entry of entries) if (!this.#removed.has(entry.name)) yield* this.#lastCommits(entry);
    const there = new Set(entries.map(({ name }) => name));
    for (const name of this.#removed) if (!there.has(name)) this.#forget(name);
  }

  /**
   * Returns the sessions to poll in this round: of those that have, or had in the last round, a marker of an active session,
   * those that begin, and those to which this process appended, the ones whose folder has changed or is gone; and some of the
   * others, in turns, whatever their folders' times are.
   */
  async #toPoll(): Promise<SessionId[]> {
    const { disk, layout } = this.#store;
    const heard = [...this.#heard.keys()];
    this.#heard = new Map();
    const active = new Set((await allMarkers(this.#store, "active")).map(({ sessionId }) => sessionId));
    const recent = (await markersOfSomeDays(this.#store, NEWEST_DAYS, this.#day++)).map(({ sessionId }) => sessionId);
    const begun = recent.filter((id) => !this.#sessions.has(id));
    const changing = this.#own([...new Set([...heard, ...active, ...this.#active, ...begun])]);
    this.#active = active;
    const isChanged = async (id: SessionId) => {
      const watched = this.#watched(id);
      const before = watched.stamp;
      watched.stamp = await folderStamp(disk, layout.place(id).folder);
      return watched.stamp === undefined || watched.stamp !== before;
    };
    const changed: SessionId[] = [];
    for (let at = 0; at < changing.length; at += AT_ONCE) {
      const some = changing.slice(at, at + AT_ONCE);
      const are = await Promise.all(some.map(isChanged));
      changed.push(...some.filter((_, index) => are[index]));
    }
    const from = this.#turn >= this.#sessions.size ? 0 : this.#turn;
    this.#turn = from + BATCH;
    return [...new Set([...changed, ...[...this.#sessions.keys()].slice(from, this.#turn)])];
  }

  #own(ids: readonly SessionId[]): SessionId[] {
    return ids.filter((id) => id.startsWith(this.#query.idPrefix ?? ""));
  }

  // A damaged session is skipped, as in a list, and polled again later.
  async *#newCommits(id: SessionId): AsyncGenerator<Commit> {
    const at = this.#store.layout.place(id);
    const watched = this.#watched(id);
    try {
      if (!(await hasVersion(this.#store, at, watched.version + 1))) return;
      for await (const commit of readLog(this.#store, id, watched.version)) {
        // A commit that a watch has yielded must survive a power failure. Each is synced: it may be newer than the sync before.
        if (!(await syncVersions(this.#store, at))) return;
        watched.version = commit.version;
        yield commit;
      }
    } catch (error) {
      orDamaged(error);
    }
  }

  /** Yields the last commits of a session that was removed during the watch, from the trash. */
  async *#lastCommits({ name, path, id }: TrashEntry): AsyncGenerator<Commit> {
    this.#removed.add(name);
    if (this.#own([id]).length === 0) return;
    const watched = this.#watched(id);
    for (;;) {
      const commit = await readCommit(this.#store, { id, folder: path }, watched.version + 1).catch(orDamaged);
      if (commit === undefined) return;
      watched.version = commit.version;
      yield commit;
    }
  }

  #forget(name: string): void {
    this.#removed.delete(name);
    const [, id] = name.split("~");
    if (isSessionId(id)) this.#sessions.delete(id);
  }

  #end(): Promise<void> {
    this.#pause.wake();
    this.#ended ??= this.#finish();
    return this.#ended;
  }

  async #finish(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#aborted);
    await this.#leave();
    // The rest of the trash is deleted when the store is next opened.
    await emptyTrash(this.#store).catch(ignore);
  }
}
