import { describe, expect, it } from "vitest";
import type { Commit } from "../../../src/ports/storage-adapter.js";
import type { RoutedEngineOptions } from "../../../src/routed/options.js";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { endless } from "../../support/endless.js";
import { failure } from "../../support/failure.js";
import { DEPTH_GATE, gardenWith } from "../../support/gated-garden.js";
import { DONE, type Move, routed, Script } from "./garden.js";

const DUG = { report: { status: "success", details: { depth: 20 } } } as const;

async function started(moves: readonly Move[], options: Partial<RoutedEngineOptions> = {}) {
  const decider = new Script(...moves);
  const made = routed(decider, options);
  const { sessionId: id } = await made.engine.start({ workflow: "GARDEN" });
  return { ...made, decider, id };
}

/** A decider that answers only when it is told to; it ends with an error when its signal aborts. */
function slow() {
  const seen = { begun: 0, stopped: 0 };
  let answer = (_: string) => {};
  const answered = new Promise<string>((resolve) => (answer = resolve));
  const move = (_: unknown, signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      seen.begun += 1;
      answered.then(resolve, reject);
      signal.addEventListener("abort", () => {
        seen.stopped += 1;
        reject(new Error("stopped"));
      });
    });
  return { move, seen, answer: (step: string) => answer(step) };
}

/** A caller who knows when the call waits for the decider, and can end it. */
function caller() {
  let onAsk = () => {};
  const asked = new Promise<void>((resolve) => (onAsk = resolve));
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(), asked, onAsk };
}

/** What a call takes of a caller. */
const followed = ({ signal, onAsk }: Pick<ReturnType<typeof caller>, "signal" | "onAsk">) => ({ signal, onAsk });

/** A storage during whose append of one version something happens. */
class Ending extends MemoryStorage {
  readonly #version: number;
  readonly #happens: () => void;

  constructor(version: number, happens: () => void) {
    super();
    this.#version = version;
    this.#happens = happens;
  }

