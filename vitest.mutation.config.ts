/**
 * How mutation tests (scripts/test-mutation.mjs) run tests: in one thread that goes on from mutant to mutant. Vitest would
 * start one for each test file, which takes longer than most tests. Each test file still gets its own instances of all
 * sources; only packages are loaded once.
 */
import { defineConfig, type Plugin } from "vitest/config";
import {
  BaseSequencer,
  type PoolOptions,
  type PoolWorker,
  type TestSpecification,
  ThreadsPoolWorker,
  type WorkerRequest,
} from "vitest/node";
import { asHostsLoad, resolve } from "./vitest.config.ts";

/** True if a test file may go on with the instances of the sources that another one has used. */
const KEEPS_SOURCES = process.env.PHASEGATE_MUTATION_KEEPS_SOURCES === "true";

/** How long each file took in the first run, which has all tests and no change. */
const durations = new Map<string, number>();
let isFirstRun = true;

/** Runs the quickest file first, because the first test that fails ends a run. Vitest would begin with the slowest. */
class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const durationOf = (file: TestSpecification) => {
      const known = durations.get(file.moduleId) ?? this.ctx.cache.getTestSpecificationResult(file)?.duration ?? 0;
      if (!isFirstRun) durations.set(file.moduleId, known);
      return known;
    };
    const sorted = files.map((file) => [file, durationOf(file)] as const).sort(([, one], [, other]) => one - other);
    isFirstRun = false;
    return sorted.map(([file]) => file);
  }
}

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
    const config = this.#options.project.serializedConfig;
    // test/support/mutation-setup.ts has everything but the sources loaded anew then.
    const isKept = KEEPS_SOURCES && message.context.providedContext.mutantActivation === "runtime";
    const context = { ...message.context, config: { ...config, isolate: !isKept } };
    return { ...message, context };
  }
}

const inOneThread: Plugin = {
  name: "in-one-thread",
  configureVitest({ vitest, project }) {
    project.config.pool = "same-thread";
    // Stryker wants to know for `--incremental` on which lines tests are. To find that out takes an eighth of the time.
    project.config.includeTaskLocation = process.env.PHASEGATE_MUTATION_INCREMENTAL === "true";
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
    sequence: { sequencer: QuickestFirst },
    env: {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    reporters: [],
  },
});
