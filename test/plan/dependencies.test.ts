import { describe, expect, it } from "vitest";
import { named } from "../../src/plan/dependencies.js";
import { linkTasks } from "../../src/plan/links.js";
import { planOrder } from "../../src/plan/order.js";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { type Plan, PlanReport } from "../../src/plan/plan.js";
import { outline, taskOf } from "./outline.js";

/** Returns two phases with four tasks each, and a task with the given text of dependencies. */
function dependingOn(words: string): string {
  const tasks = (phase: number) => [1, 2, 3, 4].map((n) => `- [ ] **Task ${phase}.${n}**: t\n`).join("");
  return `## Phase 1: A\n${tasks(1)}## Phase 2: B\n${tasks(2)}## Phase 3: C\n- [ ] **Task 3.1**: t\n- [ ] **Task 3.2**: t\n  - ${words}\n`;
}

describe("dependencies", () => {
  it.each([
    ["**Dependencies**: None", []],
    ["**Dependencies**: none (can start at once)", []],
    ["**Dependencies**: None (parallel with 1.1-1.3)", []],
    ["**Dependencies**: N/A", []],
    ["**Dependencies**: Can start at once", []],
    ["**Dependencies**: Can start after Task 1.1 is merged", ["1.1"]],
    ["**Dependencies**: Can start immediately after 1.2", ["1.2"]],
    ["**Dependencies**: Can start as soon as 2.1 is done", ["2.1"]],
    ["**Dependencies**: Phase 1.1 complete", ["1.1", "1.2", "1.3", "1.4"]],
    ["**Dependencies**: can start once Phase 1 is done", ["1.1", "1.2", "1.3", "1.4"]],
    ["**Dependencies**: -", []],
    ["**Dependencies**:", []],
    ["**Dependencies**: Task 1.1", ["1.1"]],
    ["**Dependencies**: Task 1.1, Task 1.2 and 1.3", ["1.1", "1.2", "1.3"]],
    ["**Dependencies**: Tasks 1.1-1.4", ["1.1", "1.2", "1.3", "1.4"]],
    ["**Dependencies**: Tasks 1.2 – 1.3 (both of them)", ["1.2", "1.3"]],
    ["**Dependencies**: Tasks 1.2 through 1.4", ["1.2", "1.3", "1.4"]],
    ["**Dependencies**: Task 1.1 (needs models/1.2.py)", ["1.1"]],
    ["**Dependencies**: `1.1`, **2.1**", ["1.1", "2.1"]],
    ["**Dependencies**: 1.4-2.1", ["1.4", "2.1"]],
    ["**Dependencies**: Phase 1 complete", ["1.1", "1.2", "1.3", "1.4"]],
    ["**Dependencies**: Phases 1-2", ["1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3", "2.4"]],
    ["**Dependencies**: Phases 1 and 2, Task 3.1", ["1.1", "1.2", "1.3", "1.4", "2.1", "2.2", "2.3", "2.4", "3.1"]],
    ["**Dependencies**: Phase 1, Phase 3 (its own)", ["1.1", "1.2", "1.3", "1.4"]],
    ["Depends on: 1.1 & 2.2", ["1.1", "2.2"]],
    ["**Depends on**: Task 2.1", ["2.1"]],
    ["Requires: Task 2.1", ["2.1"]],
    ["*Blocked by*: Task 2.1", ["2.1"]],
    ["**Prerequisites:** 2.1", ["2.1"]],
    ["**Dependencies**:\n    - Task 1.1\n    - Task 2.1", ["1.1", "2.1"]],
    ["deps: 2.1", ["2.1"]],
    ["depends on 2.1", ["2.1"]],
    ["**Depends on** Task 1.1 and 1.2.", ["1.1", "1.2"]],
    ["Requires Phase 1 (all of it)", ["1.1", "1.2", "1.3", "1.4"]],
    ["blocked by `1.1`, 1.2", ["1.1", "1.2"]],
    ["requires 2 logins", []],
    ["depends on the design", []],
    ["depends on (2)", []],
  ])("read %j", (words, ids) => {
    const text = dependingOn(words);
    expect(taskOf(text, "3.2").dependencies).toEqual(ids);
    expect(parsePlan(text).diagnostics).toEqual([]);
  });

  it.each([
    ["Tasks 1.1-1.101", ["1.1"], "1.1-1.101"],
    ["T001-T999999999", [], "T001-T999999999"],
    ["Task 1.2, tasks 1 to 500", ["1.2"], "1-500"],
  ])("of a range that is too long include only its ends, with a warning: %j", (words, ids, range) => {
    const { plan, diagnostics } = parsePlan(dependingOn(`**Dependencies**: ${words}`));
    expect(plan.phases[2]?.tasks[1]?.dependencies).toEqual(ids);
    expect(diagnostics.filter(({ code }) => code === "DEPENDENCY_UNREAD")).toEqual([
      expect.objectContaining({ line: 13, message: expect.stringContaining(`'${range}'`) }),
    ]);
  });

  it.each([
    ["T001-003", ["T001", "T002", "T003"]],
    ["T001–003, T005", ["T001", "T002", "T003", "T005"]],
    ["t002-003", ["T002", "T003"]],
    ["T001-3", ["T001", "T002", "T003"]],
    ["T001-9", ["T001"]],
    ["T001..T003, T005", ["T001", "T002", "T003", "T005"]],
    ["T001-T002", ["T001", "T002"]],
    ["T003-001", ["T003", "T001"]],
  ])("of a range whose end has no letter include all of it: %j", (words, ids) => {
    const numbers = [1, 2, 3, 4, 5].map((n) => `- [ ] T00${n} a\n`).join("");
    const { plan, diagnostics } = parsePlan(`## Phase 1: A\n${numbers}- [ ] T010 c (depends on ${words})\n`);
    expect(plan.phases[0]?.tasks[5]?.dependencies).toEqual(ids);
    expect(diagnostics).toEqual([]);
  });

  it.each([
    ["Phase A", ["T001", "T002"]],
    ["Phase A, T003", ["T001", "T002", "T003"]],
    ["T003 and Phase A", ["T001", "T002", "T003"]],
    ["Phases A and B", ["T001", "T002", "T003"]],
    ["Phases A-C, T004", ["T001", "T002", "T003", "T004"]],
    ["Phase A and Phase B", ["T001", "T002", "T003"]],
    ["T003 of phase a user has seen", ["T003"]],
  ])("on phases with letters are their tasks: %j", (words, ids) => {
    const before = "## Phase A: A\n- [ ] T001 a\n- [ ] T002 b\n\n## Phase B: B\n- [ ] T003 c\n\n";
    const text = `${before}## Phase C: C\n- [ ] T004 d\n- [ ] T005 e\n  - **Dependencies**: ${words}\n`;
    const { plan, diagnostics } = parsePlan(text);
    expect(plan.phases[2]?.tasks[1]?.dependencies.toSorted()).toEqual(ids);
    expect(diagnostics.filter(({ code }) => code.startsWith("DEPENDENCY"))).toEqual([]);
  });

  it("of a range of a hundred include all of it", () => {
    const many = Array.from({ length: 100 }, (_, n) => `- [ ] **Task 1.${n + 1}**: t\n`).join("");
    const { plan, diagnostics } = parsePlan(`## Phase 1: A\n${many}- [ ] **Task 2.1**: t (after 1.1-1.100)\n`);
    expect(plan.phases[0]?.tasks[100]?.dependencies).toHaveLength(100);
    expect(diagnostics).toEqual([]);
  });

  it.each([
    ["- [ ] **Task 1.2**: b (depends on Task 1.1)"],
    ["- [ ] **Task 1.2**: b (requires: 1.1)"],
    ["- [ ] **Task 1.2**: b (blocked by 1.1)"],
    ["- [ ] **Task 1.2**: b, depends on Task 1.1"],
    ["- [ ] **Task 1.2**: b (2h, depends on 1.1)"],
    ["- [ ] **Task 1.2**: b (deps: 1.1)"],
    ["- [ ] **Task 1.2**: b **Depends on**: 1.1"],
    ["- [ ] **Task 1.2**: b\n  Depends on 1.1"],
    ["- [ ] **Task 1.2**: b - requires 1.1 and 1.1"],
  ])("are read next to the name: %j", (line) => {
    expect(taskOf(`## Phase 1: A\n- [ ] **Task 1.1**: a\n${line}\n`, "1.2").dependencies).toEqual(["1.1"]);
  });

  it("are not read from a name that continues in words", () => {
    expect(outline("## Phase 1: A\n- [ ] **Task 1.1**: a page that requires 2 logins\n")).toEqual([
      "1 A @1",
      "[ ] 1.1 a page that requires 2 logins @2",
    ]);
  });

  it("accept ids in any case, and ids with T", () => {
    const text = "## Phase 1: A\n- [ ] T001 a\n- [ ] T002 b\n- [ ] T010 c (depends on t001-T002, T001)\n";
    expect(taskOf(text, "T010").dependencies).toEqual(["T001", "T002"]);
  });

  it("on unknown tasks, nothing or the task itself are reported and left out", () => {
    const text = dependingOn("**Dependencies**: Tasks 3.2, 9.9, Phase 7");
    expect(taskOf(text, "3.2").dependencies).toEqual([]);
    expect(parsePlan(text).diagnostics.map(({ code, line, severity }) => [code, line, severity])).toEqual([
      ["DEPENDENCY_UNKNOWN", 13, "warning"],
      ["DEPENDENCY_UNKNOWN", 13, "warning"],
      ["DEPENDENCY_SELF", 13, "warning"],
    ]);
    expect(outline(dependingOn("**Dependencies**: the design"))).toContain("! DEPENDENCY_UNREAD 13");
    expect(parsePlan(dependingOn("**Dependencies**: 8.1-8.99")).diagnostics).toHaveLength(11);
  });

  it("in a cycle are an error that names the cycle", () => {
    const text =
      "## Phase 1: A\n- [ ] **Task 1.1**: a (after 1.3)\n- [ ] **Task 1.2**: b (after 1.1)\n- [ ] **Task 1.3**: c (after 1.2)\n- [ ] **Task 1.4**: d\n";
    const { plan, diagnostics } = parsePlan(text);
    expect(diagnostics).toEqual([
      expect.objectContaining({
        code: "DEPENDENCY_CYCLE",
        severity: "error",
        line: 2,
        message: expect.stringContaining("1.1 → 1.3 → 1.2 → 1.1"),
      }),
    ]);
    expect(planOrder(plan)).toEqual({ order: ["1.4"], waves: [["1.4"]], cycles: ["1.1", "1.2", "1.3"] });
  });

  it("are limited in number: more are left out, with a warning", () => {
    const phase = (key: string, count: number, ...phases: string[]) => ({
      key,
      tasks: Array.from({ length: count }, (_, at) => ({
        ...{ id: `${key}.${at + 1}`, position: { line: at + 1, column: 1, offset: 0 } },
        named: () => [named({ phases }), named({})],
      })),
    });
    const report = new PlanReport("tasks.md");
    const links = linkTasks([phase("1", 1000), phase("2", 502, "1"), phase("3", 1, "7"), phase("4", 1)], report);
    const counts = [...links.values()].map((needed) => needed.length);
    expect(counts).toEqual([...Array(1000).fill(0), ...Array(500).fill(1000), 0, 0, 0, 0]);
    expect(report.sorted().map(({ code, line, message }) => `${code} ${line} ${/task \S+/.exec(message)}`)).toEqual([
      ...["DEPENDENCY_UNREAD 1 task 3.1", "DEPENDENCY_UNREAD 501 task 2.501", "DEPENDENCY_UNREAD 502 task 2.502"],
    ]);
  });
});

