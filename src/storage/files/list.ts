import { join } from "node:path";
import type { Commit, Page, SessionQuery, SessionSize, SessionSummary } from "../../ports/storage-adapter.js";
import type { SessionId } from "../../workflow/names.js";
import {
  comparePositions,
  type DamagedSession,
  decodeCursor,
  matchesQuery,
  pageLimit,
  pageOf,
} from "../common/session-query.js";
import { payloadFolder } from "./commit-file.js";
import { TEMPORARY } from "./disk.js";
import { tampered } from "./failures.js";
import type { SessionPlace } from "./layout.js";
import { allMarker, type MarkerEntry, type MarkerTidy, type MarkerTrees, type Tree } from "./markers.js";
import type { StoreParts } from "./parts.js";
import type { CommitReader, NewestVersion } from "./read.js";

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

const READ_AHEAD = 8;

/** Reads the commits of a session in order, a few ahead of the caller. */
export class SessionLog {
  readonly #reader: CommitReader;
  readonly #newest: NewestVersion;

  constructor(reader: CommitReader, newest: NewestVersion) {
    this.#reader = reader;
    this.#newest = newest;
  }

  async *read(id: SessionId, after: number, limit: number): AsyncGenerator<Commit> {
    for (let next = after + 1; next <= after + limit; ) {
      const count = Math.min(READ_AHEAD, after + limit + 1 - next);
      const versions = Array.from({ length: count }, (_, index) => next + index);
      // What can't be read fails when it is its turn: those before it are given first.
      for (const read of await Promise.allSettled(versions.map((version) => this.#reader.commit(id, version)))) {
        if (read.status === "rejected") throw read.reason;
        if (read.value === undefined) {
          if (await this.#endsBefore(id, next)) return;
          break;
        }
        yield read.value;
        next++;
      }
    }
  }

  // A version that isn't there is the log's end, unless it came in the meantime, or was taken away by hand.
  async #endsBefore(id: SessionId, version: number): Promise<boolean> {
    const newest = await this.#newest.header(id);
    if (newest === undefined || newest.version < version) return true;
    if (await this.#reader.has(id, version)) return false;
    if (!(await this.#reader.hasFolder(id))) return true;
    throw tampered(id, version, "it is missing, though later versions are there");
  }
}

const AT_ONCE = 64;

/** How much a session's files take, without those that are about to be deleted. Only the newest commit's header is read. */
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

async function filesOf({ disk, reader }: StoreParts, at: SessionPlace, newest: number): Promise<string[]> {
  const packed = await reader.packed(at);
  const versions = (await reader.versions(at)).filter((version) => version > packed && version <= newest);
  const payloads = (await disk.names(payloadFolder(at))).filter((name) => !name.startsWith(TEMPORARY));
  return [
    ...(packed > 0 ? [reader.pack(at)] : []),
    ...versions.map((version) => reader.path(at, version)),
    ...payloads.map((name) => join(payloadFolder(at), name)),
  ];
}
