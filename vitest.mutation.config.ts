/**
 * How mutation tests (scripts/test-mutation.mjs) run tests: in one thread that goes on from mutant to mutant. Vitest would
 * start one for each test file, which takes longer than most tests. test/support/mutation-setup.ts says what is loaded anew
 * for each test file.
 */
import { defineConfig, type Plugin } from "vitest/config";
import {
  BaseSequencer,
  type PoolOptions,
  type PoolWorker,
  type Reporter,
  type TestSpecification,
  ThreadsPoolWorker,
  type WorkerRequest,
} from "vitest/node";
import { asHostsLoad, resolve } from "./vitest.config.ts";

/** What is known of a test file: how long it took in the first run, which has all tests, and how often it noticed a mutant. */
interface Known {
  readonly duration: number;
  runs: number;
  failures: number;
}

const known = new Map<string, Known>();

/**
 * Runs those files first that most probably fail soon: the first test that fails ends a run. What failed with one mutant
 * often fails with the next one, which is of the same source. Vitest would begin with the slowest.
 */
class LikeliestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const likelihood = (file: TestSpecification) => {
      const { duration, runs, failures } = known.get(file.moduleId) ?? this.#first(file);
      return (failures + 1) / (runs + 2) / duration;
    };
    return files
      .map((file) => [file, likelihood(file)] as const)
      .sort(([, one], [, other]) => other - one)
      .map(([file]) => file);
  }

  #first(file: TestSpecification): Known {
    const duration = this.ctx.cache.getTestSpecificationResult(file)?.duration;
    const first = { duration: Math.max(1, duration ?? 0), runs: 0, failures: 0 };
    if (duration !== undefined) known.set(file.moduleId, first);
    return first;
  }
}

const counting: Reporter = {
  onTestModuleEnd(module) {
    const found = known.get(module.moduleId);
    if (found === undefined) return;
    found.runs += 1;
    if (!module.ok()) found.failures += 1;
  },
};

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
    // Then test/support/mutation-setup.ts says what is loaded anew; in the first run everything but packages is.
    const isKept = message.context.providedContext.mutantActivation !== undefined;
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
    sequence: { sequencer: LikeliestFirst },
    env: {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    reporters: [counting],
  },
});