/** Returns the dependencies of the tasks of a phase that have some, and the codes of diagnostics with their lines. */
function edges(...rows: string[]): string[] {
  const { plan, diagnostics } = parsePlan(`## Phase 1: A\n${rows.join("\n")}\n`);
  const found = plan.phases.flatMap(({ tasks }) => tasks.filter((task) => task.dependencies.length > 0));
  return [
    ...found.map(({ id, dependencies }) => `${id} < ${dependencies}`),
    ...diagnostics.map(({ code, line }) => `! ${code} ${line}`),
  ];
}

describe("a word for a dependency beside an id", () => {
  const tasks = ["- [ ] 1.1 X", "- [ ] 1.2 X"];

  it.each([
    "[blocked by 1.1]",
    "[needs: 1.1]",
    "{depends: 1.1}",
    "(prereq: 1.1)",
    "(dep: 1.1)",
    "(blocked by: 1.1 | est 3d)",
    "(waiting for 1.1, review)",
    "`depends:1.1`",
    "— blocked by [1.1](https://x.y/1.1)",
    "| **Depends:** 1.1 | **Status:** in progress",
    "; needs 1.1",
    ", needs 1.1 and one week of quiet",
    "⛔ 1.1",
    "after 1.1 is merged",
    "\n  - depends-on:: 1.1",
    "\n  - Prereqs: 1.1 ✅",
    "\n  - Deps → 1.1",
    "\n  - Waits for: 1.1",
    "\n  - Must come after 1.1",
    "\n  - Cannot start before 1.1",
    "\n  Blocked until 1.1 lands",
    "\n  This task depends on 1.1.",
    "\n  - **Priority:** High | **Depends on:** 1.1 | **Est:** 3h",
    "\n  - **Depends on:** 1.1 | **Est:** 3h",
    "\n  Depends on: 1.1 · 2 hours",
    "\n  - Status: blocked by 1.1",
    "\n  - Notes: needs 1.1",
    '\n  - Needs: "1.1"',
    "\n  - The importer needs 1.1",
    "\n  1.2 is long done. Must wait for 1.1",
    "\n  1.2 is long done — blocked by 1.1",
    "（1.1に依存）",
    "（1.1完了後）",
    "（需先完成任务1.1）",
    "依赖：任务1.1",
    "(после 1.1)",
    "(hängt von 1.1 ab)",
    "(setzt 1.1 voraus)",
    "(erst wenn 1.1 fertig)",
    "(después de 1.1)",
    "(après 1.1)",
    "(1.1 완료 후)",
  ])("is read anywhere in a task: %s", (said) => {
    expect(edges(...tasks, `- [ ] 1.3 Y ${said}`)).toEqual(["1.3 < 1.1"]);
  });

  it.each([
    "not blocked by 1.1",
    "(nach Bedarf)",
    "waiting for review",
    "with dependency 1.1",
    "[needs design](x.md) of 1.1",
    "\n  - The lines have moved after 1.1 was done",
    "\n  - It does not depend on 1.1",
    ": 1.2 after lunch and 1.1",
    "; needs 2 approvals",
    "needs T009 drivers",
    "needs T008 and T009 drivers",
    "needs T009/drivers",
    "needs Phase 1 people",
    "\n  needs T009",
    "\n  - Effort: 2h once 1.1 is done",
    "\n  - Done when: it works after 1.1",
    "\n  - Owner: Ann",
    "\n  - Mirrors: 1.3",
    "\n  - Mirrors: 1.3, 1.1",
    "\n  - Goes with: 1.1, 9.9",
    "\n  - Goes with: the 2 of them",
  ])("is not read where it says something else: %s", (said) => {
    expect(edges(...tasks, `- [ ] 1.3 Y ${said}`)).toEqual([]);
  });

  it.each([
    ["needs T001 drivers", ["1.3 < T001"]],
    ["needs 1.1 and T009 drivers", ["1.3 < 1.1", "! DEPENDENCY_UNKNOWN 4"]],
    ["needs T009 and 1.1, both of them", ["1.3 < 1.1", "! DEPENDENCY_UNKNOWN 4"]],
    ["needs T009", ["! DEPENDENCY_UNKNOWN 4"]],
    ["{needs T009}", ["! DEPENDENCY_UNKNOWN 4"]],
    ["needs Phase 2", ["! DEPENDENCY_UNKNOWN 4"]],
  ])("may name tasks and phases that the plan does not have: %s", (said, expected) => {
    expect(edges("- [ ] T001 X", ...tasks.slice(0, 1), `- [ ] 1.3 Y ${said}`)).toEqual(expected);
  });

  it.each([
    ["\n  - Builds on: 1.1", "Builds on: 1.1"],
    ["\n  - Builds on: [1.1]", "Builds on: [1.1]"],
    ["\n  - Builds on: 1.1-1.2", "Builds on: 1.1-1.2"],
    ["\n  - Builds on: Phase 1.1", "Builds on: Phase 1.1"],
  ])("may be a label without a meaning, which is reported: %s", (said, label) => {
    const { diagnostics } = parsePlan(`## Phase 1: A\n${tasks.join("\n")}\n- [ ] 1.3 Y ${said}\n`);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      `task 1.3: '${label}' names tasks, and the label has no meaning here`,
    ]);
  });

  it("may be a label beside a code with hyphens", () => {
    const rows = [1, 2, 3].map((n) => `- [ ] US1-API-${n} X`);
    expect(edges(...rows, "  - Builds on: US1-API-2")).toEqual(["! DEPENDENCY_UNREAD 4"]);
  });

  it("is read below a heading of the task", () => {
    expect(edges("### Task 1.1: X", "### Task 1.2: Y", "Words.", "#### Notes", "It needs 1.1.")).toEqual(["1.2 < 1.1"]);
  });

  it.each([
    ["requires 1.1 GB of it", "requires 1.1 GB"],
    ["requires 1.1  GB of it", "requires 1.1  GB"],
    ["requires 1.1 G", "requires 1.1 G"],
  ])("is quoted in the report: %s", (said, quoted) => {
    const { diagnostics } = parsePlan(`## Phase 1: A\n${tasks.join("\n")}\n- [ ] 1.3 Y; ${said}\n`);
    expect(diagnostics.map(({ message }) => message)).toEqual([
      `'${quoted}' names a task beside a word for a dependency, and is not read as one`,
    ]);
  });

  it("is reported beside an amount in brackets, which is no dependency", () => {
    const lines = ["- [ ] 1.3 Y (requires 1.1 GB)", "- [ ] 1.4 Z (depends on 1.1, takes 1.2 hours)"];
    expect(edges(...tasks, ...lines)).toEqual(["1.4 < 1.1", "! DEPENDENCY_UNREAD 4"]);
  });

  it("is reported beside what may be an amount", () => {
    expect(edges(...tasks, "- [ ] 1.3 Y; requires 1.1 GB", "  - needs 1.2 cores")).toEqual([
      ...["! DEPENDENCY_UNREAD 4", "! DEPENDENCY_UNREAD 5"],
    ]);
  });

  it.each(["(blocks 1.1)", "— blocks: 1.1", "\n  - Blocks 1.1", "\n  - 1.1 depends on 1.3"])(
    "is read for the task that waits: %s",
    (said) => expect(edges(...tasks, `- [ ] 1.3 Y ${said}`)).toEqual(["1.1 < 1.3"]),
  );

  it("is followed by a list in words, or a range", () => {
    expect(edges(...tasks, "- [ ] 1.3 Y, depends on 1.1, then 1.2", "- [ ] 1.4 Y (needs 1.1..1.3)")).toEqual([
      ...["1.3 < 1.1,1.2", "1.4 < 1.1,1.2,1.3"],
    ]);
  });
});

