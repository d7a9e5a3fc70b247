import type { EngineNotifications } from "phasegate";
import { type PlanTask, parsePlan, type SourceParser, tickTask } from "phasegate/plan";
import { describe, expect, it, vi } from "vitest";
import { builtInParsers } from "../../../src/plan/parse-plan.js";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";
import { claims, makePlanned, PLAN, PLAN_PATH, tickedIn } from "../../support/planned.js";
import { submitTo } from "../../support/submit.js";

/** The boxes of a phase's validation gate are ticked with its tasks. */
const GATE = ["All tests pass", "The docs are read by somebody"];
const ONE = ["Task 1.1: Write the lexer", "Task 1.2: Write the parser", "Task 1.3: Write the docs", ...GATE];
const TWO = ["Task 2.1: Write the printer", "Task 2.2: Write the colours", "Round trips"];

/** Two phases; the second task of the first is optional. */
const withOptional = {
  plan: "### Phase 1: A\n\n- [ ] **Task 1.1**: One\n- [ ] **Task 1.2**: Two\n\n### Phase 2: B\n\n- [ ] **Task 2.1**: Three\n",
  engine: { parsers: { spec_tasks_parser: leavingOut("1.2") } },
};

/** Parses and ticks as the library does; one task is optional. */
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

/** Inserts a new first phase, with the given mark for its tasks; the numbers of all others move by one. */
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

/** Fails every call on the file. */
const offline = () => {
  throw new Error("EROFS: read-only file system");
};

