import { describe, expect, it } from "vitest";
import type { RoutedSource } from "../../../src/ports/content-provider.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";
import { RoutedFolders } from "../../../src/workflow/files/routed-workflow.js";
import { abandon } from "../../support/abandon.js";
import { FolderOfTexts, gardenTexts, stepText } from "../definition/folder-of-texts.js";
import { DONE, GARDEN, routed, Script } from "./garden.js";

async function started(...moves: ConstructorParameters<typeof Script>) {
  const decider = new Script(...moves);
  const made = routed(decider);
  const { sessionId: id } = await made.engine.start({ workflow: "GARDEN", context: { bed: "north" } });
  return { ...made, decider, id };
}

describe("a reason or a note", () => {
  it.each([42, {}, "x".repeat(4001), "\u200b"])("is refused before anything is written: %j", async (given) => {
    const { engine, id, storage } = await started("Sow");
    const reason = given as string;
    const calls = [
      () => engine.session(id).suspend({ note: reason }),
      () => engine.session(id).cancel({ note: reason }),
      () => engine.session(id).delete({ note: reason }),
      () => engine.session(id).approve({ by: "ann", note: reason, evidenceHash: "h" }),
    ];
    for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect((await storage.read(id as never))?.version).toBe(1);
  });

  it("may be empty", async () => {
    const { engine, id } = await started("Sow");
    expect(await engine.session(id).suspend({ note: "" })).toMatchObject({ status: "paused" });
  });
});

describe("start", () => {
  it("can let the decider choose the first step", async () => {
    const decider = new Script("Sow");
    const { engine } = routed(decider, { firstStep: "decider" });
    const first = await engine.start({ workflow: "GARDEN", idempotencyKey: "k" });
    expect(first).toMatchObject({ currentStep: "Sow", nextStep: { instructions: "Sow peas." }, replayed: false });
    expect(decider.requests[0]).toMatchObject({ operation: "start", allowed: ["Dig", "Sow", "Water"], history: [] });
    expect(decider.requests[0]?.report).toBeUndefined();
    const again = await engine.start({ workflow: "GARDEN", idempotencyKey: "k" });
    expect(again).toMatchObject({ sessionId: first.sessionId, currentStep: "Sow", replayed: true });
  });

  it("continues after a crash before the first step", async () => {
    const { engine, storage } = routed(new Script(() => new Promise(() => {})), { firstStep: "decider" });
    abandon(engine.start({ workflow: "GARDEN", idempotencyKey: "k" }));
    const waiting = async () => (await engine.listSessions()).items.length === 0;
    while (await waiting()) await new Promise((resolve) => setTimeout(resolve, 1));
    const other = routed(new Script("Water"), { storage, firstStep: "decider" }).engine;
    expect(await other.start({ workflow: "GARDEN", idempotencyKey: "k" })).toMatchObject({ currentStep: "Water" });
  });

  it("leaves a failed instance if the decider fails, which a retry continues", async () => {
    const { engine } = routed(new Script(new Error("no"), "Dig"), { firstStep: "decider" });
    const refused = await engine.start({ workflow: "GARDEN" }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "DECIDER_FAILED", remedy: expect.stringContaining("Retry the instance") });
    // The error names the instance that waits.
    const { items } = await engine.listSessions();
    expect(refused).toMatchObject({ details: { sessionId: items[0]?.sessionId } });
    const [failed] = (await engine.listSessions()).items;
    expect(failed).toMatchObject({ status: "failed", current: "" });
    expect(await engine.session(failed?.sessionId ?? "").state()).toMatchObject({ status: "failed" });
    expect(await engine.session(failed?.sessionId ?? "").retry()).toMatchObject({
      status: "active",
      currentStep: "Dig",
    });
  });

  it("names the nearest workflow, and creates nothing, if the workflow is unknown", async () => {
    const { engine } = routed(new Script());
    await expect(engine.start({ workflow: "GARDNE" })).rejects.toMatchObject({
      code: "WORKFLOW_NOT_FOUND",
      details: { nearest: "GARDEN" },
    });
    await expect(engine.start({ workflow: "GARDEN", context: { x: Number.NaN } })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    const named = engine.start({ workflow: "GARDEN", context: { evidence: Number.NaN } });
    await expect(named).rejects.toThrow("the context is refused: context.evidence: NaN is not a JSON number");
    expect((await engine.listSessions()).items).toEqual([]);
  });

  it("is limited by the number of active instances, except for a repeated start", async () => {
    const { engine } = routed(new Script(), { limits: { maxActiveSessions: 1 } });
    const keyed = { workflow: "GARDEN", idempotencyKey: "k" };
    await engine.start(keyed);
    await expect(engine.start({ workflow: "GARDEN" })).rejects.toMatchObject({ code: "SESSION_LIMIT" });
    await expect(engine.start({ workflow: "GARDEN", idempotencyKey: "other" })).rejects.toMatchObject({
      code: "SESSION_LIMIT",
    });
    expect(await engine.start(keyed)).toMatchObject({ replayed: true });
  });
});