describe("a plain number", () => {
  const tasks = ["- [ ] 1 X", "- [ ] 2 X", "- [ ] 3 X"];

  it.each(["(needs 2 approvals)", "(after 2 weeks)", "(requires 1 GB RAM)", "\n  - Dependencies: lodash@2, react 3"])(
    "that counts something or is a version is no dependency: %s",
    (said) => expect(edges(...tasks, `- [ ] 4 Y ${said}`)).toEqual([expect.stringContaining("! DEPENDENCY_UNREAD")]),
  );

  it.each([
    "(needs 2 and 3)",
    "(after tasks 2 and 3)",
    "(needs 2-3)",
    "\n  - Depends on: Aufgaben 2 und 3",
    "(needs #2, #3 done)",
  ])("that stands alone or behind the word for task is one: %s", (said) =>
    expect(edges(...tasks, `- [ ] 4 Y ${said}`)).toEqual(["4 < 2,3"]),
  );

  it.each(["Dépend de : tâches 1 et 2", "Depende de: Tareas 1 y 2", "Зависит от: задач 1 и 2"])(
    "is one of a list in each language: %s",
    (said) => expect(edges(...tasks, `- [ ] 4 Y\n  - ${said}`)).toEqual(["4 < 1,2"]),
  );

  it.each([
    ["20 days", []],
    ["2 min", []],
    ["1.2 GB", []],
    ["v20 days", ["v20"]],
    ["20x days", ["20x"]],
    ["a12 people", ["a12"]],
    ['«"12 people"»', ["12 people"]],
    ["12 people in it", ["12 people"]],
    ["approval of 12 people", ["of 12 people"]],
    ["approval of  12, as said", ["of  12"]],
    ["approval of 12 (see below)", ["of 12"]],
    ["2 hôtels", ["2 hôtels"]],
    ["react@20", ["react@20"]],
    ["12 people, 12 people, 7", ["12 people", "7"]],
    ["the vote of 12 representatives-of-the-people", ["of 12 representatives-of"]],
  ])("or a word with one, behind a task, is reported with the words beside it: %s", (said, expected) => {
    const rows = ["- [ ] 1.1 X", "- [ ] 1.2 Y", `  - Depends on: 1.1, ${said}`];
    const { plan, diagnostics } = parsePlan(`## Phase 1: A\n${rows.join("\n")}\n`);
    expect(plan.phases[0]?.tasks[1]?.dependencies).toEqual(["1.1"]);
    const list = expected.map((word) => `'${word}'`).join(", ");
    expect(diagnostics.map(({ message }) => message)).toEqual(
      list === "" ? [] : [`task 1.2: its dependencies name ${list}, which is the id of no task`],
    );
  });

  it.each([
    ["2-3", ["4 < 2,3"]],
    ["3-5", ["4 < 3", "! DEPENDENCY_UNKNOWN 5", "! DEPENDENCY_SELF 5"]],
    // Of none of these has the plan a task.
    ["6-9", ["! DEPENDENCY_UNREAD 5"]],
    ["1, 9", ["4 < 1", "! DEPENDENCY_UNKNOWN 5"]],
    ["approval of 3", ["! DEPENDENCY_UNREAD 5"]],
    ["the approval by at least 3", ["! DEPENDENCY_UNREAD 5"]],
    ["the clients and 3", ["4 < 3"]],
  ])("is looked up in the plan: %s", (said, expected) => {
    expect(edges(...tasks, "- [ ] 4 Y", `  - Depends on: ${said}`)).toEqual(expected);
  });

  it("with a noun behind it counts something, also where a task has it", () => {
    const rows = Array.from({ length: 12 }, (_, at) => `- [ ] ${at + 1} X`);
    expect(edges(...rows, "- [ ] 13 Y; needs 12 approvals")).toEqual([]);
    expect(edges("- [ ] 9a. X", "- [ ] 9b. Y, needs 9a drivers")).toEqual(["9b < 9a"]);
  });

  it("is that of an item in a list without ids", () => {
    expect(edges("1. [x] Find", "2. [ ] Fix (needs 1)", "3. [ ] Ship (after step 2)")).toEqual([
      "1.2 < 1.1",
      "1.3 < 1.2",
    ]);
    expect(edges("1. [x] Find", "1. [ ] Fix", "1. [ ] Ship (needs 1)")).toEqual(["! DEPENDENCY_UNKNOWN 4"]);
    expect(edges("- [ ] Write part 2. Then stop", "- [ ] Ship (needs 2)")).toEqual(["! DEPENDENCY_UNKNOWN 3"]);
    const many = Array.from({ length: 12 }, (_, at) => `${at + 1}. [ ] Find the owner of ${"abcdefghijkl"[at]}`);
    expect(edges(...many, "13. [ ] Ship (needs 12)")).toEqual(["1.13 < 1.12"]);
    expect(edges("4. [ ] 3.4 Find", "5. [ ] 3.5 Fix (needs 4)")).toEqual(["3.5 < 3.4"]);
  });
});

