import { createEngine, createWorkflowTool, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { ACTION_NAMES } from "../../src/tools/phased/actions.js";
import type { ChildGateInput, FieldGateInput } from "../../src/workflow/workflow-input.js";
import { built, complete, EACH, engineWith, MAIN, parentOf, review } from "../support/children.js";
import { failure } from "../support/failure.js";

describe("a phase that is a workflow", () => {
  it("starts a session with the target and the options of its rules, and passes when that is completed", async () => {
    const { engine, session } = await built(MAIN);
    const child = await session.startChild();
    expect(child).toMatchObject({ workflowType: "review", target: "src/main.ts", options: { depth: "deep: src" } });
    expect((await engine.session(child.sessionId).state()).head.parent).toEqual({
      ...{ sessionId: session.id, phase: 2, depth: 1 },
    });
    const early = await session.completePhase(2, {});
    expect(early).toMatchObject({ passed: false, attemptsLeft: 3 });
    expect(early.passed ? [] : early.problems.map(({ message }) => message)).toEqual([
      `1 of 1 sessions on review are not completed: item 1 ("src/main.ts"): ${child.sessionId} is active in phase 1. Nothing was counted as an attempt`,
    ]);
    await complete(engine, child.sessionId);
    expect(await session.completePhase(2, {})).toMatchObject({ passed: true, nextPhase: { name: "Ship" } });
    expect((await session.artifact(2))?.artifact).toEqual({ read_it: { lines: 7 }, verdict: { approved: true } });
    expect(await session.completePhase(3, { ok: true })).toMatchObject({ passed: true, nextPhase: null });
  });

  it("is passed by no evidence, however often it is submitted", async () => {
    const { session } = await built(MAIN);
    for (let count = 0; count < 15; count += 1) {
      const answer = await session.completePhase(2, { approved: true, read_it: { lines: 7 }, review: true });
      expect(answer).toMatchObject({ passed: false, attemptsLeft: 3, status: "active" });
    }
  });

  it("returns a child that was started before", async () => {
    const { engine, session } = await built(MAIN);
    const { sessionId } = await session.startChild();
    expect(await session.startChild()).toMatchObject({ sessionId, replayed: true });
    await complete(engine, sessionId);
    expect(await session.startChild()).toMatchObject({ sessionId, replayed: true });
  });

  it("starts another one in place of a child that was deleted", async () => {
    const { engine, session } = await built(MAIN);
    const { sessionId } = await session.startChild();
    await engine.session(sessionId).delete({ by: "ann", note: "wrong" });
    const second = await session.startChild();
    expect(second).toMatchObject({ replayed: false });
    expect(second.sessionId).not.toBe(sessionId);
  });
});

describe("a phase that is a workflow for each item of a list", () => {
  it("gives several agents a child each, and hands on the artifacts of all", async () => {
    const { engine, session } = await built(EACH);
    const children = await Promise.all([session.startChild(), session.startChild()]);
    expect(children.map(({ target }) => target).sort()).toEqual(["src/a.ts", "src/b.ts"]);
    expect(await failure(session.startChild())).toMatchObject({ code: "NOT_ALLOWED" });
    for (const [index, { sessionId }] of children.entries()) {
      expect(await session.completePhase(2, {})).toMatchObject({ passed: false });
      await complete(engine, sessionId, index);
    }
    expect(await session.completePhase(2, {})).toMatchObject({ passed: true });
    const artifact: unknown = (await session.artifact(2))?.artifact;
    expect(artifact).toMatchObject({ items: [{ item: "src/a.ts" }, { item: "src/b.ts", target: "src/b.ts" }] });
  });

  it("takes an item by its place, and a repeated call with its key for the same one", async () => {
    const { session } = await built(EACH, ["a", "b", "c"]);
    const third = await session.startChild({ item: 3 });
    expect(third).toMatchObject({ target: "c" });
    const first = await session.startChild({ idempotencyKey: "k" });
    expect(await session.startChild({ idempotencyKey: "k" })).toMatchObject({
      ...{ sessionId: first.sessionId },
      replayed: true,
    });
    expect((await session.startChild()).target).toBe("b");
    expect(await failure(session.startChild({ item: 4 }))).toMatchObject({
      code: "INVALID_INPUT",
      details: { expected: "1 to 3" },
    });
  });

  it("has one child for equal items, and passes no empty list unless that is allowed", async () => {
    const twice = await built(EACH, ["a", "a"]);
    expect((await twice.session.startChild()).target).toBe("a");
    expect(await failure(twice.session.startChild({ item: 2 }))).toMatchObject({ code: "INVALID_INPUT" });
    const none = await built({
      forEach: "artifacts.build.files.filter(f, f.endsWith('.py'))",
      target: { rule: "item" },
    });
    expect(await none.session.completePhase(2, {})).toMatchObject({ passed: false });
    const allowed = await built({ forEach: "[]", allowEmpty: true });
    expect(await allowed.session.completePhase(2, {})).toMatchObject({ passed: true });
    expect((await allowed.session.artifact(2))?.artifact).toEqual({ items: [] });
  });

  it("forgets the children when the phase is entered again", async () => {
    const { engine, session } = await built(EACH, ["a"]);
    const { sessionId } = await session.startChild();
    await complete(engine, sessionId);
    await session.rollback(1);
    await session.completePhase(1, { files: ["a"], main: "m" });
    expect(await session.completePhase(2, {})).toMatchObject({ passed: false });
    expect((await session.startChild()).sessionId).not.toBe(sessionId);
  });
});

describe("an agent that makes the call in each answer's next", () => {
  it("starts each child, works in it, and comes back to the phase", async () => {
    const { engine, session } = await built(EACH);
    const tool = createWorkflowTool(engine);
    const evidence: Readonly<Record<string, object>> = {
      "Read it": { lines: 7 },
      Verdict: { approved: true },
      Review: {},
      Ship: { ok: true },
    };
    const titles: string[] = [];
    let answer: Readonly<Record<string, unknown>> = await tool.dispatch({
      action: "get_phase",
      session_id: session.id,
    });
    for (let count = 0; count < 30 && answer.workflow_complete !== true; count += 1) {
      const next = Object(answer.next);
      if (next.action === "complete_phase") {
        const { phase } = await engine.session(next.session_id).phase();
        titles.push(phase.name);
        next.evidence = evidence[phase.name];
      } else if (next.action === "start") titles.push(`start ${next.item ?? ""}`);
      answer = await tool.dispatch(next);
      expect(answer.status, JSON.stringify(answer)).toBe("success");
      if (answer.child_complete === true) expect(answer).toMatchObject({ parent: session.id });
    }
    expect(titles).toEqual(["start 1", "Read it", "Verdict", "start 2", "Read it", "Verdict", "Review", "Ship"]);
  });

  it("is led to the open child when it submits too early, and can choose nothing of it", async () => {
    const { session, engine } = await built(EACH);
    const tool = createWorkflowTool(engine);
    const start = { action: "start", session_id: session.id };
    const early = await tool.dispatch({ action: "complete_phase", session_id: session.id, phase: 2, evidence: {} });
    expect(early).toMatchObject({ status: "error", attempts_left: 3, next: { ...start, item: 1 } });
    expect(await tool.dispatch({ ...start, target_file: "x" })).toMatchObject({ code: "INVALID_INPUT" });
    const { session_id: child } = await tool.dispatch({ ...start, item: 2 });
    const state = await tool.dispatch({ action: "get_state", session_id: session.id });
    expect(state).toMatchObject({
      workflow: "review",
      children: [
        { item: 1, target_file: "src/a.ts", status: "not_started" },
        { item: 2, session_id: child, status: "active", phase: "1 of 2" },
      ],
      children_completed: "0 of 2",
    });
    expect(await tool.dispatch({ action: "get_state", session_id: child })).toMatchObject({ parent: session.id });
    expect(await tool.dispatch({ action: "start", session_id: child })).toMatchObject({ code: "NOT_ALLOWED" });
    expect(await tool.dispatch({ action: "start" })).toMatchObject({ status: "error" });
  });
});

describe("the definition of a phase that is a workflow", () => {
  const define = (gate: object) => parentOf(gate);

  it.each([
    [{ workflow: "no/type" }, "type must be"],
    [{ forEach: "" }, "gate.forEach must be a text"],
    [{ target: 7 }, "gate.target must be a text"],
    [{ each: "x" }, 'has no key "each"'],
    [{ fields: {} }, 'has no key "fields"'],
  ])("%j is refused: %s", (gate, message) => {
    expect(() => define(gate)).toThrow(message);
  });

  it.each([
    [{ forEach: "artifacts.ship.files" }, 'artifacts has no phase "ship"'],
    [{ forEach: "artifacts.build.filez" }, 'no field "filez"'],
    [{ forEach: "artifacts.build.files", target: { rule: "itm" } }, "itm"],
    [{ target: { rule: "item" } }, "item"],
    [{ workflow: "unknown" }, 'the workflow "unknown", which does not exist'],
  ])("a session does not start with %j: %s", async (gate, message) => {
    const engine = engineWith(gate);
    const error = await failure(engine.start({ workflowType: "feature", target: "src" }));
    expect(error).toMatchObject({ code: "DEFINITION_INVALID" });
    expect(error.message).toContain(message);
  });
});

describe("a workflow whose phase can't be started", () => {
  const flow = (type: string, gate: FieldGateInput | ChildGateInput) =>
    defineWorkflow({
      type,
      revision: "1",
      name: type,
      description: type,
      phases: [{ name: "Part", content: "Part.", gate }],
    });
  const checked = flow("checked", {
    fields: { done: { type: "boolean" } },
    verify: [{ verifier: "scanner", params: {} }],
  });
  const [mid, top] = [flow("mid", { workflow: "checked" }), flow("top", { workflow: "mid" })];
  const options = flow("options", { workflow: "review", options: { dept: "deep" } });
  const looped = flow("looped", { workflow: "looped" });
  const engine = createEngine({
    storage: new MemoryStorage(),
    content: new MemoryContent({ workflows: [checked, mid, top, options, looped, review] }),
  });

  it("is not ready, however far below it something is missing", async () => {
    const lacks = (await engine.listWorkflows()).map((one) => [
      one.type,
      one.status === "ready" ? (one.missingVerifiers ?? one.missingWorkflows) : one.status,
    ]);
    expect(Object.fromEntries(lacks)).toEqual({
      ...{ checked: ["scanner"], mid: ["checked"], top: ["mid"] },
      ...{ options: undefined, looped: undefined, review: undefined },
    });
    const error = await failure(engine.start({ workflowType: "top", target: "a" }));
    expect(error).toMatchObject({ code: "DEFINITION_INVALID", message: expect.stringContaining('"scanner"') });
  });

  it("is refused with options that it does not read", async () => {
    expect(await failure(engine.start({ workflowType: "options", target: "a" }))).toMatchObject({
      code: "DEFINITION_INVALID",
      message: expect.stringContaining('there is no option "dept"; did you mean "depth"?'),
    });
    expect(await engine.start({ workflowType: "looped", target: "a" })).toMatchObject({ workflowType: "looped" });
  });

  it.each([
    ["artifacts.part.nothing.approved == true", 'the evidence of phase 1 has no field "nothing"'],
    ["artifacts.part.verdict.aproved == true", 'the evidence of "verdict" in phase 1 has no field "aproved"'],
  ])("is refused if a rule reads what no child gives: %s", async (rule, message) => {
    const reading = (last: string) =>
      defineWorkflow({
        ...{ type: "reading", revision: "1", name: "Reading", description: "Reads what its child has done" },
        phases: [
          { name: "Part", content: "Part.", gate: { workflow: "review" } },
          {
            name: "Ship",
            content: "Ship.",
            gate: { fields: { ok: { type: "boolean" } }, crossFieldValidation: [last] },
          },
        ],
      });
    const start = (last: string) =>
      createEngine({
        storage: new MemoryStorage(),
        content: new MemoryContent({ workflows: [reading(last), review] }),
      }).start({ workflowType: "reading", target: "a" });
    expect((await failure(start(rule))).message).toContain(message);
    expect(await start("artifacts.part.verdict.approved == true")).toMatchObject({ workflowType: "reading" });
  });

  it("is not refused for what a child may give: phases that come from its plan, and the items of a list", async () => {
    const about = { revision: "1", description: "Is a child" };
    const planned = defineWorkflow({
      ...{ ...about, type: "planned", name: "Planned" },
      dynamic: { sourcePathKey: "spec", templates: { phase: "# [PHASE_NAME]", task: "# [TASK_NAME]" } },
      phases: [{ name: "Prepare", content: "Prepare.", gate: { fields: { ready: { type: "boolean" } } } }],
    });
    const listed = defineWorkflow({
      ...{ ...about, type: "listed", name: "Listed" },
      phases: [{ name: "Items", content: "Items.", gate: { fields: { found: { type: "integer" } } } }],
    });
    const parent = (type: string, gate: ChildGateInput, rule: string) =>
      defineWorkflow({
        ...{ ...about, type, name: type },
        phases: [
          { name: "List", content: "List.", gate: { fields: { files: { type: "list" } } } },
          { name: "Part", content: "Part.", gate },
          {
            name: "Ship",
            content: "Ship.",
            gate: { fields: { ok: { type: "boolean" } }, crossFieldValidation: [rule] },
          },
        ],
      });
    const options = { spec: "tasks.md" };
    const workflows = [
      parent("of_plan", { workflow: "planned", options }, "has(artifacts.part.build)"),
      parent(
        "of_list",
        { workflow: "listed", forEach: "artifacts.list.files", target: { rule: "item" } },
        'artifacts.part.items["0"].target == "a"',
      ),
      ...[planned, listed],
    ];
    const content = new MemoryContent({ workflows });
    const open = createEngine({ storage: new MemoryStorage(), content });
    for (const workflowType of ["of_plan", "of_list"])
      expect(await open.start({ workflowType, target: "a" })).toMatchObject({ workflowType });
  });

  it("is broken in a list if its rules can't run", async () => {
    const wrong = defineWorkflow({
      ...{ type: "wrong", revision: "1", name: "Wrong", description: "Its rule has a typo" },
      phases: [
        { name: "Test", content: "Test.", gate: { fields: { passed: { type: "boolean" } } } },
        {
          name: "Ship",
          content: "Ship.",
          gate: { fields: { ok: { type: "boolean" } }, crossFieldValidation: ["artifacts.test.pased"] },
        },
      ],
    });
    const content = new MemoryContent({ workflows: [wrong] });
    const [listing] = await createEngine({ storage: new MemoryStorage(), content }).listWorkflows();
    expect(listing).toMatchObject({
      status: "broken",
      diagnostics: [{ severity: "error", code: "RULE_INVALID", message: expect.stringContaining("pased") }],
    });
  });
});

describe("the children that a session leaves behind", () => {
  it("are named by a rollback, a pause and a deletion, and learn it themselves", async () => {
    const { engine, session } = await built(EACH);
    const [first, second] = [await session.startChild(), await session.startChild()];
    await complete(engine, first.sessionId);
    const open = [{ sessionId: second.sessionId, status: "active" }];
    expect((await session.pause()).children).toEqual(open);
    await session.resume();
    expect((await engine.session(second.sessionId).state()).orphaned).toBeUndefined();
    expect((await session.rollback(1)).children).toEqual(open);
    const orphaned = `the session ${session.id} that it was started for has left phase 2`;
    expect(await engine.session(second.sessionId).state()).toMatchObject({ orphaned });
    const tool = createWorkflowTool(engine, { actions: ACTION_NAMES });
    expect(await tool.dispatch({ action: "get_phase", session_id: second.sessionId })).toMatchObject({
      orphaned: `${orphaned}: this session counts for nothing there any more`,
    });
    await session.completePhase(1, { files: ["c"], main: "m" });
    const third = await session.startChild();
    expect(await tool.dispatch({ action: "delete_session", session_id: session.id })).toMatchObject({
      children_left: [{ session_id: third.sessionId, status: "active" }],
    });
    expect((await engine.session(third.sessionId).state()).orphaned).toContain("is gone");
  });

  it("are named by a migration that leaves the phase, and by a skip", async () => {
    const storage = new MemoryStorage();
    const { session } = await built(MAIN, ["a"], storage);
    const child = await session.startChild();
    const { definition, phases } = parentOf(MAIN);
    const { type, name, description } = definition.structure;
    const first = { name: "Threats", content: "Think.", gate: { fields: { threats: { type: "list" } } } } as const;
    const numbered = phases.map((phase) => ({ ...phase, number: undefined, skippable: true }));
    const newer = defineWorkflow({ type, name, description, revision: "2", phases: [first, ...numbered] });
    const later = createEngine({ storage, content: new MemoryContent({ workflows: [newer, review] }) });
    const moved = later.session(session.id);
    const left = [{ sessionId: child.sessionId, status: "active" }];
    expect(await moved.migrate({ by: "ann" })).toMatchObject({ currentPhase: 1, childrenLeft: left });
    await moved.completePhase(1, { threats: [] });
    await moved.completePhase(2, { files: ["a"], main: "m" });
    const { sessionId } = await moved.startChild();
    const why = { by: "ann", note: "reviewed by hand", idempotencyKey: "k" };
    expect((await moved.skipPhase(3, why)).children).toEqual([{ sessionId, status: "active" }]);
    expect((await moved.skipPhase(3, why)).children).toBeUndefined();
  });

  it("go on while the session is paused, and count afterwards", async () => {
    const { engine, session } = await built(MAIN);
    const { sessionId } = await session.startChild();
    await session.pause();
    await complete(engine, sessionId);
    await session.resume();
    expect(await session.completePhase(2, {})).toMatchObject({ passed: true });
  });
});

describe("a session whose second phase was passed by children", () => {
  it("has them in its history, its audit, and the statistics", async () => {
    const { engine, session } = await built(EACH);
    for (const { sessionId } of [await session.startChild(), await session.startChild()])
      await complete(engine, sessionId);
    await session.completePhase(2, {});
    const attempt = (await session.history()).find(({ phase }) => phase === 2);
    expect(attempt?.children).toHaveLength(2);
    const audit = await session.audit();
    expect(audit.children?.map(({ phase, intact }) => [phase, intact])).toEqual([
      [2, true],
      [2, true],
    ]);
    const { workflows } = await engine.statistics();
    expect(workflows.map(({ workflowType, children }) => [workflowType, children])).toEqual([
      ["feature", undefined],
      ["review", 2],
    ]);
  });
});

describe("the audit of a session", () => {
  it("goes through the children of its children", async () => {
    const storage = new MemoryStorage();
    const within = (type: string, workflow: string) =>
      defineWorkflow({
        ...{ type, revision: "1", name: type, description: type },
        phases: [{ name: "Part", content: "Part.", gate: { workflow } }],
      });
    const content = new MemoryContent({ workflows: [within("top", "mid"), within("mid", "review"), review] });
    const engine = createEngine({ storage, content });
    const top = engine.session((await engine.start({ workflowType: "top", target: "src" })).sessionId);
    const mid = engine.session((await top.startChild()).sessionId);
    const leaf = await mid.startChild();
    await complete(engine, leaf.sessionId);
    await mid.completePhase(1, {});
    await top.completePhase(1, {});
    const idsOf = async () =>
      (await top.audit()).children?.map(({ sessionId, intact, gone }) => [sessionId, intact, gone]);
    expect(await idsOf()).toEqual([
      [mid.id, true, undefined],
      [leaf.sessionId, true, undefined],
    ]);
    await engine.session(leaf.sessionId).delete({ by: "ann" });
    expect(await idsOf()).toEqual([
      [mid.id, true, undefined],
      [leaf.sessionId, undefined, true],
    ]);
  });
});
