/**
 * How mutation tests (scripts/test-mutation.mjs) run tests: in one thread that goes on from mutant to mutant. Vitest would
 * start one for each test file, which takes longer than most tests. Each test file still gets its own instances of all
 * sources; only packages are loaded once.
 */
import { defineConfig, type Plugin } from "vitest/config";
import { type PoolOptions, type PoolWorker, ThreadsPoolWorker, type WorkerRequest } from "vitest/node";
import { asHostsLoad, resolve } from "./vitest.config.ts";

/** The thread of this process, once it was started. */
let thread: ThreadsPoolWorker | undefined;

/** A worker of Vitest's in the thread that runs already. */
class SameThread implements PoolWorker {
  readonly name = "same-thread";
  readonly #options: PoolOptions;
  readonly #isFirst = thread === undefined;
  readonly #thread: ThreadsPoolWorker;
  readonly #heard = new Set<(message: unknown) => void>();

  constructor(options: PoolOptions) {
    thread ??= new ThreadsPoolWorker(options);
    this.#thread = thread;
    this.#options = options;
  }

  on(event: string, callback: (message: unknown) => void): void {
    if (event === "message") this.#heard.add(callback);
    this.#thread.on(event, callback);
  }

  off(event: string, callback: (message: unknown) => void): void {
    if (event === "message") this.#heard.delete(callback);
    this.#thread.off(event, callback);
  }

  send(message: WorkerRequest): void {
    if (message.type === "stop") this.#answer("stopped");
    else if (message.type === "start" && !this.#isFirst) this.#answer("started");
    else this.#thread.send(message.type === "run" ? this.#withFilter(message) : message);
  }

  async start(): Promise<void> {
    if (this.#isFirst) await this.#thread.start();
  }

  async stop(): Promise<void> {
    for (const callback of this.#heard) this.#thread.off("message", callback);
  }

  deserialize(data: unknown): unknown {
    return data;
  }

  #answer(type: "started" | "stopped"): void {
    const answer = { type, __vitest_worker_response__: true };
    queueMicrotask(() => {
      for (const callback of this.#heard) callback(answer);
    });
  }

  /** Which tests are run is part of the configuration, which the thread otherwise knows as it was at the start. */
  #withFilter(message: WorkerRequest & { readonly type: "run" }): WorkerRequest {
    const context = { ...message.context, config: this.#options.project.serializedConfig };
    return { ...message, context };
  }
}

const inOneThread: Plugin = {
  name: "in-one-thread",
  configureVitest({ vitest, project }) {
    project.config.pool = "same-thread";
    project.config.poolRunner = { name: "same-thread", createPoolWorker: (options) => new SameThread(options) };
    vitest.onClose(() => thread?.stop());
  },
};

export default defineConfig({
  resolve,
  plugins: [asHostsLoad, inOneThread],
  test: {
    include: process.env.PHASEGATE_MUTATION_TESTS?.split(" ") ?? [],
    globalSetup: ["test/support/memory-setup.ts"],
    setupFiles: ["test/support/mutation-setup.ts"],
    env: {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    reporters: [],
  },
});
