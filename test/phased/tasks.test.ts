import * as fc from "fast-check";
import type { EngineNotifications } from "phasegate";
import { defineWorkflow } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { failure } from "../support/failure.js";
import { makeEngine, startTwoPhases } from "../support/make-engine.js";
import { makePlanned, PLAN, PLAN_PATH } from "../support/planned.js";
import { submitTo } from "../support/submit.js";
import { built, twoPhases } from "../support/workflows.js";

type Tasks = readonly { readonly number: number; readonly done: boolean }[];
const done = (tasks: Tasks) => tasks.filter((task) => task.done).map(({ number }) => number);

describe("a task that is done", () => {
  it("is one commit, survives a new engine, and counts as no attempt", async () => {
    const { engine, storage } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const told: EngineNotifications["taskCompleted"][] = [];
    engine.on("taskCompleted", (task) => told.push(task));
    const before = await engine.session(sessionId).state();
    const answer = await engine.session(sessionId).completeTask(1, 1, { note: "the parser is left" });
    expect(answer).toMatchObject({ task: 1, replayed: false, currentPhase: 1, phase: { number: 1 } });
    expect(answer.tasks).toMatchObject([
      { number: 1, name: "write the code", done: true, ready: false },
      { number: 2, name: "test it", done: false, ready: true },
    ]);
    const again = makeEngine({ storage });
    const state = await again.engine.session(sessionId).state();
    expect(state).toMatchObject({ version: before.version + 1, note: { task: 1, note: "the parser is left" } });
    expect(state.head).toMatchObject({ attempts: 0, spent: [], tasks: { done: [[1, 1]] } });
    expect(done((await again.engine.session(sessionId).phase()).tasks)).toEqual([1]);
    expect(done((await again.engine.session(sessionId).task(1, 2)).tasks)).toEqual([1]);
    expect(told).toMatchObject([{ sessionId, phase: 1, task: 1, note: "the parser is left" }]);
    expect(await again.engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("is noted once: a repeated call writes nothing, another note is written", async () => {
    const { engine } = makeEngine();
    const session = engine.session(twoPhases, await startTwoPhases(engine));
    const keyed = { note: "one", idempotencyKey: "k" };
    expect(await session.completeTask(1, 1, keyed)).toMatchObject({ replayed: false });
    const { version } = await session.state();
    for (const request of [keyed, { note: "one" }, {}]) {
      expect(await session.completeTask(1, 1, request)).toMatchObject({ replayed: true });
    }
    expect(await session.state()).toMatchObject({ version });
    expect(await failure(session.completeTask(1, 2, { idempotencyKey: "k" }))).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    await session.completeTask(1, 2);
    expect(await session.state()).toMatchObject({ note: { task: 1, note: "one" } });
    await session.completeTask(1, 1, { note: "two" });
    expect(await session.state()).toMatchObject({ version: version + 2, note: { task: 1, note: "two" } });
  });

  it("is answered with the tasks as they are now, also once its phase has passed", async () => {
    const { engine } = makeEngine({ claims: "backed" });
    const sessionId = await startTwoPhases(engine);
    const keyed = { phase: 1, task: 1, idempotencyKey: "k" };
    await engine.session(sessionId).completeTask(keyed.phase, keyed.task, keyed);
    const evidence = { ...built, tests_pass: { claim: true, proof: "npm test" } };
    expect(await engine.session(sessionId).completePhase(1, evidence)).toMatchObject({ passed: true });
    const again = await engine.session(sessionId).completeTask(keyed.phase, keyed.task, keyed);
    expect(again).toMatchObject({ replayed: true, currentPhase: 2 });
    expect(done(again.tasks)).toEqual([1, 2]);
  });

  it("is no claim: the gate judges the evidence alone, with and without it", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    for (const task of [1, 2]) await engine.session(sessionId).completeTask(1, task);
    const wrong = { phase: 1, evidence: { summary: "" } };
    expect(await submitTo(engine.session(sessionId), wrong)).toMatchObject({ passed: false });
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([1, 2]);
    expect(await engine.session(sessionId).completePhase(1, built)).toMatchObject({ passed: true });
    expect((await engine.session(sessionId).state()).head.tasks).toBeUndefined();
    expect(done((await engine.session(sessionId).phase(1)).tasks)).toEqual([1, 2]);
  });

  it("is open again after a rollback, and when the host has skipped or passed its phase", async () => {
    const { engine } = makeEngine();
    const ways = [
      (id: string) => engine.session(id).skipPhase(1, { by: "host", note: "seen" }),
      (id: string) => engine.session(id).overrideGate(1, { by: "host", note: "seen" }),
      (id: string) => engine.session(id).completePhase(1, built),
    ];
    for (const move of ways) {
      const sessionId = await startTwoPhases(engine);
      await engine.session(sessionId).completeTask(1, 2, { note: "n" });
      await move(sessionId);
      expect((await engine.session(sessionId).state()).note).toBeUndefined();
      await engine.session(sessionId).rollback(1);
      expect(done((await engine.session(sessionId).state()).tasks)).toEqual([]);
    }
  });

  it("stays through a pause and a retry", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1 } });
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completeTask(1, 1);
    await engine.session(sessionId).pause();
    await engine.session(sessionId).resume();
    await engine.session(sessionId).completePhase(1, {});
    expect(await failure(engine.session(sessionId).completeTask(1, 2))).toMatchObject({
      code: "INVALID_TRANSITION",
      message: "completeTask is not possible: the session is failed",
    });
    await engine.session(sessionId).retryPhase(1, { resetEvidence: true });
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([1]);
  });

  it.each([
    ["of a phase ahead", 2, 1, "", "PHASE_LOCKED"],
    ["of no phase", 9, 1, "", "PHASE_OUT_OF_RANGE"],
    ["that does not exist", 1, 7, "", "TASK_NOT_FOUND"],
    ["with a long note", 1, 1, "x".repeat(2001), "INVALID_INPUT"],
  ])("is refused: one %s", async (_, phase, task, note, code) => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    expect(await failure(engine.session(sessionId).completeTask(phase, task, { note }))).toMatchObject({ code });
    expect((await engine.session(sessionId).state()).head.tasks).toBeUndefined();
  });

  it("is refused in a phase behind, even if it was noted there", async () => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    await engine.session(sessionId).completeTask(1, 1);
    await engine.session(sessionId).completePhase(1, built);
    expect(await failure(engine.session(sessionId).completeTask(1, 1))).toMatchObject({
      code: "PHASE_ALREADY_COMPLETED",
    });
  });

  it("leaves a question to a person open", async () => {
    const asking = defineWorkflow({
      ...{ type: "asking", revision: "1", name: "Asking", description: "Asks" },
      phases: [
        {
          ...{ number: 1, name: "One", content: "# One", tasks: [{ name: "a", content: "# A" }] },
          gate: { evidence: z.object({ ok: z.literal(true) }), approval: { prompt: "Well?" } },
        },
      ],
    });
    const { engine } = makeEngine({ allowUnsignedApprovals: true }, [asking]);
    const { sessionId } = await engine.start({ workflowType: "asking", target: "a" });
    await engine.session(sessionId).completePhase(1, { ok: true });
    await engine.session(sessionId).completeTask(1, 1);
    const asked = await engine.session(sessionId).approval();
    expect(asked).toBeDefined();
    const { evidenceHash = "" } = asked ?? {};
    expect(await engine.session(sessionId).approve({ by: "ann", evidenceHash })).toMatchObject({ passed: true });
  });

  it("keeps the head small for any order of tasks", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 30 }), async (numbers) => {
        const tasks = Array.from({ length: 12 }, (_, index) => ({ name: `t${index}`, content: "# T" }));
        const many = defineWorkflow({
          ...{ type: "many", revision: "1", name: "Many", description: "Many tasks" },
          phases: [{ number: 1, name: "One", content: "# One", tasks }],
        });
        const { engine } = makeEngine({}, [many]);
        const { sessionId, version } = await engine.start({ workflowType: "many", target: "a" }).then(async (made) => ({
          sessionId: made.sessionId,
          version: (await engine.session(made.sessionId).state()).version,
        }));
        for (const task of numbers) await engine.session(sessionId).completeTask(1, task);
        const state = await engine.session(sessionId).state();
        expect(done(state.tasks)).toEqual([...new Set(numbers)].sort((a, b) => a - b));
        expect(state.version).toBe(version + new Set(numbers).size);
      }),
      { numRuns: 20 },
    );
  });
});

