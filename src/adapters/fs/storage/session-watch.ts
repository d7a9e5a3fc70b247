import type { SessionId } from "../../../definition/names.js";
import { isPhasegateError } from "../../../errors.js";
import type { Commit, SessionQuery } from "../../../ports/storage-adapter.js";
import { matchesQuery } from "../../session-query.js";
import { ignore } from "./file-handles.js";
import { RemovedSessions } from "./removed-sessions.js";
import { SessionLog } from "./session-log.js";
import type { StoreParts } from "./store-parts.js";
import { WatchedSessions } from "./watched-sessions.js";

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