describe("a passed gate of a phase of a plan", () => {
  it("ticks the claimed tasks, and changes nothing else", async () => {
    const { engine, start, pass, text } = makePlanned();
    const sessionId = await start(1);
    expect(text()).toBe(PLAN);
    const answer = await pass(sessionId, 1);
    expect(answer).toMatchObject({ passed: true, ticks: { ticked: ["1.1", "1.2", "1.3"], unticked: [], missing: [] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(text().replaceAll("- [x]", "- [ ]")).toBe(PLAN);
    expect((await engine.session(sessionId).state()).head.due).toBeUndefined();
    await pass(sessionId, 2);
    expect(tickedIn(text())).toEqual([...ONE, ...TWO]);
    expect((await engine.session(sessionId).state()).head).toMatchObject({ status: "completed" });
  });

  it("parses each version of the text once, and after a foreign edit anew", async () => {
    const plan = "### Phase 1: A\n\n- [ ] **Task 1.1**: One\n\n### Phase 2: B\n\n- [ ] **Task 2.1**: Two\n";
    const { engine, start, pass, edit, text } = makePlanned({ plan });
    const sessionId = await start(1);
    const parse = vi.spyOn(builtInParsers.spec_tasks_parser ?? expect.fail(), "parse");
    await pass(sessionId, 1, { tasks_completed: ["1.1"] });
    await engine.session(sessionId).phase();
    expect(parse.mock.calls.map(([read]) => read)).toEqual([plan.replace("[ ] **Task 1.1", "[x] **Task 1.1")]);
    parse.mockRestore();
    edit((now) => now.replace("### Phase 2: B\n", "### Phase 2: B\n\nWords.\n"));
    await pass(sessionId, 2, { tasks_completed: ["2.1"] });
    expect(tickedIn(text())).toEqual(["Task 1.1: One", "Task 2.1: Two"]);
  });

  it("ticks criteria too if the workflow requires it, or if a task has no box of its own", async () => {
    const all = makePlanned({ config: { tick_criteria: true } });
    await all.start(2);
    expect(tickedIn(all.text())).toHaveLength(8);
    const headings = "### Phase 1: A\n\n#### Task 1.1: One\n\n**Acceptance Criteria**:\n- [ ] Good\n- [ ] Better\n";
    const some = makePlanned({ plan: headings });
    const sessionId = await some.start(1);
    await some.pass(sessionId, 1, { tasks_completed: ["1.1"] });
    expect(tickedIn(some.text())).toEqual(["Good", "Better"]);
    await some.again().engine.session(sessionId).state();
  });

  it("does not tick optional tasks that were not claimed, nor those of other phases", async () => {
    const plan = "# Implementation Plan\n\n- [ ] 1. First\n\n- [ ]* 2. Second\n\n- [ ] 3. Third\n";
    const { engine, start, text } = makePlanned({ plan, config: { parser: "kiro" } });
    const sessionId = await start(1);
    const { structure } = await engine.session(sessionId).state();
    expect(structure.phases[1]?.gate).toMatchObject({ tasks: expect.arrayContaining([{ id: "2", optional: true }]) });
    await engine
      .session(sessionId)
      .completePhase(structure.phases[1]?.number ?? 0, { tasks_completed: ["1", "3", "9", ["2"], 2] });
    expect(text()).toBe("# Implementation Plan\n\n- [x] 1. First\n\n- [ ]* 2. Second\n\n- [x] 3. Third\n");
  });

  it("finds moved tasks, keeps edits, and names tasks that are missing", async () => {
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
    expect(tickedIn(text())).toEqual(["Task 1.4: Write the lexer", "Task 1.3: Write better docs", ...GATE]);
    expect(told).toMatchObject([{ sessionId, ticked: ["1.4", "1.3"], unticked: [], missing: ["1.2"] }]);
  });

  it("ticks what the gate accepted, even if the list contains more", async () => {
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

  it("names tasks without anything to tick, and ticks the others", async () => {
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

  it("ticks marks of two UTF-16 units, and the other tasks if one cannot be ticked", async () => {
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
      "a phase inserted in front, and all numbers moved",
      (text: string) => inFront(text),
      { ticked: ["2.1", "2.2", "2.3"], missing: [] },
      ["Task 2.1: Write the lexer", "Task 2.2: Write the parser", "Task 2.3: Write the docs", ...GATE],
    ],
    [
      "a task moved to another phase, and its id given to another one",
      (text: string) =>
        text
          .replace("**Task 1.2**: Write the parser", "**Task 1.2**: Write the linter")
          .replace("- [ ] **Task 2.1**", "- [ ] **Task 2.3**: Write the parser\n- [ ] **Task 2.1**"),
      { ticked: ["1.1", "2.3", "1.3"], missing: [] },
      ["Task 1.1: Write the lexer", "Task 1.3: Write the docs", ...GATE, "Task 2.3: Write the parser"],
    ],
    [
      "a removed task whose id is now in another phase",
      (text: string) => inFront(text).replace("- [ ] **Task 2.1**: Write the lexer\n", ""),
      { ticked: ["2.2", "2.3"], missing: ["1.1"] },
      ["Task 2.2: Write the parser", "Task 2.3: Write the docs", ...GATE],
    ],
    [
      "two renamed tasks",
      (text: string) =>
        text
          .replace("Write the lexer", "X")
          .replace("Write the docs", "Write the lexer")
          .replace(": X", ": Write the docs"),
      { ticked: ["1.3", "1.2", "1.1"], missing: [] },
      ["Task 1.1: Write the docs", "Task 1.2: Write the parser", "Task 1.3: Write the lexer", ...GATE],
    ],
    [
      "a name that several tasks have",
      (text: string) => text.replace("Write the printer", "Write the lexer").replace("**Task 1.1**", "**Task 1.0**"),
      { ticked: ["1.0", "1.2", "1.3"], missing: [] },
      ["Task 1.0: Write the lexer", "Task 1.2: Write the parser", "Task 1.3: Write the docs", ...GATE],
    ],
  ])("ticks the right tasks in an edited plan: %s", async (_, change, ticks, lines) => {
    const { start, pass, edit, text, engine } = makePlanned();
    const sessionId = await start(1);
    edit(change);
    expect(await pass(sessionId, 1)).toMatchObject({ ticks });
    expect(tickedIn(text())).toEqual(lines);
    await engine.session(sessionId).rollback(1);
    expect(tickedIn(text())).toEqual([]);
  });

  it("has no due ticks if sources are never written", async () => {
    const parser: SourceParser = { parse: (text, file) => parsePlan(text, { file }) };
    const { start, pass, text } = makePlanned({ engine: { parsers: { spec_tasks_parser: parser } } });
    const answer = await pass(await start(1), 1);
    expect(answer).toEqual(expect.not.objectContaining({ ticks: expect.anything() }));
    expect(text()).toBe(PLAN);
  });

  it("clears due ticks if the host's parser no longer writes", async () => {
    const { start, pass, plans, content, storage } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    const parser: SourceParser = { parse: (text, file) => parsePlan(text, { file }) };
    const later = makeEngine({ content, storage, plans, parsers: { spec_tasks_parser: parser } });
    expect((await later.engine.session(sessionId).state()).head.due).toBeUndefined();
  });

  it("writes again if the file changed meanwhile, and keeps the other edit", async () => {
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

  it("is done only when a read confirms it: a text that replaced it is ticked again", async () => {
    const { start, pass, plans, memory, text } = makePlanned();
    const sessionId = await start(1);
    const before = text();
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      const done = await memory.replace(path, hash, next);
      // Another writer that had read the text before saves it with an edit of its own.
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

describe("a tick that cannot be written", () => {
  it("fails no call, is reported, and is repeated by the next call of any engine", async () => {
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
    const state = await engine.session(sessionId).state();
    expect(state).toMatchObject({
      head: { due: { tick: [[1, 1]] } },
      plan: { ticks: { pending: expect.any(String) } },
    });
    plans.fault = () => {};
    expect((await again().engine.session(sessionId).phase()).plan?.ticks).toMatchObject({
      ticked: ["1.1", "1.2", "1.3"],
    });
    expect(tickedIn(text())).toEqual(ONE);
    expect((await engine.session(sessionId).state()).plan?.ticks).toBeUndefined();
  });

  it.each([
    ["the file is missing", (): string | undefined => undefined, /there is no plan at/],
    ["a folder has its name", (): string | undefined => undefined, /there is no plan at/, `${PLAN_PATH}/tasks.md`],
    ["the file is no longer a plan", () => "Hello.\n", /plan|phase/],
  ])("is reported if %s", async (_, left, reason, inFolder = "") => {
    const { start, pass, memory, engine } = makePlanned();
    const sessionId = await start(1);
    memory.set(PLAN_PATH, left());
    if (inFolder !== "") memory.set(inFolder, PLAN);
    expect(await pass(sessionId, 1)).toMatchObject({ passed: true, ticks: { pending: expect.stringMatching(reason) } });
    expect((await engine.session(sessionId).phase()).plan?.unreadable).toMatch(reason);
    if (inFolder !== "") expect(memory.get(inFolder)).toBe(PLAN);
  });

  it("is reported if the file changes again and again", async () => {
    const { start, pass, plans, edit } = makePlanned();
    const sessionId = await start(1);
    plans.fault = (operation) => {
      if (operation === "replace") edit((now) => `${now}\n`);
    };
    expect(await pass(sessionId, 1)).toMatchObject({ ticks: { pending: expect.stringContaining("again and again") } });
  });

  it("is written before the next command, even if that command is refused", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    expect((await failure(pass(sessionId, 1))).code).toBe("PHASE_ALREADY_COMPLETED");
    expect(tickedIn(text())).toEqual(ONE);
    expect((await engine.session(sessionId).history()).map(({ status }) => status)).toEqual([
      "completed",
      "completed",
      "active",
    ]);
  });

  it("is no longer due if the session is deleted", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    await engine.session(sessionId).delete();
    expect(text()).toBe(PLAN);
  });

  it("does not prevent the cleanup of a session", async () => {
    const { engine, start, pass, plans, clock } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    clock.advance(1000);
    expect((await engine.cleanup({ olderThan: 10 })).removed).toEqual([sessionId]);
  });
});

describe("a crash between the commit and the write of the file", () => {
  it("leaves the tick due; the same call with its key returns the first answer and writes it", async () => {
    const { storage, content, plans, start, text, again } = makePlanned();
    const sessionId = await start(1);
    // The process ends after the commit: nothing of the plan is read or written.
    const dying = makeEngine({ storage, content });
    const request = { phase: 1, evidence: claims[1], idempotencyKey: "once" };
    await submitTo(dying.engine.session(sessionId), request);
    expect(text()).toBe(PLAN);
    const answer = await submitTo(again().engine.session(sessionId), request);
    expect(answer).toMatchObject({ passed: true, replayed: true, ticks: { ticked: ["1.1", "1.2", "1.3"] } });
    expect(tickedIn(text())).toEqual(ONE);
    expect(plans.reads).toBeGreaterThan(0);
  });

  it("after the write is completed by an event alone", async () => {
    const { storage, engine, start, pass, plans, memory, text } = makePlanned();
    const sessionId = await start(1);
    const { append } = storage;
    // The file is written, but the commit that records it is not.
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
    expect((await engine.session(sessionId).state()).head.due).toBeUndefined();
    expect(text()).toBe(written);
  });

  it("is completed for all due phases at once, from the log", async () => {
    const { engine, start, pass, plans, text } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    await pass(sessionId, 2);
    plans.fault = () => {};
    expect((await engine.session(sessionId).state()).plan?.ticks?.ticked).toEqual(["1.1", "1.2", "1.3", "2.1", "2.2"]);
    expect(tickedIn(text())).toEqual([...ONE, ...TWO]);
  });
});

describe("a rollback", () => {
  it("removes the ticks of phases that are no longer completed, and no others", async () => {
    const { engine, start, edit, text, pass } = makePlanned();
    const sessionId = await start(2);
    edit((now) => now.replace("- [ ] **Task 2.2**", "- [x] **Task 2.2**"));
    const back = await engine.session(sessionId).rollback(1);
    expect(back.phase.plan?.ticks).toMatchObject({ unticked: ["1.1", "1.2", "1.3"], ticked: [] });
    expect(tickedIn(text())).toEqual([TWO[1]]);
    await pass(sessionId, 1);
    expect(tickedIn(text())).toEqual([...ONE, TWO[1]]);
  });

  it("keeps the ticks of a person, and of another session that passed before", async () => {
    const { engine, start, edit, text, pass } = makePlanned();
    const other = await start(1);
    const sessionId = await start(1);
    edit((now) => now.replace("- [ ] **Task 1.1**", "- [X] **Task 1.1**"));
    await pass(other, 1);
    await pass(sessionId, 1);
    expect((await engine.session(sessionId).rollback(1)).phase.plan?.ticks).toMatchObject({ unticked: [] });
    expect(tickedIn(text())).toEqual(ONE);
    await engine.session(other).rollback(1);
    expect(tickedIn(text())).toEqual([ONE[0]]);
    // A removed tick has no owner: whoever ticks the task next keeps the tick.
    edit((now) => now.replace("- [ ] **Task 1.2**", "- [x] **Task 1.2**"));
    await pass(other, 1);
    await engine.session(other).rollback(1);
    expect(tickedIn(text())).toEqual(ONE.slice(0, 2));
    expect(await engine.session(other).audit()).toMatchObject({ intact: true });
  });

  it("keeps the boxes of the validation gate that were ticked before, also where the gate was edited", async () => {
    const { engine, start, edit, text, pass } = makePlanned();
    const sessionId = await start(1);
    edit((now) => now.replace("- [ ] The docs are read", "- [x] The docs are read"));
    await pass(sessionId, 1);
    edit((now) => now.replace("- [x] All tests pass\n", "- [ ] Nobody waits\n- [x] All tests pass\n"));
    expect(tickedIn(text())).toEqual(ONE);
    await engine.session(sessionId).rollback(1);
    expect(tickedIn(text())).toEqual([GATE[1]]);
    edit((now) => now.replace("- [ ] All tests pass\n", ""));
    await pass(sessionId, 1);
    expect(tickedIn(text())).toEqual([...ONE.slice(0, 3), GATE[1]]);
  });

  it("of a plan whose items have the same text, or no box, ticks what there is", async () => {
    const twice = PLAN.replace("- [ ] The docs are read by somebody", "- [ ] All tests pass\n- A person has read it");
    const { engine, start, text } = makePlanned({ plan: twice });
    const claimed = { ...claims[1], validation_gate: { 1: true, 2: true, 3: true } };
    const sessionId = await start(1);
    expect(await engine.session(sessionId).completePhase(1, claimed)).toMatchObject({ passed: true });
    expect(tickedIn(text())).toEqual([...ONE.slice(0, 3), "All tests pass", "All tests pass"]);
    await engine.session(sessionId).rollback(1);
    expect(tickedIn(text())).toEqual([]);
  });

  it("to a phase that is then claimed differently leads to the ticks of the second claim", async () => {
    const { engine, plans, text, start, pass } = makePlanned(withOptional);
    const sessionId = await start(1);
    await pass(sessionId, 1, { tasks_completed: ["1.1", "1.2"] });
    expect(tickedIn(text())).toEqual(["Task 1.1: One", "Task 1.2: Two"]);
    plans.fault = offline;
    await engine.session(sessionId).rollback(1);
    await pass(sessionId, 1, { tasks_completed: ["1.1"] });
    plans.fault = () => {};
    expect((await engine.session(sessionId).state()).plan?.ticks).toMatchObject({ ticked: ["1.1"], unticked: ["1.2"] });
    expect(tickedIn(text())).toEqual(["Task 1.1: One"]);
  });
});

it("shows the state of the task itself, not of another task that now has its id", async () => {
  const { engine, start, edit } = makePlanned();
  const sessionId = await start(1);
  edit((now) => inFront(now, "x"));
  const { plan } = await engine.session(sessionId).phase();
  expect(plan?.tasks.map(({ id, state, ready }) => [id, state, ready])).toEqual([
    ["1.1", "pending", true],
    ["1.2", "pending", false],
    ["1.3", "pending", true],
  ]);
});

it("removes no tick of another task after numbers have moved and a sync", async () => {
  const { engine, start, edit, text } = makePlanned();
  const sessionId = await start(2);
  edit((now) => inFront(now, "x"));
  await engine.session(sessionId).syncPlan();
  await engine.session(sessionId).rollback(1);
  expect(tickedIn(text())).toEqual(["Task 1.1: Install", "Task 1.2: Configure"]);
});

describe("two engines on one storage", () => {
  it("write due ticks once, in any order", async () => {
    const { engine, start, pass, plans, text, again, storage } = makePlanned();
    const sessionId = await start(1);
    plans.fault = offline;
    await pass(sessionId, 1);
    plans.fault = () => {};
    const engines = [engine, again().engine, again().engine];
    await Promise.all(engines.map((one) => one.session(sessionId).phase()));
    expect(tickedIn(text())).toEqual(ONE);
    const events: string[] = [];
    for await (const { body } of storage.log(sessionId)) events.push(...(body.match(/plan_ticked/g) ?? []));
    expect(events).toEqual(["plan_ticked"]);
  });

  it("agree if one rolls back while the other writes", async () => {
    const { engine, start, pass, plans, memory, text, again } = makePlanned();
    const sessionId = await start(1);
    let late: Promise<unknown> | undefined;
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      // Between reading and writing, the other engine rolls back, and has nothing to remove yet.
      late = again().engine.session(sessionId).rollback(1);
      await late;
      return memory.replace(path, hash, next);
    };
    await pass(sessionId, 1);
    expect(late).toBeDefined();
    expect(tickedIn(text())).toEqual([]);
    expect((await engine.session(sessionId).state()).head).toMatchObject({ phase: 1, due: undefined });
  });

  it("agree if one rolls back and passes again with fewer tasks while the other writes", async () => {
    const { engine, start, pass, plans, memory, text, storage, content } = makePlanned(withOptional);
    const sessionId = await start(1);
    // It reads no plans, so that all of its ticks stay due for the first.
    const other = makeEngine({ storage, content, parsers: withOptional.engine.parsers }).engine;
    plans.replace = async (path, hash, next) => {
      plans.replace = (...args) => memory.replace(...args);
      await other.session(sessionId).rollback(1);
      await other.session(sessionId).completePhase(1, { tasks_completed: ["1.1"] });
      return memory.replace(path, hash, next);
    };
    const answer = await pass(sessionId, 1, { tasks_completed: ["1.1", "1.2"] });
    expect(answer).toMatchObject({ ticks: { ticked: ["1.1"], unticked: ["1.2"] } });
    expect(tickedIn(text())).toEqual(["Task 1.1: One"]);
    expect((await engine.session(sessionId).state()).head).toMatchObject({ phase: 2, due: undefined });
  });

  it("lose no tick in many rounds", async () => {
    const { engine, start, pass, text, again } = makePlanned();
    const sessionId = await start(1);
    const other = again().engine;
    for (let round = 0; round < 5; round += 1) {
      await pass(sessionId, 1);
      await Promise.all([
        other.session(sessionId).rollback(1),
        engine.session(sessionId).state(),
        other.session(sessionId).phase(),
      ]);
      await other.session(sessionId).state();
      expect(tickedIn(text())).toEqual([]);
    }
  });
});
