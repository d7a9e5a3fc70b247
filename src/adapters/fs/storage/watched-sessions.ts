import type { SessionId } from "../../../definition/names.js";
import { folderState } from "./folder-stamp.js";
import { orDamaged } from "./fs-failure.js";
import type { MarkerEntry } from "./marker.js";
import type { StoreParts } from "./store-parts.js";

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
export class WatchedSessions {
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
