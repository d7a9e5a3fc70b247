import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { lines, outline, taskOf } from "./outline.js";

const HEAD = "## Phase 1: A\n\n";

describe("acceptance criteria", () => {
  it.each([
    ["nested below a bold label", "- [ ] **Task 1.1**: B\n  - **Acceptance Criteria**:\n    - [x] a\n    - [ ] b\n"],
    ["with the colon inside", "- [ ] **Task 1.1**: B\n  - **Acceptance Criteria:**\n    - [x] a\n    - [ ] b\n"],
    ["below a plain label", "- [ ] **Task 1.1**: B\n  - Acceptance criteria:\n    - [x] a\n    - [ ] b\n"],
    ["below a slanted label", "- [ ] **Task 1.1**: B\n  - *Acceptance Criteria*:\n    - [x] a\n    - [ ] b\n"],
    ["below a label without a colon", "- [ ] **Task 1.1**: B\n  - **Acceptance**\n    - [x] a\n    - [ ] b\n"],
    [
      "below a label that is not a list item",
      "- [ ] **Task 1.1**: B\n\n  **Acceptance Criteria:**\n  - [x] a\n  - [ ] b\n",
    ],
    ["at column 0", "- [ ] **Task 1.1**: B\n\n**Acceptance Criteria:**\n- [x] a\n- [ ] b\n"],
    ["as deep as their label", "- [ ] **Task 1.1**: B\n  - **Acceptance Criteria**:\n  - [x] a\n  - [ ] b\n"],
    ["without a label", "- [ ] **Task 1.1**: B\n  - [x] a\n  - a note\n  - [ ] b\n"],
    ["numbered", "- [ ] **Task 1.1**: B\n  Done when:\n  1. [x] a\n  2. [ ] b\n"],
    ["below the heading of a task", "### Task 1.1: B\n\n- [x] a\n- [ ] b\n"],
    ["below a deeper heading", "### Task 1.1: B\n\n##### Acceptance Criteria\n\n- [x] a\n- [ ] b\n"],
    ["below a heading of the same level", "### Task 1.1: B\n\n### Acceptance Criteria\n\n- [x] a\n- [ ] b\n"],
    ["indented with tabs", "- [ ] **Task 1.1**: B\n\t- **Acceptance Criteria**:\n\t\t- [x] a\n\t\t- [ ] b\n"],
    ["between details", "### Task 1.1: B\n<details>\n<summary>Criteria</summary>\n\n- [x] a\n- [ ] b\n\n</details>\n"],
  ])("are read %s", (_, text) => {
    const { acceptanceCriteria } = taskOf(HEAD + text, "1.1");
    expect(acceptanceCriteria.map(({ text: criterion, checked }) => [criterion, checked])).toEqual([
      ["a", true],
      ["b", false],
    ]);
    expect(parsePlan(HEAD + text).diagnostics).toEqual([]);
  });

  it("may be plain bullets, or on the line of their label", () => {
    const plain = "- [ ] **Task 1.1**: B\n  - **Acceptance Criteria**:\n    - one\n      - more of it\n    - two\n";
    expect(taskOf(HEAD + plain).acceptanceCriteria).toMatchObject([
      { text: "one", checked: false, details: ["more of it"] },
      { text: "two", checked: false },
    ]);
    const beside = "- [ ] **Task 1.1**: B\n  - **Acceptance Criteria**: it works\n- [ ] **Task 1.2**: C\n";
    expect(taskOf(HEAD + beside).acceptanceCriteria).toMatchObject([{ text: "it works", checked: false }]);
  });

  it("may be in groups, and below other labels", () => {
    const group = "### Task 1.1: B\n\n**Acceptance Criteria:**\n\n*Functional:*\n- [x] a\n\n**Speed**\n- [ ] b\n";
    expect(outline(`${HEAD}${group}`)).toEqual(["1 A @1", "[ ] 1.1 B @3 1/2"]);
    const other = "### Task 1.1: B\n\n**Acceptance Criteria:**\n- [x] a\n\n**Checklist**\n- [ ] b\n";
    expect(outline(`${HEAD}${other}`)).toEqual(["1 A @1", "[ ] 1.1 B @3 1/2"]);
  });

  it("end at the next task", () => {
    const text = `${HEAD}- [ ] **Task 1.1**: B

**Acceptance Criteria:**
- [x] a
  - [ ] deeper
- [ ] **Task 1.2**: C
  - **Acceptance Criteria**:
    - [ ] b
  - **Notes**:
    - [ ] none
`;
    expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @3 1/2", "[ ] 1.2 C @8 0/2"]);
  });

  it("of a phase do not belong to its last task", () => {
    const text = `${HEAD}### Task 1.1: B\n- [ ] a\n\n**Phase 1 Success Criteria:**\n- [ ] b\n`;
    expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @3 0/1", "gate b"]);
  });

  it("are inside their task: the items beside it are tasks, also below a label in it", () => {
    const text = `${HEAD}- [ ] **Task 1.1**: B\n  **Acceptance Criteria:**\n- [x] a\n- [ ] **Task 1.2**: C\n`;
    expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @3", "[x] 1.2-2 a @5", "[ ] 1.2 C @6", "! TASK_WITHOUT_ID 5"]);
  });
});

