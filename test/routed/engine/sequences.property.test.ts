import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../../src/errors.js";
import type { RoutedEngine } from "../../../src/routed/engine.js";
import { MemoryStorage } from "../../../src/storage/memory/storage.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";
import type { JsonObject } from "../../../src/workflow/json.js";
import { abandon } from "../../support/abandon.js";
import { type Move, routed, Script } from "./garden.js";

/** Number of tried sequences; set PHASEGATE_PROPERTY_RUNS=10000 for more. */
const RUNS = Number(process.env.PHASEGATE_PROPERTY_RUNS ?? 300);

const WAYS: Readonly<Record<string, readonly string[]>> = {
  Dig: ["Dig", "Sow"],
  Sow: ["Dig", "Sow", "Water", "FINISH"],
  Water: ["Sow", "FINISH"],
};
const STEPS = Object.keys(WAYS);

const GARDEN = defineRoutedWorkflow({
  name: "GARDEN",
  steps: [
    { name: "Dig", guidance: "g", instructions: "i", next: ["Dig", "Sow"] },
    { name: "Sow", guidance: "g", instructions: "i" },
    { name: "Water", guidance: "g", instructions: "i", next: ["Sow", "FINISH"] },
  ],
});

type Act =
  | {
      readonly type: "advance" | "resume";
      readonly answer: Answer;
      readonly update?: readonly [string, number];
      readonly again: boolean;
    }
  | { readonly type: "suspend" | "cancel" | "retry" | "status" }
  | { readonly type: "crash"; readonly answer: Answer };

/** A decider's reaction: choose a step, almost name it, err once or twice, throw, or suggest a status. */
interface Answer {
  readonly to: string;
  readonly how: "right" | "nearly" | "wrong once" | "wrong twice" | "throws" | "paused" | "failed" | "completed";
  readonly writes?: readonly [string, number] | undefined;
}

const key = fc.constantFrom("bed", "depth");
const entry = fc.option(fc.tuple(key, fc.nat(9)), { nil: undefined });
const answer: fc.Arbitrary<Answer> = fc.record({
  to: fc.constantFrom(...STEPS, "FINISH"),
  how: fc.constantFrom(
    "right",
    "right",
    "right",
    "nearly",
    "wrong once",
    "wrong twice",
    "throws",
    "paused",
    "failed",
    "completed",
  ),
  writes: entry,
});
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      { type: fc.constantFrom("advance" as const, "advance" as const, "resume" as const), answer, again: fc.boolean() },
      { requiredKeys: ["type", "answer", "again"] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constantFrom("suspend", "retry", "status", "cancel" as const),
    }) as fc.Arbitrary<Act>,
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("crash" as const), answer }) },
);

/** A simple model of an instance. */
interface Model {
  status: "active" | "paused" | "completed" | "failed";
  step: string;
  context: JsonObject;
  pending: boolean;
  /** The kind of call whose report is pending, or was. */
  asked: "advance" | "resume";
  over: boolean;
  reports: number;
}

/** Returns the steps that a step may lead to; a resuming client may also stay. */
function waysFrom({ step }: Model, type: "advance" | "resume"): readonly string[] {
  return [...(WAYS[step] ?? []), ...(type === "resume" ? [step] : [])];
}

/** Applies a decider's answer to the model; returns false if the answer is unusable. */
function follow(model: Model, { to, how, writes }: Answer, type: "advance" | "resume"): boolean {
  const allowed = waysFrom(model, type);
  if (how === "throws" || how === "wrong twice" || !allowed.includes(to)) {
    model.status = "failed";
    return false;
  }
  model.pending = false;
  if (writes !== undefined && how !== "wrong once") model.context = { ...model.context, [writes[0]]: writes[1] };
  if (how === "failed") {
    model.status = "failed";
    if (to !== "FINISH") model.step = to;
    return true;
  }
  const ends = to === "FINISH" || (how === "completed" && allowed.includes("FINISH"));
  model.status = ends ? "completed" : how === "paused" ? "paused" : "active";
  model.step = to;
  return true;
}

/** Returns the answer as a script for one call: unusable answers are asked for again. */
function script(model: Model, { to, how, writes }: Answer, type: "advance" | "resume"): Move[] {
  const contextUpdates = writes === undefined ? {} : { [writes[0]]: writes[1] };
  const right: Move = {
    nextStep: to,
    contextUpdates,
    ...(["paused", "failed", "completed"].includes(how) ? { statusSuggestion: how } : {}),
  };
  if (!waysFrom(model, type).includes(to)) return how === "throws" ? [new Error("no")] : [right, right];
  switch (how) {
    case "throws":
      return [new Error("no")];
    case "nearly":
      return [{ nextStep: ` ${to.toUpperCase()}`, contextUpdates }];
    case "wrong once":
      return ["Weed", { nextStep: to }];
    case "wrong twice":
      return ["Weed", "Weed"];
    default:
      return [right];
  }
}