describe("an instance", () => {
  it("that is suspended refuses reports until it is resumed", async () => {
    const { engine, id, decider } = await started("Sow");
    expect(await engine.session(id).suspend({ note: "rain" })).toMatchObject({ status: "paused", reason: "rain" });
    await expect(engine.session(id).advance(DONE)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      details: { allowed: ["resume", "cancel", "delete"] },
    });
    await expect(engine.session(id).suspend()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    const next = await engine.session(id).resume({ assumedStep: "Water", report: { status: "resuming" } });
    expect(next).toMatchObject({ status: "active", currentStep: "Sow" });
    expect(decider.requests[0]).toMatchObject({ operation: "resume", assumedStep: "Water", currentStep: "Dig" });
    expect((await engine.session(id).history()).map(({ outcomeStatus }) => outcomeStatus)).toEqual([
      "SUSPENDED",
      "RESUMING",
    ]);
  });

  it("that is cancelled cannot continue", async () => {
    const { engine, id } = await started();
    const cancelled = await engine.session(id).cancel({ note: "no garden", idempotencyKey: "c" });
    expect(cancelled).toMatchObject({ status: "failed", reason: "cancelled: no garden", allowed: ["delete"] });
    expect(cancelled.completedAt).toBeDefined();
    expect(await engine.session(id).cancel({ note: "no garden", idempotencyKey: "c" })).toEqual({
      ...cancelled,
      replayed: true,
    });
    await expect(engine.session(id).retry()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    await expect(engine.session(id).resume({ assumedStep: "Dig", ...DONE })).resolves.toMatchObject({
      status: "failed",
      version: cancelled.version,
    });
    await expect(engine.session(id).cancel()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("that is deleted is not found, and its id is never used again", async () => {
    const { engine, id } = await started();
    await engine.session(id).delete({ note: "done with" });
    await expect(engine.session(id).state()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await expect(engine.session(id).delete()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await expect(engine.session("no-such-one").advance(DONE)).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await expect(engine.session("No Id").state()).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("accepts a report only for its current step", async () => {
    const { engine, id } = await started("Sow");
    await expect(engine.session(id).advance({ report: { status: "success", step_id: "Water" } })).rejects.toMatchObject(
      {
        code: "STEP_NOT_CURRENT",
        details: { requested: "Water", current: "Dig" },
      },
    );
    expect(await engine.session(id).advance({ report: { status: "success", step_id: "dig" } })).toMatchObject({
      currentStep: "Sow",
    });
  });

  it.each([
    [{ report: "done" }, "report"],
    [{ report: {} }, "report.status"],
    [{ report: { status: " " } }, "report.status"],
    [{ report: { status: "ok", details: [] } }, "report.details"],
    [{ report: { status: "ok", message: 3 } }, "report.message"],
    [{ report: { status: "ok", error: 3 } }, "report.error"],
    [{ report: { status: "ok", x: "y".repeat(300_000) } }, "report"],
    [{ report: { status: "ok" }, contextUpdates: { x: "y".repeat(300_000) } }, "context_updates"],
    [{ report: { status: "ok" }, contextUpdates: [] }, "context_updates"],
  ])("refuses an invalid report: %#", async (request, field) => {
    const { engine, id } = await started();
    // Requests over the wire have no types.
    const call = engine.session(id).advance(request as never);
    await expect(call).rejects.toMatchObject({ code: "INVALID_INPUT", details: { field } });
    await expect(engine.session(id).resume({ ...DONE, assumedStep: "" })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect((await engine.session(id).state()).version).toBe(1);
  });

  it("treats null in a report as missing, and keeps other keys", async () => {
    const { engine, id } = await started("Sow");
    const report = { status: "success", details: null, message: null, error: null, mood: ["fine"] };
    await engine.session(id).advance({ report } as never);
    expect((await engine.session(id).history())[0]?.report).toEqual({ status: "success", error: null, mood: ["fine"] });
  });

  it("notifies its host of all events", async () => {
    const { engine, id } = await started("Sow", { nextStep: "Sow", statusSuggestion: "failed" });
    const told: string[] = [];
    for (const name of [
      "reported",
      "decided",
      "suspended",
      "retried",
      "cancelled",
      "completed",
      "failed",
      "deleted",
    ] as const) {
      engine.on(name, () => told.push(name));
    }
    await engine.session(id).advance(DONE);
    await engine.session(id).advance(DONE);
    await engine.session(id).retry();
    await engine.session(id).suspend();
    await engine.session(id).cancel();
    await engine.session(id).delete();
    expect(told).toEqual([
      "reported",
      "decided",
      "reported",
      "decided",
      "failed",
      "retried",
      "suspended",
      "cancelled",
      "deleted",
    ]);
    expect(engine.metrics()).toMatchObject({ advance: { count: 2, errors: 0 } });
  });
});

describe("a workflow edit", () => {
  it("does not change the pinned next steps, but changes the texts", async () => {
    const source = new FolderOfTexts(
      gardenTexts({ "GARDEN/steps/dig.md": `---\nnext: [Sow]\n---\n${stepText('Go to "Sow".')}` }),
    );
    const decider = new Script("Sow");
    const { engine } = routed(decider, { workflows: new RoutedFolders({ source }) });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    source.texts["GARDEN/steps/dig.md"] = `---\nnext: [Water]\n---\n${stepText('Go to "Water".')}`;
    source.texts["GARDEN/steps/sow.md"] = stepText('Proceed to "Water".', "Sow beans.");
    const next = await engine.session(sessionId).advance(DONE);
    expect(decider.requests[0]?.allowed).toEqual(["Sow"]);
    expect(next.nextStep).toEqual({ name: "Sow", instructions: "Sow beans." });
  });

  it.each([
    ["taken away", async (): Promise<undefined> => undefined],
    ["broken", () => new RoutedFolders({ source: new FolderOfTexts({ "GARDEN/index.md": "" }) }).definition("GARDEN")],
  ])("after which the workflow is %s fails its instances, which continue once it is fixed", async (_, definition) => {
    let gone = false;
    const whole = routedWorkflows(GARDEN);
    const workflows: RoutedSource = {
      list: whole.list,
      definition: (name) => (gone ? definition() : whole.definition(name)),
    };
    const { engine } = routed(new Script("Sow"), { workflows });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    gone = true;
    await expect(engine.session(sessionId).advance(DONE)).rejects.toMatchObject({ code: "DEFINITION_UNAVAILABLE" });
    expect(await engine.session(sessionId).state()).toMatchObject({
      status: "failed",
      pending: { operation: "advance" },
    });
    gone = false;
    expect(await engine.session(sessionId).retry()).toMatchObject({ currentStep: "Sow" });
  });

  it("can be retried once more with the same key after the host has changed its limits", async () => {
    const { engine, storage } = routed(new Script(new Error("busy"), "Sow"));
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await expect(engine.session(sessionId).advance(DONE)).rejects.toMatchObject({ code: "DECIDER_FAILED" });
    expect(await engine.session(sessionId).retry({ idempotencyKey: "k" })).toMatchObject({ currentStep: "Sow" });
    const later = routed(new Script(), { storage, limits: { maxAttemptsTotal: 5 } }).engine;
    expect(await later.session(sessionId).retry({ idempotencyKey: "k" })).toMatchObject({
      currentStep: "Sow",
      replayed: true,
    });
  });

  it("that removes a step removes it from the allowed steps", async () => {
    let workflows = routedWorkflows(GARDEN);
    const source: RoutedSource = { list: () => workflows.list(), definition: (name) => workflows.definition(name) };
    const decider = new Script("Water");
    const { engine } = routed(decider, { workflows: source });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    const [dig, , water] = GARDEN.steps;
    if (water === undefined) throw new Error("no water");
    workflows = routedWorkflows(
      defineRoutedWorkflow({
        name: "GARDEN",
        steps: [dig, water].map(({ next: _, content: __, ...step }) => step) as never,
      }),
    );
    await engine.session(sessionId).advance(DONE);
    expect(decider.requests[0]?.allowed).toEqual(["Dig", "Water", "FINISH"]);
  });

  it("that removes the current step fails the instance", async () => {
    let workflows = routedWorkflows(GARDEN);
    const source: RoutedSource = { list: () => workflows.list(), definition: (name) => workflows.definition(name) };
    const { engine } = routed(new Script(new Error("no")), { workflows: source });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine
      .session(sessionId)
      .advance(DONE)
      .catch(() => undefined);
    workflows = routedWorkflows(
      defineRoutedWorkflow({ name: "GARDEN", steps: [{ name: "Water", guidance: "g", instructions: "i" }] }),
    );
    await expect(engine.session(sessionId).advance(DONE)).rejects.toMatchObject({ code: "DEFINITION_UNAVAILABLE" });
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "failed" });
  });
});

describe("audit", () => {
  it("names an instance that does not exist, unless a receipt proves that it did", async () => {
    const { engine } = routed(new Script());
    await expect(engine.session("nothing_here").audit()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    const receipt = { version: 1, hash: "0".repeat(64) };
    expect(await engine.session("nothing_here").audit(receipt)).toMatchObject({ intact: false });
  });
});

describe("visits", () => {
  it("are counted for a step with a maximum, which is then no longer allowed", async () => {
    const bounded = defineRoutedWorkflow({
      name: "GARDEN",
      steps: [
        { name: "Dig", guidance: "g", instructions: "i", maxVisits: 2, next: ["Dig", "Sow"] },
        { name: "Sow", guidance: "g", instructions: "i", maxVisits: 1, next: ["Sow"] },
      ],
    });
    const decider = new Script("Dig", "Sow", "Sow");
    const { engine } = routed(decider, { workflows: routedWorkflows(bounded) });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance(DONE);
    await engine.session(sessionId).advance(DONE);
    expect(decider.requests.map(({ allowed }) => allowed)).toEqual([["Dig", "Sow"], ["Sow"]]);
    await expect(engine.session(sessionId).advance(DONE)).rejects.toThrow("nothing may follow Sow any more");
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "failed" });
  });

  it.each(["toString", "valueOf"])("are counted for a step called %s", async (name) => {
    const step = { guidance: "g", instructions: "i" };
    const steps = [
      { ...step, name: "Dig" },
      { ...step, name, maxVisits: 1 },
    ] as const;
    const decider = new Script(name, "Dig");
    const workflows = routedWorkflows(defineRoutedWorkflow({ name: "GARDEN", steps }));
    const { engine } = routed(decider, { workflows });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance(DONE);
    await engine.session(sessionId).advance(DONE);
    expect(decider.requests.map(({ allowed }) => allowed)).toEqual([
      ["Dig", name, "FINISH"],
      ["Dig", "FINISH"],
    ]);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });
});

describe("options", () => {
  it.each([
    [{ historyShown: -1 }, "historyShown"],
    [{ limits: { maxContextBytes: 0 } }, "limits.maxContextBytes"],
    [{ limits: { maxAttempts: 0 } }, "limits.maxAttempts"],
  ])("are checked: %j", (options, field) => {
    expect(() => routed(new Script(), options)).toThrow(field);
  });

  it.each([Number.POSITIVE_INFINITY, 2 ** 31])("can give the decider %d ms", async (deciderDeadlineMs) => {
    const slow = () => new Promise((resolve) => setTimeout(resolve, 20, "Sow"));
    const { engine } = routed(new Script(slow), { limits: { deciderDeadlineMs } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    expect(await engine.session(sessionId).advance(DONE)).toMatchObject({ currentStep: "Sow" });
  });

  it("can hide the history from the decider, and limit concurrent operations", async () => {
    const decider = new Script("Sow", "Sow");
    const { engine } = routed(decider, { historyShown: 0, limits: { maxConcurrent: 1 } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance(DONE);
    await engine.session(sessionId).advance(DONE);
    expect(decider.requests[1]?.history).toEqual([]);
    const [, busy] = await Promise.allSettled([engine.session(sessionId).state(), engine.session(sessionId).state()]);
    expect(busy).toMatchObject({ status: "rejected", reason: { code: "BUSY" } });
  });
});
