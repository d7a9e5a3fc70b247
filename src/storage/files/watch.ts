/**
 * Watches sessions by polling. Sessions that can change are polled in every round, the others in turns; commits of
 * this process wake the watch immediately.
 */
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { orDamaged } from "../common/failures.js";
import { matchesQuery } from "../common/session-query.js";
import { ignore } from "./disk.js";
import { folderState } from "./layout.js";
import { SessionLog } from "./list.js";
import type { MarkerEntry } from "./markers.js";
import type { StoreParts, TrashEntry } from "./parts.js";

/** Sessions read in parallel, and inactive sessions polled per round. */
const BATCH = 64;
/** Sessions that began in the newest days are polled in every round; of the older days, one per round. */
const NEWEST_DAYS = 2;

/** The last known state of a session. */
interface Watched {
  /** The last version that was yielded, or the newest one when the watch began. */
  version: number;
  /** The state of its folder when it contained nothing new. */
  stamp: string | undefined;
}

/**
 * The watched sessions, and which of them to poll in a round: those that have, or had in the last round, a marker of
 * an active session; those that begin; those to which this process appended; and some of the others, in turns.
 */
class WatchedSessions {
  readonly #parts: StoreParts;
  readonly #idPrefix: string;
  readonly #sessions = new Map<SessionId, Watched>();
  #active: ReadonlySet<SessionId> = new Set();
  #turn = 0;
  #day = 0;

  constructor(parts: StoreParts, idPrefix: string) {
    this.#parts = parts;
    this.#idPrefix = idPrefix;
  }

  get(id: SessionId): Watched | undefined {
    return this.#sessions.get(id);
  }

  /** Adds a session from a version on; from its first one if none is given. */
  add(id: SessionId, version = 0): Watched {
    const watched = { version, stamp: undefined };
    this.#sessions.set(id, watched);
    return watched;
  }

  forget(id: SessionId): void {
    this.#sessions.delete(id);
  }

