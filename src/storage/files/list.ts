/** Lists sessions, reads a session's log and measures its size. */
import { join } from "node:path";
import type { Commit, Page, SessionQuery, SessionSize, SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import {
  comparePositions,
  type DamagedSession,
  decodeCursor,
  matchesQuery,
  pageLimit,
  sessionPage,
} from "../common/session-query.js";
import { type CommitHeader, payloadFolder } from "./commit-file.js";
import { TEMPORARY } from "./disk.js";
import { tampered } from "./failures.js";
import type { SessionPlace } from "./layout.js";
import { allMarker, type MarkerCheck, type MarkerEntry, type MarkerTrees, type Tree } from "./markers.js";
import type { StoreParts } from "./parts.js";

/** Sessions read in parallel. */
const BATCH = 64;

/** Lists sessions: markers give the order, each session's newest header the content. */
export class SessionLister {
  readonly #trees: MarkerTrees;
  readonly #markerCheck: MarkerCheck;

  constructor(trees: MarkerTrees, markerCheck: MarkerCheck) {
    this.#trees = trees;
    this.#markerCheck = markerCheck;
  }

  async list(query: SessionQuery): Promise<Page<SessionSummary>> {
    const limit = pageLimit(query);
    if (query.status?.length === 0) return { items: [] };
    const after = query.cursor === undefined ? undefined : allMarker(decodeCursor(query.cursor));
    const found: (SessionSummary | DamagedSession)[] = [];
    const hashes = new Map<string, string>();
    // One more than the page tells whether there is a next page.
    for await (const batch of this.#trees.walk(treeOf(query), after, Math.min(limit + 1, BATCH))) {
      const named = byPosition(batch).filter(([{ sessionId }]) => sessionId.startsWith(query.idPrefix ?? ""));
      for (const one of await Promise.all(named.map((position) => this.#newestAt(position)))) {
        if (one === undefined) continue;
        if ("damaged" in one) found.push(one);
        else if (matchesQuery(one.summary, query)) {
          found.push(one.summary);
          hashes.set(one.sessionId, one.hash);
        }
      }
      if (found.length > limit) break;
    }
    return sessionPage(found, limit, hashes);
  }

  /** Yields the sessions that lists omit because they are damaged. */
  async *damaged(): AsyncGenerator<SessionId> {
    for await (const batch of this.#trees.walk("all", undefined, BATCH)) {
      const ids = byPosition(batch).map(([{ sessionId }]) => sessionId);
      const headers = await Promise.all(ids.map((id) => this.#markerCheck.header(id)));
      yield* ids.filter((_, index) => headers[index] === "damaged");
    }
  }

  // Two markers can have the same position, after a crash or when a session has just become active again. Each position
  // is checked once, and the version in the marker is ignored.
  async #newestAt([entry, ...others]: Position): Promise<CommitHeader | DamagedSession | undefined> {
    const { sessionId, createdAt } = entry;
    const newest = await this.#markerCheck.header(sessionId);
    if (newest === "damaged") return { sessionId, createdAt, damaged: true };
    for (const each of [entry, ...others]) this.#markerCheck.check(each, newest);
    return newest?.summary.createdAt === createdAt ? newest : undefined;
  }
}

type Position = [MarkerEntry, ...MarkerEntry[]];

function byPosition(batch: readonly MarkerEntry[]): Position[] {
  const result: Position[] = [];
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

const READ_AHEAD = 8;

/** Reads the commits of a session in order, a few ahead of the caller. */
export class SessionLog {
  readonly #parts: StoreParts;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  async *read(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    const { layout, reader } = this.#parts;
    const at = layout.place(id);
    for (let next = after + 1; next <= after + limit; ) {
      const count = Math.min(READ_AHEAD, after + limit + 1 - next);
      const versions = Array.from({ length: count }, (_, index) => next + index);
      // An unreadable commit fails in its turn, after the commits before it were yielded.
      for (const read of await Promise.allSettled(versions.map((version) => reader.commit(at, version)))) {
        if (read.status === "rejected") throw read.reason;
        if (read.value === undefined) {
          if (await this.#endsBefore(at, next)) return;
          break;
        }
        yield read.value;
        next++;
      }
    }
  }

  // A missing version is the end of the log, unless it has just been written, or was deleted by hand.
  async #endsBefore(at: SessionPlace, version: number): Promise<boolean> {
    const { disk, newest, reader } = this.#parts;
    const last = await newest.header(at.id);
    if (last === undefined || last.version < version) return true;
    if (await reader.has(at, version)) return false;
    if (!(await disk.exists(at.folder))) return true;
    throw tampered(at.id, version, "it is missing, though later versions are there");
  }
}

const AT_ONCE = 64;

/** Measures a session's files, except those that are about to be deleted. Reads only the newest commit's header. */
export async function sizeOf(parts: StoreParts, id: SessionId): Promise<SessionSize | undefined> {
  const newest = await parts.newest.header(id);
  if (newest === undefined) return undefined;
  const paths = await filesOf(parts, parts.layout.place(id), newest.version);
  let bytes = 0;
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const stats = await Promise.all(paths.slice(from, from + AT_ONCE).map((path) => parts.disk.stat(path)));
    bytes += stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0);
  }
  return { commits: newest.version, bytes };
}

async function filesOf({ disk, publisher, reader }: StoreParts, at: SessionPlace, newest: number): Promise<string[]> {
  const { count: packed } = await reader.pack(at);
  const versions = (await reader.versions(at)).filter((version) => version > packed && version <= newest);
  const payloads = (await disk.names(payloadFolder(at))).filter((name) => !name.startsWith(TEMPORARY));
  return [
    ...(packed > 0 ? [publisher.path(at.folder, 1)] : []),
    ...versions.map((version) => publisher.path(at.folder, version)),
    ...payloads.map((name) => join(payloadFolder(at), name)),
  ];
}
