import { parseSessionId, type SessionId } from "../definition/names.js";
import { isPhasegateError } from "../errors.js";
import type { Commit, SessionStatus, StorageAdapter } from "../ports/storage-adapter.js";
import { makeCommit, nextCommit } from "./make-commit.js";
import type { WorkerTask } from "./worker-task.js";

const STATUSES = ["active", "active", "paused", "active", "completed"] as const;

/** Appends to sessions in turn, and reads again wherever somebody else was first. */
export async function appendInTurn(
  storage: StorageAdapter,
  { ids, count }: Extract<WorkerTask, { kind: "append" }>,
  say: (line: string) => void,
  isStopped: () => boolean,
): Promise<void> {
  for (let done = 0; done < count && !isStopped(); done++) {
    const id = parseSessionId(ids[done % ids.length]);
    const { version, hash } = await appendOne(storage, id, STATUSES[done % STATUSES.length] ?? "active");
    say(`${id} ${version} ${hash}`);
    // An adapter that never waits would leave no turn in which the end of the input is seen.
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function appendOne(storage: StorageAdapter, id: SessionId, status: SessionStatus): Promise<Commit> {
  for (;;) {
    const commit = follow(id, await storage.read(id), status);
    try {
      await storage.append(commit);
      return commit;
    } catch (error) {
      if (!isPhasegateError(error, "CONFLICT")) throw error;
    }
  }
}

/** The body counts the commits, so that a lost update shows in it; and it says who wrote it. */
function follow(id: SessionId, newest: Commit | undefined, status: SessionStatus): Commit {
  const count = newest === undefined ? 1 : Number(newest.body.split(" ")[0]) + 1;
  const body = `${count} by ${process.pid} ${"x".repeat(500)}`;
  const payloads = count % 7 === 1 ? [{ hash: String(count).padStart(64, "0"), body: `payload ${count}` }] : [];
  if (newest === undefined) return makeCommit({ sessionId: id, body, payloads });
  return nextCommit(newest, { body, payloads, summary: { status } });
}