describe("validation gates", () => {
  const TASK = "- [ ] **Task 1.1**: B\n";
  it.each([
    ["**Validation Gate:**"],
    ["**Validation Gate**:"],
    ["- **Validation Gate:**"],
    ["Validation Gate:"],
    ["**Phase 1 Validation Gate**"],
    ["**Phase 1 Gate:**"],
    ["**Quality Gates:**"],
    ["**Exit Criteria**"],
    ["**Phase Completion Criteria:**"],
    ["**Checkpoint:**"],
    ["### Validation Gate"],
    ["### Validation Gate: Phase 1"],
    ["#### 🛑 VALIDATION GATE"],
    ["### Phase 1 Validation Gate"],
    ["### Phase 1 Gate"],
    ["### ✅ Gate 1: Ready"],
    ["### Validation Gate before Phase 2"],
    ["### Validation Gate: Phase 1 → Phase 2"],
    ["### Phase 1 Checkpoint"],
    ["## Final Validation Gate"],
    ["## 🚦 Phase 1: Validation Gate"],
  ])("begin with %j", (label) => {
    expect(outline(`${HEAD}${TASK}\n${label}\n\n- [x] one\n- [ ] two\n`)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "gate one, two",
    ]);
  });

  it("may come before the tasks", () => {
    const text = `${HEAD}**Validation Gate:**\n- [ ] one\n- [ ] two\n\n${TASK}## Phase 2: C\n### Exit Gate\n1. three\n2. four\n\n- [ ] **Task 2.1**: D\n`;
    expect(outline(text)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @7",
      "gate one, two",
      "2 C @8",
      "[ ] 2.1 D @13",
      "gate three, four",
    ]);
  });

  it("may name the tasks that must be done", () => {
    const text = `${HEAD}${TASK}- [ ] **Task 1.2**: C\n\n**Validation Gate:**\n- [ ] Task 1.1: done\n- [ ] Task 1.2: done\n`;
    expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @3", "[ ] 1.2 C @4", "gate Task 1.1: done, Task 1.2: done"]);
  });

  it("may be groups, bullets or a sentence", () => {
    const groups = `${HEAD}${TASK}\n### Validation Gate\n\n**Before phase 2, verify:**\n\n- [ ] **All done**\n  - [x] a\n  - [ ] b\n\n- [ ] **Reviewed**\n\n**Exit Criteria:** all of it\n`;
    expect(outline(groups).at(-1)).toBe("gate All done, a, b, Reviewed");
    expect(outline(`${HEAD}${TASK}\n**Validation Gate:**\n- ✅ one\n- two\n`).at(-1)).toBe("gate ✅ one, two");
    expect(outline(`${HEAD}${TASK}\n**Checkpoint**: it all works\n`).at(-1)).toBe("gate it all works");
    expect(outline(`${HEAD}${TASK}\n### Checkpoint\n\nIt all works.\n`).at(-1)).toBe("gate It all works.");
  });

  it("may be at the end of the file, for all phases", () => {
    const text = `${HEAD}${TASK}
## Phase 2: C
- [ ] **Task 2.1**: D

---

## Phase Validation Gates

### Phase 1 Validation Gate: Done
- [ ] one

### Phase 2
- [ ] two
  - [ ] three

## Project Completion
- [ ] four
`;
    expect(outline(text)).toEqual([
      "1 A @1",
      "[ ] 1.1 B @3",
      "gate one",
      "2 C @5",
      "[ ] 2.1 D @6",
      "gate two, three",
      "! CHECKBOX_OF_PLAN 20",
    ]);
  });

  it("of all phases may be lines in bold", () => {
    const text = `${HEAD}${TASK}\n## Phase 2: C\n- [ ] **Task 2.1**: D\n\n## Validation Gates\n\n**Phase 1:**\n- [ ] one\n\n**Phase 2: C**\n- [ ] two\n`;
    expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @3", "gate one", "2 C @5", "[ ] 2.1 D @6", "gate two"]);
  });
});

it("boxes of a table with two in a row are each in one place, and a tick finds them", () => {
  const text = `${HEAD}### Task 1.1: B\n\n| Step | Written | Read |\n|---|---|---|\n| one | [x] | [ ] |\n`;
  const reading = parsePlan(text);
  expect(lines(reading)).toEqual(["1 A @1", "[ ] 1.1 B @3 1/2"]);
  expect(tickTask(text, reading.plan, "1.1", { criteria: true })).toBe(text.replace("[ ]", "[x]"));
});
