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
import { payloadFolder } from "./commit-file.js";
import { TEMPORARY } from "./disk.js";
import { tampered } from "./failures.js";
import type { SessionPlace, Store } from "./layout.js";
import { BATCH, checkAllMarkers, checkMarker, headerOrDamaged, type MarkerEntry, walkMarkers } from "./markers.js";
import { hasVersion, newestHeader, packAt, readCommit, versionsIn } from "./read.js";

export async function listSessions(store: Store, query: SessionQuery): Promise<Page<SessionSummary>> {
  const { status, cursor, idPrefix = "" } = query;
  const limit = pageLimit(query);
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  if (status?.length === 0) return { items: [] };
  const found: (SessionSummary | DamagedSession)[] = [];
  const hashes = new Map<string, string>();
  const tree = status?.every((one) => one === "active") ? "active" : "all";
  // One more than the page tells whether there is a next page.
  for await (const batch of walkMarkers(store, tree, after, Math.min(limit + 1, BATCH))) {
    const positions = byPosition(batch.filter(({ sessionId }) => sessionId.startsWith(idPrefix)));
    const headers = await Promise.all(positions.map(([{ sessionId }]) => headerOrDamaged(store, sessionId)));
    for (const [index, [entry, ...others]] of positions.entries()) {
      const { sessionId, createdAt } = entry;
      const newest = headers[index];
      for (const each of [entry, ...others]) checkMarker(store, each, newest);
      if (newest === "damaged") found.push({ sessionId, createdAt, damaged: true });
      else if (newest?.summary.createdAt === createdAt && matchesQuery(newest.summary, query)) {
        found.push(newest.summary);
        hashes.set(sessionId, newest.hash);
      }
    }
    if (found.length > limit) break;
  }
  return sessionPage(found, limit, hashes);
}

/** Groups markers of one position: after a crash or a resumption there are two. Each position is looked up once. */
function byPosition(batch: readonly MarkerEntry[]): [MarkerEntry, ...MarkerEntry[]][] {
  const result: [MarkerEntry, ...MarkerEntry[]][] = [];
  for (const entry of batch) {
    const last = result.at(-1);
    if (last !== undefined && comparePositions(last[0], entry) === 0) last.push(entry);
    else result.push([entry]);
  }
  return result;
}

export async function* damagedSessions(store: Store): AsyncGenerator<SessionId> {
  for await (const { entry, newest } of checkAllMarkers(store, "all")) if (newest === "damaged") yield entry.sessionId;
}

const READ_AHEAD = 8;

export async function* readLog(
  store: Store,
  id: SessionId,
  after: number,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Commit> {
  const at = store.layout.place(id);
  for (let next = after + 1; next <= after + limit; ) {
    const count = Math.min(READ_AHEAD, after + limit + 1 - next);
    const versions = Array.from({ length: count }, (_, index) => next + index);
    // An unreadable commit fails in its turn, after the commits before it were yielded.
    for (const read of await Promise.allSettled(versions.map((version) => readCommit(store, at, version)))) {
      if (read.status === "rejected") throw read.reason;
      if (read.value === undefined) {
        if (await endsBefore(store, at, next)) return;
        break;
      }
      yield read.value;
      next++;
    }
  }
}

// A missing version is the end of the log, unless it has just been written, or was deleted by hand.
async function endsBefore(store: Store, at: SessionPlace, version: number): Promise<boolean> {
  const last = await newestHeader(store, at.id);
  if (last === undefined || last.version < version) return true;
  if (await hasVersion(store, at, version)) return false;
  if (!(await store.disk.exists(at.folder))) return true;
  throw tampered(at.id, version, "it is missing, though later versions are there");
}

/** Measures a session's files, except those that are about to be deleted. Reads only the newest commit's header. */
export async function sizeOf(store: Store, id: SessionId): Promise<SessionSize | undefined> {
  const { disk, layout, publisher } = store;
  const at = layout.place(id);
  const header = await newestHeader(store, id);
  if (header === undefined) return undefined;
  const { count: packed } = await packAt(store, at);
  const versions = (await versionsIn(store, at)).filter((version) => version > packed && version <= header.version);
  const payloads = (await disk.names(payloadFolder(at))).filter((name) => !name.startsWith(TEMPORARY));
  const paths = [
    ...[...(packed > 0 ? [1] : []), ...versions].map((version) => publisher.path(at.folder, version)),
    ...payloads.map((name) => join(payloadFolder(at), name)),
  ];
  let bytes = 0;
  for (const path of paths) bytes += (await disk.stat(path))?.size ?? 0;
  return { commits: header.version, bytes };
}
