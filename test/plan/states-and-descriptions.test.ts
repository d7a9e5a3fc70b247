import { describe, expect, it } from "vitest";
import { chooseDialect, DIALECT_NAMES } from "../../src/plan/dialects.js";
import { uniqueIds } from "../../src/plan/ids.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTasks, withEdits } from "../../src/plan/tick.js";
import { lines, taskOf } from "./outline.js";

describe("the dialect of a plan", () => {
  it.each([
    ["bmad", "## Tasks / Subtasks"],
    ["bmad", "text\n### tasks/subtasks\n"],
    ["spec-workflow", "  - _Prompt: do it_"],
    ["spec-workflow", "_Leverage: a.ts_"],
    ["spec-kit", "- [ ] T001 a"],
    ["spec-kit", "text\n  *  [x]  **T123** a"],
    ["spec-kit", "+ [ ] TXXX a"],
    ["spec-kit", "- [] T001"],
    ["praxis-os", "- [ ] **Task 1.1**: a"],
    ["praxis-os", "## Task 11.22: a"],
    ["praxis-os", "text\n * Task 1.1"],
    ["praxis-os", "##  Task 1.1"],
    ["praxis-os", "-  Task 1.1"],
    ["praxis-os", "task  1.1"],
    ["praxis-os", "- []__Task 1.1__"],
    ["kiro", "_Requirements: 1.1_"],
    ["kiro", "_Requirement: 1.1_"],
    ["kiro", "**Validates: Requirements 1.1**"],
    ["kiro", "text\n  - [ ]* optional"],
    ["kiro", "-  [ ]* optional"],
    ["kiro", "- []* optional"],
    ["openspec", "## 1. Setup"],
    ["openspec", "text\n###### 12) Setup"],
    ["openspec", "##  1. Setup"],
    ["openspec", "- [ ] 1.1 a"],
    ["openspec", "-  [ ]  1.1 a"],
    ["openspec", "- [] 1 a"],
    ["openspec", " 1. [x] 12 a"],
    ["openspec", "12) [x] 3) a"],
    ["plain", ""],
    ["plain", "#### Tasks / Subtasks"],
    ["plain", "Tasks / Subtasks"],
    ["plain", "- [ ] T01 a"],
    ["plain", "- [ ] T0012 a"],
    ["plain", "a - [ ] T001 a"],
    ["plain", "- [ ]\nT001"],
    ["plain", "- [ ] Task 1: a"],
    ["plain", "a Task 1.1"],
    ["plain", "# Task 1.1"],
    ["plain", "a - [ ]* b"],
    ["plain", "- [ ] * b"],
    ["plain", "a ## 1. b"],
    ["plain", "## 1.b"],
    ["plain", "- [ ] a 1 b"],
    ["plain", "- [ ]\n1.1 a"],
    ["plain", "a - [ ] 1.1 b"],
  ])("is %s for %j", (name, text) => {
    expect(chooseDialect(text, undefined).name).toBe(name);
  });

  it("can be named, and a wrong name is refused", () => {
    for (const name of DIALECT_NAMES) expect(chooseDialect("## 1. Setup", name).name).toBe(name);
    const refusal = (name: string) => {
      try {
        return chooseDialect("", name).name;
      } catch (error) {
        return error;
      }
    };
    const all = "bmad, epics, spec-workflow, spec-kit, praxis-os, kiro, openspec, plain";
    expect(refusal("speckit")).toMatchObject({
      ...{ code: "INVALID_INPUT", details: { field: "dialect", expected: all } },
      remedy: `Did you mean 'spec-kit'? There are ${all}; leave it out to have it recognised.`,
    });
    expect(refusal("zzzzzzzz")).toMatchObject({ remedy: `Use ${all}; leave it out to have it recognised.` });
  });

  it("decides the forms of ids, what [~] means, and whether a nested checkbox is a task", () => {
    const forms = (dialect: string) =>
      ["Task 1: a", "T1 a", "1.1 a"].map((name) => lines(parsePlan(`## Phase 1: A\n- [ ] ${name}\n`, { dialect }))[1]);
    const [task, t, number] = ["[ ] 1 a @2", "[ ] T1 a @2", "[ ] 1.1 a @2"];
    expect(forms("plain")).toEqual([task, t, number]);
    expect(forms("openspec")).toEqual([task, t, number]);
    expect(forms("kiro")).toEqual([task, t, number]);
    expect(forms("bmad")).toEqual([task, "[ ] 1.1 T1 a @2", number]);
    expect(forms("praxis-os")).toEqual([task, "[ ] 1.1 T1 a @2", "[ ] 1.1 1.1 a @2"]);
  });
});

describe("ids of tasks", () => {
  it("are unique, and leave the ids of the source alone", () => {
    const ids = uniqueIds(["a", "a-2", "b"]);
    expect([ids.take("a"), ids.take("a"), ids.take("a"), ids.take("a-2")]).toEqual(["a", "a-3", "a-4", "a-2"]);
    expect([ids.make("b"), ids.make("c"), ids.make("c"), ids.take("b")]).toEqual(["b-2", "c", "c-2", "b"]);
    expect(ids.take("a-3")).toBe("a-3-2");
  });
});

