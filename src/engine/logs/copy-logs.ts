import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { SessionId } from "../../definition/names.js";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { type Appended, appendLog } from "./append-log.js";
import { checkCommit, newestVersion, withPayloads } from "./check-log.js";
import { chosenSessions, unlistedSessions } from "./chosen-sessions.js";
import type { CopyOptions, CopyReport, RefusedSession } from "./copy-report.js";
import { asRefusal, LogRefusal } from "./log-refusal.js";

const PASSES = 5;

/** Copies until there was nothing new in a whole pass, or as many passes were made as are allowed. */
export async function copyLogs(from: StorageAdapter, to: StorageAdapter, options: CopyOptions): Promise<CopyReport> {
  const { passes = PASSES } = options;
  const all: Sum = { commits: 0, bytes: 0, refused: new Map() };
  for (let pass = 1; ; pass += 1) {
    const before = all.commits;
    const sessions = await copyAll(from, to, options, pass, all);
    const settled = all.commits === before;
    if (!settled && pass < passes) continue;
    for await (const [id, refusal] of unlistedSessions(from, options)) refuse(all, id, refusal);
    return { ...all, sessions, refused: [...all.refused.values()], settled };
  }
}

/** What was copied and refused, in all passes: a session that is gone from the source is not met again. */
interface Sum {
  commits: number;
  bytes: number;
  readonly refused: Map<SessionId, RefusedSession>;
}

function refuse({ refused }: Sum, sessionId: SessionId, { reason, message, cause }: LogRefusal): void {
  refused.set(sessionId, { sessionId, reason, message, ...(cause === undefined ? {} : { cause }) });
}

async function copyAll(
  from: StorageAdapter,
  to: StorageAdapter,
  options: CopyOptions,
  pass: number,
  all: Sum,
): Promise<number> {
  let sessions = 0;
  for await (const sessionId of chosenSessions(from, options)) {
    const copied = await copyOne(from, to, sessionId, options).catch(asRefusal);
    if (copied instanceof LogRefusal) {
      refuse(all, sessionId, copied);
    } else {
      sessions += 1;
      all.refused.delete(sessionId);
      all.commits += copied.commits;
      all.bytes += copied.bytes;
    }
    const { commits, bytes, refused } = all;
    options.onProgress?.({ pass, sessionId, sessions, refused: refused.size, commits, bytes });
  }
  return sessions;
}

async function copyOne(
  from: StorageAdapter,
  to: StorageAdapter,
  id: SessionId,
  { hashKey, signal, kinds }: CopyOptions,
): Promise<Appended> {
  signal?.throwIfAborted();
  const key = typeof hashKey === "string" ? utf8ToBytes(hashKey) : hashKey;
  const newest = await newestVersion(from, id);
  if (newest === 0) throw gone();
  // No further than to what is there now: a session that grows all the time keeps no other one waiting.
  const read = (version: number) => from.log(id, { after: version - 1, limit: Math.max(0, newest - version + 1) });
  const prepare = async (commit: Commit, previous: Commit | undefined) => {
    signal?.throwIfAborted();
    const hashes = checkCommit(id, commit, previous, key, kinds);
    return withPayloads(commit, hashes, (session, hash) => from.payload(session, hash));
  };
  const appended = await appendLog(id, read, prepare, to);
  const mayBeGone = appended.commits > 0 || appended.version < newest;
  if (mayBeGone && (await from.read(id)) === undefined) throw gone();
  return appended;
}

function gone(): LogRefusal {
  return new LogRefusal("not_found", "there is no such session, or not any more");
}