describe("what a dependency names", () => {
  it.each(["A1", "**B1**", "S1.1", "RC1", "P0-1", "FE-1", "US1-API-2"])("is an id of the plan: %s", (first) => {
    const id = first.replaceAll("*", "");
    expect(edges("- [ ] Kickoff", "- [ ] Write", `- [ ] ${first} X`, `- [ ] Y, needs ${id}`)).toEqual([`1.4 < ${id}`]);
  });

  it("may be the number of an issue", () => {
    expect(edges("- [ ] #301 X", "- [ ] #304 Y (needs #301)")).toEqual(["304 < 301"]);
    expect(edges("- [ ] #301 X", "- [ ] #304 Y")).toEqual([]);
    expect(edges("- [ ] #301 X", "- [ ] #304 Y needs #301 to be merged")).toEqual(["304 < 301"]);
  });

  it("is no code if no line begins with it", () => {
    const { plan } = parsePlan("## Phase 1: A\n- [ ] A1 X\n- [ ] B7 vitamins\n- [ ] Y, needs A1 or B2\n");
    expect(plan.phases[0]?.tasks.map(({ id, name }) => `${id} ${name}`)).toEqual([
      ...["A1 X", "1.2 B7 vitamins", "1.3 Y, needs A1 or B2"],
    ]);
  });

  it("may be the name of a task, if only one has it", () => {
    expect(edges("- [ ] Choose fonts", "- [ ] Build", "  - Blocked by: choose fonts")).toEqual(["1.2 < 1.1"]);
    expect(edges("- [ ] Fonts", "- [ ] Fonts", "- [ ] Build", "  - Blocked by: fonts")).toEqual([
      "! DEPENDENCY_UNREAD 4",
    ]);
    const tasks = ["- [ ] Fonts", "- [ ] Colors", "- [ ] Build"];
    expect(edges(...tasks, "  - Blocked by: fonts, “Colors”")).toEqual(["1.3 < 1.1,1.2"]);
    expect(edges(...tasks, "  - Blocked by: fonts, the moon")).toEqual(["! DEPENDENCY_UNREAD 4"]);
  });

  it("is found in any case, unless two ids differ only in case", () => {
    const rows = (...ids: string[]) => ids.map((id) => `- [ ] Task ${id}: X`);
    expect(edges(...rows("a1", "b1"), "  - Depends on: A1")).toEqual(["b1 < a1"]);
    expect(edges(...rows("A1", "B1"), "  - Depends on: a1")).toEqual(["B1 < A1"]);
    expect(edges(...rows("a1", "A1", "b1"), "  - Depends on: A1")).toEqual(["b1 < A1"]);
    expect(edges(...rows("A1", "a1", "b1"), "  - Depends on: A1")).toEqual(["b1 < A1"]);
    expect(edges(...rows("A1", "a1", "b1"), "  - Depends on: a1")).toEqual(["b1 < a1"]);
  });

  it.each([
    ["WP01", ["T001", "T002"], 0],
    ["WP01, T003", ["T001", "T002", "T003"], 0],
    // Its own phase, without itself.
    ["MX-5", [], 0],
    ["WP02", [], 1],
    ["WP03", [], 1],
    // The title only mentions a task.
    ["T001", ["T001"], 0],
  ])("may be the code in the title of a phase: %s", (said, expected, unknown) => {
    const text = `## Phase 1: WP01 Setup
- [ ] T001 a
- [ ] T002 b
## Phase 2: After T001, and preWP02
- [ ] T003 c
## Phase 3: WP03b
- [ ] T004 d
## Phase 4: Build (MX-5)
- [ ] T008 e
- [ ] T009 f
  - Depends on: ${said}
`;
    expect(taskOf(text, "T009").dependencies).toEqual(expected);
    expect(parsePlan(text).diagnostics).toHaveLength(unknown);
  });

  it("is the first of two phases with a number, and the phase of a part", () => {
    const text = (said: string) =>
      `## Phase 1: A\n- [ ] T001 a\n## Phase 1: B\n- [ ] T002 b\n## Phase 2: C\n- [ ] T003 c\n  - Depends on: ${said}\n`;
    expect(taskOf(text("Phase 1"), "T003").dependencies).toEqual(["T001"]);
    expect(taskOf(text("Phase 1.12"), "T003").dependencies).toEqual(["T001"]);
  });

  it("is reported up to the tenth unknown word", () => {
    const words = Array.from({ length: 12 }, (_, at) => `x${at}`);
    const { diagnostics } = parsePlan(`## Phase 1: A\n- [ ] T001 a\n- [ ] T002 b\n  - Depends on: T001, ${words}\n`);
    expect(diagnostics[0]?.message).toContain(
      " name 'x0', 'x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7', 'x8', 'x9', which",
    );
  });
});

