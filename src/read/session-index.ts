/**
 * The sessions that somebody may see, as they were read last: lists are sorted, searched and counted in them. They are read once,
 * and then again one by one as they change, by those who hear of the changes.
 */
import { LIVING } from "../phased/options.js";
import { pause, systemClock, turns } from "../ports/clock.js";
import { defined } from "../workflow/json.js";
import type { BrokenSession, ListedSession } from "./model.js";
import type { Source } from "./sources.js";

/** As many sessions of each kind are read, the newest. */
const SESSIONS_MAX = 20_000;
const PAGE = 500;
/** With as many, a list has something to show: they fill a screen. */
const FIRST = 40;
/** A storage may answer without waiting for anything: after this time, in milliseconds, other work gets its turn. */
const WORK_MS = 10;

interface IndexOptions {
  readonly max: number;
  /** The time that a list gets to be drawn with the first sessions before the others are read, in milliseconds. */
  readonly drawMs: number;
  readonly damaged: () => ReadonlyMap<string, BrokenSession>;
}

const NOTHING: ReadonlyMap<string, BrokenSession> = new Map();

/** A session's line in a list, or why it has none; neither if there is no such session. */
export interface Found {
  readonly summary?: ListedSession | undefined;
  readonly damage?: BrokenSession | undefined;
}

export class SessionIndex {
  readonly #sources: readonly Source[];
  readonly #max: number;
  readonly #drawMs: number;
  readonly #damaged: () => ReadonlyMap<string, BrokenSession>;
  readonly #sessions = new Map<string, ListedSession>();
  readonly #broken = new Map<string, BrokenSession>();
  /** What has changed while all were read: it is newer than what the reading finds. */
  readonly #changed = new Set<string>();
  #reading: Promise<void> | undefined;
  #state: "reading" | "whole" | "cut" = "reading";
  #hasFirst = false;
  readonly #end = new AbortController();
  #begin = () => {};
  /** Resolves when there is something to show: the first are read, or all. */
  readonly begun = new Promise<void>((resolve) => {
    this.#begin = resolve;
  });

  /** `damaged` returns the sessions whose logs are known to be damaged, although they can be listed. */
  constructor(sources: readonly Source[], options: Partial<IndexOptions> = {}) {
    const { max = SESSIONS_MAX, drawMs = 0, damaged = () => NOTHING } = options;
    this.#sources = sources;
    this.#max = max;
    this.#drawMs = drawMs;
    this.#damaged = damaged;
  }

  /** Whether all sessions are here: some may still be read, or there are more than are read. */
  get state(): "reading" | "whole" | "cut" {
    return this.#state;
  }

  get sessions(): readonly ListedSession[] {
    const damaged = this.#damaged();
    return this.listed.filter(({ sessionId }) => !damaged.has(sessionId));
  }

  get broken(): readonly BrokenSession[] {
    const damaged = [...this.#damaged().values()].filter(({ sessionId }) => this.#sessions.has(sessionId));
    return [...this.#broken.values(), ...damaged];
  }

  /** All that can be listed, also those whose logs are damaged. */
  get listed(): readonly ListedSession[] {
    return [...this.#sessions.values()];
  }

  /** Resolves when all are read. A reading that has failed is begun again by the next call. */
  read(): Promise<void> {
    if (this.#reading !== undefined) return this.#reading;
    // What a reading has found that has failed may have changed since.
    for (const found of [this.#changed, this.#sessions, this.#broken]) found.clear();
    const reading = this.#readAll();
    this.#reading = reading;
    reading.catch(() => {
      this.#reading = undefined;
    });
    return reading;
  }

  /** Takes over how a session is now. */
  note(sessionId: string, found: Found): void {
    // What nobody has asked for is not kept.
    if (this.#reading === undefined) return;
    if (this.#state === "reading") this.#changed.add(sessionId);
    this.#put(sessionId, found);
  }

  /** Ends a reading: nobody wants it any more. */
  close(): void {
    this.#end.abort();
  }

  async #readAll(): Promise<void> {
    let isCut = false;
    const takeTurns = turns(systemClock, WORK_MS);
    // One kind after the other: the first has something to show at once.
    for (const source of this.#sources) if (await this.#readFrom(source, takeTurns)) isCut = true;
    if (!this.#end.signal.aborted) this.#state = isCut ? "cut" : "whole";
    this.#changed.clear();
    this.#begin();
  }

  /** Reads the sessions of one kind. Returns true if there are more. */
  async #readFrom({ list }: Source, takeTurns: () => Promise<void>): Promise<boolean> {
    const { signal } = this.#end;
    let cursor: string | undefined;
    let count = 0;
    do {
      const limit = Math.min(count === 0 ? FIRST : PAGE, this.#max - count);
      const page = await list(defined({ status: LIVING, limit, cursor }));
      for (const summary of page.items) this.#add(summary.sessionId, { summary });
      for (const damage of page.broken ?? []) this.#add(damage.sessionId, { damage });
      // A page without any was read for nothing: it must not go on for ever.
      count += Math.max(page.items.length, 1);
      cursor = page.cursor;
      if (this.#sessions.size >= FIRST && !this.#hasFirst) {
        this.#hasFirst = true;
        this.#begin();
        await pause(systemClock, this.#drawMs, signal);
      }
      await takeTurns();
    } while (cursor !== undefined && count < this.#max && !signal.aborted);
    return cursor !== undefined;
  }

  #add(sessionId: string, found: Found): void {
    if (!this.#changed.has(sessionId)) this.#put(sessionId, found);
  }

  #put(sessionId: string, { summary, damage }: Found): void {
    this.#sessions.delete(sessionId);
    this.#broken.delete(sessionId);
    if (summary !== undefined && summary.status !== "deleted") this.#sessions.set(sessionId, summary);
    else if (damage !== undefined) this.#broken.set(sessionId, damage);
  }
}
