/** A cached fold over the logs of sessions: only commits that were added since the last call are read. */

import { RecentMap } from "../runtime/cache.js";
import type { SessionId } from "../workflow/names.js";
import type { Current, Receipt, Recorded } from "./commit.js";
import type { Kernel } from "./log.js";

/** The value of a fold, and the last commit in it. */
interface Folded<T> {
  readonly upTo: Receipt;
  readonly value: T;
}

/** Limits for how many sessions a value is cached. */
const SESSIONS_KEPT = 256;

const BEFORE_ALL: Receipt = { version: 0, hash: "" };

/** Folds the log of a session, commit by commit, and caches the result per session. */
export class LogFold<Event, Head, T> {
  readonly #kernel: Pick<Kernel<never, Event, Head>, "log">;
  readonly #beginning: T;
  readonly #add: (value: T, commit: Recorded<Event, Head>) => T | Promise<T>;
  readonly #kept = new RecentMap<SessionId, Folded<T>>(SESSIONS_KEPT);

  /** `add` gives a new value, and leaves the one that it was given as it is. */
  constructor(
    kernel: Pick<Kernel<never, Event, Head>, "log">,
    beginning: T,
    add: (value: T, commit: Recorded<Event, Head>) => T | Promise<T>,
  ) {
    this.#kernel = kernel;
    this.#beginning = beginning;
    this.#add = add;
  }

  /** Returns the value at this version of a session. */
  async at({ sessionId, version, hash }: Pick<Current<Head>, "sessionId" | "version" | "hash">): Promise<T> {
    const kept = this.#kept.get(sessionId);
    if (kept?.upTo.hash === hash) return kept.value;
    const from = kept !== undefined && kept.upTo.version < version ? kept : undefined;
    let { upTo, value }: Folded<T> = from ?? { upTo: BEFORE_ALL, value: this.#beginning };
    for await (const commit of this.#kernel.log(sessionId, from?.upTo)) {
      if (commit.version > version) break;
      value = await this.#add(value, commit);
      upTo = { version: commit.version, hash: commit.hash };
    }
    this.#kept.set(sessionId, { upTo, value });
    return value;
  }
}