  override append(commit: Commit) {
    if (commit.version === this.#version) this.#happens();
    return super.append(commit);
  }
}

describe("a report that its caller follows", () => {
  it("ends at once, even if the caller ends it while the decider is being asked", async () => {
    const controller = new AbortController();
    const { engine, id } = await started([
      () => {
        controller.abort();
        return new Promise(() => {});
      },
    ]);
    expect(await failure(engine.session(id).advance({ ...DONE, signal: controller.signal }))).toMatchObject({
      code: "CANCELLED",
    });
  });

  const quick = { verify: async () => ({ ok: true, message: "fine" }) };
  const gate = { ...DEPTH_GATE, verify: [{ verifier: "bed", params: {} }] };
  const workflows = gardenWith(gate);

  it("tells when each check begins and ends, and when the decider is asked", async () => {
    const { engine, id } = await started(["Sow"], { workflows, verifiers: { bed: quick } });
    const seen: unknown[] = [];
    await engine.session(id).advance({ ...DUG, onCheck: (check) => seen.push(check), onAsk: () => seen.push("asked") });
    expect(seen).toEqual([
      { verifier: "bed", field: undefined, ok: undefined, done: 0, total: 1, elapsedMs: 0 },
      { verifier: "bed", field: undefined, ok: true, done: 1, total: 1, elapsedMs: expect.any(Number) },
      "asked",
    ]);
  });

  it.each(["advance", "resume"] as const)("by %s stops its verifiers, and writes nothing", async (operation) => {
    const client = caller();
    const { seen, verify } = endless(() => client.abort());
    const { engine, id, decider } = await started(["Sow"], { workflows, verifiers: { bed: { verify } } });
    const errors: unknown[] = [];
    engine.on("internalError", (error) => errors.push(error));
    const call = { ...DUG, assumedStep: "Dig", idempotencyKey: "once", signal: client.signal };
    expect(await failure(engine.session(id)[operation](call))).toMatchObject({
      code: "CANCELLED",
      details: { operation },
    });
    expect({ ...seen, errors, asked: decider.requests }).toEqual({ begun: 1, stopped: 1, errors: [], asked: [] });
    expect(await engine.session(id).state()).toMatchObject({ status: "active", version: 1 });
  });

  it("writes nothing if its caller has ended it before, and can be made again with the same key", async () => {
    const { engine, id } = await started(["Sow"], { workflows, verifiers: { bed: quick } });
    const call = { ...DUG, idempotencyKey: "once" };
    const signal = AbortSignal.abort();
    expect(await failure(engine.session(id).advance({ ...call, signal }))).toMatchObject({ code: "CANCELLED" });
    expect(await engine.session(id).state()).toMatchObject({ version: 1 });
    expect(await engine.session(id).advance(call)).toMatchObject({ currentStep: "Sow", replayed: false });
    // Once the decision is written, the signal has no effect.
    expect(await engine.session(id).advance({ ...call, signal })).toMatchObject({ currentStep: "Sow", replayed: true });
  });
});

describe("a call that waits for the decider", () => {
  it("is ended by its signal: the decider is stopped, and the report stays pending", async () => {
    const { move, seen } = slow();
    const { engine, id, decider } = await started([move, "Sow"]);
    const errors: unknown[] = [];
    engine.on("internalError", (error) => errors.push(error));
    const client = caller();
    const call = { ...DONE, contextUpdates: { depth: 20 }, idempotencyKey: "once" };
    const ended = failure(engine.session(id).advance({ ...call, ...followed(client) }));
    await until(() => seen.begun === 1);
    client.abort();
    expect(await ended).toMatchObject({ code: "CANCELLED", details: { operation: "advance", sessionId: id } });
    expect(seen.stopped).toBe(1);
    expect(errors).toEqual([]);
    const pending = { status: "active", currentStep: "Dig", version: 2, pending: { operation: "advance" } };
    expect(await engine.session(id).state()).toMatchObject({ ...pending, context: { depth: 20 } });
    expect(await engine.session(id).advance(call)).toMatchObject({ currentStep: "Sow", replayed: true });
    expect(decider.requests.at(-1)).toMatchObject({ report: { status: "success" }, context: { depth: 20 } });
    expect((await engine.session(id).history()).map(({ outcomeStatus }) => outcomeStatus)).toEqual(["success"]);
    expect(await engine.session(id).audit()).toMatchObject({ intact: true, versions: 3 });
  });

  it("is ended while a decider works that ignores its signal, or answers to it", async () => {
    for (const move of [
      () => new Promise(() => {}),
      (_: unknown, signal: AbortSignal) =>
        new Promise((answer) => signal.addEventListener("abort", () => answer("Water"))),
    ]) {
      const { engine, id, decider } = await started([move]);
      const { signal, abort } = caller();
      const ended = failure(engine.session(id).advance({ ...DONE, signal }));
      await until(() => decider.requests.length === 1);
      abort();
      expect(await ended).toMatchObject({ code: "CANCELLED" });
      expect(await engine.session(id).state()).toMatchObject({ status: "active", version: 2 });
    }
  });

  it("is not followed by a second question about an unusable answer", async () => {
    const client = caller();
    const { engine, id, decider } = await started([
      () => {
        queueMicrotask(client.abort);
        return "Weed";
      },
      "Sow",
    ]);
    expect(await failure(engine.session(id).advance({ ...DONE, ...followed(client) }))).toMatchObject({
      code: "CANCELLED",
    });
    expect(decider.requests).toHaveLength(1);
  });

  it("can be a start, a resume or a retry", async () => {
    const { move, seen } = slow();
    const { engine } = routed(new Script(move, "Dig", new Error("down"), move, "Sow", move, "Water"), {
      firstStep: "decider",
    });
    const leaving = async (call: (client: ReturnType<typeof caller>) => Promise<unknown>) => {
      const client = caller();
      const before = seen.begun;
      const ended = failure(call(client));
      await until(() => seen.begun > before);
      client.abort();
      return await ended;
    };
    const key = { idempotencyKey: "k" };
    const first = await leaving((client) => engine.start({ workflow: "GARDEN", ...key, ...followed(client) }));
    expect(first).toMatchObject({ code: "CANCELLED", details: { operation: "start" } });
    const { sessionId: id } = await engine.start({ workflow: "GARDEN", ...key });
    expect(first).toMatchObject({ details: { sessionId: id } });
    expect(await failure(engine.session(id).advance(DONE))).toMatchObject({ code: "DECIDER_FAILED" });
    expect(await failure(engine.session(id).retry({ signal: AbortSignal.abort() }))).toMatchObject({
      code: "CANCELLED",
    });
    expect(await engine.session(id).state()).toMatchObject({ status: "failed" });
    const retried = await leaving((client) =>
      engine.session(id).retry({ idempotencyKey: "again", ...followed(client) }),
    );
    expect(retried).toMatchObject({ code: "CANCELLED", details: { operation: "retry" } });
    expect(await engine.session(id).retry({ idempotencyKey: "again" })).toMatchObject({
      status: "active",
      currentStep: "Sow",
    });
    const back = { assumedStep: "Sow", report: { status: "resuming" } };
    const resumed = await leaving((client) => engine.session(id).resume({ ...back, ...followed(client) }));
    expect(resumed).toMatchObject({ code: "CANCELLED", details: { operation: "resume" } });
    expect(await engine.session(id).resume(back)).toMatchObject({ currentStep: "Water" });
  });

  it("starts nothing if its caller has ended it before", async () => {
    const { engine } = routed(new Script());
    const start = { workflow: "GARDEN", idempotencyKey: "k" };
    const signal = AbortSignal.abort();
    expect(await failure(engine.start({ ...start, signal }))).toMatchObject({ code: "CANCELLED" });
    expect((await engine.listSessions()).items).toEqual([]);
    const { sessionId } = await engine.start(start);
    expect(await engine.start({ ...start, signal })).toMatchObject({ sessionId, replayed: true });
  });

  it("gets the answer that the decider has given just before", async () => {
    const client = caller();
    const { engine, id } = await started(["Sow"], { storage: new Ending(3, client.abort) });
    expect(await engine.session(id).advance({ ...DONE, signal: client.signal })).toMatchObject({ currentStep: "Sow" });
    expect(client.signal.aborted).toBe(true);
  });

  it("asks no decider that nobody waits for", async () => {
    const client = caller();
    const { engine, id, decider } = await started(["Sow"], { storage: new Ending(2, client.abort) });
    let isAsked = false;
    const call = { ...DONE, signal: client.signal, onAsk: () => (isAsked = true) };
    expect(await failure(engine.session(id).advance(call))).toMatchObject({
      code: "CANCELLED",
      details: { sessionId: id },
    });
    const other = caller();
    const again = engine.session(id).advance({ ...DONE, signal: other.signal, onAsk: other.abort });
    expect(await failure(again)).toMatchObject({ code: "CANCELLED", details: { sessionId: id } });
    expect({ isAsked, asked: decider.requests }).toEqual({ isAsked: false, asked: [] });
    expect(await engine.session(id).state()).toMatchObject({ status: "active", version: 2 });
  });
});

describe("calls that wait for one answer", () => {
  async function waiting(...moves: Move[]) {
    const { move, seen, answer } = slow();
    const made = await started([move, ...moves]);
    const [one, other] = [caller(), caller()];
    const answers = {
      one: made.engine.session(made.id).advance({ ...DONE, ...followed(one) }),
      other: made.engine.session(made.id).advance({ ...DONE, ...followed(other) }),
    };
    await Promise.all([one.asked, other.asked, until(() => seen.begun === 1)]);
    return { ...made, one, other, answers, seen, answer };
  }

  it.each([
    ["one", "other"],
    ["other", "one"],
  ] as const)("go on after the end of %s", async (gone, stays) => {
    const { decider, answers, answer, seen, ...callers } = await waiting();
    const ended = failure(answers[gone]);
    callers[gone].abort();
    expect(await ended).toMatchObject({ code: "CANCELLED" });
    expect(seen.stopped).toBe(0);
    answer("Sow");
    expect(await answers[stays]).toMatchObject({ currentStep: "Sow" });
    expect(decider.requests).toHaveLength(1);
  });

  it("go on for a call without a signal", async () => {
    const { engine, id, one, other, answers, answer, decider } = await waiting();
    let isAsked = false;
    const third = engine.session(id).advance({ ...DONE, onAsk: () => (isAsked = true) });
    await until(() => isAsked);
    const ended = [failure(answers.one), failure(answers.other)];
    one.abort();
    other.abort();
    for (const end of ended) expect(await end).toMatchObject({ code: "CANCELLED" });
    answer("Sow");
    expect(await third).toMatchObject({ currentStep: "Sow" });
    expect(decider.requests).toHaveLength(1);
  });

  it("stop the decider when the last of them ends; the next call asks again", async () => {
    const { engine, id, one, other, answers, seen, decider } = await waiting("Water");
    const ended = [failure(answers.one), failure(answers.other)];
    one.abort();
    other.abort();
    const next = engine.session(id).advance(DONE);
    for (const end of ended) expect(await end).toMatchObject({ code: "CANCELLED" });
    expect(seen.stopped).toBe(1);
    expect(await next).toMatchObject({ currentStep: "Water" });
    expect(decider.requests).toHaveLength(2);
  });
});

/** Waits until something is so. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
}
