import { describe, expect, it } from "vitest";
import { outline, taskOf } from "./outline.js";

const text = (...rows: string[]) => `${rows.join("\n")}\n`;
const plan = (...rows: string[]) => outline(text(...rows));

describe("labels in bold in one line", () => {
  it.each([
    ["an item", "- [ ] 1.1 b", "  - "],
    ["a line below a heading", "### Task 1.1: b", ""],
  ])("are each read, in %s", (_, task, indent) => {
    for (const between of [" · ", " | ", "; ", ", ", " • "]) {
      const line = `${indent}**Estimated Time:** 2 hours${between}**Files:** src/a.ts${between}**Requirements:** 1.2`;
      expect(taskOf(text("## Phase 1: A", task, line)), between).toMatchObject({
        estimatedTime: "2 hours",
        files: ["src/a.ts"],
        requirements: ["1.2"],
      });
    }
  });

  it("are a sentence's words where it does not begin with one", () => {
    expect(taskOf(text("## Phase 1: A", "### Task 1.1: b", "Look at this · **Files:** src/a.ts")).files).toEqual([]);
  });
});

describe("a table with boxes", () => {
  it("has tasks: their names are the cells without a meaning of their own", () => {
    const rows = [
      "## Phase 1: A",
      "",
      "| ID | Name | Notes | More | Depends on | Estimate | Done |",
      "|---|---|---|---|---|---|---|",
      "| T001 | Write | soon | now | | 2h | [ ] |",
      "| T002 | Read | | | T001 | 1h | [x] |",
    ];
    expect(plan(...rows)).toEqual(["1 A @1", "[ ] T001 Write · soon · now @5", "[x] T002 Read @6 < T001"]);
    expect(taskOf(text(...rows), "T001").estimatedTime).toBe("2h");
  });

  it("has no task in its header, in a row without words, or in a cell with words", () => {
    expect(
      plan("## Phase 1: A", "", "| [ ] | Task |", "|---|---|", "| [ ] | T001 b |", "| [ ] | — |", "| see [ ] | c |"),
    ).toEqual([
      "1 A @1",
      "[ ] T001 b @5",
      "! CHECKBOX_UNPLACED 3",
      "! TASK_UNREAD 6",
      "! CHECKBOX_UNPLACED 6",
      "! CHECKBOX_UNPLACED 7",
    ]);
  });

  it("in an item is one level deeper", () => {
    expect(
      plan("## Phase 1: A", "- [ ] 1.1 b", "", "  | Check | Done |", "  |---|---|", "  | c | [x] |", "  | d | [ ] |"),
    ).toEqual(["1 A @1", "[ ] 1.1 b @2 1/2"]);
  });
});

describe("a line of hyphens", () => {
  it("ends a list of a gate, but separates nothing inside of an item", () => {
    expect(
      plan(
        "## Phase 1: A",
        "- [ ] 1.1 b",
        "",
        "  ---",
        "",
        "  - [ ] c",
        "",
        "**Validation Gate**:",
        "- [ ] d",
        "",
        "---",
        "",
        "- [ ] 1.2 e",
      ),
    ).toEqual(["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 e @13", "gate d"]);
  });

  it("makes the words above it a title only where no heading has a hash, and they are no sentence", () => {
    expect(plan("Setup", "-----", "- [ ] a", "", "Build (all)", "-----", "- [ ] b")).toEqual([
      "1 Setup @1",
      "[ ] 1.1 a @3",
      "2 Build (all) @5",
      "[ ] 2.1 b @7",
    ]);
    expect(plan("# Plan", "## Phase 1: A", "- [ ] a", "", "Notes", "-----", "- [ ] b")).toEqual([
      "1 A @2",
      "[ ] 1.1 a @3",
      "[ ] 1.2 b @7",
    ]);
    expect(plan("Phase 1: A", "=====", "- [ ] a", "", "It goes on.", "-----", "- [ ] b")).toEqual([
      "1 A @1",
      "[ ] 1.1 a @3",
      "[ ] 1.2 b @7",
    ]);
  });

  it("may stand below a title of a phase or a task that goes on from other words", () => {
    expect(
      plan(
        "Some words",
        "Phase 1: A",
        "----------",
        "- [ ] a",
        "",
        "more words",
        "Phase 2: B",
        "==========",
        "- [ ] b",
      ),
    ).toEqual(["1 A @2", "[ ] 1.1 a @4", "2 B @7", "[ ] 2.1 b @9"]);
  });
});

describe("a box in a heading", () => {
  it.each([
    ["### [x] Task 1.1: b", "[x] 1.1 b @2"],
    ["### Task 1.1: b [x]", "[x] 1.1 b @2"],
    ["### Task 1.1: [x] b", "[x] 1.1 b @2"],
    ["### Task 1.1: b [x] ###", "[x] 1.1 b @2"],
    ["### Task 1.1: b [x] c", "[ ] 1.1 b [x] c @2"],
  ])("is the task's own at its beginning, behind its id and at its end: %s", (heading, task) => {
    expect(plan("## Phase 1: A", heading)).toContain(task);
  });
});

describe("the name of an item", () => {
  it.each([
    ["- [ ] **1.1 b**", "[ ] 1.1 b @2"],
    ["- **[ ]** 1.1 b", "[ ] 1.1 b @2"],
    ["- **[ ] 1.1 b**", "[ ] 1.1 b @2"],
    ["- [ ]\n  1.1 b", "[ ] 1.1 b @2"],
    ["- [ ] <!-- later -->\n  1.1 b", "[ ] 1.1 b @2"],
    ["1. - [ ] 1.1 b", "[ ] 1.1 b @2"],
    ["- 1. [ ] 1.1 b", "[ ] 1.1 b @2"],
    ["-[ ] 1.1 b", "[ ] 1.1 b @2"],
    ["• [ ] 1.1 b", "[ ] 1.1 b @2"],
    ["a) [ ] 1.1 b", "[ ] 1.1 b @2"],
  ])("is what people see: %j", (item, task) => {
    expect(plan("## Phase 1: A", item)).toContain(task);
  });

  it("is in no other item", () => {
    expect(plan("## Phase 1: A", "- [ ]", "- [ ] 1.1 b")).toEqual(["1 A @1", "[ ] 1.1 b @3", "! CHECKBOX_UNPLACED 2"]);
  });
});

describe("a line with a box that Markdown joins to the one above", () => {
  it.each([
    ["- [ ] 1.1 b\n  2) [ ] c", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    ["- [ ] 1.1 b\n[ ] 1.2 c", ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @3"]],
    ["- [ ] 1.1 b\n  - [ ] c\n  [x] d", ["1 A @1", "[ ] 1.1 b @2 1/2"]],
    ["words\n5. [ ] 1.1 b\n6. [ ] 1.2 c", ["1 A @1", "[ ] 1.1 b @3", "[ ] 1.2 c @4"]],
  ])("stands in the list by its indentation: %j", (rows, expected) => {
    expect(plan("## Phase 1: A", rows)).toEqual(expected);
  });
});
