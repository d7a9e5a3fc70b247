import { tampered } from "../log/commit.js";
import { RecentMap } from "../runtime/cache.js";
import type { RoutedCommit, RoutedKernel } from "./session.js";
import type { RoutedStructure } from "./state/events.js";
import { type RoutedEntry, RoutedHistory } from "./state/history.js";

/** How many sessions' last entries are kept. */
const KEPT = 256;
/** A report, its decision, and as much again for what else may happen between two reports. */
const COMMITS_PER_ENTRY = 4;

interface Tail {
  readonly version: number;
  readonly hash: string;
  readonly entries: readonly RoutedEntry[];
}

/** The last entries of sessions' histories, so that a decider's question doesn't read the log anew each time. */
export class Histories {
  readonly #kernel: RoutedKernel;
  readonly #shown: number;
  readonly #tails = new RecentMap<string, Tail>(KEPT);

  /** `shown` is how many entries are asked for. */
  constructor(kernel: RoutedKernel, shown: number) {
    this.#kernel = kernel;
    this.#shown = shown;
  }

  /** Takes down a commit that this engine has made. */
  add(commit: RoutedCommit): void {
    const { sessionId, version, hash } = commit;
    const tail = version === 1 ? { version: 0, hash: "", entries: [] } : this.#tails.get(sessionId);
    if (tail?.version !== version - 1) return;
    this.#tails.set(sessionId, { version, hash, entries: this.#after(tail.entries, commit) });
  }

  /** The last entries up to where a session stands, oldest first. */
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

  /** Some commits before the end: more than the entries that are asked for can come from, as a rule. */
  async #begin(sessionId: RoutedCommit["sessionId"], version: number): Promise<Tail> {
    const from = version - (this.#shown + 1) * COMMITS_PER_ENTRY;
    if (from < 1) return { version: 0, hash: "", entries: [] };
    return { version: from, hash: (await this.#kernel.at(sessionId, from)).hash, entries: [] };
  }

  /** One more than is shown: the last one may be the report that is asked about. */
  #after(entries: readonly RoutedEntry[], commit: RoutedCommit): readonly RoutedEntry[] {
    const history = new RoutedHistory([...entries]);
    history.add(commit);
    return history.entries.slice(-(this.#shown + 1));
  }
}

/** How many structures are kept in memory. */
const WAYS_KEPT = 256;

/** What sessions were started on, out of their first commits: editing a workflow changes none of it. */
export class PinnedWays {
  readonly #kernel: RoutedKernel;
  readonly #known = new RecentMap<string, RoutedStructure>(WAYS_KEPT);

  constructor(kernel: RoutedKernel) {
    this.#kernel = kernel;
  }

  /** The steps, ways and gates that a session is bound to. */
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
