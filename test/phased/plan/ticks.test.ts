import type { EngineNotifications } from "phasegate";
import { type PlanTask, parsePlan, type SourceParser, tickTask } from "phasegate/plan";
import { describe, expect, it } from "vitest";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { claims, makePlanned, PLAN, PLAN_PATH, tickedIn } from "../../support/planned.js";

const ONE = ["Task 1.1: Write the lexer", "Task 1.2: Write the parser", "Task 1.3: Write the docs"];
const TWO = ["Task 2.1: Write the printer", "Task 2.2: Write the colours"];

/** Two phases; the second task of the first may be left out. */
const withOptional = {
  plan: "### Phase 1: A\n\n- [ ] **Task 1.1**: One\n- [ ] **Task 1.2**: Two\n\n### Phase 2: B\n\n- [ ] **Task 2.1**: Three\n",
  engine: { parsers: { spec_tasks_parser: leavingOut("1.2") } },
};

/** Reads and ticks as the library does; one task is optional. */
function leavingOut(id: string): SourceParser {
  return {
    parse: (text, file) => {
      const { plan, diagnostics } = parsePlan(text, { file });
      const mark = (task: PlanTask) => ({ ...task, optional: task.id === id });
      const phases = plan.phases.map((phase) => ({ ...phase, tasks: phase.tasks.map(mark) }));
      return { plan: { ...plan, phases }, diagnostics };
    },
    tick: (text, plan, { tasks, ...options }) => tasks.reduce((now, task) => tickTask(now, plan, task, options), text),
  };
}

/** A new first phase, whose tasks are ticked or not; all others have the next number. */
function inFront(text: string, mark = " "): string {
  const setup = ["Install", "Configure"]
    .map((name, index) => `- [${mark}] **Task 1.${index + 1}**: ${name}\n`)
    .join("");
  return text
    .replace("### Phase 2: Print", "### Phase 3: Print")
    .replaceAll("Task 2.", "Task 3.")
    .replaceAll("Task 1.", "Task 2.")
    .replace("### Phase 1: Parse", `### Phase 1: Setup\n\n${setup}\n### Phase 2: Parse`);
}

/** Makes the file fail for a while. */
const offline = () => {
  throw new Error("EROFS: read-only file system");
};

