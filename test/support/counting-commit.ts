import type { Commit, SessionStatus } from "../../src/ports/storage-adapter.js";
import { makeCommit, nextCommit } from "../../src/testing/contract.js";
import type { SessionId } from "../../src/workflow/names.js";

/** Returns the hash of the payload of every seventh commit; undefined for the others. */
export function payloadBeside(count: number): string | undefined {
  return count % 7 === 0 ? String(count).padStart(64, "0") : undefined;
}

/** Returns the next commit. Its body counts the commits, so that a lost update is visible. */
export function countingCommit(id: SessionId, newest: Commit | undefined, status: SessionStatus = "active"): Commit {
  const count = newest === undefined ? 0 : Number(newest.body.split(" ")[0]);
  // The length and the text are the same for all: the process id shows the writer.
  const body = `${count + 1} by ${process.pid} ${"x".repeat(1000)}`;
  const hash = payloadBeside(count);
  const payloads = hash === undefined ? [] : [{ hash, body }];
  if (newest === undefined) return makeCommit({ sessionId: id, body, payloads });
  return nextCommit(newest, { body, payloads, summary: { status } });
}