  /** Records the newest version of all sessions. */
  async begin(): Promise<void> {
    for await (const batch of this.#parts.trees.walk("all", undefined, BATCH)) {
      await Promise.all(this.#own(batch).map(async (id) => this.add(id, await this.#newest(id))));
    }
  }

  /** Returns the sessions to poll now. `heard` are those to which this process appended. */
  async round(heard: Iterable<SessionId>): Promise<SessionId[]> {
    const { trees } = this.#parts;
    const active = new Set(this.#own(await trees.all("active")));
    const begun = this.#own(await trees.someDays("all", NEWEST_DAYS, this.#day++)).filter(
      (id) => !this.#sessions.has(id),
    );
    const changing = new Set([...heard, ...active, ...this.#active, ...begun]);
    this.#active = active;
    const all = [...(await this.#changed(changing)), ...this.#nextInTurn()];
    return [...new Set(all)].filter((id) => id.startsWith(this.#idPrefix));
  }

  /** Returns the sessions whose folder has changed or is gone, with one system call each. */
  async #changed(ids: Iterable<SessionId>): Promise<SessionId[]> {
    const { disk, layout } = this.#parts;
    const found = await Promise.all(
      [...ids].map(async (id) => {
        const watched = this.#sessions.get(id) ?? this.add(id);
        const state = await folderState(disk, layout.place(id).folder);
        const isSame = state?.stamp !== undefined && state.stamp === watched.stamp;
        watched.stamp = state?.stamp;
        return isSame ? [] : [id];
      }),
    );
    return found.flat();
  }

  /** Returns the next sessions in turn, whatever their folders' times are. */
  #nextInTurn(): SessionId[] {
    const from = this.#turn >= this.#sessions.size ? 0 : this.#turn;
    this.#turn = from + BATCH;
    return [...this.#sessions.keys()].slice(from, this.#turn);
  }

  #own(entries: readonly MarkerEntry[]): SessionId[] {
    return entries.map(({ sessionId }) => sessionId).filter((id) => id.startsWith(this.#idPrefix));
  }

  async #newest(id: SessionId): Promise<number> {
    const { layout, newest, reader } = this.#parts;
    try {
      return (await newest.header(id).catch(orDamaged))?.version ?? (await reader.highest(layout.place(id)));
    } catch (error) {
      // The path of its folder is not a folder.
      orDamaged(error);
      return 0;
    }
  }
}

/** Yields the last commits of sessions that are removed during the watch, from the trash. */
class RemovedSessions {
  readonly #parts: StoreParts;
  readonly #sessions: WatchedSessions;
  readonly #idPrefix: string;
  readonly #seen = new Set<string>();

  constructor(parts: StoreParts, sessions: WatchedSessions, idPrefix: string) {
    this.#parts = parts;
    this.#sessions = sessions;
    this.#idPrefix = idPrefix;
  }

  /** Ignores what was removed before the watch. */
  async begin(): Promise<void> {
    for (const { name } of await this.#parts.trash.entries()) this.#seen.add(name);
  }

  /** Yields the commits of sessions removed since the last round. */
  async *round(): AsyncGenerator<Commit> {
    const entries = await this.#parts.trash.entries();
    for (const entry of entries) if (!this.#seen.has(entry.name)) yield* this.#last(entry);
    const there = new Set(entries.map(({ name }) => name));
    for (const name of this.#seen) if (!there.has(name)) this.#forget(name);
  }

  async *#last({ name, path, id }: TrashEntry): AsyncGenerator<Commit> {
    this.#seen.add(name);
    if (!id.startsWith(this.#idPrefix)) return;
    const watched = this.#sessions.get(id) ?? this.#sessions.add(id);
    const at = { id, folder: path };
    for (;;) {
      const commit = await this.#parts.reader.commit(at, watched.version + 1).catch(orDamaged);
      if (commit === undefined) return;
      watched.version = commit.version;
      yield commit;
    }
  }

  #forget(name: string): void {
    this.#seen.delete(name);
    const [, id] = name.split("~");
    if (isSessionId(id)) this.#sessions.forget(id);
  }
}

/** Rounds after which the trash is emptied. */
const EMPTY_EVERY = 50;

/** Yields commits as they are appended, found by polling. */
export class SessionWatch {
  readonly #parts: StoreParts;
  readonly #query: SessionQuery;
  readonly #signal: AbortSignal;
  readonly #intervalMs: number;
  readonly #log: SessionLog;
  readonly #sessions: WatchedSessions;
  /** The first version that this process appended to each session since the last round. */
  #heard = new Map<SessionId, number>();
  #wake: () => void = ignore;
  readonly #aborted = () => void this.#end();
  readonly #leave: () => Promise<void>;
  readonly #removed: RemovedSessions;
  /** Resolves when the commits of other processes are seen, too. */
  readonly ready: Promise<void>;
  #ended: Promise<void> | undefined;

  /** Begins to watch immediately: all later appends of this process are seen. */
  constructor(parts: StoreParts, query: SessionQuery, signal: AbortSignal, intervalMs: number) {
    this.#parts = parts;
    this.#query = query;
    this.#signal = signal;
    this.#intervalMs = intervalMs;
    this.#log = new SessionLog(parts);
    this.#sessions = new WatchedSessions(parts, query.idPrefix ?? "");
    this.#removed = new RemovedSessions(parts, this.#sessions, query.idPrefix ?? "");
    const { isIn, leave } = parts.watchers.enter((id, version) => {
      this.#heard.set(id, Math.min(version, this.#heard.get(id) ?? version));
      this.#wake();
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
        if (round % EMPTY_EVERY === 0) await this.#parts.trash.empty(true);
        await this.#pause();
      }
    } finally {
      await this.#end();
    }
  }

  async #begin(isIn: Promise<void>): Promise<void> {
    await isIn;
    await this.#removed.begin();
    await this.#sessions.begin();
    // Some of these may be older than the version just recorded.
    for (const [id, version] of this.#heard) {
      const watched = this.#sessions.get(id) ?? this.#sessions.add(id);
      watched.version = Math.min(watched.version, version - 1);
    }
  }

  async *#round(): AsyncGenerator<Commit> {
    const heard = [...this.#heard.keys()];
    this.#heard = new Map();
    for (const id of await this.#sessions.round(heard)) yield* this.#newCommits(id);
    yield* this.#removed.round();
  }

  // A damaged session is skipped, as in a list, and polled again later.
  async *#newCommits(id: SessionId): AsyncGenerator<Commit> {
    const { layout, reader } = this.#parts;
    const at = layout.place(id);
    const watched = this.#sessions.get(id);
    if (watched === undefined) return;
    try {
      if (!(await reader.has(at, watched.version + 1))) return;
      // A commit that a watch has yielded must survive a power failure.
      if (!(await reader.sync(at))) return;
      for await (const commit of this.#log.read(id, watched.version, Number.POSITIVE_INFINITY)) {
        watched.version = commit.version;
        yield commit;
      }
    } catch (error) {
      if (!isPhasegateError(error, "TAMPERED")) throw error;
    }
  }

  async #pause(): Promise<void> {
    if (this.#signal.aborted || this.#heard.size > 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, this.#intervalMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = ignore;
  }

  #end(): Promise<void> {
    this.#wake();
    this.#ended ??= this.#finish();
    return this.#ended;
  }

  async #finish(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#aborted);
    await this.#leave();
    const { trash, watchers } = this.#parts;
    const emptied = watchers.any().then((isWatched) => trash.empty(isWatched));
    // What is left in the trash is deleted when the store is next opened.
    await emptied.catch(ignore);
  }
}
