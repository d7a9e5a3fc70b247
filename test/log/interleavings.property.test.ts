import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PhasegateError } from "../../src/errors.js";
import { keyedRequest } from "../../src/log/machine.js";
import type { Commit } from "../../src/ports/storage-adapter.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import type { SessionId } from "../../src/workflow/names.js";
import { adding, ID, makeKernel } from "./counter.js";

/** A storage whose answers come in the order of a scheduler; some answers to appends are lost. */
class Scheduled extends MemoryStorage {
  readonly #order: fc.Scheduler;
  readonly #lost: Set<number>;
  #appends = 0;

  constructor(order: fc.Scheduler, lost: readonly number[]) {
    super();
    this.#order = order;
    this.#lost = new Set(lost);
  }

  override read(id: SessionId): Promise<Commit | undefined> {
    return this.#order.schedule(super.read(id));
  }

  override async append(commit: Commit): Promise<void> {
    await this.#order.schedule(Promise.resolve());
    this.#appends += 1;
    const isLost = this.#lost.has(this.#appends);
    await super.append(commit);
    await this.#order.schedule(Promise.resolve());
    if (!isLost) return;
    const details = { operation: "append", outcome: "unknown" } as const;
    throw new PhasegateError("STORAGE_FAILED", "no answer", { remedy: "Try again.", details });
  }
}

describe("calls at the same time, in any order of their steps", () => {
  it("are each carried out once, and calls with the same key get the same answer", async () => {
    const lostAppends = fc.uniqueArray(fc.integer({ min: 1, max: 6 }), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), lostAppends, fc.boolean(), async (order, lost, trustsHeads) => {
        const storage = new Scheduled(order, lost);
        const after = (_: number, callback: () => void) => {
          void order.schedule(Promise.resolve()).then(callback);
          return () => {};
        };
        const clock = { now: () => 0, after, random: () => 0 };
        const kernels = [1, 2, 3].map(() => makeKernel({ storage, clock, trustsHeads }).kernel);
        /** Calls again with the same key until there is an answer, as a client does. */
        const ask = async (index: number, add: number): Promise<number> => {
          const request = keyedRequest(`key ${add}`, add);
          for (let tries = 0; ; tries += 1) {
            const kernel = kernels[(index + tries) % kernels.length];
            const done = await kernel?.execute(ID, adding(add), request).catch((error: PhasegateError) => error);
            if (done !== undefined && "version" in done) return done.version;
            expect(done).toMatchObject({ code: "STORAGE_FAILED" });
          }
        };
        // Each number is added by two callers with the same key.
        const asked = Promise.all([1, 2, 4, 1, 2, 4].map((add, index) => ask(index, add)));
        const versions = await order.waitFor(asked);
        expect(versions.slice(3)).toEqual(versions.slice(0, 3));
        expect([...versions].slice(0, 3).sort()).toEqual([1, 2, 3]);
        const { kernel } = makeKernel({ storage });
        const [newest, audit] = await order.waitFor(Promise.all([kernel.find(ID), kernel.audit(ID)]));
        expect(newest).toMatchObject({ version: 3, head: { total: 7 } });
        expect(audit).toMatchObject({ intact: true, versions: 3 });
      }),
      { numRuns: 300 },
    );
  });
});
