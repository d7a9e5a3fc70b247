import {
  defineWorkflow,
  type GateInput,
  type JsonObject,
  MemoryContent,
  MemoryStorage,
  type Workflow,
} from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { submitTo } from "../support/submit.js";
import { built, twoPhases } from "../support/workflows.js";

/** Creates a workflow whose first phase has a schema; the second accepts anything. */
function gated(evidence: GateInput["evidence"], revision = "1"): Workflow {
  return defineWorkflow({
    ...{ type: "gated", revision, name: "Gated", description: "One schema" },
    phases: [
      { number: 1, name: "One", content: "# One", gate: { evidence } },
      { number: 2, name: "Two", content: "# Two" },
    ],
  });
}

async function startGated(evidence: z.ZodType) {
  const made = makeEngine({}, [gated(evidence)]);
  const { sessionId } = await made.engine.start({ workflowType: "gated", target: "a" });
  return { ...made, sessionId };
}

describe("completePhase", () => {
  it("passes with valid evidence, and returns the next phase", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const passed = await engine.session(sessionId).completePhase(1, built);
    expect(passed).toMatchObject({ passed: true, evidenceAccepted: ["summary", "tests_pass"], attempt: 1 });
    expect(passed.passed && passed.nextPhase?.name).toBe("Ship");
    expect(await engine.session(sessionId).completePhase(2, { any: 1 })).toMatchObject({
      nextPhase: null,
    });
    expect((await engine.session(sessionId).state()).head.status).toBe("completed");
  });

  it("returns all problems, the format and the form if the gate fails", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const failed = await engine.session(sessionId).completePhase(1, { summary: "x", tests_pass: false });
    expect(failed).toMatchObject({
      passed: false,
      problems: [{ field: "summary" }, { field: "tests_pass", got: "false", example: true }],
      attemptsLeft: 2,
      status: "active",
      example: { summary: "<text: 3 or more characters>", tests_pass: "<boolean: true, once it is so>" },
      requiredFormat: { required: ["summary", "tests_pass"] },
    });
  });

  it("fails the session after three failures in a row; a retry makes it active again", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const attempt = () => engine.session(sessionId).completePhase(1, {});
    await attempt();
    await attempt();
    expect(await attempt()).toMatchObject({ attemptsLeft: 0, status: "failed" });
    expect((await failure(attempt())).code).toBe("INVALID_TRANSITION");
    const retried = await engine.session(sessionId).retryPhase(1, { as: "agent" });
    expect(retried.previousProblems).toHaveLength(2);
    expect(await engine.session(sessionId).completePhase(1, built)).toMatchObject({ passed: true });
  });

  it("limits the agent's total attempts, and lets the host grant more", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 2, maxAttemptsTotal: 3 } });
    const sessionId = await startTwoPhases(engine);
    const attempt = () => engine.session(sessionId).completePhase(1, {});
    await attempt();
    await attempt();
    await engine.session(sessionId).retryPhase(1, { as: "agent" });
    expect(await attempt()).toMatchObject({ status: "failed", attemptsLeft: 0 });
    const refused = await failure(engine.session(sessionId).retryPhase(1, { as: "agent" }));
    expect(refused.code).toBe("ATTEMPTS_EXHAUSTED");
    await engine.session(sessionId).retryPhase(1);
    expect(await attempt()).toMatchObject({ status: "active", attemptsLeft: 1 });
  });

  it("merges the next submission over the last one after a retry, unless it was reset", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completePhase(1, { summary: "added the parser" });
    const alone = await engine.session(sessionId).completePhase(1, { tests_pass: true });
    expect(alone).toMatchObject({ passed: false, problems: [{ field: "summary" }] });
    await engine.session(sessionId).retryPhase(1, { resetEvidence: true });
    const reset = await engine.session(sessionId).completePhase(1, { summary: "added the parser" });
    expect(reset).toMatchObject({ passed: false, problems: [{ field: "tests_pass" }] });
    await engine.session(sessionId).retryPhase(1, { resetEvidence: false });
    const merged = await engine.session(sessionId).completePhase(1, { tests_pass: true });
    expect(merged).toMatchObject({ passed: true, evidenceAccepted: ["summary", "tests_pass"] });
  });

  it("awaits asynchronous schemas, and stores the verified evidence even if the caller changes it meanwhile", async () => {
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { engine, sessionId } = await startGated(z.object({ name: z.string() }).refine(() => gate.then(() => true)));
    const evidence = { name: "honest" };
    const completing = engine.session(sessionId).completePhase(1, evidence);
    evidence.name = "changed";
    release();
    expect(await completing).toMatchObject({ passed: true });
    expect((await engine.session(sessionId).fullState()).artifacts[0]?.artifact).toEqual({ name: "honest" });
  });

  it("stores the input as evidence and the schema's output as the artifact", async () => {
    const schema = z.object({ count: z.string().transform(Number), note: z.string().default("none") });
    const { engine, sessionId } = await startGated(schema);
    await engine.session(sessionId).completePhase(1, { count: "3" });
    expect((await engine.session(sessionId).fullState()).artifacts[0]?.artifact).toEqual({ count: 3, note: "none" });
  });

  it("takes -0, from an agent or a schema, as 0", async () => {
    const schema = z.object({ given: z.number(), made: z.number().transform(Math.round), list: z.array(z.number()) });
    const { engine, sessionId } = await startGated(schema);
    const evidence = { given: -0, made: -0.2, list: [-0] };
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: true });
    const { artifacts } = await engine.session(sessionId).fullState();
    expect(artifacts[0]?.artifact).toEqual({ given: 0, made: 0, list: [0] });
  });

  it("refuses a schema whose output is not JSON, and writes nothing", async () => {
    for (const output of [
      new Date(0),
      new Map(),
      { deep: [new Set()] },
      Number.NaN,
      undefined,
      [undefined],
      { a: 1n },
    ]) {
      const { engine, sessionId } = await startGated(z.object({}).transform(() => output));
      const error = await failure(engine.session(sessionId).completePhase(1, {}));
      expect(["DEFINITION_INVALID", "INTERNAL"]).toContain(error.code);
      expect((await engine.session(sessionId).state()).version).toBe(1);
    }
  });

  it("stores large evidence outside of the log, and returns it whole", async () => {
    const { engine, sessionId } = await startGated(z.looseObject({}));
    const evidence = { text: "ü".repeat(100_000), outputs: { report: "r.md" }, commands_executed: ["npm test"] };
    await engine.session(sessionId).completePhase(1, evidence);
    const [artifact] = (await engine.session(sessionId).fullState()).artifacts;
    expect(artifact).toMatchObject({ artifact: evidence, outputs: { report: "r.md" }, commandsExecuted: ["npm test"] });
  });

  it("returns the first answer for the same key, passed or not", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const wrong = { phase: 1, evidence: {}, idempotencyKey: "wrong" };
    const first = await submitTo(engine.session(sessionId), wrong);
    expect(await submitTo(engine.session(sessionId), wrong)).toEqual({
      ...first,
      replayed: true,
    });
    const right = { phase: 1, evidence: built, idempotencyKey: "right" };
    const passed = await submitTo(engine.session(sessionId), right);
    await engine.session(sessionId).completePhase(2, {});
    expect(await submitTo(engine.session(sessionId), right)).toEqual({
      ...passed,
      replayed: true,
    });
    expect((await engine.session(sessionId).history()).map(({ status }) => status)).toEqual([
      "failed",
      "completed",
      "completed",
    ]);
    const turned = { ...right, evidence: { tests_pass: true, summary: built.summary } };
    expect(await submitTo(engine.session(sessionId), turned)).toMatchObject({
      replayed: true,
    });
    const reused = await failure(submitTo(engine.session(sessionId), { ...right, evidence: {} }));
    expect(reused.code).toBe("IDEMPOTENCY_KEY_REUSED");
    const unkeyed = await failure(engine.session(sessionId).completePhase(1, built));
    expect(unkeyed.code).toBe("INVALID_TRANSITION");
  });

  it("names the current phase if a phase is submitted again or too early", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const early = await failure(engine.session(sessionId).completePhase(2, {}));
    expect(early).toMatchObject({ code: "PHASE_LOCKED", details: { requested: 2, current: 1 } });
    await engine.session(sessionId).completePhase(1, built);
    const again = await failure(engine.session(sessionId).completePhase(1, built));
    expect(again).toMatchObject({ code: "PHASE_ALREADY_COMPLETED", details: { requested: 1, current: 2 } });
    const none = await failure(engine.session(sessionId).completePhase(7, {}));
    expect(none).toMatchObject({ code: "PHASE_OUT_OF_RANGE", details: { valid: [1, 2] } });
  });

  it("runs a schema once if a conflict does not change its verdict", async () => {
    let asked = 0;
    const validate = async (value: unknown) => {
      asked += 1;
      return { value };
    };
    const workflow = gated({ "~standard": { version: 1, vendor: "test", validate } });
    const storage = new MemoryStorage();
    const { engine } = makeEngine({ storage }, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "gated", target: "a" });
    // It was asked for its fields when it was defined.
    asked = 0;
    const append = storage.append.bind(storage);
    let interfere = true;
    storage.append = async (commit) => {
      if (interfere) {
        interfere = false;
        const other = makeEngine({ storage }, [workflow]);
        await other.engine.session(sessionId).pause();
        await other.engine.session(sessionId).resume();
      }
      await append(commit);
    };
    const conflicts: number[] = [];
    engine.on("conflict", ({ version }) => conflicts.push(version));
    expect(await engine.session(sessionId).completePhase(1, {})).toMatchObject({ passed: true });
    expect([asked, conflicts]).toEqual([1, [2]]);
  });
});

