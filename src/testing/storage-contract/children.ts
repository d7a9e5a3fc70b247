/**
 * Starts other processes on the storage under test, reads their lines, and stops or kills them; worker.ts is their program.
 * Some of them run whole sessions with an engine, so that a killed process can be followed by one that repeats its calls.
 */
import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import type { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import * as z from "zod";
import { MemoryContent } from "../../content/memory.js";
import { createEngine, type Engine } from "../../phased/engine.js";
import type { StorageAdapter } from "../../ports/storage-adapter.js";
import { defineWorkflow } from "../../workflow/files/define-workflow.js";
import { parseSessionId } from "../../workflow/names.js";
import { comes } from "../contract.js";
import type { StorageProcess } from "./stage.js";

interface ChildEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

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

export type WorkerTask =
  /**
   * Appends `count` times, to the sessions in turn or, with `isTogether`, to all of them at the same time. Writes
   * `<id> <version> <hash>` for each acknowledged commit.
   */
  | { readonly kind: "append"; readonly ids: readonly string[]; readonly count: number; readonly isTogether?: true }
  /** Lives through a session for each key with an engine, `lanes` sessions at the same time. Writes `<id> <step>` for each answer. */
  | { readonly kind: "live"; readonly keys: readonly string[]; readonly lanes: number };

/** The order that a child gets as JSON on its command line. */
export interface WorkerOrder {
  /** The URL of the module that opens the storage. */
  readonly module: string;
  readonly options: unknown;
  readonly task: WorkerTask;
}

/** The markers in the log of a completed session, in their order. */
export function markersOf(key: string): string[] {
  return ["wrong", "large", "right", "last"].map((step) => `${key}-${step}`);
}

/**
 * Lives through a whole session for each key, several at the same time. Every call has its own idempotency key, so that the
 * successor of a killed process can repeat all its calls and continue.
 */
export async function liveThrough(
  storage: StorageAdapter,
  { keys, lanes }: Extract<WorkerTask, { kind: "live" }>,
  say: (line: string) => void,
): Promise<void> {
  const engine = markedEngine(storage);
  const left = keys.values();
  const follow = async () => {
    for (const key of left) await liveOnce(engine, key, say);
  };
  await Promise.all(Array.from({ length: lanes }, follow));
}

async function liveOnce(engine: Engine, key: string, say: (line: string) => void): Promise<void> {
  const keyed = (step: string) => ({ idempotencyKey: `${key} ${step}` });
  const { sessionId } = await engine.start({ workflowType: MARKED, target: key, ...keyed("start") });
  const submit = async (phase: number, step: string, passes: boolean, filler?: number) => {
    const evidence = markedEvidence(`${key}-${step}`, passes, filler);
    await engine.session(sessionId).completePhase(phase, evidence, { ...keyed(step) });
    say(`${sessionId} ${key}-${step}`);
  };
  say(`${sessionId} ${key}`);
  await submit(1, "wrong", false);
  await submit(1, "large", false, 100_000);
  await submit(1, "right", true);
  await engine.session(sessionId).pause(keyed("pause"));
  await engine.session(sessionId).resume(keyed("resume"));
  await submit(2, "last", true);
}

/** A workflow whose evidence has a marker, which identifies a submission in the log. */
const marked = defineWorkflow({
  type: "marked",
  revision: "1",
  name: "Marked",
  description: "Refuses what is not marked as passing",
  phases: [1, 2].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: "# A phase",
    gate: { evidence: z.object({ marker: z.string(), passes: z.literal(true), filler: z.string() }) },
  })),
});

export const MARKED = "marked";

/** Creates an engine with that workflow and without limits. */
export function markedEngine(storage: StorageAdapter): Engine {
  return createEngine({
    storage,
    content: new MemoryContent({ workflows: [marked] }),
    limits: { maxAttempts: 1e9, maxAttemptsTotal: 1e9, maxActiveSessions: Number.POSITIVE_INFINITY },
  });
}

/** Returns evidence that passes or not. `filler` is a number of characters. */
export function markedEvidence(marker: string, passes: boolean, filler = 10) {
  return { marker, passes, filler: "x".repeat(filler) };
}

/** Returns the markers of all submissions in a session's log, in their order, including evidence in payloads. */
export async function markersIn(storage: StorageAdapter, sessionId: string): Promise<string[]> {
  const id = parseSessionId(sessionId);
  const markers: string[] = [];
  for await (const { body } of storage.log(id)) {
    const { events }: { events: { evidence?: { inline?: { marker: string }; payload?: string } }[] } = JSON.parse(body);
    for (const { evidence } of events) {
      if (evidence?.inline !== undefined) markers.push(evidence.inline.marker);
      if (evidence?.payload === undefined) continue;
      const stored: { marker: string } = JSON.parse((await storage.payload(id, evidence.payload)) ?? "{}");
      markers.push(stored.marker);
    }
  }
  return markers;
}