describe("a line about dependencies", () => {
  it.each([
    ["T002 blocks on T001", ["T002 < T001"]],
    ["Tests (T001-T002) before implementation (T003)", ["T003 < T001,T002"]],
    ["T003: T001, T002", ["T003 < T001,T002"]],
    ["T001 must be done before T002", ["T002 < T001"]],
    ["T002 cannot start before T001", ["T002 < T001"]],
    ["T002 is blocked by T001", ["T002 < T001"]],
    ["T003 must wait for T001", ["T003 < T001"]],
    ["T001 is a prerequisite for T002", ["T002 < T001"]],
    ["T001 → T002 → T003", ["T002 < T001", "T003 < T002"]],
    ["**Task Dependencies:** 2 (T002→T003, T001→T002)", ["T002 < T001", "T003 < T002"]],
    ["T002 does not block T001", []],
    ["T001 and T002 can run in parallel", []],
    ["Or by priority: US1 → US2", []],
    ["T001 → T009", ["! DEPENDENCY_UNKNOWN 6"]],
    ["T009 depends on T001", ["! DEPENDENCY_UNKNOWN 6"]],
    ["After T001, start T002", ["! DEPENDENCY_UNREAD 6"]],
    ["\n| Task | Depends on |\n|---|---|\n| T001 | - |\n| T002 | T001 |", ["T002 < T001"]],
    ["T001 → T002, T003", ["T002 < T001", "T003 < T001"]],
    ["T001 -> T002, T001 => T003", ["T002 < T001", "T003 < T001"]],
    ["T001 → T002, T003 → later", ["T002 < T001", "! DEPENDENCY_UNREAD 6"]],
    ["[T001](before.md) and [T002](then.md)", []],
    ["T001 and T002 share a file", []],
    ["T002 does not wait for T001", []],
    ["T002 doesn't block T001", []],
    ["T001 was not easy, and must be done before T002", ["T002 < T001"]],
    ["After T001, start T009", ["! DEPENDENCY_UNREAD 6"]],
    ["T001 runs before lunch. T002 is big", ["! DEPENDENCY_UNREAD 6"]],
    ["T001 runs before lunch — T002 is big", ["! DEPENDENCY_UNREAD 6"]],
    ["T001 comes before v0.2 of T002", ["T002 < T001"]],
    [`T003 needs T001 (${"it makes tables, ".repeat(6)}), T002`, ["T003 < T001,T002"]],
    ["T003 needs T002 and Phase 2", ["T003 < T002", "! DEPENDENCY_UNKNOWN 4"]],
    ["T003 needs Phase 2 and T002", ["T003 < T002", "! DEPENDENCY_UNKNOWN 4"]],
    ["US1 (Phase 2): depends on the foundation", []],
    ["T001 → t009", ["! DEPENDENCY_UNKNOWN 6"]],
    ["\nT002 needs T001", ["T002 < T001"]],
    ["\n### All of them\n- T002 needs T001", ["T002 < T001"]],
    ["\n| Needs | Task |\n|---|---|\n| T001 | T002 |", ["T002 < T001"]],
    ["\n| Task | Blocks |\n|---|---|\n| T001 | T002 |", ["T002 < T001"]],
    ["\n| Task | Status |\n|---|---|\n| T001 | after T002 |", []],
    ["\n| Task | Needs |\n|---|---|\n| T001 | - |\n\nAll:\n\n| Task | By |\n|---|---|\n| T002 | T001 |", []],
  ])("is read, or reported: %j", (line, expected) => {
    expect(
      edges("- [ ] T001 X", "- [ ] T002 Y", "- [ ] T003 Z", "## Dependencies", `- ${line}`.replace(/^- \n/, "\n")),
    ).toEqual(expected);
  });

  it.each(["Abhängigkeiten", "Prerequisites", "Task dependencies", "Dependency graph"])("stands below: %s", (title) => {
    expect(edges("- [ ] T001 X", "- [ ] T002 Y", `## ${title}`, "- T001 → T002")).toEqual(["T002 < T001"]);
    expect(edges("- [ ] T001 X", "- [ ] T002 Y", "## Notes", "- T001 → T002")).toEqual([]);
  });

  it("is no task, and no line of a task", () => {
    const rows = ["- [ ] T001 X", "- [ ] T002 Y", "- [ ] T003 Bump dependencies"];
    expect(edges(...rows, "  - T001 comes before lunch. T002 is big")).toEqual([]);
    const phase = (...own: string[]) => [
      ...rows,
      "## Phase 2: Dependencies",
      "- [ ] T004 Move T001 before T002",
      ...own,
    ];
    expect(edges(...phase("  - **Dependencies**: T003"))).toEqual(["T004 < T003"]);
  });

  it("does not name more tasks than a plan may have dependencies", () => {
    const rows = Array.from({ length: 201 }, (_, at) => `- [ ] T${100 + at} a`);
    // Each line is ten thousand dependencies.
    const lines = Array.from({ length: 50 }, () => "- T100-T199 → T200-T299");
    const text = (...more: string[]) =>
      `## Phase 1: A\n${[...rows, "## Dependencies", ...lines, ...more].join("\n")}\n`;
    expect(parsePlan(text()).diagnostics).toEqual([]);
    const { plan, diagnostics } = parsePlan(text("- T100 → T300"));
    expect(plan.phases[0]?.tasks.at(-1)?.dependencies).toEqual([]);
    expect(diagnostics.map(({ line, message }) => [line, message])).toEqual([
      [254, "'T100 → T300' names a task beside a word for a dependency, and is not read as one"],
    ]);
  });
});

