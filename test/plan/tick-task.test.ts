import { describe, expect, it } from "vitest";
import { builtInParsers, parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";

const TEXT =
  "\uFEFF## Phase 1: A\r\n\r\n- [ ] **Task 1.1**: a\r\n\t- [ ] one\r\n\t- [X] two\r\n* [~] **Task 1.2**: b\r\n";

describe("tickTask", () => {
  it("changes one character, and keeps tabs, line ends and the byte order mark", () => {
    const { plan } = parsePlan(TEXT);
    expect(tickTask(TEXT, plan, "1.1")).toBe(TEXT.replace("[ ] **Task 1.1", "[x] **Task 1.1"));
    expect(tickTask(TEXT, plan, "1.2")).toBe(TEXT.replace("[~]", "[x]"));
  });

  it("ticks the criteria on request", () => {
    const { plan } = parsePlan(TEXT);
    const ticked = tickTask(TEXT, plan, "1.1", { criteria: true });
    expect(ticked).toBe(TEXT.replace("[ ] **Task 1.1", "[x] **Task 1.1").replace("[ ] one", "[x] one"));
    const back = tickTask(ticked, parsePlan(ticked).plan, "1.1", { criteria: true, done: false });
    expect(back).toBe(TEXT.replace("[X]", "[ ]"));
  });

  it("changes nothing the second time, and unticks only what is ticked", () => {
    const done = TEXT.replace("[ ] **Task 1.1", "[X] **Task 1.1");
    expect(tickTask(done, parsePlan(done).plan, "1.1")).toBe(done);
    const { plan } = parsePlan(TEXT);
    expect(tickTask(TEXT, plan, "1.1", { done: false })).toBe(TEXT);
  });

  it("fills empty brackets, keeps wide ones, and replaces marks of any length", () => {
    const tick = (box: string) => {
      const text = `## Phase 1: A\n- ${box} **Task 1.1**: a\n`;
      return tickTask(text, parsePlan(text).plan, "1.1").split("\n")[1];
    };
    expect(tick("[]")).toBe("- [x] **Task 1.1**: a");
    expect(tick("[  ]")).toBe("- [x ] **Task 1.1**: a");
    expect(tick("[🎯]")).toBe("- [x] **Task 1.1**: a");
    expect(tick("[✅]")).toBe("- [✅] **Task 1.1**: a");
  });

  it("changes only criteria for a task without a checkbox", () => {
    const text = "## Phase 1: A\n### Task 1.1: a\n- [ ] one\n";
    const { plan } = parsePlan(text);
    expect(tickTask(text, plan, "1.1")).toBe(text);
    expect(tickTask(text, plan, "1.1", { criteria: true })).toBe(text.replace("[ ]", "[x]"));
  });

  it("ticks no criterion that is a plain bullet", () => {
    const text = "## Phase 1: A\n- [ ] Task 1.1: a\n  **Acceptance Criteria**:\n  - one\n";
    const { plan } = parsePlan(text);
    expect(plan.phases[0]?.tasks[0]?.acceptanceCriteria).toMatchObject([{ text: "one" }]);
    expect(tickTask(text, plan, "1.1", { criteria: true })).toBe(text.replace("[ ]", "[x]"));
  });

  it.each([
    ["Pending", "Done"],
    ["PENDING", "DONE"],
    ["in Progress", "done"],
    ["⏳ Pending", "✅ Done"],
    ["⏳Pending", "✅Done"],
    ["⏳  pending", "✅  done"],
    ["未着手", "完了"],
    ["offen", "fertig"],
    ["ausstehend", "fertig"],
    ["Wartend", "Done"],
  ])("writes the word for done as the other one is written: %s", (before, after) => {
    const text = (word: string) => `## Phase 1: A\n### Task 1.1: a\n**Status:** ${word}\n`;
    const { plan } = parsePlan(text(before), { words: { pending: ["wartend"] } });
    expect(tickTask(text(before), plan, "1.1")).toBe(text(after));
  });

  it("refuses an unknown id, and a text that differs from the plan's", () => {
    const { plan } = parsePlan(TEXT);
    const refusal = (field: string, remedy: string) =>
      expect.objectContaining({
        ...{ code: "INVALID_INPUT", remedy: expect.stringContaining(remedy) },
        details: expect.objectContaining({ field }),
      });
    expect(() => tickTask(TEXT, plan, "1.3")).toThrowError(refusal("taskId", "Did you mean 1."));
    expect(() => tickTask(TEXT, plan, "something else")).toThrowError(refusal("taskId", "Use the id"));
    expect(() => tickTask(`# New\n${TEXT}`, plan, "1.1")).toThrowError(refusal("markdown", "parsePlan"));
    expect(() => tickTask(TEXT.replace("[~]", "[x]"), plan, "1.2")).toThrowError(refusal("markdown", "parsePlan"));
  });
});

describe("parsePlan", () => {
  it("is told the name of the source, and refuses one that is too long", () => {
    expect(parsePlan("## Phase 1: A\n- [?] a\n").diagnostics).toMatchObject([{ file: "tasks.md" }]);
    expect(parsePlan("## Phase 1: A\n- [?] a\n", { file: "b.md" }).diagnostics).toMatchObject([{ file: "b.md" }]);
    expect(() => parsePlan(" ".repeat(5 * 1024 * 1024 + 1))).toThrowError("has more than 5242880 characters");
  });
});

describe("built-in parsers", () => {
  it("tick the tasks of a source, and ignore unknown ids", () => {
    const parser = builtInParsers.spec_tasks_parser;
    const { plan } = parser?.parse(TEXT, "tasks.md") ?? {};
    if (plan === undefined) throw new Error("no plan");
    const ticked = parser?.tick?.(TEXT, plan, { tasks: ["1.1", "1.2", "7.7"], criteria: false, done: true });
    expect(ticked).toBe(TEXT.replace("[ ] **Task 1.1", "[x] **Task 1.1").replace("[~]", "[x]"));
  });

  it("tick items of gates by their places, and ignore those that are not there", () => {
    const text =
      "## Phase 1: A\n- [ ] Task 1.1: a\n  - [ ] c\n\n**Gate**:\n- [ ] one\n- [ ] two\n## Phase 3: B\n- [ ] Task 3.1: b\n\n**Gate**:\n- three\n";
    const parser = builtInParsers.markdown;
    const { plan } = parser?.parse(text, "tasks.md") ?? {};
    if (plan === undefined) throw new Error("no plan");
    const tick = (phase: number, places: readonly number[]) =>
      parser?.tick?.(text, plan, { tasks: [], criteria: false, done: true, items: [{ phase, places }] });
    expect(tick(1, [1])).toBe(text.replace("[ ] two", "[x] two"));
    expect(tick(1, [0, 1, 7])).toBe(text.replace("[ ] one", "[x] one").replace("[ ] two", "[x] two"));
    expect([tick(1, []), tick(2, [0]), tick(3, [0])]).toEqual([text, text, text]);
    const [before, after] = [
      { tasks: ["1.1"], criteria: true, done: true },
      text.replace("[ ] Task 1.1", "[x] Task 1.1"),
    ];
    expect(parser?.tick?.(text, plan, before)).toBe(after.replace("[ ] c", "[x] c"));
  });

  it.each(["spec_tasks_parser", "markdown"])(
    "%s reads a file that ends with .json as task-master's, and ticks it",
    (name) => {
      const text = '{"tasks": [{"id": 1, "title": "A", "status": "pending"}]}';
      const parser = builtInParsers[name];
      const { plan } = parser?.parse(text, "tasks/Tasks.JSON") ?? {};
      if (plan === undefined) throw new Error("no plan");
      expect(plan.dialect).toBe("task-master");
      const ticked = parser?.tick?.(text, plan, { tasks: ["1"], criteria: false, done: true });
      expect(ticked).toBe(text.replace("pending", "done"));
    },
  );

  it.each([
    ['{"tasks": [{"id": 1, "title": "A"}]}', "tasks.md", "task-master"],
    ['\uFEFF\n {\n "tasks": [{"id": 1, "title": "A"}]}', "tasks.md", "task-master"],
    ['{"tasks":[{"id": 1, "title": "A"}]}', "", "task-master"],
    ["# Plan\n- [ ] a\n", "tasks.json.md", "plain"],
    ["{draft}\n# Plan\n- [ ] a\n", "tasks.md", "plain"],
    ['# Plan\n- [ ] write {"a": 1}\n', "tasks.md", "plain"],
  ])("know a tasks.json by its name or how it begins: %j in %s", (text, file, dialect) => {
    expect(builtInParsers.markdown?.parse(text, file).plan.dialect).toBe(dialect);
  });

  it.each([
    ["{}", "tasks.md"],
    ["- [ ] a", "tasks.json"],
    ["- [ ] a", "TASKS.JSON"],
  ])("say what a tasks.json lacks: %j in %s", (text, file) => {
    expect(() => builtInParsers.markdown?.parse(text, file)).toThrowError(/JSON|tasks/);
    expect(() => builtInParsers.markdown?.parse(text, file)).toThrowError(
      expect.objectContaining({ message: expect.not.stringContaining("no phase") }),
    );
  });

  it("read a source in their dialect, with its name in errors", () => {
    const text = "## Phase 1: A\n- [ ] T001 a\n";
    const id = (parser: string) => builtInParsers[parser]?.parse(text, "f").plan.phases[0]?.tasks[0]?.id;
    expect(["spec_tasks_parser", "spec_tasks_md", "markdown", "spec-kit", "kiro", "praxis-os"].map(id)).toEqual([
      ...["T001", "T001", "T001", "T001", "T001", "1.1"],
    ]);
    const tasks = '{"tasks": [{"id": 1, "title": "A"}]}';
    expect(builtInParsers["task-master"]?.parse(tasks, "f").plan.dialect).toBe("task-master");
    for (const name of ["markdown", "plain", "task-master"])
      expect(() => builtInParsers[name]?.parse("", "some.md")).toThrowError(
        expect.objectContaining({ code: "PLAN_PARSE", details: expect.objectContaining({ file: "some.md", line: 1 }) }),
      );
    expect(() => parsePlan("")).toThrowError(expect.objectContaining({ details: { file: "tasks.md", line: 1 } }));
  });

  it("exist for each dialect", () => {
    for (const name of ["praxis-os", "spec-kit", "openspec", "kiro", "spec-workflow", "bmad", "plain"]) {
      expect(
        builtInParsers[name]?.parse("# A\n- [ ] Task 1: b\n## Tasks / Subtasks\n- [ ] Task 2: c\n", "f").plan.dialect,
      ).toBe(name);
    }
  });
});
