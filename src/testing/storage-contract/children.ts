/** Starts other processes on the storage under test, reads their lines, and stops or kills them; worker.ts is their program. */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { comes } from "../contract.js";
import type { StorageProcess } from "./stage.js";

/** The exit code or signal of a child that has ended. */
interface ChildEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A child process on the storage under test. */
export class StorageChild {
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #ended: Promise<ChildEnd>;
  #output = "";
  #errors = "";
  #wake: () => void = () => {};

  constructor({ module, options }: StorageProcess, task: WorkerTask) {
    const order: WorkerOrder = { module: urlOf(module), options, task };
    this.#process = spawn(process.execPath, [workerFile(), JSON.stringify(order)], { stdio: "pipe" });
    this.#process.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
      this.#wake();
    });
    this.#process.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#errors += text;
    });
    // Writing to a child that has ended fails; its end is noticed elsewhere.
    this.#process.stdin.on("error", () => {});
    this.#ended = new Promise((resolve, reject) => {
      this.#process.on("error", reject);
      this.#process.on("close", (exitCode, signal) => resolve({ exitCode, signal }));
    });
    this.#ended.catch(() => {});
  }

  /** The commits that it has acknowledged. Only complete lines: a process may be killed while it writes one. */
  get lines(): string[] {
    return this.#output.split("\n").slice(0, -1);
  }

  /** Waits until it has written this number of lines in all. Fails if it ends before, or takes too long. */
  async until(count: number, what: string): Promise<void> {
    while (this.lines.length < count) {
      const woken = new Promise<"more">((resolve) => {
        this.#wake = () => resolve("more");
      });
      const next = await comes(Promise.race([woken, this.#ended]), what);
      if (next !== "more" && this.lines.length < count) this.#fail(what, next);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Kills it, and waits for its end. Fails if it had ended by itself. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    const end = await this.#ended;
    if (end.signal === null) this.#fail("a process must go on until it is killed", end);
  }

  /** Tells it to stop, and waits for its end. Fails if it ends with an error. */
  async stop(): Promise<void> {
    this.#process.stdin.end();
    await this.finish();
  }

  /** Waits until it is done. Fails if it ends with an error. */
  async finish(): Promise<void> {
    const end = await comes(this.#ended, "a process must come to its end");
    if (end.exitCode !== 0) this.#fail("a process must end well", end);
  }

  /** Kills it in any state, at the end of a case that may have failed. */
  async dispose(): Promise<void> {
    this.signal("SIGKILL");
    await this.#ended.catch(() => {});
  }

  #fail(what: string, { exitCode, signal }: ChildEnd): never {
    const said = this.#errors.trim() === "" ? "it said nothing" : this.#errors.trim().slice(-2000);
    return assert.fail(`${what}, and it ended with ${exitCode ?? signal}: ${said}`);
  }
}

/** Runs work with children, and kills those that are left at the end. */
export async function withChildren<T>(
  run: (start: (process: StorageProcess, task: WorkerTask) => StorageChild) => Promise<T>,
): Promise<T> {
  const children: StorageChild[] = [];
  try {
    return await run((process, task) => {
      const child = new StorageChild(process, task);
      children.push(child);
      return child;
    });
  } finally {
    await Promise.all(children.map((child) => child.dispose()));
  }
}

function urlOf(module: string | URL): string {
  const text = String(module);
  return /^[a-z]{2,}:/i.test(text) ? text : pathToFileURL(resolve(text)).href;
}

/** Returns the path of worker.ts. It is found by the package's name, since the build puts this code into any chunk. */
function workerFile(): string {
  const root = dirname(createRequire(import.meta.url).resolve("phasegate/package.json"));
  return join(root, "dist", "testing", "storage-worker.js");
}

/** The task of a child process. */
export type WorkerTask =
  /** Appends to the sessions in turn, `count` times. Writes `<id> <version> <hash>` for each acknowledged commit. */
  | { readonly kind: "append"; readonly ids: readonly string[]; readonly count: number }
  /** Lives through a session for each key with an engine. Writes `<id> <step>` for each answer. */
  | { readonly kind: "live"; readonly keys: readonly string[] };

/** The order that a child gets as JSON on its command line. */
export interface WorkerOrder {
  /** The URL of the module that opens the storage. */
  readonly module: string;
  readonly options: unknown;
  readonly task: WorkerTask;
}
