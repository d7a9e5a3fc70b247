import { describe, expect, it } from "vitest";
import { outline, taskOf } from "./outline.js";

type Case = readonly [name: string, plan: string, read: readonly string[]];

const check = (_: string, plan: string, read: readonly string[]) => expect(outline(plan)).toEqual(read);

const LINES: readonly Case[] = [
  [
    "without a space after the marker stand beside items that are indented as much",
    "- Group\n  - [ ] a\n  -[ ] b\n-[ ] c\n",
    ["1 Tasks @2", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "[ ] 1.3 c @4"],
  ],
  [
    "without a space after the marker stand in items that are indented less",
    "- [ ] a\n  -[x] b\n    -[ ] c\n",
    ["1 Tasks @1", "[ ] 1.1 a @1 1/2"],
  ],
  ["without a marker stand beside the item", "- [ ] a\n[x] b\n", ["1 Tasks @1", "[ ] 1.1 a @1", "[x] 1.2 b @2"]],
  [
    "with a number other than 1 stand beside the paragraph",
    "## Phase 1: A\nThe steps:\n2. [ ] a\n3. [x] b\n",
    ["1 A @1", "[ ] 1.1 a @3", "[x] 1.2 b @4"],
  ],
  [
    "with a word in brackets but no marker have no box",
    "## Phase 1: A\n- [ ] a\n  [done] means that it works\n",
    ["1 A @1", "[ ] 1.1 a @2"],
  ],
  [
    "may begin with a word in brackets below an empty box",
    "## Phase 1: A\n- [ ]\n  [wip] a\n",
    ["1 A @1", "[ ] 1.1 [wip] a @2"],
  ],
  [
    "with a box of their own are not the name of an empty box",
    "## Phase 1: A\n- [ ]\n  -[x] a\n",
    ["1 A @1", "[x] 1.1 a @3", "! CHECKBOX_UNPLACED 2"],
  ],
  [
    "that are labels in bold end the item, also below its second paragraph",
    "## Phase 1: A\n- [ ] a\n\n  More words.\n**Exit Criteria:**  \n- [ ] green\n",
    ["1 A @1", "[ ] 1.1 a @2", "gate green"],
  ],
  [
    "that are labels in bold with blanks behind them end the item",
    "## Phase 1: A\n- [ ] 1.1 a\n**Deliverables:**  \n- [ ] b\n",
    ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 4"],
  ],
  [
    "below a phase in a list that has no words of its own are in the item around it",
    "- [ ] 1.1 a\n  - - [x] b\n\n    **Depends on:** 1.2\n- [ ] 1.2 c\n",
    ["1 Tasks @1", "[ ] 1.1 a @1 1/1 < 1.2", "[ ] 1.2 c @5"],
  ],
];

describe("lines of an item", () => {
  it.each(LINES)("%s", check);
});

const TITLES: readonly Case[] = [
  [
    "may be in bullets at any depth, where no line begins with a hash",
    "- # Plan\n  - ##  Phase 1: A\n    - [ ] a\n  - notes\n    - ## Phase 2: B\n      - [ ] b\n",
    ["1 A @2", "[ ] 1.1 a @3", "2 B @5", "[ ] 2.1 b @6"],
  ],
  [
    "may be in bullets with two blanks",
    "-  # Setup\n   - [ ] a\n-  # Build\n   - [ ] b\n",
    ["1 Setup @1", "[ ] 1.1 a @2", "2 Build @3", "[ ] 2.1 b @4"],
  ],
  [
    "may be indented above a line of hyphens, with two blanks before the number",
    "## Plan\n\n  Phase  1: A\n---\n- [ ] a\n\nPhase 2: B\n---\n- [ ] b\n",
    ["1 A @3", "[ ] 1.1 a @5", "2 B @7", "[ ] 2.1 b @9"],
  ],
  [
    "may have labels behind them",
    "## Phase 1: A\n### **Task 1.1:** a · **Status:** done\n",
    ["1 A @1", "[x] 1.1 a @2"],
  ],
  [
    "have the box behind their id, not one behind other words",
    "## Phase 1: A\n### Task 1.1 –  [x] a\n### Task 1.2: a long name - [x] b\n### Task 1.3: [ ] c [x]\n",
    [
      "1 A @1",
      "[x] 1.1 a @2",
      "[ ] 1.2 a long name - [x] b @3",
      "[ ] 1.3 c [x] @4",
      "! CHECKBOX_UNPLACED 3",
      "! CHECKBOX_UNPLACED 4",
    ],
  ],
  [
    "in an item are lines of that item",
    "## Phase 1: A\n- [ ] 1.1 a\n  - [ ] 1.1.1 b\n\n  #### Depends on: 1.2\n- [ ] 1.2 c\n",
    ["1 A @1", "[ ] 1.1 a @2 < 1.2", "[ ] 1.1.1 b @3", "[ ] 1.2 c @6"],
  ],
  [
    "with a sign in bold have their id behind it",
    "## Phase 1: A\n### **✅ Task 1.1:** a\n### __🚧 Task 1.2__: b\n",
    ["1 A @1", "[x] 1.1 a @2", "[-] 1.2 b @3"],
  ],
];

