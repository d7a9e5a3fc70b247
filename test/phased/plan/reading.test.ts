import { PhasegateError } from "phasegate";
import { parsePlan, type SourceParser } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { makePlanned, PLAN_PATH } from "../../support/planned.js";

describe("a phase of a plan", () => {
  it("is rendered with its template, and so are its tasks", async () => {
    const { engine, start } = makePlanned();
    const sessionId = await start(1);
    const phase = await engine.session(sessionId).phase();
    expect(phase.content.text).toBe("# Phase 1: Parse\n\nRead the input\n");
    expect(phase.content.sources).toEqual(["phases/dynamic/phase-template.md", PLAN_PATH]);
    const task = await engine.session(sessionId).task(1, 2);
    expect(task.content.text).toContain("# Task 1.2: Write the parser\n\nNeeds 1.1.");
    expect(task.facts.title).toBe("Write the parser");
    expect((await engine.session(sessionId).task(1, 2)).content).toEqual(task.content);
  });

  it("has the number of the next phase, and none if it is the last", async () => {
    const plan = "### Phase 1: A\n\n- [ ] **Task 1.1**: One\n\n### Phase 4: B\n\n- [ ] **Task 4.1**: Two\n";
    const files = { "phases/dynamic/phase-template.md": "Next: [NEXT_PHASE_NUMBER]\n" };
    const { engine, start, pass } = makePlanned({ plan, files });
    const sessionId = await start(1);
    expect((await engine.session(sessionId).phase()).content.text).toBe("Next: 4\n");
    await pass(sessionId, 1, { tasks_completed: ["1.1"] });
    expect((await engine.session(sessionId).phase()).content.text).toBe("Next: \n");
  });

  it("uses the current template, and reports that it has changed", async () => {
    const made = makePlanned();
    const sessionId = await made.start(1);
    expect(await made.engine.session(sessionId).phase()).toMatchObject({ contentChanged: false });
    const content: typeof made.content = Object.create(made.content);
    content.text = async (type, part) => {
      const text = await made.content.text(type, part);
      return { ...text, text: `New. ${text.text}`, revision: `new ${text.revision}` };
    };
    const { engine } = makeEngine({ storage: made.storage, plans: made.plans, content });
    const changed = await engine.session(sessionId).phase();
    expect(changed).toMatchObject({
      contentChanged: true,
      content: { text: expect.stringMatching(/^New\. # Phase 1/) },
    });
    expect(await engine.session(sessionId).task(1, 1)).toMatchObject({ contentChanged: true });
  });

  it("lists its tasks with their state and their dependencies, and marks the ready ones", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(1);
    const states = async () => {
      const { plan } = await engine.session(sessionId).phase();
      return plan?.tasks.map(({ id, state, open, ready }) => [id, state, open.join(), ready]);
    };
    expect(await states()).toEqual([
      ["1.1", "pending", "", true],
      ["1.2", "pending", "1.1", false],
      ["1.3", "pending", "", true],
    ]);
    edit((text) =>
      text.replace("- [ ] **Task 1.1**", "- [x] **Task 1.1**").replace("- [ ] **Task 1.3**", "- [-] **Task 1.3**"),
    );
    expect(await states()).toEqual([
      ["1.1", "done", "", false],
      ["1.2", "pending", "", true],
      ["1.3", "in_progress", "", true],
    ]);
    expect((await engine.session(sessionId).phase()).plan?.changed).toBeUndefined();
  });

  it("does not accept a tick in the file as a claim", async () => {
    const { start, edit, pass } = makePlanned();
    const sessionId = await start(1);
    edit((text) => text.replaceAll("[ ]", "[x]"));
    const answer = await pass(sessionId, 1, {});
    expect(answer).toMatchObject({ passed: false, problems: { length: 5 } });
  });

  it("is done if the session says so, even if the file differs", async () => {
    const { engine, start, edit } = makePlanned();
    const sessionId = await start(2);
    edit((text) => text.replaceAll("[x]", "[ ]"));
    const { plan } = await engine.session(sessionId).phase(1);
    expect(plan?.tasks.map(({ state, ready }) => [state, ready])).toEqual(Array(3).fill(["done", false]));
    expect((await engine.session(sessionId).phase()).plan?.tasks[0]).toMatchObject({
      id: "2.1",
      open: [],
      ready: true,
    });
  });

  it("shows a task that was left out as skipped, and no task waits for it", async () => {
    const plan =
      "# Implementation Plan\n\n## Phase 1: A\n\n- [ ] 1. One\n- [ ]* 2. Two\n\n## Phase 2: B\n\n- [ ] 3. Three (depends on 2)\n- [ ]* 4. Four\n- [ ]* 5. Five\n";
    const { engine, start, pass } = makePlanned({ plan, config: { parser: "kiro", enforce_dependencies: true } });
    const sessionId = await start(1);
    await pass(sessionId, 1, { tasks_completed: ["1"] });
    const states = async (phase: number) =>
      (await engine.session(sessionId).phase(phase)).plan?.tasks.map(({ id, state, ready }) => [id, state, ready]);
    expect(await states(1)).toEqual([
      ["1", "done", false],
      ["2", "pending", false],
    ]);
    expect((await engine.session(sessionId).task(2, 1)).plan?.task).toMatchObject({
      dependencies: ["2"],
      open: [],
      ready: true,
    });
    await pass(sessionId, 2, { tasks_completed: ["3", "4"] });
    expect(await states(2)).toEqual([
      ["3", "done", false],
      ["4", "done", false],
      ["5", "pending", false],
    ]);
  });

  it("is shown as pinned, with the reason, if its file cannot be read", async () => {
    const { engine, start, memory, plans } = makePlanned();
    const sessionId = await start(1);
    memory.set(PLAN_PATH, undefined);
    const gone = await engine.session(sessionId).phase();
    expect(gone.plan).toMatchObject({
      unreadable: expect.stringContaining(PLAN_PATH),
      tasks: [{ state: "pending" }, {}, {}],
    });
    const errors: unknown[] = [];
    engine.on("internalError", ({ error }) => errors.push(error));
    plans.fault = () => {
      throw new Error("EIO: /secret/place");
    };
    expect((await engine.session(sessionId).state()).plan).toEqual({
      path: PLAN_PATH,
      unreadable: "the host could not read or write it",
    });
    expect(errors).toEqual([new Error("EIO: /secret/place")]);
  });

  it("shows nothing of the text of an unknown error", async () => {
    const { engine, start, plans } = makePlanned();
    const sessionId = await start(1);
    plans.fault = () => {
      throw Object.assign(new Error("EIO: /secret/place"), { remedy: "Look into /secret/place.", code: "EIO" });
    };
    expect((await engine.session(sessionId).state()).plan?.unreadable).toBe("the host could not read or write it");
  });

  it("reports to the host a path that leads out of the project, even if the call continues without it", async () => {
    const { engine, start, plans, pass } = makePlanned();
    const sessionId = await start(1);
    const told: unknown[] = [];
    engine.on("security", ({ operation, code }) => told.push([operation, code]));
    plans.fault = () => {
      const details = { reason: "it leads out" };
      throw new PhasegateError("PATH_REFUSED", "it leads out", { remedy: "Fix the link.", details });
    };
    expect(await engine.session(sessionId).phase()).toMatchObject({ plan: { unreadable: "it leads out" } });
    expect(told).toEqual([["read plan", "PATH_REFUSED"]]);
    expect(await pass(sessionId, 1)).toMatchObject({ passed: true, ticks: { pending: "it leads out" } });
    expect(told).toContainEqual(["write plan", "PATH_REFUSED"]);
  });

  it("is parsed once per version of the file", async () => {
    let parsed = 0;
    const parser: SourceParser = {
      parse: (text, file) => {
        parsed += 1;
        return parsePlan(text, { file });
      },
    };
    const { engine, start, edit } = makePlanned({ engine: { parsers: { spec_tasks_parser: parser } } });
    const sessionId = await start(1);
    await engine.session(sessionId).phase();
    await engine.session(sessionId).task(1, 1);
    expect(parsed).toBe(1);
    edit((text) => `${text}\n`);
    await engine.session(sessionId).phase();
    await engine.session(sessionId).state();
    expect(parsed).toBe(2);
  });
});

describe("a task with open dependencies", () => {
  it("can be read, and names them", async () => {
    const { engine, start } = makePlanned();
    const { plan } = await engine.session(await start(1)).task(1, 2);
    expect(plan?.task).toMatchObject({ id: "1.2", open: ["1.1"], ready: false });
  });

  it("is locked if the workflow enforces the order, until the file shows them as done", async () => {
    const { engine, start, edit, again } = makePlanned({ config: { enforce_dependencies: true } });
    const sessionId = await start(1);
    expect(await failure(engine.session(sessionId).task(1, 2))).toMatchObject({
      code: "TASK_LOCKED",
      remedy: `Do 1.1 first. It counts as done once it is noted as done, its phase has passed, or a person has waived it or ticked it in ${PLAN_PATH}. Ready now: 1, 3.`,
      details: { phase: 1, task: 2, open: ["1.1"], ready: [1, 3] },
    });
    expect((await engine.session(sessionId).task(1, 1)).task.name).toBe("Write the lexer");
    edit((text) => text.replace("- [ ] **Task 1.1**", "- [x] **Task 1.1**"));
    expect((await again().engine.session(sessionId).task(1, 2)).task.name).toBe("Write the parser");
  });

  it("is not locked in completed phases, nor by them", async () => {
    const { engine, start, edit } = makePlanned({ config: { enforce_dependencies: true } });
    const sessionId = await start(2);
    edit((text) => text.replaceAll("[x]", "[ ]"));
    expect((await engine.session(sessionId).task(2, 1)).plan?.task.open).toEqual([]);
    expect((await engine.session(sessionId).task(1, 2)).task.name).toBe("Write the parser");
  });

  it("names no ready task if there is none", async () => {
    const plan =
      "### Phase 1: A\n\n- [ ] **Task 1.1**: One\n  - **Dependencies**: Task 2.1\n\n### Phase 2: B\n\n- [ ] **Task 2.1**: Two\n";
    const { engine, start } = makePlanned({ plan, config: { enforce_dependencies: true } });
    const locked = await failure(engine.session(await start(1)).task(1, 1));
    expect(locked).toMatchObject({ details: { ready: [] }, remedy: expect.not.stringContaining("Ready") });
  });
});