describe("the state of a task", () => {
  const state = (mark: string, dialect?: string) =>
    parsePlan(`## Phase 1: A\n- [${mark}] Task 1: a\n`, dialect === undefined ? {} : { dialect }).plan.phases[0]
      ?.tasks[0]?.state;

  it("is that of its checkbox", () => {
    expect([" ", "", "x", "X", "✓", "-", "/", "~", "?"].map((mark) => state(mark))).toEqual([
      ...["pending", "pending", "done", "done", "done", "in_progress", "in_progress", "queued", "pending"],
    ]);
    const tildes = ["spec-workflow", "spec-kit", "plain"].map((dialect) => state("~", dialect));
    expect(tildes).toEqual(["blocked", "queued", "queued"]);
  });

  it.each([
    ["Complete", "done"],
    ["✅ done, 2026-01-02", "done"],
    ["done, well", "pending"],
    ["Finished", "done"],
    ["**In progress**", "in_progress"],
    ["in-progress", "in_progress"],
    ["Started", "in_progress"],
    ["WIP", "in_progress"],
    ["⛔ Blocked by rain", "blocked"],
    ["not done", "pending"],
    ["not started", "pending"],
    ["un-blocked", "pending"],
    ["", "pending"],
  ])("without a checkbox is that of its status: %j", (status, expected) => {
    expect(taskOf(`## Phase 1: A\n### Task 1.1: a\n**Status**: ${status}\n`).state).toBe(expected);
  });

  it("without both is that of its criteria", () => {
    const of = (...marks: string[]) =>
      taskOf(`## Phase 1: A\n### Task 1.1: a\n${marks.map((mark) => `- [${mark}] c\n`).join("")}`).state;
    expect([of(), of("x"), of("x", " "), of("x", "x")]).toEqual(["pending", "done", "pending", "done"]);
    const mixed = "## Phase 1: A\n### Task 1.1: a\n**Acceptance Criteria**:\n- [x] c\n- d\n";
    expect(taskOf(mixed).state).toBe("done");
    expect(taskOf(mixed.replace("[x] ", "")).state).toBe("pending");
  });
});

describe("the description of a task", () => {
  const described = (text: string) => taskOf(`## Phase 1: A\n- [ ] Task 1.1: a\n${text}## Phase 2: B\n`).description;

  it.each([
    ["  words\n  more\n", "words\nmore"],
    ["    deep\n      deeper\n\n\n\n    again\n", "deep\n  deeper\n\nagain"],
    ["\tone\n\t\ttwo\n", "one\n\ttwo"],
    ["  - **Description:** words\n    more\n", "words\n  more"],
    ["  **Description**: words\n", "words"],
    ["  - **Purpose**: words\n", "- **Purpose**: words"],
    ["  words\n\n---\n\n***\n", "words"],
    ["  words\n\n---\n  more\n", "  words\n\n---\n  more"],
    ["  words\n  ___\n", "words"],
    ["  words\n  more---\n", "words\nmore---"],
    ["  words\n  ---more\n", "words\n---more"],
    ["  words\n  ---\n     \n  ***\n", "words"],
    ["    deep\n \n      deeper\n", "deep\n\n  deeper"],
    ["  words\n  - **Description:** more\n", "words\n- **Description:** more"],
    ["  -   **Description:** words\n", "words"],
    ["  *   **Description:** words\n", "words"],
    ["  **Description:** words\n", "words"],
    ["  words\n\n", "words"],
    ["  - **Files**: a/b.ts\n  words\n", "words"],
    ["\n", undefined],
  ])("is what is below it and nowhere else: %j", (text, expected) => {
    expect(described(text)?.trim()).toBe(expected?.trim());
  });
});

describe("edits of a text", () => {
  it("are made in any order, and change nothing else", () => {
    const edits = [
      { offset: 6, length: 1, text: "X" },
      { offset: 0, length: 2, text: "" },
      { offset: 4, length: 0, text: "++" },
    ];
    expect(withEdits("abcdefgh", edits)).toBe("cd++efXh");
    expect(withEdits("abc", [])).toBe("abc");
    expect(edits[0]?.offset).toBe(6);
  });

  it("tick tasks, their criteria and items of gates", () => {
    const text =
      "## Phase 1: A\n- [ ] Task 1.1: a\n  - [ ] one\n  - two\n- [x] Task 1.2: b\n\n**Gate**:\n- [ ] works\n- known\n";
    const [phase] = parsePlan(text).plan.phases;
    if (phase === undefined) throw new Error("no phase");
    const { tasks, validationGate } = phase;
    expect(tickTasks(text, tasks)).toBe(text.replace("[ ] Task", "[x] Task"));
    expect(tickTasks(text, tasks, { criteria: true })).toBe(
      text.replace("[ ] Task", "[x] Task").replace("[ ] one", "[x] one"),
    );
    expect(tickTasks(text, [], {}, validationGate)).toBe(text.replace("[ ] works", "[x] works"));
    expect(tickTasks(text, tasks, { done: false })).toBe(text.replace("[x] Task 1.2", "[ ] Task 1.2"));
  });

  it("of empty brackets put a mark in, and take none out", () => {
    const text = "## Phase 1: A\n- [] Task 1.1: a\n- [\t] Task 1.2: b\n- [👍] Task 1.3: c\n";
    const tasks = parsePlan(text).plan.phases[0]?.tasks ?? [];
    expect(tickTasks(text, tasks)).toBe("## Phase 1: A\n- [x] Task 1.1: a\n- [x] Task 1.2: b\n- [x] Task 1.3: c\n");
    expect(tickTasks(text, tasks, { done: false })).toBe(text);
    for (const other of [text.replace("[]", "[x]"), text.replace("[\t]", "[a]"), text.replace("👍", "👎")])
      expect(() => tickTasks(other, tasks)).toThrowError(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});
