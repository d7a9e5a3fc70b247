/**
 * A process that uses a storage as the contract tells it, until it is done, its standard input ends, or it is killed.
 * What it was told is stored goes to its standard output, one line in one write each.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import { isPhasegateError } from "../../errors.js";
import type { Commit, SessionStatus, StorageAdapter } from "../../ports/storage-adapter.js";
import { parseSessionId, type SessionId } from "../../workflow/names.js";
import { makeCommit, nextCommit } from "../commits.js";
import type { WorkerOrder, WorkerTask } from "./children.js";

const STATUSES = ["active", "active", "paused", "active", "completed"] as const;

const order: WorkerOrder = JSON.parse(process.argv[2] ?? "");
let isStopped = false;
// Also when the process that started it dies: nobody is left behind.
process.stdin.on("close", () => {
  isStopped = true;
});
process.stdin.resume();

const storage = await open(order);
const { task } = order;
// The engine is loaded where it is needed: most processes only append, and are killed soon.
if (task.kind === "append") await appendInTurn(storage, task, say, () => isStopped);
else await (await import("./live-through.js")).liveThrough(storage, task, say);
await storage.close?.();
process.stdin.destroy();

/** Written before the next thing is done, however slow the reader is: a line is the word for what is stored. */
function say(line: string): void {
  let rest = Buffer.from(`${line}\n`);
  while (rest.length > 0) rest = rest.subarray(written(rest));
}

function written(bytes: Buffer): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    // The pipe is full: its reader gets a moment.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}

async function open({ module, options }: WorkerOrder): Promise<StorageAdapter> {
  const exported: Readonly<Record<string, unknown>> = await import(module);
  const make = exported.default ?? exported.openWith;
  if (typeof make !== "function") throw new Error(`${module} has no default export and no openWith that is a function`);
  return make(options);
}

/** Appends to sessions in turn, and reads again wherever somebody else was first. */
async function appendInTurn(
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
