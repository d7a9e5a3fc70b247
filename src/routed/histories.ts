/**
 * Caches of routed sessions: the last entries of histories for the decider's question, and the pinned
 * structures.
 */

import { tampered } from "../log/commit.js";
import { RecentMap } from "../runtime/cache.js";
import type { RoutedStructure } from "./state/events.js";
import { type RoutedEntry, RoutedHistory } from "./state/history.js";
import type { RoutedCommit, RoutedKernel } from "./state/machine.js";

interface Tail {
  readonly version: number;
  readonly hash: string;
  readonly entries: readonly RoutedEntry[];
}

/** Limits for how many sessions the last entries are cached. */
const KEPT = 256;
/** A report, its decision, and as many other events between two reports. */
const COMMITS_PER_ENTRY = 4;

/**
 * The last entries of sessions' histories, so that a decider's question does not read the whole log each
 * time.
 */
export class Histories {
  readonly #kernel: RoutedKernel;
  readonly #shown: number;
  readonly #tails = new RecentMap<string, Tail>(KEPT);

  /** `shown` is the number of entries to return. */
  constructor(kernel: RoutedKernel, shown: number) {
    this.#kernel = kernel;
    this.#shown = shown;
  }

  /** Adds a commit that this engine has made. */
  add(commit: RoutedCommit): void {
    const { sessionId, version, hash } = commit;
    const tail = version === 1 ? { version: 0, hash: "", entries: [] } : this.#tails.get(sessionId);
    if (tail?.version !== version - 1) return;
    this.#tails.set(sessionId, { version, hash, entries: this.#after(tail.entries, commit) });
  }

  /** Returns the last entries up to the session's current version, oldest first. */
  async recent({ sessionId, version }: Pick<RoutedCommit, "sessionId" | "version">): Promise<readonly RoutedEntry[]> {
    const known = this.#tails.get(sessionId);
    if (known?.version === version) return known.entries;
    let tail = known !== undefined && known.version < version ? known : await this.#begin(sessionId, version);
    const after = tail.version === 0 ? undefined : tail;
    for await (const commit of this.#kernel.log(sessionId, after)) {
      tail = { version: commit.version, hash: commit.hash, entries: this.#after(tail.entries, commit) };
    }
    this.#tails.set(sessionId, tail);
    return tail.entries;
  }

  /** Reads some commits before the end: usually more than needed for the requested entries. */
  async #begin(sessionId: RoutedCommit["sessionId"], version: number): Promise<Tail> {
    const from = version - (this.#shown + 1) * COMMITS_PER_ENTRY;
    if (from < 1) return { version: 0, hash: "", entries: [] };
    return { version: from, hash: (await this.#kernel.at(sessionId, from)).hash, entries: [] };
  }

  /** Keeps one more entry than is shown: the last one may be the report that is asked about. */
  #after(entries: readonly RoutedEntry[], commit: RoutedCommit): readonly RoutedEntry[] {
    const history = new RoutedHistory([...entries]);
    history.add(commit);
    return history.entries.slice(-(this.#shown + 1));
  }
}

/** Limits how many structures are cached. */
const STRUCTURES_KEPT = 256;

/**
 * The structures that sessions are bound to, from their first commits: editing a workflow changes none of
 * them.
 */
export class PinnedWays {
  readonly #kernel: RoutedKernel;
  readonly #known = new RecentMap<string, RoutedStructure>(STRUCTURES_KEPT);

  constructor(kernel: RoutedKernel) {
    this.#kernel = kernel;
  }

  /** Returns the steps, transitions and gates that a session is bound to. */
  async structure({ sessionId }: Pick<RoutedCommit, "sessionId">): Promise<RoutedStructure> {
    const known = this.#known.get(sessionId);
    if (known !== undefined) return known;
    const { events } = await this.#kernel.at(sessionId, 1);
    const started = events.find(({ type }) => type === "started");
    if (started?.type !== "started") throw tampered({ sessionId, version: 1 }, "it has no workflow in it");
    this.#known.set(sessionId, started.structure);
    return started.structure;
  }
}
