import { createHash } from "node:crypto";
import type { SessionId } from "../../definition/names.js";
import { checkCommit, newestVersion, withPayloads } from "../../engine/logs/check-log.js";
import { chosenSessions, type SessionChoice, unlistedSessions } from "../../engine/logs/chosen-sessions.js";
import { asRefusal, LogRefusal } from "../../engine/logs/log-refusal.js";
import type { Commit, StorageAdapter } from "../../ports/storage-adapter.js";
import { KINDS } from "./kinds.js";
import { commitLine, endLine, headerLine } from "./log-lines.js";

/** What is exported, and who is told of what is not. */
export interface ExportOptions extends SessionChoice {
  readonly hashKey?: Uint8Array;
  readonly onRefused: (sessionId: SessionId, refusal: LogRefusal) => void;
  /** Once the last line is made. */
  readonly onEnd: (counts: { readonly sessions: number; readonly commits: number }) => void;
}

/**
 * Sessions as lines, as their storage has them when it is their turn. Each log is read twice: what does not hold is
 * refused before any of it is written.
 */
export async function* exportLines(storage: StorageAdapter, options: ExportOptions): AsyncGenerator<string> {
  const digest = createHash("sha256");
  let [sessions, commits] = [0, 0];
  const hashed = (text: string) => {
    digest.update(text);
    return text;
  };
  yield hashed(headerLine());
  for await (const sessionId of chosenSessions(storage, options)) {
    const newest = await lastOf(storage, sessionId, options).catch(asRefusal);
    if (newest instanceof LogRefusal) {
      options.onRefused(sessionId, newest);
      continue;
    }
    let version = 0;
    for await (const commit of checked(storage, sessionId, options, newest.version)) {
      ({ version } = commit);
      commits += 1;
      yield hashed(commitLine(commit));
    }
    // Its first line makes a session of it for whoever reads the file.
    if (version > 0) sessions += 1;
    if (version < newest.version) options.onRefused(sessionId, removedMeanwhile(version));
  }
  for await (const [id, refusal] of unlistedSessions(storage, options)) options.onRefused(id, refusal);
  yield endLine({ sessions, commits, digest: digest.digest("hex") });
  options.onEnd({ sessions, commits });
}

/** A session's commits with their payloads, each checked. */
async function* checked(
  storage: StorageAdapter,
  sessionId: SessionId,
  { hashKey }: Pick<ExportOptions, "hashKey">,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<Commit> {
  let previous: Commit | undefined;
  for await (const commit of storage.log(sessionId, { limit })) {
    const hashes = checkCommit(sessionId, commit, previous, hashKey, KINDS);
    yield withPayloads(commit, hashes, (id, hash) => storage.payload(id, hash));
    previous = commit;
  }
}

function removedMeanwhile(version: number): LogRefusal {
  const there = version === 0 ? "" : `; the lines have its first ${version} commits`;
  return new LogRefusal("not_found", `it was removed while it was exported${there}`);
}

/** The newest commit of a session whose log holds, with nothing cut off. */
async function lastOf(storage: StorageAdapter, sessionId: SessionId, options: ExportOptions): Promise<Commit> {
  await newestVersion(storage, sessionId);
  let last: Commit | undefined;
  for await (const commit of checked(storage, sessionId, options)) last = commit;
  if (last !== undefined) return last;
  throw new LogRefusal("not_found", "there is no such session");
}
