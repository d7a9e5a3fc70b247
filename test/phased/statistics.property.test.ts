import * as fc from "fast-check";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage, type StorageAdapter } from "phasegate";
import type { Statistics, StatisticsCursor } from "phasegate/storage";
import { FakeClock } from "phasegate/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { wrapStorage } from "../../src/testing/broken.js";
import { howOften } from "../support/how-often.js";

const RUNS = howOften(60, 2_000);
const gate = { evidence: z.object({ done: z.literal(true), note: z.string() }), allowOverride: true };
const workflow = defineWorkflow({
  type: "steps",
  revision: "1",
  name: "Steps",
  description: "Three phases",
  phases: [1, 2, 3].map((number) => ({ number, name: `Phase ${number}`, content: "Do it.", skippable: true, gate })),
});
const LAST = 3;

/** What is done to a session, and how much later, in seconds. */
const action = fc.record({
  session: fc.nat({ max: 3 }),
  what: fc.constantFrom(
    ...([
      "start",
      "start",
      "pass",
      "pass",
      "pass",
      "pass",
      "fail",
      "fail",
      "ahead",
      "pause",
      "resume",
      "retry",
    ] as const),
    ...(["rollback", "override", "skip", "ask", "waive", "deny", "repeat", "delete", "look", "look"] as const),
  ),
  seconds: fc.integer({ min: 0, max: 5000 }),
});
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never;

interface ModelPhase {
  spent: number;
  state: "open" | "completed" | "skipped";
  readonly counts: Record<string, number>;
}

/** A session as the model has it: what was done to it, counted one by one. */
class ModelSession {
  status: "active" | "paused" | "completed" | "failed" = "active";
  phase = 1;
  fails = 0;
  refusedAhead = false;
  request: string | undefined;
  waived = false;
  readonly phases = new Map<number, ModelPhase>();
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  at(phase = this.phase): ModelPhase {
    const known = this.phases.get(phase) ?? { spent: 0, state: "open", counts: {} };
    this.phases.set(phase, known);
    return known;
  }

  count(name: string): void {
    const { counts } = this.at();
    counts[name] = (counts[name] ?? 0) + 1;
  }

  /** Lets time pass: only an active session spends it. */
  tick(now: number): void {
    if (this.status === "active" && now > this.#since) this.at().spent += now - this.#since;
    this.#since = now;
  }

  enter(phase: number): void {
    this.status = phase > LAST ? "completed" : "active";
    if (phase <= LAST) this.phase = phase;
    this.fails = 0;
    this.refusedAhead = false;
    this.request = undefined;
    this.waived = false;
  }
}

/** A storage with sessions, and the model of what was done. */
class World {
  readonly clock = new FakeClock("2026-03-04T05:06:07.000Z");
  readonly engine;
  readonly #sessions = new Map<string, ModelSession>();
  #keys = 0;

  constructor(storage: StorageAdapter) {
    const content = new MemoryContent({ workflows: [workflow] });
    this.engine = createEngine({ storage, content, clock: this.clock, limits: { maxActiveSessions: 100 } });
  }

