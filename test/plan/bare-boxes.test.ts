import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline, taskOf } from "./outline.js";

describe("a checkbox without a text", () => {
  it.each<readonly [string, string[]]>([
    ["- [ ]\n  - [ ] a\n- [ ] b\n", ["[ ] 1.1 a @4", "[ ] 1.2 b @5", "! CHECKBOX_UNPLACED 3"]],
    ["- [ ]\n\n  - [ ] a\n    - [x] b\n", ["[ ] 1.1 a @5 1/1", "! CHECKBOX_UNPLACED 3"]],
    ["- [ ] a\n  - [ ]\n    - [x] b\n", ["[ ] 1.1 a @3 1/1", "! CHECKBOX_UNPLACED 4"]],
    ["- [x] a\n  - [ ]\n", ["[x] 1.1 a @3", "! CHECKBOX_UNPLACED 4"]],
    ["1. [ ]\n   - [ ] Task 1.1: a\n", ["[ ] 1.1 a @4", "! CHECKBOX_UNPLACED 3"]],
    ["- [ ] <!-- later -->\n  - [ ] a\n", ["[ ] 1.1 a @4", "! CHECKBOX_UNPLACED 3"]],
    ["- [ ] a\n\n[ ]\n\n- [ ]*\n", ["[ ] 1.1 a @3", "! CHECKBOX_UNPLACED 5", "! CHECKBOX_UNPLACED 7"]],
    ["- [ ] a\n\n**Validation Gate:**\n- [ ]\n- [ ] b\n", ["[ ] 1.1 a @3", "gate b", "! CHECKBOX_UNPLACED 6"]],
    ["- [o]\n- [ ] a\n- [done] \n", ["[ ] 1.1 a @4", "! CHECKBOX_UNPLACED 3", "! CHECKBOX_UNPLACED 5"]],
    ["- a\n- [ ]\n- [ ]\n", ["! PHASE_EMPTY 1", "! CHECKBOX_UNPLACED 4", "! CHECKBOX_UNPLACED 5"]],
  ])("is no task, and what is nested in it stands in its place: %j", (text, expected) => {
    expect(outline(`## Phase 1: A\n\n${text}`)).toEqual(["1 A @1", ...expected]);
  });

  it("is named by a diagnostic that says so", () => {
    const { diagnostics } = parsePlan("## Phase 1: A\n- [ ] a\n- [ ]\n");
    expect(diagnostics).toEqual([
      expect.objectContaining({
        message: "a checkbox without a text, which belongs to no task and no gate, below 'Phase 1: A'",
      }),
    ]);
  });

  it("has the text in the line below it, if that is a line of its item", () => {
    const text = "## Phase 1: A\n- [x]\n  Task 1.2: Name\n  - [ ] a\n  - [ ]\n    b\n- [ ]\n  c\n  d\n";
    expect(outline(text)).toEqual([
      "1 A @1",
      "[x] 1.2 Name @2 0/2",
      "[ ] 1.2-2 c @7",
      "! TASK_TICKED_OPEN 2",
      "! TASK_WITHOUT_ID 7",
    ]);
    expect(taskOf(text, "1.2")).not.toHaveProperty("description");
    expect(taskOf(text, "1.2-2").description).toBe("d");
  });
});
