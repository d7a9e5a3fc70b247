/**
 * The sessions whose logs are damaged behind their newest commit. A list reads of each session its newest commit and its
 * workflow; an older commit is read by its page alone. So all logs are read once, in the background, and later those that have
 * changed.
 */
import { BROKEN } from "../engine/lists.js";
import { isPhasegateError } from "../errors.js";
import { type FullClock, turns } from "../ports/clock.js";
import type { BrokenSession, ListedSession } from "./model.js";
import type { SessionIndex } from "./session-index.js";
import { type InspectorSources, RecordedReader } from "./sources.js";
import { readStatistics, type StatisticsRead } from "./statistics.js";

/** After this time, in milliseconds, other work gets its turn. */
const WORK_MS = 20;

export class LogChecks {
  readonly #sources: InspectorSources;
  readonly #statistics: StatisticsRead;
  readonly #clock: FullClock;
  readonly #onChange: (kind: string, sessionId: string) => void;
  #damaged: ReadonlyMap<string, BrokenSession> = new Map();
  /** The sessions without statistics, as they were when their logs were read. */
  #read = new Map<string, string>();
  readonly #begun = new WeakSet<SessionIndex>();
  #running: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** `sources` are the host's own; `onChange` hears of each session whose log is found to be damaged, or mended. */
  constructor(
    sources: InspectorSources,
    statistics: StatisticsRead,
    clock: FullClock,
    onChange: (kind: string, sessionId: string) => void,
  ) {
    this.#sources = sources;
    this.#statistics = statistics;
    this.#clock = clock;
    this.#onChange = onChange;
  }

  /** The damage that was found so far, by session. */
  get damaged(): ReadonlyMap<string, BrokenSession> {
    return this.#damaged;
  }

  /** Resolves when no logs are read any more. */
  get isDone(): Promise<unknown> {
    return this.#running;
  }

  /** Reads the logs of the sessions of an index, once it has all. Where there are too many for an index, none is read. */
  follow(index: SessionIndex): Promise<unknown> {
    if (this.#begun.has(index)) return this.#running;
    this.#begun.add(index);
    // One after the other: the later one reads what has changed since.
    this.#running = this.#running
      .catch(() => {})
      .then(async () => {
        await index.read();
        if (index.state === "whole" && !this.#isClosed) await this.#check(index.listed);
      })
      .catch((error: unknown) => {
        this.#begun.delete(index);
        // The engines may be closed, too.
        if (!this.#isClosed) throw error;
      });
    return this.#running;
  }

  /** Nobody wants to hear of anything any more. */
  close(): void {
    this.#isClosed = true;
  }

  async #check(sessions: readonly ListedSession[]): Promise<void> {
    const { engine } = this.#sources;
    const found = new Map<string, BrokenSession>();
    const { broken = [] } = engine === undefined ? {} : await readStatistics(engine, {}, this.#statistics);
    for (const one of broken) found.set(one.sessionId, one);
    const takeTurns = turns(this.#clock, WORK_MS);
    const read = new Map<string, string>();
    for (const session of sessions) {
      const { kind, sessionId, updatedAt } = session;
      if (kind === "phased") continue;
      const damage = this.#read.get(sessionId) === updatedAt ? undefined : await this.#damageOf(session);
      if (damage === undefined) read.set(sessionId, updatedAt);
      else found.set(sessionId, damage);
      await takeTurns();
    }
    const before = this.#damaged;
    [this.#damaged, this.#read] = [found, read];
    for (const { kind, sessionId } of sessions)
      if (found.has(sessionId) !== before.has(sessionId)) this.#onChange(kind, sessionId);
  }

  /** Reads the log of a session without statistics. */
  async #damageOf({ kind, sessionId }: ListedSession): Promise<BrokenSession | undefined> {
    const { routed, recorded } = this.#sources;
    try {
      if (kind === "routed") await routed?.session(sessionId).history();
      else if (recorded !== undefined) await new RecordedReader(recorded).read(sessionId);
      return undefined;
    } catch (error) {
      if (isPhasegateError(error, "SESSION_NOT_FOUND")) return undefined;
      if (!isPhasegateError(error) || !BROKEN.has(error.code)) throw error;
      return { sessionId, code: error.code, message: error.message };
    }
  }
}
