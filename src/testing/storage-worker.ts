/**
 * A process that uses a storage as the contract tells it, until it is done, its standard input ends, or it is killed.
 * What it was told is stored goes to its standard output, one line in one write each.
 */
import { writeSync } from "node:fs";
import process from "node:process";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { appendInTurn } from "./append-in-turn.js";
import type { WorkerOrder } from "./worker-task.js";

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
