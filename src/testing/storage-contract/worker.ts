/**
 * The program of a child process: it works on a storage by its order, until it is done, its standard input ends, or it is
 * killed. It writes a line to its standard output for each acknowledged commit, with one write per line.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { errnoOf, isPhasegateError } from "../../errors.js";
import type { Commit, SessionStatus, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import { makeCommit, nextCommit } from "../contract.js";
import type { WorkerOrder, WorkerTask } from "./children.js";

const STATUSES = ["active", "active", "paused", "active", "completed"] as const;

const order: WorkerOrder = JSON.parse(process.argv[2] ?? "");
let isStopped = false;
// The input also ends when the parent process dies, so that no child is left running.
process.stdin.on("close", () => {
  isStopped = true;
});
process.stdin.resume();

const storage = await open(order);
const { task } = order;
// The engine is loaded only if it is needed: most processes append, and are killed soon.
if (task.kind === "append") await appendToAll(storage, task);
else await (await import("./children.js")).liveThrough(storage, task, say);
await storage.close?.();
process.stdin.destroy();

/** Writes a line completely before the next commit, however slow the reader is: a line means that a commit is stored. */
function say(line: string): void {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) rest = rest.subarray(written(rest));
}

function written(bytes: Buffer): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (errnoOf(error) !== "EAGAIN") throw error;
    // The pipe is full: wait a moment for its reader.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

async function open({ module, options }: WorkerOrder): Promise<StorageAdapter> {
  const exported: Readonly<Record<string, unknown>> = await import(module);
  const make = exported.default ?? exported.openWith;
  if (typeof make !== "function") throw new Error(`${module} exports no function as its default or as openWith`);
  return make(options);
}

/** Appends to sessions, in turn or to all at the same time, and reads again after a conflict. */
async function appendToAll(
  storage: StorageAdapter,
  { ids, count, isTogether }: Extract<WorkerTask, { kind: "append" }>,
): Promise<void> {
  const sessions = ids.map((id) => parseSessionId(id));
  let done = 0;
  const follow = async (mine: readonly SessionId[]) => {
    for (let turn = 0; done < count && !isStopped; turn++) {
      const id = mine[turn % mine.length];
      if (id === undefined) return;
      const { version, hash } = await appendOne(storage, id, STATUSES[done++ % STATUSES.length] ?? "active");
      say(`${id} ${version} ${hash}`);
      // Without this, the end of the input would never be noticed with an adapter that never waits.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(isTogether ? sessions.map((id) => follow([id])) : [follow(sessions)]);
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

/** Returns the next commit. Its body has the count of commits, so that a lost update is noticed, and the process id. */
function follow(id: SessionId, newest: Commit | undefined, status: SessionStatus): Commit {
  const count = newest === undefined ? 1 : Number(newest.body.split(" ")[0]) + 1;
  const body = `${count} by ${process.pid} ${"x".repeat(500)}`;
  const payloads = count % 7 === 1 ? [{ hash: String(count).padStart(64, "0"), body: `payload ${count}` }] : [];
  if (newest === undefined) return makeCommit({ sessionId: id, body, payloads });
  return nextCommit(newest, { body, payloads, summary: { status } });
}