describe("a phase that depends on another one", () => {
  it.each([
    ["Phase 1", undefined],
    ["Phase A", undefined],
    ["phases 1 and A", undefined],
    ["T001", undefined],
    ["WP01", undefined],
    ["the design", undefined],
    ["Phase 7", "7"],
    ["Phases 1-3, T009", "3, T009"],
    ["WP02", "WP02"],
    ["Phase B", "b"],
  ])("is reported if the plan has no such phase or task: %s", (said, missing) => {
    const phases = "## Phase 1: WP01 Setup\n- [ ] T001 a\n## Phase A: B\n- [ ] T002 b\n";
    const { diagnostics } = parsePlan(`${phases}## Phase 2: Build\n**Depends on**: ${said}\n- [ ] T003 c\n`);
    const found = diagnostics.filter(({ code }) => code === "DEPENDENCY_UNKNOWN");
    expect(found.map(({ line, message }) => [line, message])).toEqual(
      missing === undefined ? [] : [[5, `'Build' depends on ${missing}, which is not in the plan`]],
    );
  });

  it("and the next one on that, is looked at once", () => {
    const phase = (_: unknown, at: number) =>
      `## Phase ${at + 1}: A\n- [ ] a (after Phase ${at})\n- [ ] b (after Phase ${at})\n`;
    const { plan, diagnostics } = parsePlan(`## Phase 0: A\n- [ ] a\n${Array.from({ length: 30 }, phase).join("")}`);
    expect(planOrder(plan).waves).toHaveLength(31);
    expect(diagnostics).toEqual([]);
  });
});