describe("a task that is given up", () => {
  const closed = (tasks: readonly { readonly number: number; readonly closed?: string }[]) =>
    tasks.flatMap((task) => (task.closed === "given_up" ? [task.number] : []));

  it("is not done and not left to do, says why, and is told apart from one that is done", async () => {
    const { engine, storage } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const told: unknown[] = [];
    engine.on("taskGivenUp", ({ task, note }) => told.push([task, note]));
    engine.on("taskCompleted", () => told.push("done"));
    const note = "there is no compiler";
    const answer = await engine.session(sessionId).completeTask(1, 1, { outcome: "given_up", note });
    expect(answer.tasks).toMatchObject([
      { number: 1, done: false, ready: false, closed: "given_up" },
      { number: 2, done: false, ready: true },
    ]);
    const again = await makeEngine({ storage }).engine.session(sessionId).state();
    expect(again).toMatchObject({ note: { task: 1, note }, head: { attempts: 0 } });
    expect(closed(again.tasks)).toEqual([1]);
    expect(told).toEqual([[1, note]]);
    expect((await engine.session(sessionId).history()).at(-1)?.notes).toMatchObject([
      { event: "task_given_up", task: 1, note },
    ]);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("may be done later, and a task that is done may be given up: the last word counts, and its reason goes", async () => {
    const { engine } = makeEngine();
    const session = engine.session(twoPhases, await startTwoPhases(engine));
    const given = { outcome: "given_up", note: "no compiler" } as const;
    expect(await session.completeTask(1, 1, given)).toMatchObject({ replayed: false });
    expect(await session.completeTask(1, 1, given)).toMatchObject({ replayed: true });
    await session.completeTask(1, 1);
    const later = await session.state();
    expect([done(later.tasks), closed(later.tasks), later.note]).toEqual([[1], [], undefined]);
    await session.completeTask(1, 1, { ...given, note: "it broke" });
    const last = await session.state();
    expect([done(last.tasks), closed(last.tasks), last.note?.note]).toEqual([[], [1], "it broke"]);
  });

  it.each([
    ["without a reason", { outcome: "given_up" }],
    ["with an empty reason", { outcome: "given_up", note: " " }],
    ["as anything else", { outcome: "skipped", note: "no time" }],
  ])("is refused %s", async (_, request) => {
    const { engine } = makeEngine();
    const sessionId = await startTwoPhases(engine);
    const refused = await failure(engine.session(sessionId).completeTask(1, 1, { ...Object(request) }));
    expect(refused).toMatchObject({ code: "INVALID_INPUT" });
    expect((await engine.session(sessionId).state()).head.tasks).toBeUndefined();
  });

  it("opens no task that depends on it, is no tick, and stays through a sync", async () => {
    const { engine, start, text, edit } = makePlanned({ config: { enforce_dependencies: true } });
    const sessionId = await start(1);
    await engine.session(sessionId).completeTask(1, 1, { outcome: "given_up", note: "no grammar" });
    const locked = await failure(engine.session(sessionId).task(1, 2));
    expect(locked).toMatchObject({ code: "TASK_LOCKED", details: { open: ["1.1"], ready: [3] } });
    expect(text()).toBe(PLAN);
    edit((plan) => plan.replace("- [ ] **Task 1.1**", "- [ ] **Task 1.0**: Think\n- [ ] **Task 1.1**"));
    await engine.session(sessionId).syncPlan();
    expect(closed((await engine.session(sessionId).state()).tasks)).toEqual([2]);
    edit((plan) => plan.replace("Knows all tokens", "Knows most tokens"));
    await engine.session(sessionId).syncPlan();
    expect(closed((await engine.session(sessionId).state()).tasks)).toEqual([]);
  });
});

describe("a task of a plan that is waived", () => {
  it("blocks no other task, even where the order is kept, and is not left to do", async () => {
    const allowed = { allowUnsignedApprovals: true };
    const { engine, start, pass } = makePlanned({ config: { enforce_dependencies: true }, engine: allowed });
    const sessionId = await start(1);
    expect(await failure(engine.session(sessionId).task(1, 2))).toMatchObject({ code: "TASK_LOCKED" });
    const { request } = await engine.session(sessionId).requestWaiver(1, { fields: ["1.1"], reason: "no grammar" });
    await engine.session(sessionId).waive({ by: "ann", request });
    expect((await engine.session(sessionId).task(1, 2)).plan?.task).toMatchObject({ open: [], ready: true });
    const { tasks, plan } = await engine.session(sessionId).phase();
    expect(tasks).toMatchObject([{ closed: "waived", ready: false }, { ready: true }, { ready: true }]);
    expect(plan?.tasks[0]).toMatchObject({ state: "pending", closed: "waived", ready: false });
    expect((await engine.session(sessionId).state()).tasks).toEqual(tasks);
    await engine.session(sessionId).completeTask(1, 2);
    const { evidenceAccepted } = Object(
      await pass(sessionId, 1, { tasks_completed: ["1.2", "1.3"], validation_gate: { 1: true, 2: true } }),
    );
    expect(evidenceAccepted).toEqual(["tasks_completed", "validation_gate"]);
  });

  it("is no accepted evidence if nothing else of its field is left", async () => {
    const { engine, start, pass } = makePlanned({ engine: { allowUnsignedApprovals: true } });
    const sessionId = await start(1);
    const fields = ["validation_gate.1", "validation_gate.2"];
    const { request } = await engine.session(sessionId).requestWaiver(1, { fields, reason: "nobody reads" });
    await engine.session(sessionId).waive({ by: "ann", request });
    const evidence = { tasks_completed: ["1.1", "1.2", "1.3"], validation_gate: { 1: false, 2: true } };
    expect(await pass(sessionId, 1, evidence)).toMatchObject({ passed: true, evidenceAccepted: ["tasks_completed"] });
  });
});

describe("a task of a plan that is done", () => {
  it("is no tick before the gate has passed, and opens the tasks that depend on it", async () => {
    const { engine, start, text } = makePlanned({ config: { enforce_dependencies: true } });
    const sessionId = await start(1);
    const locked = await failure(engine.session(sessionId).completeTask(1, 2));
    expect(locked).toMatchObject({ code: "TASK_LOCKED", details: { open: ["1.1"], ready: [1, 3] } });
    await engine.session(sessionId).completeTask(1, 1);
    expect(text()).toBe(PLAN);
    const { plan, tasks } = await engine.session(sessionId).phase();
    expect(plan?.tasks).toMatchObject([{ state: "done" }, { state: "pending", ready: true }, { state: "pending" }]);
    expect(done(tasks)).toEqual([1]);
    expect((await engine.session(sessionId).task(1, 2)).plan?.task).toMatchObject({ open: [] });
    await engine.session(sessionId).completeTask(1, 2);
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([1, 2]);
    expect(text()).toBe(PLAN);
  });

  it("stays done through a sync if it asks for the same, under its new number", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(1);
    for (const task of [1, 2]) await engine.session(sessionId).completeTask(1, task, { note: `note ${task}` });
    edit((text) => text.replace("- [ ] **Task 1.1**", "- [ ] **Task 1.0**: Think\n- [ ] **Task 1.1**"));
    await engine.session(sessionId).syncPlan();
    const moved = await engine.session(sessionId).state();
    expect(done(moved.tasks)).toEqual([2, 3]);
    expect(moved.note).toEqual({ task: 3, note: "note 2" });
    edit((text) => text.replace("Write the parser", "Write a parser").replace("Knows all tokens", "Knows most tokens"));
    await engine.session(sessionId).syncPlan();
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([3]);
    edit((text) => text.replace("Builds a tree", "Builds two trees"));
    await engine.session(sessionId).syncPlan();
    const open = await engine.session(sessionId).state();
    expect(done(open.tasks)).toEqual([]);
    expect(open.note).toEqual({ note: "note 2" });
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("is open again if the sync has moved it out of the phase, and without a note nothing is left", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(1);
    await engine.session(sessionId).completeTask(1, 3);
    const line = "- [ ] **Task 1.3**: Write the docs\n  - **Dependencies**: None\n";
    edit((text) => text.replace(line, "").replace("- [ ] **Task 2.1**", `${line}- [ ] **Task 2.1**`));
    await engine.session(sessionId).syncPlan();
    expect((await engine.session(sessionId).state()).head.tasks).toBeUndefined();
  });

  it("stays done in a static phase while the plan behind it is synced, and through a migration", async () => {
    const files = {
      "phases/0/task-1-look.md": "# Task 1: Look\n",
      "phases/0/task-2-ask.md": "# Task 2: Ask\n",
    };
    const { engine, start, edit } = makePlanned({ files });
    const sessionId = await start();
    await engine.session(sessionId).completeTask(0, 2);
    edit((text) => text.replace("Write the printer", "Write a printer"));
    expect(await engine.session(sessionId).syncPlan()).toMatchObject({ changed: true, path: PLAN_PATH });
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([2]);
    await engine.session(sessionId).migrate({ by: "host" });
    expect(done((await engine.session(sessionId).state()).tasks)).toEqual([2]);
  });
});

it("a migration keeps tasks as done, unless their text has changed", async () => {
  const { engine, storage } = makeEngine();
  const sessionId = await startTwoPhases(engine);
  for (const task of [1, 2]) await engine.session(sessionId).completeTask(1, task);
  const [first, second] = twoPhases.phases;
  const tasks = [
    { name: "write the code", content: "# Task 1: Write more code\n" },
    { name: "test it", content: "# Task 2: Test it\n" },
  ];
  const other = defineWorkflow({
    ...{ type: "two_phases", revision: "2", name: "Two phases", description: "Newer" },
    phases: [{ ...first, tasks }, second],
  });
  const newer = makeEngine({ storage }, [twoPhases, other]);
  await newer.engine.session(sessionId).migrate({ by: "host" });
  expect(done((await newer.engine.session(sessionId).state()).tasks)).toEqual([2]);
});
