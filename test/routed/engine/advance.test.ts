import { describe, expect, it } from "vitest";
import { isPhasegateError, PhasegateError } from "../../../src/errors.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";
import { RoutedFolders } from "../../../src/workflow/files/routed-workflow.js";
import type { SessionId } from "../../../src/workflow/names.js";
import { abandon } from "../../support/abandon.js";
import { FolderOfTexts, gardenTexts, stepText } from "../definition/folder-of-texts.js";
import { DONE, routed, Script } from "./garden.js";

async function started(...moves: ConstructorParameters<typeof Script>) {
  const decider = new Script(...moves);
  const made = routed(decider);
  const { sessionId } = await made.engine.start({ workflow: "GARDEN", context: { bed: "north" } });
  return { ...made, decider, id: sessionId };
}

describe("a routed workflow", () => {
  it("starts with the first step of the list", async () => {
    const { engine } = routed(new Script());
    const first = await engine.start({ workflow: "GARDEN", context: { bed: "north" } });
    expect(first).toMatchObject({
      workflow: "GARDEN",
      status: "active",
      currentStep: "Dig",
      nextStep: { name: "Dig", instructions: "Dig a bed." },
      context: { bed: "north" },
      replayed: false,
    });
  });

  it("follows the decider, and completes at the end", async () => {
    const { engine, id } = await started("Water", "Sow", "FINISH");
    expect((await engine.session(id).advance(DONE)).nextStep).toEqual({ name: "Water", instructions: "Water them." });
    expect((await engine.session(id).advance(DONE)).nextStep.name).toBe("Sow");
    const end = await engine.session(id).advance(DONE);
    expect(end).toMatchObject({ status: "completed", currentStep: "FINISH", nextStep: { name: "FINISH" } });
    expect(end.completedAt).toBeDefined();
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
  });

  it("refuses a step that is no text, whatever its keys", async () => {
    const { engine, id } = await started();
    const report = { status: "success", step_id: { toString: "Dig" } };
    await expect(engine.session(id).advance({ report })).rejects.toMatchObject({ code: "STEP_NOT_CURRENT" });
  });

  it("merges the client's updates before the decider runs, and the decider's updates after", async () => {
    const { engine, id, decider } = await started({ nextStep: "Sow", contextUpdates: { depth: 30, soil: "clay" } });
    const next = await engine.session(id).advance({ ...DONE, contextUpdates: { depth: 20 } });
    expect(decider.requests[0]?.context).toEqual({ bed: "north", depth: 20 });
    expect(next.context).toEqual({ bed: "north", depth: 30, soil: "clay" });
  });

  it("passes report, allowed steps and the last entries to the decider, newest last", async () => {
    const { engine, id, decider } = await started("Sow", "Water", "Sow", "Sow", "Sow", "Sow", "FINISH");
    for (let turn = 0; turn < 7; turn += 1)
      await engine.session(id).advance({ report: { status: `turn ${turn}`, extra: turn } });
    const last = decider.requests[6];
    expect(last).toMatchObject({
      operation: "advance",
      currentStep: "Sow",
      allowed: ["Dig", "Sow", "Water", "FINISH"],
      report: { status: "turn 6", extra: 6 },
    });
    expect(last?.history.map(({ outcomeStatus }) => outcomeStatus)).toEqual(
      [1, 2, 3, 4, 5].map((turn) => `turn ${turn}`),
    );
    expect(last?.history[0]).toMatchObject({ stepName: "Sow", determinedNextStep: "Water" });
    expect(decider.requests[0]?.history).toEqual([]);
  });

  it("reads only the last commits for the decider, and after that only new ones", async () => {
    const { engine, id, decider, storage } = await started(...Array.from({ length: 21 }, () => "Sow"));
    for (let turn = 0; turn < 20; turn += 1) await engine.session(id).advance({ report: { status: `turn ${turn}` } });
    const read: number[] = [];
    const log = storage.log.bind(storage);
    storage.log = async function* (sessionId: SessionId, options?: { after?: number; limit?: number }) {
      for await (const commit of log(sessionId, options)) {
        read.push(commit.version);
        yield commit;
      }
    };
    await engine.session(id).advance({ report: { status: "turn 20" } });
    expect(read).toEqual([41, 42]);
    read.length = 0;
    // One that has just been started knows nothing yet.
    decider.moves.push("Water");
    await routed(decider, { storage })
      .engine.session(id)
      .advance({ report: { status: "turn 21" } });
    expect(read.filter((version) => version > 1)).toEqual(Array.from({ length: 25 }, (_, index) => 20 + index));
    expect(decider.requests.slice(-2).map(({ history }) => history.map(({ outcomeStatus }) => outcomeStatus))).toEqual(
      [15, 16].map((first) => Array.from({ length: 5 }, (_, index) => `turn ${first + index}`)),
    );
  });

  it("names a step that may follow once, however often the workflow names it", async () => {
    const decider = new Script("b");
    const texts = { guidance: "Go on.", instructions: "Work." };
    const twice = defineRoutedWorkflow({
      name: "TWICE",
      steps: [
        { name: "a", ...texts, next: ["b", "b", "FINISH"] },
        { name: "b", ...texts },
      ],
    });
    const { engine } = routed(decider, { workflows: routedWorkflows(twice) });
    const { sessionId } = await engine.start({ workflow: "TWICE" });
    await engine.session(sessionId).advance(DONE);
    expect(decider.requests[0]?.allowed).toEqual(["b", "FINISH"]);
  });

  it("accepts a name that differs in case and punctuation, and records it", async () => {
    const { engine, id } = await started("  wa_TER ");
    expect((await engine.session(id).advance(DONE)).nextStep.name).toBe("Water");
    expect((await engine.session(id).history())[0]?.decision?.notes).toEqual(['"  wa_TER " was taken for Water']);
  });

  describe("whose steps have similar names", () => {
    const step = { guidance: "g", instructions: "i" };
    const names = ["C", "C++", "C#", "Finish"] as const;
    const workflow = defineRoutedWorkflow({
      name: "CHECKS",
      steps: [
        { name: "Read", ...step, next: ["C++", "Finish", "FINISH"] },
        ...names.map((name) => ({ name, ...step })),
      ],
    });

    async function reading(...moves: ConstructorParameters<typeof Script>) {
      const decider = new Script(...moves);
      const { engine } = routed(decider, { workflows: routedWorkflows(workflow) });
      const { sessionId: id } = await engine.start({ workflow: "CHECKS" });
      return { engine, decider, id };
    }

    it("takes the exact name, also of the step Finish", async () => {
      const { engine, id } = await reading("C++", "C#", "Finish", "FINISH");
      const found: unknown[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        const { currentStep, status } = await engine.session(id).advance(DONE);
        found.push([currentStep, status]);
      }
      expect(found).toEqual([
        ["C++", "active"],
        ["C#", "active"],
        ["Finish", "active"],
        ["FINISH", "completed"],
      ]);
    });

    it.each([
      ["finish", '"finish" fits more than one: answer exactly "Finish" or "FINISH"'],
      ["c", '"c" fits more than one: answer exactly "C" or "C++" or "C#"'],
      // An existing step that may not follow is not taken for another one that may.
      ["C#", '"C#" is no step that may follow'],
    ])("asks again after %s", async (answer, problem) => {
      const { engine, id, decider } = await reading(answer, "C++");
      expect((await engine.session(id).advance(DONE)).currentStep).toBe("C++");
      expect(decider.requests[1]?.problem).toContain(problem);
    });

    it("takes no report on another of them", async () => {
      const { engine, id } = await reading("C++", "C#");
      await engine.session(id).advance(DONE);
      for (const wrong of ["C#", "c"]) {
        const report = { status: "success", step_id: wrong };
        await expect(engine.session(id).advance({ report })).rejects.toMatchObject({ code: "STEP_NOT_CURRENT" });
      }
      const report = { status: "success", step_id: "C++" };
      expect((await engine.session(id).advance({ report })).currentStep).toBe("C#");
    });
  });

  it("accepts the name of a step's file", async () => {
    const texts = gardenTexts({ "GARDEN/steps/water.md": stepText("Go on.") });
    const index = texts["GARDEN/index.md"]?.replace("[Water]", "[Give Them Water]") ?? "";
    const workflows = new RoutedFolders({ source: new FolderOfTexts({ ...texts, "GARDEN/index.md": index }) });
    const { engine } = routed(new Script("water", "steps/sow.md"), { workflows });
    const { sessionId: id } = await engine.start({ workflow: "GARDEN" });
    expect((await engine.session(id).advance(DONE)).currentStep).toBe("Give Them Water");
    expect((await engine.session(id).advance(DONE)).currentStep).toBe("Sow");
    expect((await engine.session(id).history())[0]?.decision?.notes).toEqual(['"water" was taken for Give Them Water']);
  });

  it.each([
    ["a step that does not exist", "Weed", "next_step_name"],
    ["an unknown status", { nextStep: "Sow", statusSuggestion: "DONE" }, "status_suggestion"],
    [
      "a key that a context cannot have",
      { nextStep: "Sow", contextUpdates: JSON.parse('{"__proto__": 1}') },
      "updated_context",
    ],
    ["updates that are not plain JSON", { nextStep: "Sow", contextUpdates: { depth: Number.NaN } }, "updated_context"],
  ] as const)("asks again after %s, with the problem", async (_, wrong, problem) => {
    const { engine, id, decider } = await started(wrong, "Sow");
    expect((await engine.session(id).advance(DONE)).nextStep.name).toBe("Sow");
    expect(decider.requests[1]?.problem).toContain(problem);
  });

  it("fails after two unusable answers; report and context are kept, and retry continues", async () => {
    const { engine, id, decider } = await started("Weed", "Weed", "Sow");
    await expect(engine.session(id).advance({ ...DONE, contextUpdates: { depth: 20 } })).rejects.toMatchObject({
      code: "DECIDER_FAILED",
      details: { reason: "invalid_response" },
    });
    const failed = await engine.session(id).state();
    expect(failed).toMatchObject({
      status: "failed",
      currentStep: "Dig",
      context: { depth: 20 },
      allowed: ["retry", "delete"],
    });
    expect(failed.completedAt).toBeDefined();
    const answered = await engine.session(id).advance(DONE);
    expect(answered).toMatchObject({ status: "failed", version: failed.version });
    const next = await engine.session(id).retry();
    expect(next).toMatchObject({ status: "active", nextStep: { name: "Sow" } });
    expect(decider.requests[2]).toMatchObject({ report: { status: "success" }, context: { depth: 20 } });
  });

  it("treats an error of the decider as a failure, and hides the error from agents", async () => {
    const { engine, id } = await started(new Error("key AIza-secret"));
    const error = await engine
      .session(id)
      .advance(DONE)
      .catch((thrown: unknown) => thrown);
    expect(isPhasegateError(error, "DECIDER_FAILED") && error.message).toBe("the decider failed");
    expect(JSON.stringify(await engine.session(id).history())).not.toContain("secret");
  });

  it("keeps the reason of a decider's own error", async () => {
    const timeout = new PhasegateError("DECIDER_FAILED", "no answer after 1 s", {
      remedy: "Retry.",
      details: { reason: "timeout", retryable: true },
    });
    const { engine, id } = await started(timeout);
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({ details: { reason: "timeout" } });
    expect((await engine.session(id).state()).reason).toBe("no answer after 1 s");
  });

  it("aborts a decider at the deadline", async () => {
    let aborted = false;
    const decider = new Script((_, signal) => {
      signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise(() => {});
    });
    const { engine } = routed(decider, { limits: { deciderDeadlineMs: 30 } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await expect(engine.session(sessionId).advance(DONE)).rejects.toMatchObject({ details: { reason: "timeout" } });
    expect(aborted).toBe(true);
  });

  it.each([
    ["paused", "Sow", "paused", "Sow"],
    ["failed", "Sow", "failed", "Sow"],
    ["completed", "Sow", "completed", "Sow"],
    ["paused", "FINISH", "completed", "FINISH"],
    ["failed", "FINISH", "failed", "Dig"],
    ["running", "Sow", "active", "Sow"],
  ])("follows the suggestion %s with %s", async (statusSuggestion, nextStep, status, current) => {
    const { engine, id } = await started({ nextStep, statusSuggestion, reasoning: "why not" });
    const answer = await engine.session(id).advance(DONE);
    expect(answer).toMatchObject({ status, currentStep: current, reasoning: "why not" });
    // What is over has no next step.
    if (status === "completed") expect(answer.nextStep).toEqual({ name: "FINISH", instructions: "Workflow complete." });
  });
});

describe("a repeated call", () => {
  it("with the same key returns the first answer, without asking the decider", async () => {
    const { engine, id, decider } = await started("Sow", "Water");
    const keyed = { ...DONE, idempotencyKey: "k1" };
    const first = await engine.session(id).advance(keyed);
    await engine.session(id).advance(DONE);
    const again = await engine.session(id).advance(keyed);
    expect(again).toMatchObject({ replayed: true, nextStep: first.nextStep, version: first.version });
    expect(decider.requests).toHaveLength(2);
    await expect(
      engine.session(id).advance({ report: { status: "failure" }, idempotencyKey: "k1" }),
    ).rejects.toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
  });

  it("starts one instance", async () => {
    const { engine } = await started();
    const request = { workflow: "GARDEN", idempotencyKey: "s1" };
    const [one, other] = [await engine.start(request), await engine.start(request)];
    expect(other).toMatchObject({ sessionId: one.sessionId, replayed: true });
  });
});

describe("two concurrent callers", () => {
  it("with different reports: one is accepted, the other gets a conflict with the current step", async () => {
    const { engine, id, decider } = await started("Sow");
    const [one, other] = await Promise.allSettled([
      engine.session(id).advance(DONE),
      engine.session(id).advance({ report: { status: "failure" } }),
    ]);
    expect(one).toMatchObject({ status: "fulfilled", value: { nextStep: { name: "Sow" } } });
    expect(other).toMatchObject({ status: "rejected", reason: { code: "CONFLICT" } });
    expect(String(other.status === "rejected" && other.reason)).toContain("Sow");
    expect(decider.requests).toHaveLength(1);
  });

  it("with the same report and a key each are remembered both", async () => {
    const { engine, id, decider } = await started("Sow", "Water");
    const calls = ["k1", "k2"].map((idempotencyKey) => ({ ...DONE, idempotencyKey }));
    const answers = await Promise.all(calls.map((call) => engine.session(id).advance(call)));
    expect(answers.map(({ currentStep }) => currentStep)).toEqual(["Sow", "Sow"]);
    for (const call of calls) {
      expect(await engine.session(id).advance(call)).toMatchObject({ currentStep: "Sow", replayed: true });
    }
    expect(decider.requests).toHaveLength(1);
    expect((await engine.session(id).history()).map(({ determinedNextStep }) => determinedNextStep)).toEqual(["Sow"]);
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
    // Without a key it is a report on the next step.
    expect((await engine.session(id).advance(DONE)).currentStep).toBe("Water");
  });

  it("with the same report are remembered both if the decider has failed", async () => {
    const { engine, id } = await started(new Error("down"), "Sow", "Water");
    const calls = ["k1", "k2"].map((idempotencyKey) => ({ ...DONE, idempotencyKey }));
    await expect(engine.session(id).advance(calls[0] ?? DONE)).rejects.toMatchObject({ code: "DECIDER_FAILED" });
    expect(await engine.session(id).advance(calls[1] ?? DONE)).toMatchObject({ status: "failed", replayed: true });
    expect((await engine.session(id).retry()).currentStep).toBe("Sow");
    for (const call of calls) expect((await engine.session(id).advance(call)).currentStep).toBe("Sow");
  });

  it("with the same report get the same answer", async () => {
    const { engine, id, decider } = await started("Sow");
    const both = await Promise.all([engine.session(id).advance(DONE), engine.session(id).advance(DONE)]);
    expect(both.map(({ nextStep }) => nextStep.name)).toEqual(["Sow", "Sow"]);
    expect(decider.requests).toHaveLength(1);
  });
});

describe("a crash between report and decision", () => {
  async function crashed() {
    const { storage, id, engine } = await started(() => new Promise(() => {}));
    abandon(
      engine.session(id).advance({ report: { status: "success", message: "dug" }, contextUpdates: { depth: 20 } }),
    );
    while ((await engine.session(id).state()).pending === undefined)
      await new Promise((resolve) => setTimeout(resolve, 1));
    const decider = new Script("Sow");
    return { ...routed(decider, { storage }), decider, id };
  }

  it("is followed by the same report, which continues", async () => {
    const { engine, decider, id } = await crashed();
    const next = await engine.session(id).advance({
      report: { status: "success", message: "dug" },
      contextUpdates: { depth: 20 },
    });
    expect(next).toMatchObject({ nextStep: { name: "Sow" }, context: { depth: 20 } });
    expect(decider.requests[0]).toMatchObject({ report: { message: "dug" }, context: { depth: 20 } });
  });

  it("is followed by another report, which continues the first and is refused", async () => {
    const { engine, decider, id } = await crashed();
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({ code: "CONFLICT" });
    expect(decider.requests[0]?.report).toMatchObject({ message: "dug" });
    expect((await engine.session(id).state()).currentStep).toBe("Sow");
  });

  it("is followed by a resuming client, whose report is a separate entry", async () => {
    const { engine, decider, id } = await crashed();
    const next = await engine.session(id).resume({ assumedStep: "Dig", report: { status: "resuming" } });
    expect(next.nextStep.name).toBe("Sow");
    expect(decider.requests[0]).toMatchObject({ operation: "resume", assumedStep: "Dig", currentStep: "Dig" });
    expect(decider.requests[0]?.history).toMatchObject([{ report: { message: "dug" } }]);
    const entries = await engine.session(id).history();
    expect(entries.map(({ outcomeStatus }) => outcomeStatus)).toEqual(["success", "RESUMING"]);
  });
});
