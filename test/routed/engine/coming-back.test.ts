import { describe, expect, it } from "vitest";
import { PhasegateError } from "../../../src/errors.js";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import type { Verifier } from "../../../src/ports/verifier.js";
import type { RoutedEngineOptions } from "../../../src/routed/options.js";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";
import type { FieldGate } from "../../../src/workflow/structure.js";
import { abandon } from "../../support/abandon.js";
import { failure } from "../../support/failure.js";
import { DONE, type Move, routed, Script } from "./garden.js";

const GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [{ name: "depth", type: "integer", required: true, rules: [] }],
};
const BACK = { assumedStep: "Dig", report: { status: "resuming" } } as const;
const DUG = { report: { status: "success", details: { depth: 20 } } } as const;

/** A garden whose digging may be entered once, and leads only to sowing. */
async function started(moves: readonly Move[], gate?: FieldGate, options: Partial<RoutedEngineOptions> = {}) {
  const garden = defineRoutedWorkflow({
    name: "GARDEN",
    steps: [
      { name: "Dig", guidance: "g", instructions: "Dig.", next: ["Sow"], maxVisits: 1, ...(gate ? { gate } : {}) },
      { name: "Sow", guidance: "g", instructions: "Sow.", next: ["Sow", "FINISH"] },
    ],
  });
  const decider = new Script(...moves);
  const made = routed(decider, { workflows: routedWorkflows(garden), ...options });
  const { sessionId: id } = await made.engine.start({ workflow: "GARDEN" });
  return { ...made, decider, id };
}

/** A storage in which what follows a commit can be late: it was read before it is held up. */
class LateLogs extends MemoryStorage {
  held: Promise<void> = Promise.resolve();

  override async *log(...of: Parameters<MemoryStorage["log"]>): AsyncGenerator<Commit, void, undefined> {
    const commits: Commit[] = [];
    for await (const commit of super.log(...of)) commits.push(commit);
    if ((of[1]?.after ?? 0) > 0) await this.held;
    yield* commits;
  }
}