describe("a gate of a plan's phase that passes", () => {
  it("ticks the tasks that were claimed, and changes nothing else", async () => {
    const { engine, start, pass, text } = makePlanned();
    const sessionId = await start(1);
    expect(text()).toBe(PLAN);
    const answer = await pass(sessionId, 1);
    expect(answer).toMatchObject({ passed: true, ticks: { ticked: ["1.1", "1.2", "1.3"], unticked: [], missing: [] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(text().replaceAll("- [x]", "- [ ]")).toBe(PLAN);
    expect((await engine.getState(sessionId)).head.due).toBeUndefined();
    await pass(sessionId, 2);
    expect(tickedIn(text())).toEqual([...ONE, ...TWO]);
    expect((await engine.getState(sessionId)).head).toMatchObject({ status: "completed" });
  });

  it("ticks their criteria too where the workflow says so, or where a task has no box of its own", async () => {
    const all = makePlanned({ config: { tick_criteria: true } });
    await all.start(2);
    expect(tickedIn(all.text())).toHaveLength(6);
    const headings = "### Phase 1: A\n\n#### Task 1.1: One\n\n**Acceptance Criteria**:\n- [ ] Good\n- [ ] Better\n";
    const some = makePlanned({ plan: headings });
    const sessionId = await some.start(1);
    await some.pass(sessionId, 1, { tasks_completed: ["1.1"] });
    expect(tickedIn(some.text())).toEqual(["Good", "Better"]);
    await some.again().engine.getState(sessionId);
  });

  it("leaves alone what may be left out and was not claimed, and what is another phase's", async () => {
    const plan = "# Implementation Plan\n\n- [ ] 1. First\n\n- [ ]* 2. Second\n\n- [ ] 3. Third\n";
    const { engine, start, text } = makePlanned({ plan, config: { parser: "kiro" } });
    const sessionId = await start(1);
    const { structure } = await engine.getState(sessionId);
    expect(structure.phases[1]?.gate).toMatchObject({ tasks: expect.arrayContaining([{ id: "2", optional: true }]) });
    await engine.completePhase(sessionId, {
      phase: structure.phases[1]?.number ?? 0,
      evidence: { tasks_completed: ["1", "3", "9", ["2"], 2] },
    });
    expect(text()).toBe("# Implementation Plan\n\n- [x] 1. First\n\n- [ ]* 2. Second\n\n- [x] 3. Third\n");
  });

  it("finds tasks that have moved, keeps what was edited, and names those that have gone", async () => {
    const { start, pass, edit, text, engine } = makePlanned();
    const told: EngineNotifications["planTicked"][] = [];
    engine.on("planTicked", (payload) => told.push(payload));
    const sessionId = await start(1);
    edit((now) =>
      now
        .replace(
          "- [ ] **Task 1.1**: Write the lexer",
          "- [ ] **Task 1.1**: Something new\n- [ ] **Task 1.4**: Write the lexer",
        )
        .replace(/- \[ \] \*\*Task 1\.2.*?(?=- \[ \] \*\*Task 1\.3)/s, "")
        .replace("**Task 1.3**: Write the docs", "**Task 1.3**: Write better docs"),
    );
    expect(await pass(sessionId, 1)).toMatchObject({ ticks: { ticked: ["1.4", "1.3"], missing: ["1.2"] } });
    expect(tickedIn(text())).toEqual(["Task 1.4: Write the lexer", "Task 1.3: Write better docs"]);
    expect(told).toMatchObject([{ sessionId, ticked: ["1.4", "1.3"], unticked: [], missing: ["1.2"] }]);
  });

  it("takes as claimed what the gate accepted, also if the list has more", async () => {
    const { start, pass, text } = makePlanned();
    const sessionId = await start(1);
    const odd = [{ toString: 1, valueOf: 1 }, null, true, ["2.1"], 2.1];
    const evidence = { ...claims[1], tasks_completed: ["1.1", "1.2", "1.3", ...odd] };
    expect(await pass(sessionId, 1, evidence)).toMatchObject({
      passed: true,
      ticks: { ticked: ["1.1", "1.2", "1.3"] },
    });
    expect(tickedIn(text())).toEqual(ONE);
  });

  it("names what has nothing that could be ticked, and ticks the others", async () => {
    const plan = "### Phase 1: A\n\n#### Task 1.1: One\n\nText.\n\n#### Task 1.2: Two\n\n**Status**: done\n";
    const { engine, start, pass, text, tool } = makePlanned({ plan });
    const told: EngineNotifications["planTicked"][] = [];
    engine.on("planTicked", (payload) => told.push(payload));
    const sessionId = await start(1);
    const evidence = { tasks_completed: ["1.1", "1.2"] };
    const answer = await tool.dispatch({ action: "complete_phase", session_id: sessionId, phase: 1, evidence });
    expect(answer).toMatchObject({ checkpoint_passed: true, plan_ticked: ["1.2"], plan_unwritable: ["1.1"] });
    expect(told).toMatchObject([{ ticked: ["1.2"], unwritable: ["1.1"] }]);
    expect(text()).toBe(plan);
    expect((await pass(await start(1), 1, { tasks_completed: ["1.1", "1.2"] })).passed).toBe(true);
  });

  it("ticks marks of two units, and the others where one can't be set", async () => {
    const marks = makePlanned({ plan: PLAN.replace("- [ ] **Task 1.1**", "- [🚧] **Task 1.1**") });
    await marks.pass(await marks.start(1), 1);
    expect(tickedIn(marks.text())).toEqual(ONE);
    const wedged: SourceParser = {
      parse: (text, file) => parsePlan(text, { file }),
      tick: (text, plan, { tasks, ...options }) => {
        if (tasks.includes("1.2")) throw new Error("not this one");
        return tasks.reduce((now, task) => tickTask(now, plan, task, options), text);
      },
    };
    const { start, pass, text } = makePlanned({ engine: { parsers: { spec_tasks_parser: wedged } } });
    const answer = await pass(await start(1), 1);
    expect(answer).toMatchObject({ ticks: { ticked: ["1.1", "1.3"], missing: [], unwritable: ["1.2"] } });
    expect(tickedIn(text())).toEqual([ONE[0], ONE[2]]);
  });

  it.each([
    [
      "a phase put in front, and all numbers moved on",
      (text: string) => inFront(text),
      { ticked: ["2.1", "2.2", "2.3"], missing: [] },
      ["Task 2.1: Write the lexer", "Task 2.2: Write the parser", "Task 2.3: Write the docs"],
    ],
    [
      "a task moved to another phase, and its id given to another one",
      (text: string) =>
        text
          .replace("**Task 1.2**: Write the parser", "**Task 1.2**: Write the linter")
          .replace("- [ ] **Task 2.1**", "- [ ] **Task 2.3**: Write the parser\n- [ ] **Task 2.1**"),
      { ticked: ["1.1", "2.3", "1.3"], missing: [] },
      ["Task 1.1: Write the lexer", "Task 1.3: Write the docs", "Task 2.3: Write the parser"],
    ],
    [
      "a task that has gone, whose id is in another phase now",
      (text: string) => inFront(text).replace("- [ ] **Task 2.1**: Write the lexer\n", ""),
      { ticked: ["2.2", "2.3"], missing: ["1.1"] },
      ["Task 2.2: Write the parser", "Task 2.3: Write the docs"],
    ],
    [
      "two tasks that have changed their names",
      (text: string) =>
        text
          .replace("Write the lexer", "X")
          .replace("Write the docs", "Write the lexer")
          .replace(": X", ": Write the docs"),
      { ticked: ["1.3", "1.2", "1.1"], missing: [] },
      ["Task 1.1: Write the docs", "Task 1.2: Write the parser", "Task 1.3: Write the lexer"],
    ],
    [
      "a name that several have now",
      (text: string) => text.replace("Write the printer", "Write the lexer").replace("**Task 1.1**", "**Task 1.0**"),
      { ticked: ["1.0", "1.2", "1.3"], missing: [] },
      ["Task 1.0: Write the lexer", "Task 1.2: Write the parser", "Task 1.3: Write the docs"],
    ],
  ])("ticks the right tasks in a plan that was edited: %s", async (_, change, ticks, lines) => {
    const { start, pass, edit, text, engine } = makePlanned();
    const sessionId = await start(1);
    edit(change);
    expect(await pass(sessionId, 1)).toMatchObject({ ticks });
    expect(tickedIn(text())).toEqual(lines);
    await engine.rollback(sessionId, { to: 1 });
    expect(tickedIn(text())).toEqual([]);
  });

  it("has nothing due where sources are never written", async () => {
    const parser: SourceParser = { parse: (text, file) => parsePlan(text, { file }) };
    const { start, pass, text } = makePlanned({ engine: { parsers: { spec_tasks_parser: parser } } });
    const answer = await pass(await start(1), 1);
    expect(answer).not.toHaveProperty("ticks");
    expect(text()).toBe(PLAN);
  });

  it("clears what is due where the host's parser does not write any more", async () => {
    const { start, pass, plans, content, storage } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    const parser: SourceParser = { parse: (text, file) => parsePlan(text, { file }) };
    const later = makeEngine({ content, storage, plans, parsers: { spec_tasks_parser: parser } });
    expect((await later.engine.getState(sessionId)).head.due).toBeUndefined();
  });

  it("writes again where the file changed while it was written, and keeps the other's edit", async () => {
    const { start, pass, plans, edit, text } = makePlanned();
    const sessionId = await start(1);
    let edits = 0;
    plans.fault = (operation) => {
      if (operation !== "replace" || edits === 3) return;
      edits += 1;
      edit(
        (now) => `${now}
Edit ${edits}
`,
      );
    };
    expect(await pass(sessionId, 1)).toMatchObject({ ticks: { ticked: ["1.1", "1.2", "1.3"] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(text()).toContain("Edit 1\n\nEdit 2\n\nEdit 3");
  });

  it("is done when a reading has seen it: a text that somebody else put in its place is ticked again", async () => {
    const { start, pass, plans, memory, text } = makePlanned();
    const sessionId = await start(1);
    const before = text();
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      const done = await memory.replace(path, hash, next);
      // Somebody who had read the text before saves it with an edit of his own.
      memory.set(PLAN_PATH, `${before}\nEdited\n`);
      return done;
    };
    expect(await pass(sessionId, 1)).toMatchObject({ ticks: { ticked: ["1.1", "1.2", "1.3"] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(text()).toContain("Edited");
  });

  it("reads the claims from evidence that is stored outside of the log", async () => {
    const { start, pass, text } = makePlanned();
    const sessionId = await start(1);
    await pass(sessionId, 1, { ...claims[1], report: "x".repeat(100_000) });
    expect(tickedIn(text())).toEqual(ONE);
  });
});

describe("a tick that can't be written", () => {
  it("fails no call, is told, and is made good at the next call, by any engine", async () => {
    const { engine, start, pass, plans, text, again } = makePlanned();
    const sessionId = await start(1);
    const told: EngineNotifications["planTicksPending"][] = [];
    engine.on("planTicksPending", (payload) => told.push(payload));
    plans.fault = offline;
    const answer = await pass(sessionId, 1);
    expect(answer).toMatchObject({
      passed: true,
      ticks: { ticked: [], pending: "the host could not read or write it" },
    });
    expect(told).toMatchObject([{ sessionId, path: PLAN_PATH, error: new Error("EROFS: read-only file system") }]);
    const state = await engine.getState(sessionId);
    expect(state).toMatchObject({
      head: { due: { tick: [[1, 1]] } },
      plan: { ticks: { pending: expect.any(String) } },
    });
    plans.fault = () => {};
    expect((await again().engine.getPhase(sessionId)).plan?.ticks).toMatchObject({ ticked: ["1.1", "1.2", "1.3"] });
    expect(tickedIn(text())).toEqual(ONE);
    expect((await engine.getState(sessionId)).plan).not.toHaveProperty("ticks");
  });

  it.each([
    ["the file is gone", (): string | undefined => undefined, /there is no plan at/],
    ["a folder has its name", (): string | undefined => undefined, /there is no plan at/, `${PLAN_PATH}/tasks.md`],
    ["the file is no plan any more", () => "Hello.\n", /plan|phase/],
  ])("since %s", async (_, left, reason, inFolder = "") => {
    const { start, pass, memory, engine } = makePlanned();
    const sessionId = await start(1);
    memory.set(PLAN_PATH, left());
    if (inFolder !== "") memory.set(inFolder, PLAN);
    expect(await pass(sessionId, 1)).toMatchObject({ passed: true, ticks: { pending: expect.stringMatching(reason) } });
    expect((await engine.getPhase(sessionId)).plan?.unreadable).toMatch(reason);
    if (inFolder !== "") expect(memory.get(inFolder)).toBe(PLAN);
  });

  it("since the file changes again and again", async () => {
    const { start, pass, plans, edit } = makePlanned();
    const sessionId = await start(1);
    plans.fault = (operation) => {
      if (operation === "replace") edit((now) => `${now}\n`);
    };
    expect(await pass(sessionId, 1)).toMatchObject({ ticks: { pending: expect.stringContaining("again and again") } });
  });

  it("is written before the next command too, and by one that is refused", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    expect((await failure(pass(sessionId, 1))).code).toBe("PHASE_ALREADY_COMPLETED");
    expect(tickedIn(text())).toEqual(ONE);
    expect((await engine.history(sessionId)).map(({ status }) => status)).toEqual(["completed", "completed", "active"]);
  });

  it("of a session that is deleted is not due any more", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    await engine.deleteSession(sessionId);
    expect(text()).toBe(PLAN);
  });

  it("does not keep a session from being cleaned up", async () => {
    const { engine, start, pass, plans, clock } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    clock.advance(1000);
    expect((await engine.cleanup({ olderThan: 10 })).removed).toEqual([sessionId]);
  });
});

describe("a crash between commit and file", () => {
  it("leaves the tick due; the same call under its key gives the first answer, and writes it", async () => {
    const { storage, content, plans, start, text, again } = makePlanned();
    const sessionId = await start(1);
    // The process is gone once the commit is there: nothing of the plan is read or written.
    const dying = makeEngine({ storage, content });
    const request = { phase: 1, evidence: claims[1], idempotencyKey: "once" };
    await dying.engine.completePhase(sessionId, request);
    expect(text()).toBe(PLAN);
    const answer = await again().engine.completePhase(sessionId, request);
    expect(answer).toMatchObject({ passed: true, replayed: true, ticks: { ticked: ["1.1", "1.2", "1.3"] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(plans.reads).toBeGreaterThan(0);
  });

  it("after the file was written is made good by an event alone", async () => {
    const { storage, engine, start, pass, plans, memory, text } = makePlanned();
    const sessionId = await start(1);
    const { append } = storage;
    // The file is there, and the commit that says so is not.
    plans.replace = async (path, hash, next) => {
      const done = await memory.replace(path, hash, next);
      storage.append = () => Promise.reject(new Error("killed"));
      return done;
    };
    expect(await pass(sessionId, 1)).toMatchObject({ passed: true, ticks: { pending: expect.any(String) } });
    storage.append = append;
    const written = text();
    expect(tickedIn(written)).toEqual(ONE);
    plans.replace = () => Promise.reject(new Error("written twice"));
    expect((await engine.getState(sessionId)).head.due).toBeUndefined();
    expect(text()).toBe(written);
  });

  it("makes good all that is due at once, out of the log", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    await pass(sessionId, 2);
    plans.fault = () => {};
    expect((await engine.getState(sessionId)).plan?.ticks?.ticked).toEqual(["1.1", "1.2", "1.3", "2.1", "2.2"]);
    expect(tickedIn(text())).toEqual([...ONE, ...TWO]);
  });
});

describe("a rollback", () => {
  it("takes the ticks of the phases back that are no longer done, and no other's", async () => {
    const { engine, start, edit, text, pass } = makePlanned();
    const sessionId = await start(2);
    edit((now) => now.replace("- [ ] **Task 2.2**", "- [x] **Task 2.2**"));
    const back = await engine.rollback(sessionId, { to: 1 });
    expect(back.phase.plan?.ticks).toMatchObject({ unticked: ["1.1", "1.2", "1.3"], ticked: [] });
    expect(tickedIn(text())).toEqual([TWO[1]]);
    await pass(sessionId, 1);
    expect(tickedIn(text())).toEqual([...ONE, TWO[1]]);
  });

  it("leaves the ticks of a person, and of another session that passed before", async () => {
    const { engine, start, edit, text, pass } = makePlanned();
    const other = await start(1);
    const sessionId = await start(1);
    edit((now) => now.replace("- [ ] **Task 1.1**", "- [X] **Task 1.1**"));
    await pass(other, 1);
    await pass(sessionId, 1);
    expect((await engine.rollback(sessionId, { to: 1 })).phase.plan?.ticks).toMatchObject({ unticked: [] });
    expect(tickedIn(text())).toEqual(ONE);
    await engine.rollback(other, { to: 1 });
    expect(tickedIn(text())).toEqual([ONE[0]]);
    // What was taken back is nobody's any more: who ticks it then keeps it.
    edit((now) => now.replace("- [ ] **Task 1.2**", "- [x] **Task 1.2**"));
    await pass(other, 1);
    await engine.rollback(other, { to: 1 });
    expect(tickedIn(text())).toEqual(ONE.slice(0, 2));
    expect(await engine.audit(other)).toMatchObject({ intact: true });
  });

  it("of a phase that was claimed otherwise the second time ticks what the second time says", async () => {
    const { engine, plans, text, start, pass } = makePlanned(withOptional);
    const sessionId = await start(1);
    await pass(sessionId, 1, { tasks_completed: ["1.1", "1.2"] });
    expect(tickedIn(text())).toEqual(["Task 1.1: One", "Task 1.2: Two"]);
    plans.fault = offline;
    await engine.rollback(sessionId, { to: 1 });
    await pass(sessionId, 1, { tasks_completed: ["1.1"] });
    plans.fault = () => {};
    expect((await engine.getState(sessionId)).plan?.ticks).toMatchObject({ ticked: ["1.1"], unticked: ["1.2"] });
    expect(tickedIn(text())).toEqual(["Task 1.1: One"]);
  });
});

it("shows the state of the task itself, not of another one that has its id now", async () => {
  const { engine, start, edit } = makePlanned();
  const sessionId = await start(1);
  edit((now) => inFront(now, "x"));
  const { plan } = await engine.getPhase(sessionId);
  expect(plan?.tasks.map(({ id, state, ready }) => [id, state, ready])).toEqual([
    ["1.1", "pending", true],
    ["1.2", "pending", false],
    ["1.3", "pending", true],
  ]);
});

it("takes back no tick of another task after the numbers have moved on and a sync", async () => {
  const { engine, start, edit, text } = makePlanned();
  const sessionId = await start(2);
  edit((now) => inFront(now, "x"));
  await engine.syncPlan(sessionId);
  await engine.rollback(sessionId, { to: 1 });
  expect(tickedIn(text())).toEqual(["Task 1.1: Install", "Task 1.2: Configure"]);
});

describe("two engines on one storage", () => {
  it("write due ticks once, no matter who is first", async () => {
    const { engine, start, pass, plans, text, again, storage } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    const engines = [engine, again().engine, again().engine];
    await Promise.all(engines.map((one) => one.getPhase(sessionId)));
    expect(tickedIn(text())).toEqual(ONE);
    const events: string[] = [];
    for await (const { body } of storage.log(sessionId)) events.push(...(body.match(/plan_ticked/g) ?? []));
    expect(events).toEqual(["plan_ticked"]);
  });

  it("agree where one goes back while the other still writes", async () => {
    const { engine, start, pass, plans, memory, text, again } = makePlanned();
    const sessionId = await start(1);
    let late: Promise<unknown> | undefined;
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      // Between reading and writing, somebody else rolls back, and has nothing to take back yet.
      late = again().engine.rollback(sessionId, { to: 1 });
      await late;
      return memory.replace(path, hash, next);
    };
    await pass(sessionId, 1);
    expect(late).toBeDefined();
    expect(tickedIn(text())).toEqual([]);
    expect((await engine.getState(sessionId)).head).toMatchObject({ phase: 1, due: undefined });
  });

  it("agree where one goes back and passes again, with less, while the other still writes", async () => {
    const { engine, start, pass, plans, memory, text, storage, content } = makePlanned(withOptional);
    const sessionId = await start(1);
    // It reads no plans, so that all that it makes due is left to the first.
    const other = makeEngine({ storage, content, parsers: withOptional.engine.parsers }).engine;
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      await other.rollback(sessionId, { to: 1 });
      await other.completePhase(sessionId, { phase: 1, evidence: { tasks_completed: ["1.1"] } });
      return memory.replace(path, hash, next);
    };
    const answer = await pass(sessionId, 1, { tasks_completed: ["1.1", "1.2"] });
    expect(answer).toMatchObject({ ticks: { ticked: ["1.1"], unticked: ["1.2"] } });
    expect(tickedIn(text())).toEqual(["Task 1.1: One"]);
    expect((await engine.getState(sessionId)).head).toMatchObject({ phase: 2, due: undefined });
  });

  it("lose no tick to each other in many rounds", async () => {
    const { engine, start, pass, text, again } = makePlanned();
    const sessionId = await start(1);
    const other = again().engine;
    for (let round = 0; round < 5; round += 1) {
      await pass(sessionId, 1);
      await Promise.all([other.rollback(sessionId, { to: 1 }), engine.getState(sessionId), other.getPhase(sessionId)]);
      await other.getState(sessionId);
      expect(tickedIn(text())).toEqual([]);
    }
  });
});
