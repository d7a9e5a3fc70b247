/** Cases about `watch`. */
import assert from "node:assert/strict";
import type { Commit, SessionQuery, StorageAdapter } from "../../ports/storage-adapter.js";
import { appendAll, comes, commitChain, makeCommit, nextCommit, present } from "../contract.js";
import { methodOf, type StageChecks } from "./stage.js";

/** A running watch, and the commits that it has returned. */
class Watching {
  readonly #aborter = new AbortController();
  readonly #ended: Promise<void>;
  readonly #seen: Commit[] = [];
  #wake: () => void = () => {};

  constructor(storage: StorageAdapter, query: SessionQuery = {}) {
    const { signal } = this.#aborter;
    const commits = methodOf(storage, "watch")(query, { signal });
    this.#ended = this.#follow(commits);
    // A failure is reported when the watch ends. Until then it must not count as unhandled.
    this.#ended.catch(() => {});
  }

  async until(commits: readonly Commit[]): Promise<void> {
    const missing = () => commits.filter(({ hash }) => !this.#seen.some((seen) => seen.hash === hash));
    while (missing().length > 0) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const what = `a watch must give all commits: ${missing().length} of ${commits.length} are missing`;
      await comes(Promise.race([woken, this.#failure()]), what);
    }
  }

  /** The commits so far without repetitions, in the order in which they came first. */
  get seen(): Commit[] {
    const hashes = this.#seen.map(({ hash }) => hash);
    return this.#seen.filter(({ hash }, index) => hashes.indexOf(hash) === index);
  }

  async end(): Promise<void> {
    this.#aborter.abort();
    await comes(this.#ended, "a watch must end when its signal aborts");
  }

  async #failure(): Promise<never> {
    await this.#ended;
    return assert.fail("a watch ended before its signal aborted");
  }

  async #follow(commits: AsyncIterable<Commit>): Promise<void> {
    for await (const commit of commits) {
      this.#seen.push(commit);
      this.#wake();
    }
  }
}

/** Commits are returned as they are appended, if the adapter has `watch`. */
export const watchChecks: StageChecks = {
  "watch: returns all commits that are appended after the call, in order for each session": async ({ storage }) => {
    const before = makeCommit({ sessionId: "before" });
    await storage.append(before);
    const watching = new Watching(storage);
    const chains = ["a", "b", "c"].map((sessionId) => commitChain(10, { sessionId }));
    await Promise.all(chains.map((chain) => appendAll(storage, chain)));
    const after = nextCommit(before);
    await storage.append(after);
    await watching.until([...chains.flat(), after]);
    await watching.end();
    for (const chain of chains) {
      const own = watching.seen.filter(({ sessionId }) => sessionId === chain[0].sessionId);
      assert.deepEqual(own.map(withoutPayloads), chain);
    }
  },
  "watch: starts with the call, and says once that it is ready": async ({ storage }) => {
    const aborter = new AbortController();
    let ready = 0;
    const onReady = () => {
      ready += 1;
    };
    const commits = methodOf(storage, "watch")({}, { signal: aborter.signal, onReady });
    const chain = commitChain(2);
    // Nobody has asked for the next commit yet.
    await appendAll(storage, chain);
    const iterator = commits[Symbol.asyncIterator]();
    for (const { hash } of chain) {
      const { value } = await comes(iterator.next(), "a watch must give what is appended after the call");
      assert.equal(value?.hash, hash);
    }
    aborter.abort();
    await comes(iterator.next(), "a watch must end when its signal aborts");
    assert.ok(ready <= 1, "onReady must be called at most once");
  },
  "watch: filters by the summary of each commit": async ({ storage }) => {
    const [completed, others] = [{ status: ["completed"] } as const, { target: "t", idPrefix: "b" }];
    const watches = [new Watching(storage, completed), new Watching(storage, others), new Watching(storage)] as const;
    const a = makeCommit({ sessionId: "a" });
    const b = makeCommit({ sessionId: "b", summary: { target: "t" } });
    const ended = [
      nextCommit(a, { summary: { status: "completed" } }),
      nextCommit(b, { summary: { status: "failed" } }),
    ];
    const again = nextCommit(present(ended[0], "a commit"), { summary: { status: "active" } });
    const all = await appendAll(storage, [a, b, ...ended, again]);
    await watches[2].until(all);
    await watches[0].until(ended.slice(0, 1));
    await watches[1].until([b, present(ended[1], "a commit")]);
    for (const watching of watches) await watching.end();
    const [one, other] = [watches[0].seen, watches[1].seen].map((seen) => seen.map(({ hash }) => hash));
    assert.deepEqual(one, [ended[0]?.hash]);
    assert.deepEqual(other, [b.hash, ended[1]?.hash]);
  },
  "watch: returns commits that another adapter appends": async (stage) => {
    const watching = new Watching(stage.storage);
    const other = await stage.another();
    // When the watch has returned a commit, it is running.
    const own = makeCommit({ sessionId: "own" });
    await stage.storage.append(own);
    await watching.until([own]);
    const chain = await appendAll(other, commitChain(20));
    const mixed = nextCommit(own);
    await other.append(mixed);
    await watching.until([...chain, mixed]);
    await watching.end();
    const theirs = watching.seen.filter(({ sessionId }) => sessionId === chain[0].sessionId);
    assert.deepEqual(
      theirs.map(({ version }) => version),
      chain.map(({ version }) => version),
    );
  },
  "watch: ends when its signal aborts, also if it was aborted before the call": async ({ storage }) => {
    const watch = methodOf(storage, "watch");
    const count = async (signal: AbortSignal) => {
      let commits = 0;
      for await (const _ of watch({}, { signal })) commits += 1;
      return commits;
    };
    assert.equal(await comes(count(AbortSignal.abort()), "a watch that was aborted before must end"), 0);
    const idle = new Watching(storage);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await idle.end();
    await storage.append(makeCommit());
  },
  "watch: one can be left while others continue": async ({ storage }) => {
    const watch = methodOf(storage, "watch");
    const other = new Watching(storage);
    const { signal } = new AbortController();
    const leave = async () => {
      for await (const commit of watch({}, { signal })) return commit;
      return assert.fail("a watch ended before its signal aborted");
    };
    const left = leave();
    const chain = await appendAll(storage, commitChain(3));
    await comes(left, "a watch must give what is appended");
    const last = nextCommit(present(chain.at(-1), "a commit"));
    await storage.append(last);
    await other.until([...chain, last]);
    await other.end();
  },
};

function withoutPayloads({ payloads, ...commit }: Commit): Omit<Commit, "payloads"> {
  return commit;
}