async function play(acts: readonly Act[]): Promise<void> {
  const storage = new MemoryStorage();
  const decider = new Script();
  const make = () =>
    routed(decider, { storage, workflows: routedWorkflows(GARDEN), limits: { maxAttempts: 1000 } }).engine;
  let engine = make();
  const { sessionId } = await engine.start({ workflow: "GARDEN" });
  const model: Model = {
    status: "active",
    step: "Dig",
    context: {},
    pending: false,
    asked: "advance",
    over: false,
    reports: 0,
  };
  for (const [index, one] of acts.entries()) {
    engine = (await perform(engine, sessionId, one, index, { model, decider, make })) ?? engine;
    const seen = await engine.session(sessionId).state();
    expect({
      status: seen.status,
      step: seen.currentStep,
      context: seen.context,
      pending: seen.pending !== undefined,
    }).toEqual({
      status: model.status,
      step: model.step,
      context: model.context,
      pending: model.pending,
    });
    expect(seen.completedAt !== undefined).toBe(model.status === "completed" || model.status === "failed");
  }
  expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  const entries = await engine.session(sessionId).history();
  expect(entries.filter(({ report }) => report !== undefined)).toHaveLength(model.reports);
}

interface Stage {
  readonly model: Model;
  readonly decider: Script;
  readonly make: () => RoutedEngine;
}

async function perform(engine: RoutedEngine, id: string, one: Act, index: number, { model, decider, make }: Stage) {
  const { moves } = decider;
  moves.length = 0;
  switch (one.type) {
    case "status":
      return;
    case "suspend":
    case "cancel":
    case "retry":
      return move(engine, id, one.type, { model, decider, make });
    case "crash": {
      // The report is written, and the process ends before the decision.
      if (model.status !== "active" || model.pending) return;
      moves.push(() => new Promise(() => {}));
      abandon(engine.session(id).advance({ report: { status: `report ${index}` } }));
      while ((await engine.session(id).state()).pending === undefined)
        await new Promise((resolve) => setImmediate(resolve));
      model.pending = true;
      model.asked = "advance";
      model.reports += 1;
      return make();
    }
    default: {
      const { type, answer: said, again } = one;
      const report = { status: `report ${index}` };
      const request = { report, idempotencyKey: `k${index}` };
      const call = () =>
        type === "advance"
          ? engine.session(id).advance(request)
          : engine.session(id).resume({ ...request, assumedStep: "Dig" });
      if (model.status === "completed" || model.status === "failed") {
        expect(await call()).toMatchObject({ status: model.status });
        return;
      }
      if (model.status === "paused" && type === "advance") {
        await expect(call()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
        return;
      }
      const goesOn = model.pending && type === "advance";
      if (!goesOn) model.reports += 1;
      model.status = "active";
      const asked = goesOn ? model.asked : type;
      model.asked = asked;
      moves.push(...script(model, said, asked));
      const outcome = await call().catch((error: unknown) => error);
      model.pending = true;
      const decided = follow(model, said, asked);
      if (!decided) expect(isPhasegateError(outcome, "DECIDER_FAILED")).toBe(true);
      else if (goesOn) expect(isPhasegateError(outcome, "CONFLICT")).toBe(true);
      else expect(outcome).toMatchObject({ status: model.status, replayed: false });
      if (again && decided && !goesOn) expect(await call()).toMatchObject({ status: model.status, replayed: true });
    }
  }
}

async function move(engine: RoutedEngine, id: string, type: "suspend" | "cancel" | "retry", { model, decider }: Stage) {
  const isRunning = model.status === "active";
  const isPossible =
    type === "suspend"
      ? isRunning
      : type === "cancel"
        ? isRunning || model.status === "paused"
        : model.status === "failed" && !model.over;
  if (!isPossible) {
    await expect(engine.session(id)[type]()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    return;
  }
  if (type === "suspend") model.status = "paused";
  if (type === "cancel") {
    model.status = "failed";
    model.over = true;
  }
  if (type === "retry") {
    model.status = "active";
    if (model.pending) {
      const said: Answer = { to: WAYS[model.step]?.[0] ?? "", how: "right" };
      decider.moves.push(...script(model, said, model.asked));
      follow(model, said, model.asked);
    }
  }
  await engine.session(id)[type]();
}

describe("any sequence of calls", () => {
  it("has the result of a simple model", { timeout: 600_000 }, async () => {
    await fc.assert(fc.asyncProperty(fc.array(act, { maxLength: 12 }), play), { numRuns: RUNS });
  });
});