  async do({ session, what, seconds }: Action): Promise<void> {
    this.clock.advance(seconds * 1000);
    const now = this.clock.now();
    for (const one of this.#sessions.values()) one.tick(now);
    if (what === "start") {
      const { sessionId } = await this.engine.start({ workflowType: "steps", target: `src/${this.#sessions.size}.ts` });
      this.#sessions.set(sessionId, new ModelSession(now));
      return;
    }
    const [id, model] = [...this.#sessions][session % Math.max(1, this.#sessions.size)] ?? [];
    if (id !== undefined && model !== undefined) await this.#change(id, model, what);
  }

  async #change(id: string, model: ModelSession, what: Exclude<Action["what"], "start">): Promise<void> {
    const { engine } = this;
    const { phase, status } = model;
    const host = { phase, by: "ann", note: "known" };
    const isOpen = status === "active" || status === "failed";
    if (what === "pass" && status === "active") {
      const evidence = model.waived ? { done: true } : { done: true, note: "x" };
      const { passed } = await engine.session(id).completePhase(phase, evidence);
      if (!passed) throw new Error("it must pass");
      model.count("passed");
      if (model.waived) model.count("waived note");
      model.at().state = "completed";
      model.enter(phase + 1);
    } else if (what === "fail" && status === "active") {
      await engine.session(id).completePhase(phase, { done: false });
      model.count("failed");
      model.count("failed done");
      if (!model.waived) model.count("failed note");
      model.fails += 1;
      if (model.fails === 3) model.status = "failed";
    } else if (what === "ahead" && status === "active" && phase < LAST) {
      await engine
        .session(id)
        .completePhase(phase + 1, {})
        .catch(() => {});
      if (!model.refusedAhead) model.count("refusedSteps");
      model.refusedAhead = true;
    } else if (what === "pause" && status === "active") {
      await engine.session(id).pause();
      model.status = "paused";
    } else if (what === "resume" && status === "paused") {
      await engine.session(id).resume();
      model.status = "active";
    } else if (what === "retry" && model.fails > 0 && isOpen) {
      await engine.session(id).retryPhase(phase, { as: "host" });
      model.status = "active";
      model.fails = 0;
    } else if (what === "rollback" && isOpen && phase > 1) {
      await engine.session(id).rollback(phase - 1, { as: "host" });
      for (const [number, one] of model.phases) if (number >= phase - 1) one.state = "open";
      model.enter(phase - 1);
    } else if (what === "override" && isOpen) {
      await engine.session(id).overrideGate(host.phase, host);
      model.count("overridden");
      model.at().state = "completed";
      model.enter(phase + 1);
    } else if (what === "skip" && isOpen) {
      await engine.session(id).skipPhase(host.phase, host);
      model.at().state = "skipped";
      model.enter(phase + 1);
    } else if (what === "ask" && isOpen && model.request === undefined && !model.waived) {
      model.request = (await engine.session(id).requestWaiver(phase, { fields: ["note"], reason: "none" })).request;
      model.count("requested");
    } else if (what === "waive" && model.request !== undefined && status !== "completed") {
      await engine.session(id).waive({ by: "ann", request: model.request });
      model.count("granted");
      model.request = undefined;
      model.waived = true;
    } else if (what === "deny" && model.request !== undefined && status !== "completed") {
      await engine.session(id).denyWaiver({ by: "ann", request: model.request, note: "no" });
      model.count("refusedWaivers");
      model.request = undefined;
    } else if (what === "repeat") {
      const request = { idempotencyKey: `k${++this.#keys}` };
      if (status === "active")
        await engine
          .session(id)
          .pause(request)
          .then(() => engine.session(id).pause(request));
      if (status === "active") model.status = "paused";
    } else if (what === "delete") {
      await engine.session(id).delete();
      this.#sessions.delete(id);
    }
  }

  /** Returns the statistics that must be found. */
  expected(): Omit<Statistics, "cursor"> {
    const all = [...this.#sessions.values()];
    const countIn = (sessions: readonly ModelSession[]) => {
      const of = (status: ModelSession["status"]) => sessions.filter((one) => one.status === status).length;
      return { active: of("active"), paused: of("paused"), completed: of("completed"), failed: of("failed") };
    };
    const phases = [1, 2, 3].flatMap((phase) => {
      const here = all.filter((one) => one.phase === phase && one.status !== "completed");
      const worked = all.flatMap((one) => one.phases.get(phase) ?? []);
      const isSeen = worked.some(
        ({ spent, state, counts }) => spent > 0 || state !== "open" || Object.keys(counts).length > 0,
      );
      if (here.length === 0 && !isSeen) return [];
      const sum = (name: string) => worked.reduce((total, { counts }) => total + (counts[name] ?? 0), 0);
      const done = worked.filter(({ state }) => state === "completed").map(({ spent }) => spent);
      const ranked = (share: number) =>
        done.filter((one) => done.filter((other) => other <= one).length >= share * done.length);
      const { completed: _, ...sessions } = countIn(here);
      const fields = ["done", "note"]
        .map((field) => ({ field, failed: sum(`failed ${field}`), waived: sum(`waived ${field}`) }))
        .filter(({ failed, waived }) => failed + waived > 0)
        .sort((one, other) => other.failed - one.failed);
      const time = { medianSeconds: Math.min(...ranked(0.5)) / 1000, p90Seconds: Math.min(...ranked(0.9)) / 1000 };
      return [
        {
          ...{ phase, name: `Phase ${phase}`, sessions, completed: done.length },
          skipped: worked.filter(({ state }) => state === "skipped").length,
          ...(done.length === 0 ? {} : { time }),
          ...{ attempts: sum("passed") + sum("failed"), passed: sum("passed"), failed: sum("failed"), denied: 0 },
          ...{ overridden: sum("overridden"), refusedSteps: sum("refusedSteps") },
          firstAttempts: {
            made: worked.filter(({ counts }) => counts.passed || counts.failed).length,
            passed: worked.filter(({ counts }) => counts.passed && !counts.failed).length,
          },
          waivers: { requested: sum("requested"), granted: sum("granted"), denied: sum("refusedWaivers") },
          fields,
        },
      ];
    });
    const sessions = countIn(all);
    const workflows = all.length === 0 ? [] : [{ workflowType: "steps", sessions, phases }];
    return { sessions, workflows, unapproved: 0 };
  }
}

const STORAGES: Readonly<Record<string, () => StorageAdapter>> = {
  "with `changes`": () => new MemoryStorage(),
  "without `changes`": () => {
    return wrapStorage(new MemoryStorage(), { changes: undefined });
  },
};

describe("statistics of random histories", () => {
  it.each(Object.entries(STORAGES))(
    "step by step are those at once, and those of a plain model, on a storage %s",
    async (_, open) => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60 }), async (actions) => {
          const world = new World(open());
          /** The cursors of all steps so far. */
          const cursors: StatisticsCursor[] = [];
          for (const one of [...actions, { session: 0, what: "look", seconds: 0 } as const]) {
            await world.do(one);
            if (one.what !== "look") continue;
            const { cursor: __, ...atOnce } = await world.engine.statistics();
            // It goes on from any of them, which the host may have kept as JSON, and perhaps twice at the same time.
            const from = one.seconds % 3 === 0 ? cursors[one.session % Math.max(1, cursors.length)] : cursors.at(-1);
            const cursor = from && one.seconds % 2 === 0 ? JSON.parse(JSON.stringify(from)) : from;
            const steps = one.seconds % 5 === 0 ? 2 : 1;
            const found = await Promise.all(
              Array.from({ length: steps }, () => world.engine.statistics(cursor === undefined ? {} : { cursor })),
            );
            for (const { cursor: next, ...stepwise } of found) {
              expect(stepwise).toEqual(atOnce);
              expect(stepwise).toEqual(world.expected());
              cursors.push(next);
            }
          }
        }),
        { numRuns: RUNS },
      );
    },
  );
});
