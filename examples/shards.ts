/**
 * Several PostgreSQL databases as one storage: a hash of its id says in which one a session is. What concerns one session goes to
 * its database; lists, counts, changes and watches ask all of them. A terminal opens it, too, with
 * `--state "module:examples/shards.ts?urls=postgres://a/app,postgres://b/app"`.
 */
import { createHash } from "node:crypto";
import { PhasegateError, type SessionId, type StorageAdapter } from "phasegate";
import { PostgresStorage } from "phasegate/postgres";
import {
  type Changes,
  type Commit,
  comparePositions,
  decodeCursor,
  type Page,
  pageLimit,
  type SessionQuery,
  type SessionSize,
  type SessionSummary,
  sessionPage,
} from "phasegate/storage";

type WatchOptions = { readonly signal: AbortSignal; readonly onReady?: (() => void) | undefined };

export class Shards implements StorageAdapter {
  readonly capabilities: StorageAdapter["capabilities"];
  /** Their number and order must never change: the id's hash is the place in this list. */
  readonly #all: readonly PostgresStorage[];

  constructor(all: readonly PostgresStorage[]) {
    const isEach = (durability: string) => all.every(({ capabilities }) => capabilities.durability === durability);
    this.capabilities = {
      durability: isEach("power") ? "power" : "process",
      multiProcess: true,
      maxCommitBytes: Math.min(...all.map(({ capabilities }) => capabilities.maxCommitBytes)),
    };
    this.#all = all;
  }

  #of(id: SessionId): PostgresStorage {
    const number = createHash("sha256").update(id).digest().readUInt32BE();
    const shard = this.#all[number % this.#all.length];
    if (shard === undefined) throw new Error("there is no database");
    return shard;
  }

  read(id: SessionId): Promise<Commit | undefined> {
    return this.#of(id).read(id);
  }

  async append(commit: Commit): Promise<void> {
    await this.#of(commit.sessionId).append(commit);
  }

  makeDurable(id: SessionId): Promise<void> {
    return this.#of(id).makeDurable(id);
  }

  log(id: SessionId, options?: { readonly after?: number; readonly limit?: number }): AsyncIterable<Commit> {
    return this.#of(id).log(id, options);
  }

  payload(id: SessionId, hash: string): Promise<string | undefined> {
    return this.#of(id).payload(id, hash);
  }

  size(id: SessionId): Promise<SessionSize | undefined> {
    return this.#of(id).size(id);
  }

  remove(id: SessionId): Promise<void> {
    return this.#of(id).remove(id);
  }

  /** A cursor is a time and an id, so each database goes on from the same one. */
  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    const pages = await Promise.all(this.#all.map((shard) => shard.list(query)));
    const hashes = new Map<string, string>();
    for (const { items, hashes: newest = [] } of pages) {
      for (const [index, { sessionId }] of items.entries()) hashes.set(sessionId, newest[index] ?? "");
    }
    // What comes after the end of a page that is not the last one may come before others of that database.
    const cursors = pages.flatMap(({ cursor }) => (cursor === undefined ? [] : [cursor]));
    const [end] = cursors.toSorted((a, b) => comparePositions(decodeCursor(a), decodeCursor(b)));
    const last = end === undefined ? undefined : decodeCursor(end);
    const items = pages
      .flatMap((page) => page.items)
      .filter((one) => last === undefined || comparePositions(one, last) <= 0)
      .sort(comparePositions);
    const damaged = pages.flatMap((page) => page.damaged ?? []);
    const page = sessionPage(items, limit, hashes);
    return { ...(end === undefined ? {} : { cursor: end }), ...page, ...(damaged.length === 0 ? {} : { damaged }) };
  }

  async *damaged(): AsyncGenerator<SessionId> {
    for (const shard of this.#all) yield* shard.damaged();
  }

  async countActive(upTo: number): Promise<number> {
    const counts = await Promise.all(this.#all.map((shard) => shard.countActive(upTo)));
    return Math.min(
      upTo,
      counts.reduce((sum, count) => sum + count, 0),
    );
  }

  /** The position is the list of those of the databases: none of them knows the transactions of another. */
  async changes(kind: string, since?: string): Promise<Changes> {
    const positions = since === undefined ? [] : this.#positions(since);
    const found = await Promise.all(this.#all.map((shard, index) => shard.changes(kind, positions[index])));
    return {
      sessionIds: found.flatMap(({ sessionIds }) => sessionIds),
      position: JSON.stringify(found.map(({ position }) => position)),
    };
  }

  #positions(text: string): string[] {
    try {
      const positions: unknown = JSON.parse(text);
      const isText = (one: unknown): one is string => typeof one === "string";
      if (Array.isArray(positions) && positions.length === this.#all.length && positions.every(isText))
        return positions;
    } catch {
      // As for any other text that is not a position.
    }
    throw new PhasegateError("CURSOR_INVALID", "The position is not one of these databases", {
      remedy: "Leave it out to begin with all sessions.",
      details: { cursor: text },
    });
  }

  /** A session's commits are in one database, and so they come in order. */
  watch(query: SessionQuery, { signal, onReady }: WatchOptions): AsyncIterable<Commit> {
    const left = new AbortController();
    let waiting = this.#all.length;
    const ready = () => {
      waiting -= 1;
      if (waiting === 0) onReady?.();
    };
    const options = { signal: AbortSignal.any([signal, left.signal]), onReady: ready };
    // All begin with this call.
    const watches = this.#all.map((shard) => shard.watch(query, options)[Symbol.asyncIterator]());
    return mergedUntil(watches, left);
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((shard) => shard.close()));
  }
}

/** Yields what any of them yields; aborts all of them when the reader leaves or one of them fails. */
async function* mergedUntil<T>(all: readonly AsyncIterator<T>[], left: AbortController): AsyncGenerator<T> {
  const nextOf = async (one: AsyncIterator<T>) => ({ one, result: await one.next() });
  const next = new Map(all.map((one) => [one, nextOf(one)]));
  // A failure is that of the race below.
  for (const each of next.values()) each.catch(() => undefined);
  try {
    while (next.size > 0) {
      const { one, result } = await Promise.race(next.values());
      if (result.done === true) {
        next.delete(one);
        continue;
      }
      yield result.value;
      next.set(one, nextOf(one));
    }
  } finally {
    left.abort();
    await Promise.allSettled(next.values());
  }
}

/** Opens the databases at these URLs, which are separated by commas. */
export async function openWith({ urls = "", schema = "phasegate" }): Promise<Shards> {
  const all = urls.split(",").map((url) => PostgresStorage.open({ url, schema }));
  return new Shards(await Promise.all(all));
}