describe("a workflow defined in code", () => {
  const strict = gated(z.object({ a: z.string() }));

  async function sessionOn(workflow: Workflow) {
    const { engine, storage } = makeEngine({}, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "gated", target: "a" });
    const again = (workflows: readonly Workflow[]) =>
      makeEngine({ storage, content: new MemoryContent({ workflows }) }).engine;
    return { sessionId, again };
  }

  const complete = (engine: ReturnType<typeof makeEngine>["engine"], sessionId: string, evidence: JsonObject) =>
    engine.session(sessionId).completePhase(1, evidence);

  it("continues after a restart if the same revision is registered, even next to a newer one", async () => {
    const { sessionId, again } = await sessionOn(strict);
    const engine = again([gated(z.object({ a: z.string() })), gated(z.object({ b: z.string() }), "2")]);
    expect(await complete(engine, sessionId, { a: "x" })).toMatchObject({ passed: true });
  });

  it("causes DEFINITION_CHANGED if its revision is missing or has another schema", async () => {
    const { sessionId, again } = await sessionOn(strict);
    for (const engine of [
      again([gated(z.object({ a: z.string() }), "2")]),
      again([gated(z.object({ b: z.string() }))]),
      again([twoPhases]),
    ]) {
      expect((await failure(complete(engine, sessionId, { a: "x" }))).code).toBe("DEFINITION_CHANGED");
    }
  });

  it("is judged by the new gate of its phase after a migration", async () => {
    const { sessionId, again } = await sessionOn(strict);
    const engine = again([gated(z.object({ b: z.string() }), "2")]);
    await engine.session(sessionId).migrate({ by: "ops" });
    expect(await complete(engine, sessionId, { a: "x" })).toMatchObject({ passed: false });
    expect(await complete(engine, sessionId, { b: "x" })).toMatchObject({ passed: true });
  });

  it("is migrated by the host, which is recorded, and keeps completed phases", async () => {
    const { sessionId, again } = await sessionOn(strict);
    const engine = again([gated(z.object({ a: z.string() }), "2")]);
    const state = await engine.session(sessionId).migrate({ by: "ops@example.org" });
    expect(state.structure.revision).toBe("2");
    expect(await complete(engine, sessionId, { a: "x" })).toMatchObject({ passed: true });
    const other = again([twoPhases]);
    expect((await failure(other.session(sessionId).migrate({ by: "ops" }))).code).toBe("WORKFLOW_NOT_FOUND");
  });
});