describe("planOrder", () => {
  it("groups tasks without dependencies in their phase, phase by phase", () => {
    const text = `## Phase 1: A
- [ ] **Task 1.1**: a
- [ ] **Task 1.2**: b (after 1.3)
- [ ] **Task 1.3**: c
- [ ] **Task 1.4**: d (after 1.1, 1.2)
## Phase 2: B
- [ ] **Task 2.1**: e (after Phase 1)
- [ ] **Task 2.2**: f (after 1.1)
`;
    expect(planOrder(parsePlan(text).plan)).toEqual({
      order: ["1.1", "1.3", "1.2", "1.4", "2.1", "2.2"],
      waves: [["1.1", "1.3"], ["1.2"], ["1.4"], ["2.1", "2.2"]],
      cycles: [],
    });
  });

  it("ignores dependencies on a later phase", () => {
    const text = "## Phase 1: A\n- [ ] **Task 1.1**: a (after 2.1)\n## Phase 2: B\n- [ ] **Task 2.1**: b\n";
    expect(planOrder(parsePlan(text).plan).waves).toEqual([["1.1"], ["2.1"]]);
  });

  it("is empty for a plan without tasks", () => {
    const plan: Plan = { dialect: "plain", phases: [] };
    expect(planOrder(plan)).toEqual({ order: [], waves: [], cycles: [] });
  });
});