function gate<T = void>() {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Lets everything happen that needs no timer. */
const turns = async () => {
  for (let count = 0; count < 20; count += 1) await new Promise((resolve) => setImmediate(resolve));
};

const never: Move = () => new Promise(() => {});

describe("a resuming client", () => {
  it("may stay on its step, for any `next`, without entering it again", async () => {
    const { engine, id, decider } = await started(["Dig", "Dig", "Sow"]);
    for (const _ of [1, 2]) {
      expect(await engine.session(id).resume(BACK)).toMatchObject({ currentStep: "Dig", status: "active" });
    }
    expect(await engine.session(id).advance(DONE)).toMatchObject({ currentStep: "Sow" });
    expect(decider.requests.map(({ allowed }) => allowed)).toEqual([["Sow", "Dig"], ["Sow", "Dig"], ["Sow"]]);
  });

  it("continues a suspended instance with the report that it has given before", async () => {
    const { engine, id } = await started([never, "Sow"]);
    abandon(engine.session(id).resume({ ...BACK, idempotencyKey: "first" }));
    while ((await engine.session(id).state()).pending === undefined)
      await new Promise((resolve) => setImmediate(resolve));
    await engine.session(id).suspend();
    expect(await engine.session(id).resume({ ...BACK, idempotencyKey: "second" })).toMatchObject({
      status: "active",
      currentStep: "Sow",
    });
  });

  it("without evidence makes no attempt at the gate", async () => {
    const { engine, id, decider } = await started(["Sow"], GATE, { limits: { maxAttempts: 1 } });
    await engine.session(id).suspend();
    for (const _ of [1, 2, 3]) {
      expect(await engine.session(id).resume(BACK)).toMatchObject({
        status: "active",
        currentStep: "Dig",
        gate: { attempt: 1, problems: [{ field: "depth" }] },
      });
    }
    expect(decider.requests).toEqual([]);
    expect((await engine.session(id).advance(DUG)).currentStep).toBe("Sow");
    expect((await engine.session(id).history()).map(({ outcomeStatus }) => outcomeStatus)).toEqual([
      "SUSPENDED",
      "RESUMING",
      "RESUMING",
      "RESUMING",
      "success",
    ]);
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
  });

  it("with insufficient evidence makes an attempt at the gate", async () => {
    const { engine, id } = await started([], GATE, { limits: { maxAttempts: 1 } });
    const shown = { ...BACK, report: { status: "resuming", details: {} } };
    expect(await engine.session(id).resume(shown)).toMatchObject({ status: "failed", gate: { attempt: 1 } });
  });

  it("makes an attempt if verifiers were run", async () => {
    const refusing: Verifier = { verify: async () => ({ ok: false, message: "not dug" }) };
    const gate = { ...GATE, fields: [], verify: [{ verifier: "bed", params: {} }] };
    const { engine, id } = await started([], gate, { verifiers: { bed: refusing }, limits: { maxAttempts: 1 } });
    expect(await engine.session(id).resume(BACK)).toMatchObject({ status: "failed" });
  });

  it("needs no new evidence if the gate was passed before a crash", async () => {
    const { engine, storage, id, decider } = await started([never, "Sow"], GATE);
    abandon(engine.session(id).advance(DUG));
    while (decider.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { engine: other } = routed(decider, { storage });
    expect((await other.session(id).state()).pending).toEqual({ operation: "advance" });
    expect(await other.session(id).resume(BACK)).toMatchObject({ currentStep: "Sow" });
    expect(decider.requests[1]).toMatchObject({ operation: "resume", history: [{ report: DUG.report }] });
  });

  it("keeps the snapshots of its step", async () => {
    const state = { depth: 0 };
    const bed: Verifier = {
      snapshot: async () => state.depth,
      verify: async ({ snapshot }) => ({ ok: snapshot !== state.depth, message: `from ${snapshot}` }),
    };
    const gate = { ...GATE, verify: [{ verifier: "bed", params: {} }] };
    const { engine, id } = await started(["Dig", "Sow"], gate, { verifiers: { bed } });
    state.depth = 20;
    const back = { ...BACK, report: { ...DUG.report, status: "resuming" } };
    expect(await engine.session(id).resume(back)).toMatchObject({ currentStep: "Dig" });
    expect((await engine.session(id).advance(DUG)).currentStep).toBe("Sow");
  });

  it("before the first step lets the decider choose it, even if the instance was suspended", async () => {
    const decider = new Script(never, "Sow", never, "Dig");
    const { engine, storage } = routed(decider, { firstStep: "decider" });
    const begin = async (asked: number) => {
      abandon(engine.start({ workflow: "GARDEN", idempotencyKey: `k${asked}` }));
      while (decider.requests.length < asked) await new Promise((resolve) => setImmediate(resolve));
      return { next: routed(decider, { storage }).engine, id: decider.requests[asked - 1]?.sessionId ?? "" };
    };
    const one = await begin(1);
    expect(await one.next.session(one.id).resume(BACK)).toMatchObject({ status: "active", nextStep: { name: "Sow" } });
    const two = await begin(3);
    await two.next.session(two.id).suspend();
    const keyed = { ...BACK, idempotencyKey: "back" };
    expect(await two.next.session(two.id).resume(keyed)).toMatchObject({
      status: "active",
      nextStep: { name: "Dig" },
    });
    expect(await two.next.session(two.id).resume(keyed)).toMatchObject({ replayed: true, nextStep: { name: "Dig" } });
    expect(decider.requests).toHaveLength(4);
  });

  it("before the first step gets the step that another client, who was faster, has had chosen", async () => {
    const decider = new Script(never, "Dig");
    const storage = new Delayed();
    const { engine } = routed(decider, { storage, firstStep: "decider" });
    abandon(engine.start({ workflow: "GARDEN", idempotencyKey: "begin" }));
    while (decider.requests.length < 1) await new Promise((resolve) => setImmediate(resolve));
    const [{ sessionId: id = "" } = {}] = decider.requests;
    await engine.session(id).suspend();
    const other = routed(decider, { storage }).engine;
    storage.beforeNext = () => other.session(id).resume({ ...BACK, idempotencyKey: "fast" });
    const slow = await engine.session(id).resume({ ...BACK, report: { status: "back", n: 2 }, idempotencyKey: "slow" });
    expect(slow).toMatchObject({ status: "active", nextStep: { name: "Dig" } });
    expect(slow.replayed).not.toBe(true);
  });
});

/** A store that does something else before the next commit arrives. */
class Delayed extends MemoryStorage {
  beforeNext: (() => Promise<unknown>) | undefined;

  override async append(commit: Commit): Promise<void> {
    const before = this.beforeNext;
    this.beforeNext = undefined;
    await before?.();
    return super.append(commit);
  }
}

describe("a repeated call", () => {
  it("of a retry returns its answer, without asking the decider", async () => {
    const { engine, id, decider } = await started([new Error("no"), "Sow", "FINISH"]);
    await engine
      .session(id)
      .advance(DONE)
      .catch(() => undefined);
    const first = await engine.session(id).retry({ idempotencyKey: "r" });
    await engine.session(id).advance(DONE);
    const again = await engine.session(id).retry({ idempotencyKey: "r" });
    expect(again).toMatchObject({ replayed: true, currentStep: "Sow", version: first.version });
    expect(decider.requests).toHaveLength(3);
  });

  it("of a report that a resume replaced returns the decision on the resume", async () => {
    const { engine, storage, id, decider } = await started([never, "Dig"]);
    const keyed = { ...DONE, idempotencyKey: "k" };
    abandon(engine.session(id).advance(keyed));
    while (decider.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const { engine: next } = routed(decider, { storage });
    await next.session(id).resume(BACK);
    const again = await next.session(id).advance(keyed);
    expect(again).toMatchObject({ replayed: true, status: "active", currentStep: "Dig" });
    expect(again.pending).toBeUndefined();
  });
});

describe("a history", () => {
  it("has a decision at its report, even if a retry came in between", async () => {
    const { engine, id, decider } = await started([new Error("no"), "Sow", "FINISH"]);
    await engine
      .session(id)
      .advance(DONE)
      .catch(() => undefined);
    await engine.session(id).retry();
    await engine.session(id).advance(DONE);
    const entries = await engine.session(id).history();
    expect(entries.map(({ outcomeStatus, determinedNextStep }) => [outcomeStatus, determinedNextStep])).toEqual([
      ["success", "Sow"],
      ["RETRIED", undefined],
      ["success", "FINISH"],
    ]);
    expect(decider.requests[2]?.history).toMatchObject([{ determinedNextStep: "Sow" }, { outcomeStatus: "RETRIED" }]);
  });

  it("has a suspension at the current step", async () => {
    const { engine, id } = await started(["Sow"]);
    await engine.session(id).suspend();
    await engine.session(id).resume(BACK);
    await engine.session(id).suspend();
    const entries = await engine.session(id).history();
    expect(entries.map(({ stepName, outcomeStatus }) => [stepName, outcomeStatus])).toEqual([
      ["Dig", "SUSPENDED"],
      ["Dig", "RESUMING"],
      ["Sow", "SUSPENDED"],
    ]);
  });
});

describe("the answer of a decider", () => {
  it("with invalid usage figures is recorded without them", async () => {
    const usage = { model: 5, inputTokens: Number.NaN, outputTokens: 7, requests: "2" };
    const { engine, storage, id } = await started([{ nextStep: "Sow", usage: usage as never }]);
    await engine.session(id).advance(DONE);
    expect(await routed(new Script(), { storage }).engine.session(id).audit()).toMatchObject({ intact: true });
    expect((await engine.session(id).history())[0]?.decision?.usage).toEqual({ outputTokens: 7 });
  });

  it("may have a null status; another type is asked for again", async () => {
    const answer = (statusSuggestion: unknown) => ({ nextStep: "Sow", statusSuggestion }) as never;
    const { engine, id, decider } = await started([answer(3), answer(null)]);
    expect((await engine.session(id).advance(DONE)).status).toBe("active");
    expect(decider.requests[1]?.problem).toContain("status_suggestion");
  });

  it("that is an unexpected error fails as a decider error", async () => {
    const error = new PhasegateError("SESSION_NOT_FOUND", "a model's words", {
      remedy: "None.",
      details: { sessionId: "x" },
    });
    const { engine, id } = await started([error]);
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({
      code: "DECIDER_FAILED",
      message: "the decider failed",
      details: { reason: "unavailable" },
    });
    expect((await engine.session(id).state()).status).toBe("failed");
  });
});

describe("a failure outside of the instance", () => {
  it("does not fail the instance if the log cannot be read: the next call reads it", async () => {
    const storage = new MemoryStorage();
    const { engine, id, decider } = await started(["Sow"], undefined, { storage });
    const other = routed(decider, { storage }).engine;
    const unread = new PhasegateError("STORAGE_FAILED", "the disk is away", {
      remedy: "Wait.",
      details: { operation: "read" } as never,
    });
    const log = storage.log.bind(storage);
    // The pinned definition is cached by now; the history is read after the report is written.
    await other.session(id).step();
    storage.log = () => {
      throw unread;
    };
    await expect(other.session(id).advance(DONE)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    storage.log = log;
    expect(await engine.session(id).state()).toMatchObject({ status: "active", pending: { operation: "advance" } });
    expect((await engine.session(id).advance(DONE)).currentStep).toBe("Sow");
  });

  it("fails the instance if workflows cannot be read, and only the host gets the cause", async () => {
    const errors: unknown[] = [];
    const { storage, id } = await started([]);
    const workflows = {
      list: async () => [],
      definition: async () => {
        throw new Error("EACCES: /srv/secret/GARDEN");
      },
    };
    const { engine } = routed(new Script("Sow"), { storage, workflows });
    engine.on("internalError", ({ error }) => errors.push(error));
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({
      code: "DEFINITION_UNAVAILABLE",
      message: "the workflow GARDEN could not be loaded: its texts can't be read",
    });
    expect(await engine.session(id).state()).toMatchObject({ status: "failed", allowed: ["retry", "delete"] });
    expect(String(errors[0])).toContain("EACCES");
  });
});

describe("a retry", () => {
  it("gets what follows it, although it has joined a question about the state before it", async () => {
    const storage = new LateLogs();
    const [failing, stale] = [gate<Error>(), gate<string>()];
    const decider = new Script(
      () => failing.opened,
      () => stale.opened,
      "Sow",
    );
    const { engine } = routed(decider, { storage, firstStep: "decider" });
    const request = { workflow: "GARDEN", idempotencyKey: "start" };
    const first = failure(engine.start(request));
    await turns();
    // The same start again: it reads that nothing is decided, and learns of it only after the failure is recorded.
    const reading = gate();
    storage.held = reading.opened;
    const second = engine.start(request).catch((error: unknown) => error);
    await turns();
    failing.open(new Error("the model is down"));
    const { sessionId: id } = (await first).details as { readonly sessionId: string };
    reading.open();
    await turns();
    expect(decider.requests).toHaveLength(2);
    // Its question ends with the failure, which it reads before the retry and learns of after it.
    const ending = gate();
    storage.held = ending.opened;
    stale.open("Dig");
    await turns();
    const retried = engine.session(id).retry({});
    await turns();
    storage.held = Promise.resolve();
    ending.open();
    await second;
    expect(await retried).toMatchObject({ status: "active", currentStep: "Sow" });
    expect(decider.requests).toHaveLength(3);
  });
});
