import type { SessionId } from "../../../definition/names.js";
import type { Page, SessionQuery, SessionSummary } from "../../../ports/storage-adapter.js";
import {
  comparePositions,
  type DamagedSession,
  decodeCursor,
  matchesQuery,
  pageLimit,
  pageOf,
} from "../../session-query.js";
import { allMarker, type MarkerEntry, type Tree } from "./marker.js";
import type { MarkerTidy } from "./marker-tidy.js";
import type { MarkerTrees } from "./marker-trees.js";

/** So many sessions are read at once, at most. */
const BATCH = 64;

/** Lists sessions: the markers say in which order, each session's newest header what it shows. */
export class SessionLister {
  readonly #trees: MarkerTrees;
  readonly #tidy: MarkerTidy;

  constructor(trees: MarkerTrees, tidy: MarkerTidy) {
    this.#trees = trees;
    this.#tidy = tidy;
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    if (query.status?.length === 0) return { items: [] };
    const after = query.cursor === undefined ? undefined : allMarker(decodeCursor(query.cursor));
    const found: (SessionSummary | DamagedSession)[] = [];
    // One more than the page: whether there is another page shows in the same pass.
    for await (const batch of this.#trees.walk(treeOf(query), after, Math.min(limit + 1, BATCH))) {
      const named = places(batch).filter(([{ sessionId }]) => sessionId.startsWith(query.idPrefix ?? ""));
      const summaries = await Promise.all(named.map((place) => this.#look(place)));
      const there = summaries.filter((one) => one !== undefined);
      found.push(...there.filter((one) => "damaged" in one || matchesQuery(one, query)));
      if (found.length > limit) break;
    }
    return pageOf(found, limit);
  }

  /** The sessions that lists go on without. */
  async *damaged(): AsyncGenerator<SessionId> {
    for await (const batch of this.#trees.walk("all", undefined, BATCH)) {
      const ids = places(batch).map(([{ sessionId }]) => sessionId);
      const headers = await Promise.all(ids.map((id) => this.#tidy.header(id)));
      yield* ids.filter((_, index) => headers[index] === "damaged");
    }
  }

  // Two markers can stand in one place: left by a crash, or since the session was made active again just now. So the
  // place decides and not the version in the marker, and each place is looked at once.
  async #look([entry, ...others]: Place): Promise<SessionSummary | DamagedSession | undefined> {
    const { sessionId, createdAt } = entry;
    const newest = await this.#tidy.header(sessionId);
    if (newest === "damaged") return { sessionId, createdAt, damaged: true };
    for (const each of [entry, ...others]) this.#tidy.check(each, newest);
    return newest?.summary.createdAt === createdAt ? newest.summary : undefined;
  }
}

type Place = [MarkerEntry, ...MarkerEntry[]];

function places(batch: readonly MarkerEntry[]): Place[] {
  const result: Place[] = [];
  for (const entry of batch) {
    const last = result.at(-1);
    if (last !== undefined && comparePositions(last[0], entry) === 0) last.push(entry);
    else result.push([entry]);
  }
  return result;
}

function treeOf({ status }: SessionQuery): Tree {
  return status?.every((one) => one === "active") ? "active" : "all";
}
