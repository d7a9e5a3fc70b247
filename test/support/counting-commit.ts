import type { Commit, SessionStatus } from "../../src/ports/storage-adapter.js";
import { makeCommit, nextCommit } from "../../src/testing/commits.js";
import type { SessionId } from "../../src/workflow/names.js";

/** The hash under which a payload lies beside every seventh commit; undefined for the others. */
export function payloadBeside(count: number): string | undefined {
  return count % 7 === 0 ? String(count).padStart(64, "0") : undefined;
}

/** A commit that follows another one. Its body counts them, so that a lost update shows in it. */
export function countingCommit(id: SessionId, newest: Commit | undefined, status: SessionStatus = "active"): Commit {
  const count = newest === undefined ? 0 : Number(newest.body.split(" ")[0]);
  // The same length, the same text: who wrote it has to show too.
  const body = `${count + 1} by ${process.pid} ${"x".repeat(1000)}`;
  const hash = payloadBeside(count);
  const payloads = hash === undefined ? [] : [{ hash, body }];
  if (newest === undefined) return makeCommit({ sessionId: id, body, payloads });
  return nextCommit(newest, { body, payloads, summary: { status } });
}
