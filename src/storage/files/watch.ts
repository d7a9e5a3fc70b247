import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionQuery } from "../../ports/storage-adapter.js";
import { isSessionId, type SessionId } from "../../workflow/names.js";
import { matchesQuery } from "../common/session-query.js";
import { ignore } from "./disk.js";
import { orDamaged } from "./failures.js";
import { folderState } from "./layout.js";
import { SessionLog } from "./list.js";
import type { MarkerEntry } from "./markers.js";
import type { StoreParts } from "./parts.js";
import type { TrashEntry } from "./tidy.js";

/** So many sessions are read at once, and so many of those that rest are looked at in one round. */
const BATCH = 64;
/** The newest days, where sessions begin, are looked at in every round; of the others one. */
const NEWEST_DAYS = 2;

interface Watched {
  /** The version that was given last, or that there was at the beginning. */
  version: number;
  /** The state in which its folder was when there was nothing new in it. */
  settled: string | undefined;
}

/**
 * What a watch knows of each session, and which ones it looks at in a round: those with a marker among the active ones,
 * or with one in the round before, as only they change as a rule; those that begin; those that this process appended
 * to; and some of the others, all of them in turn.
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

  /** A session from a version on; from its first one if none is given. */
  add(id: SessionId, version = 0): Watched {
    const watched = { version, settled: undefined };
    this.#sessions.set(id, watched);
    return watched;
  }

  forget(id: SessionId): void {
    this.#sessions.delete(id);
  }

  /** Takes down where all sessions stand. */
  async begin(): Promise<void> {
    for await (const batch of this.#parts.trees.walk("all", undefined, BATCH)) {
      await Promise.all(this.#own(batch).map(async (id) => this.add(id, await this.#newest(id))));
    }
  }

  /** The sessions to look at now, with what was heard of in this process. */
  async round(heard: Iterable<SessionId>): Promise<SessionId[]> {
    const { trees } = this.#parts;
    const active = new Set(this.#own(await trees.all("active")));
    const begun = this.#own(await trees.someDays("all", NEWEST_DAYS, this.#day++)).filter(
      (id) => !this.#sessions.has(id),
    );
    const changing = new Set([...heard, ...active, ...this.#active, ...begun]);
    this.#active = active;
    const all = [...(await this.#changed(changing)), ...this.#resting()];
    return [...new Set(all)].filter((id) => id.startsWith(this.#idPrefix));
  }

  /** Those of which the folder has changed, or gone: one system call for each. */
  async #changed(ids: Iterable<SessionId>): Promise<SessionId[]> {
    const { disk, layout } = this.#parts;
    const found = await Promise.all(
      [...ids].map(async (id) => {
        const watched = this.#sessions.get(id) ?? this.add(id);
        const state = await folderState(disk, layout.session(id));
        const isSame = state?.settled !== undefined && state.settled === watched.settled;
        watched.settled = state?.settled;
        return isSame ? [] : [id];
      }),
    );
    return found.flat();
  }

  /** The next ones in turn, whatever their folders' times say. */
  #resting(): SessionId[] {
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
      // What lies in its folder's place is no folder.
      orDamaged(error);
      return 0;
    }
  }
}

/** The last commits of sessions that are removed while somebody watches, read out of the trash. */
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

  /** What is there now was removed before. */
  async begin(): Promise<void> {
    for (const { name } of await this.#parts.trash.entries()) this.#seen.add(name);
  }

  /** What was removed since the last round. */
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
      const commit = await this.#parts.reader.commit(id, watched.version + 1, at).catch(orDamaged);
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

/** The trash is emptied every so many rounds. */
const EMPTY_EVERY = 50;

/** Commits as they come, found by looking again and again. */
export class SessionWatch {
  readonly #parts: StoreParts;
  readonly #query: SessionQuery;
  readonly #signal: AbortSignal;
  readonly #intervalMs: number;
  readonly #log: SessionLog;
  readonly #sessions: WatchedSessions;
  /** What this process has appended since the last round: the first version of each session. */
  #heard = new Map<SessionId, number>();
  #wake: () => void = ignore;
  readonly #leave: () => Promise<void>;
  readonly #removed: RemovedSessions;
  readonly #ready: Promise<void>;
  #ended: Promise<void> | undefined;

  /** Begins to watch at once: what this process appends from now on is seen. */
  constructor(parts: StoreParts, query: SessionQuery, signal: AbortSignal, intervalMs: number) {
    this.#parts = parts;
    this.#query = query;
    this.#signal = signal;
    this.#intervalMs = intervalMs;
    this.#log = new SessionLog(parts.reader, parts.newest);
    this.#sessions = new WatchedSessions(parts, query.idPrefix ?? "");
    this.#removed = new RemovedSessions(parts, this.#sessions, query.idPrefix ?? "");
    const { isIn, leave } = parts.watchers.enter((id, version) => {
      this.#heard.set(id, Math.min(version, this.#heard.get(id) ?? version));
      this.#wake();
    });
    this.#leave = leave;
    this.#ready = this.#begin(isIn);
    // Told by the first call of the iterator, if there ever is one.
    this.#ready.catch(ignore);
    if (signal.aborted) void this.#end();
    signal.addEventListener("abort", () => void this.#end(), { once: true });
  }

  async *commits(): AsyncGenerator<Commit> {
    try {
      await this.#ready;
      for (let round = 1; !this.#signal.aborted; round++) {
        for await (const commit of this.#round()) {
          if (this.#signal.aborted) return;
          if (matchesQuery(commit.summary, this.#query)) yield commit;
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
    // Some of these may be behind the version that was just taken down.
    for (const [id, version] of this.#heard) {
      const watched = this.#sessions.get(id) ?? this.#sessions.add(id);
      watched.version = Math.min(watched.version, version - 1);
    }
  }

  async *#round(): AsyncGenerator<Commit> {
    const heard = [...this.#heard.keys()];
    this.#heard = new Map();
    for (const id of await this.#sessions.round(heard)) yield* this.#look(id);
    yield* this.#removed.round();
  }

  // One that is damaged is passed over, as in a list, and looked at again later.
  async *#look(id: SessionId): AsyncGenerator<Commit> {
    const { reader } = this.#parts;
    const watched = this.#sessions.get(id);
    if (watched === undefined) return;
    try {
      if (!(await this.#parts.reader.has(id, watched.version + 1))) return;
      // What a watch has shown must not be gone after a loss of power.
      if (!(await reader.settle(id))) return;
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
    await this.#leave();
    const { trash, watchers } = this.#parts;
    await trash.empty(await watchers.any()).catch(ignore);
  }
}
