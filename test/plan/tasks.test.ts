import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline, taskOf } from "./outline.js";

describe("tasks", () => {
  it.each([
    ["- [ ] **Task 1.1**: Name", "[ ] 1.1 Name @3"],
    ["- [x] **Task 1.1: Name**", "[x] 1.1 Name @3"],
    ["- [X] **Task 1.1:** Name", "[x] 1.1 Name @3"],
    ["- [-] __Task 1.1__ Name", "[-] 1.1 Name @3"],
    ["- [~] Task 1.1: Name", "[~] 1.1 Name @3"],
    ["- [✓] Task 1.1 - Name", "[x] 1.1 Name @3"],
    ["* [ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["+ [ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["1. [ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["4) [x] Task 1.1: Name", "[x] 1.1 Name @3"],
    ["-[ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["- [] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["- [ ]Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["[ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["**[ ] Task 1.1**: Name", "[ ] 1.1 Name @3"],
    ["\t- [ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["> - [ ] Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["- **Task 1.1**: Name", "[ ] 1.1 Name @3"],
    ["### Task 1.1: Name", "[ ] 1.1 Name @3"],
    ["#### Task 1.1 - Name", "[ ] 1.1 Name @3"],
    ["#### [x] Task 1.1: Name", "[x] 1.1 Name @3"],
    ["#### Task 1.1: Name [x]", "[x] 1.1 Name @3"],
    ["- [ ] Task-1.1: Name", "[ ] 1.1 Name @3"],
    ["- [ ] **T1.1**: Name", "[ ] T1.1 Name @3"],
    ["- [ ] T1: Name", "[ ] T1 Name @3"],
    ["##### 1.1 Name", "[ ] 1.1 Name @3"],
    ["**Task 1.1: Name**", "[ ] 1.1 Name @3"],
    ["**Task 1.1**: Name", "[ ] 1.1 Name @3"],
    ["- [ ] **Task 1.1**", "[ ] 1.1 Task 1.1 @3"],
  ])("start with %j", (line, task) => {
    expect(outline(`## Phase 1: Setup\n\n${line}\n`)).toEqual(["1 Setup @1", task]);
  });

  it.each([
    ["**Task 1.1**: __proto__", "__proto__"],
    ["Task 1.1 - __init__ method", "__init__ method"],
    ["__Task 1.1__: _private", "_private"],
    ["1.1 __proto__", "__proto__"],
    ["T011 __dirname is gone", "__dirname is gone"],
    ["**Task 1.1**: __All of it__", "All of it"],
  ])("keep underscores in their names, which are code: %j", (line, name) => {
    expect(parsePlan(`## Phase 1: A\n- [ ] ${line}\n`).plan.phases[0]?.tasks[0]?.name).toBe(name);
  });

  it("without ids get ids of their phase", () => {
    const text = "## Phase 2: A\n- [ ] do this\n- [x] do that\n  - [ ] as follows\n\n**Deliverables:**\n- [ ] a file\n";
    expect(outline(text)).toEqual([
      "2 A @1",
      "[ ] 2.1 do this @2",
      "[x] 2.2 do that @3 0/1",
      "! TASK_TICKED_OPEN 3",
      "! CHECKBOX_UNPLACED 7",
    ]);
  });

  it("with missing or repeated ids get unique ones", () => {
    const text = "## Phase 1: A\n- [ ] **Task 1.1**: a\n- [ ] **Task 1.1**: b\n- [ ] c\n- [ ] **Task 1.3**: d\n";
    expect(outline(text)).toEqual([
      "1 A @1",
      "[ ] 1.1 a @2",
      "[ ] 1.1-2 b @3",
      "[ ] 1.3-2 c @4",
      "[ ] 1.3 d @5",
      "! TASK_ID_REPEATED 3",
      "! TASK_WITHOUT_ID 4",
    ]);
  });

  it("have time, files, requirements, a story and marks, from labels of any form", () => {
    const task = taskOf(`## Phase 1: A
- [ ] **Task 1.1**: Name (M, 2-3 hours)
  - *Files Modified:* \`src/a.ts\`, /lib/b/c-d.ts
  - Requirements: FR-1
  - **Parallel**: Yes
  - **Traces to:** specs.md 2.1
  - a step

    \`\`\`ts
    // - [ ] no task
    \`\`\`
`);
    expect(task).toMatchObject({
      name: "Name",
      estimatedTime: "M, 2-3 hours",
      files: ["src/a.ts", "/lib/b/c-d.ts"],
      requirements: ["FR-1", "specs.md 2.1"],
      parallel: true,
      optional: false,
      description: "- a step\n\n  ```ts\n  // - [ ] no task\n  ```",
    });
  });

  it("read their time from a label that is not indented", () => {
    const task = taskOf("## Phase 1: A\n- [ ] **Task 1.1**: Name\n\n**Estimated time**: 2 h\n");
    expect(task).toMatchObject({ name: "Name", estimatedTime: "2 h" });
  });

  it("read their time from labels: bold or italic, with the colon inside or outside", () => {
    for (const label of [
      "**Estimated Time**: 2h",
      "**Estimated Time:** 2h",
      "*Estimated time:* 2h",
      "_Effort_: 2h",
      "Duration: 2h",
    ]) {
      expect(taskOf(`## Phase 1: A\n### Task 1.1: B\n\n${label}\n`).estimatedTime).toBe("2h");
    }
  });

  it("that are headings are done by their status, or if all their criteria are done", () => {
    const text = `## Phase 1: A
### Task 1.1: By status
**Status:** COMPLETED 2025-10-13
### Task 1.2: By criteria
**Acceptance Criteria:**
- [x] a
- [X] b
### Task 1.3: Under way
Status: In progress
### Task 1.4: Blocked
**Status**: 🔴 Blocked
### Task 1.5: Open
- [x] a
- [ ] b
`;
    expect(outline(text)).toEqual([
      "1 A @1",
      "[x] 1.1 By status @2",
      "[x] 1.2 By criteria @4 2/2",
      "[-] 1.3 Under way @8",
      "[!] 1.4 Blocked @10",
      "[ ] 1.5 Open @12 1/2",
    ]);
  });

  it("with an unknown mark are open, and reported", () => {
    expect(outline("## Phase 1: A\n- [?] **Task 1.1**: b\n- [/] **Task 1.2**: c\n")).toEqual([
      "1 A @1",
      "[ ] 1.1 b @2",
      "[-] 1.2 c @3",
      "! STATE_UNKNOWN 2",
    ]);
  });

  it("have the positions that editors show, with any line ends", () => {
    const lines = [
      "# Plan",
      "",
      "## Phase 1: Ü 🎯",
      "",
      "-\t[ ] **Task 1.1**: Name",
      "  **Acceptance Criteria:**",
      "\t- [x] a",
    ];
    for (const end of ["\n", "\r\n", "\r"]) {
      for (const mark of ["", "\uFEFF"]) {
        const text = mark + lines.join(end);
        const task = taskOf(text);
        expect(task.position).toEqual({ line: 5, column: 3, offset: text.indexOf("[ ]") });
        expect(task.checkbox?.position).toEqual({ line: 5, column: 4, offset: text.indexOf("[ ]") + 1 });
        expect(task.acceptanceCriteria[0]?.checkbox?.position.offset).toBe(text.indexOf("[x]") + 1);
      }
    }
  });
});