describe("titles", () => {
  it.each(TITLES)("%s", check);
});

const TABLES: readonly Case[] = [
  [
    "may have no pipes at their sides, and blanks around boxes",
    "## Phase 1: A\nDone | Name\n--- | ---\n[x] | a\n  [ ]   | b\n",
    ["1 A @1", "[x] 1.1 a @4", "[ ] 1.2 b @5"],
  ],
  [
    "have boxes in cells of their own",
    "## Phase 1: A\n| Done  | Name |\n|---|---|\n|  [x]  | a |\n| so [ ] | b |\n",
    ["1 A @1", "[x] 1.1 a @4", "! TASK_UNREAD 5", "! CHECKBOX_UNPLACED 5"],
  ],
  [
    "with ids begin tasks behind the list of a gate",
    "## Phase 1: A\n- [ ] 1.1 a\n\n**Validation Gate:**\n- [ ] green\n\n| Done | Name |\n|---|---|\n| [ ] | 1.2 b |\n",
    ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @9", "gate green"],
  ],
  [
    "are no labels in bold",
    "## Phase 1: A\n- [ ] 1.1 a\n\n**Name:** b | **Status:** done\n--- | ---\n[x] | c\n",
    ["1 A @1", "[ ] 1.1 a @2", "[x] 1.2 c @6", "! TASK_WITHOUT_ID 6"],
  ],
];

describe("tables", () => {
  it.each(TABLES)("%s", check);
});

const HOLDERS: readonly Case[] = [
  [
    "is a task only with checkboxes right below it",
    "## Phase 1: A\n- [ ] 1.1 a\n- 1.2 b\n  - c\n- 1.3 d\n  - [ ] e\n",
    ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.3 d @5 0/1"],
  ],
];

describe("a bullet with an id", () => {
  it.each(HOLDERS)("%s", check);
});

describe("labels in one line", () => {
  it.each(["→ ", ">> ", ""])("may begin with signs: %j", (signs) => {
    const task = taskOf(
      `## Phase 1: A\n### Task 1.1: a\n${signs}**Files:** src/a.ts;**Requirements:** 1.2|  **Time:** 1 h\n`,
    );
    expect([task.files, task.requirements, task.estimatedTime]).toEqual([["src/a.ts"], ["1.2"], "1 h"]);
  });

  it("have the positions of their texts", () => {
    const line = "- **Files:** src/a.ts · **Acceptance Criteria:** fast";
    const [criterion] = taskOf(`## Phase 1: A\n### Task 1.1: a\n${line}\n`).acceptanceCriteria;
    expect(criterion).toMatchObject({ text: "fast", position: { line: 3, column: line.indexOf("**Acceptance") + 1 } });
  });

  it("of an item are about this item", () => {
    const plan = "## Phase 1: A\n- [ ] **1.1 a:** first · **Depends on:** 1.2\n- [ ] 1.2 b\n";
    expect(outline(plan)).toEqual(["1 A @1", "[ ] 1.1 a: first @2 < 1.2", "[ ] 1.2 b @3"]);
  });
});

describe("a fence", () => {
  it.each([
    ["around a list of tasks is none", "```[tasklist]\n- [ ] a\n- [ ] b\n```\n", ["[ ] 1.1 a @3", "[ ] 1.2 b @4"]],
    [
      "around such a list need not be closed",
      "```[tasklist]\n- [ ] a\n- [ ] b",
      ["[ ] 1.1 a @3", "[ ] 1.2 b @4", "! FENCE_UNCLOSED 2"],
    ],
    ["that only names such a list is code", "```md of [tasklist]\n- [ ] a\n```\n- [ ] b\n", ["[ ] 1.1 b @5"]],
  ])("%s", (_, fence, tasks) => {
    expect(outline(`## Phase 1: A\n${fence}`)).toEqual(["1 A @1", ...tasks]);
  });
});
