import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { tickTask } from "../../src/plan/tick.js";
import { outline, taskOf } from "./outline.js";

describe("headings below a phase", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate\n- [ ] c\n#### Tests\n- [ ] d\n#### Phase 1 Checkpoint\n- [ ] e\n## Phase 2: B\n- [ ] **Task 2.1**: f\n### Final Checkpoint\n- [ ] g\n#### Phase 1 Gate\n- [ ] h\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c, d, e, h", "2 B @9", "[ ] 2.1 f @10", "gate g"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### ✅ Validation:\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @2", "gate c"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Verification\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @2", "gate c"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation rules\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Form validation\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n#### Verification\n- [ ] c\n\n## Phase 2: B\n- [ ] **Task 2.1**: d\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "2 B @6", "[ ] 2.1 d @7"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n#### Phase 1 Gate\n- [ ] c\n### Task 1.2: d\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 d @5", "gate c"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n#### Validation Gate\n- it runs\n### Task 1.2: d\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 d @5"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n## Acceptance Criteria\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_OF_PLAN 4"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n### Write the acceptance criteria\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### 🔧 🔥 Task 2.5: c\n", ["1 A @1", "[ ] 1.1 b @2", "[ ] 2.5 c @4"]],
    ["## Phase 2: A\n### 12a. b\n### 1.2a c\n### 3a.1 d\n", ["2 A @1", "[ ] 12a b @2", "[ ] 3a 1 d @4"]],
    [
      "## Phase 1: A\n\nLegend:\n- [ ] open\n- [x] done\n- [-] in progress\n\n### Part\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @9"],
    ],
    [
      "## Phase 1: A\n### 1.1 b\n- [ ] c\n#### Phase 1 Success Criteria\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "gate d"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("the status line of a gate", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate: Ready\n- **Type**: manual\n- [ ] **Status**: c\n- **Status**: [x] passed\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate **Status**: c, Validation Gate: Ready"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate: Ready\n**Type**: manual\n**Status**: [x] passed\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate Validation Gate: Ready"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate: Ready\n**Status**: pending\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
    ["## Phase 1: A\n- Task 1.1: b\n\n**Validation Gate**:\n**Status**: [x] passed\n", ["1 A @1", "[x] 1.1 b @2"]],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- it runs\n- **Status**: [x] passed\n",
      ["1 A @1", "[x] 1.1 b @2 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate\n**Tests**: [x] pass\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c", "! CHECKBOX_UNPLACED 4"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("gates and their labels", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n- **Phase 1 Validation Gate**:\n  - [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n- A question\n  - Status: open\n", ["1 A @1", "[ ] 1.1 b @2"]],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Phase 1 Success Criteria**:\n- [ ] c\n### Task 1.2: d\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 d @5", "gate c"],
    ],
    [
      "## Phase 1: A\n- [ ] T001 a\n## Hotfixes\n- [ ] T002 b\n## Phase 2: B\n- [ ] T003 c\n\n**Validation Gate**:\n- [ ] d\n",
      ["1 A @1", "[ ] T001 a @2", "2 Hotfixes @3", "[ ] T002 b @4", "3 B @5", "[ ] T003 c @6", "gate d"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n**Duration**: 2 days\n**Phase 1**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n- [ ] c\n  Files: x\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Validation Gate**:\n    - it runs\n", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Success Criteria\n\n**Speed**:\n- [ ] c\n\n**Size**:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c, d"],
    ],
    ["## Phase 1: A\n- [ ] a\n- Validation Gate:\n- [ ] b\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2", "gate b, c"]],
    [
      "## Phase 1: A\n- [ ] a\n## Phase 2: B\n- [ ] b\n## Phase 3: C\n- [ ] c\n## Final Validation Gate\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4", "3 C @5", "[ ] 3.1 c @6", "gate d"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate\n- c\n**Files**: x\n- d\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("tables with two boxes in a row", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate\n\n| Check | Who | Run | Read |\n|---|---|---|---|\n| tests pass | QA | [x] | [ ] |\n| 2 | 3 | [x] | [ ] |\n| set [-] to skip | QA | [ ] | [ ] |\n",
      [
        "1 A @1",
        "[ ] 1.1 b @2",
        "gate tests pass · QA, tests pass · QA, | 2 | 3 | [x] | [ ] |, | 2 | 3 | [x] | [ ] |, set [-] to skip · QA, set [-] to skip · QA",
        "! CHECKBOX_UNPLACED 9",
      ],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Acceptance Criteria**:\n\n| Check | Run | Read |\n|---|---|---|\n| tests pass | [x] | [ ] |\n",
      ["1 A @1", "[ ] 1.1 b @2 1/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Deliverables**:\n\n| Check | Run | Read |\n|---|---|---|\n| tests pass | [x] | [ ] |\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 8", "! CHECKBOX_UNPLACED 8"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("groups of criteria", () => {
  it.each<readonly [string, string[]]>([
    [
      "**Phase 1: A**\n\n**Task 1.1: b**\n**Acceptance Criteria**:\n- [ ] c\n**Speed**:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @3 0/2"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n\n*Functional:*\n- reads files\n- writes files\n\n*Speed:*\n- below 1 s\n",
      ["1 A @1", "[ ] 1.1 b @2 0/3"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- reads files\n\n**Notes**:\n- see above\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n\n*Functional:*\n- reads files\n\n**Owner**: Ada\n- away in May\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n\n*Functional:*\n- reads files\n\n**Dependencies**:\n- Task 1.2\n### Task 1.2: c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1 < 1.2", "[ ] 1.2 c @10"],
    ],
    ["## Phase 1: A\n- [ ] a\n  - Acceptance Criteria:\n  - [ ] b\n    - more\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("labels in a task", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n### Task 1.1: b\n### Task 1.2: c\n**Dependencies (in this phase)**: 1.1\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @3 < 1.1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - Subtasks: write it, read it\n- [ ] **Task 1.2**: c\n  - Acceptance: FR-001\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 c @4 0/1"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Done**: [x]\n### Task 1.2: c\n**Tests**: [x] pass\n**Docs**: [ ] written\n**Done**: [ ] no\n### Task 1.3: d [x]\n**Done**: [ ] reviewed\n",
      ["1 A @1", "[x] 1.1 b @2", "[ ] 1.2 c @4 1/2", "[x] 1.3 d @8 0/1", "! TASK_TICKED_OPEN 8"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n- **Done**: [x]\n- **Tests**: [ ] pass\n- [ ] **Docs**: [x] written\n",
      ["1 A @1", "[x] 1.1 b @2 0/2", "! TASK_TICKED_OPEN 3", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- Later: the rest\n  - Dependencies: 1.2\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @5", "! TASK_UNREAD 4"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("labels of a phase", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n**Dependencies**: Phase 9\n- [ ] **Task 2.1**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 B @3", "[ ] 2.1 c @5", "! DEPENDENCY_UNKNOWN 3"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n**Dependencies**:\n- Phase 8\n- Phase 1\n\n- [ ] **Task 2.1**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 B @3", "[ ] 2.1 c @8", "! DEPENDENCY_UNKNOWN 3"],
    ],
    ["## Phase 1: A\n- [ ] a\n\n**Summary**:\n- [ ] b\n", ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 5"]],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("criteria behind a list of tasks", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] a\n- [ ] b\n\n**Acceptance Criteria**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "gate c"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n- [ ] b\n\nOne more.\n\n- [ ] c\n\n**Acceptance Criteria**:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "[ ] 1.3 c @7 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n- [ ] b\n### Last\n- [ ] c\n\n**Acceptance Criteria**:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "[ ] 1.3 c @5 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n  words\n- [ ] b\n\n**Acceptance Criteria**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4", "gate c"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("phases by the ids of tasks", () => {
  it.each<readonly [string, string[]]>([
    [
      "- [ ] WP10.1 a\n- [ ] WP10.2 b\n- [ ] WP11.1 c\n",
      ["10 Tasks @1", "[ ] WP10.1 a @1", "[ ] WP10.2 b @2", "11 Phase 11 @3", "[ ] WP11.1 c @3"],
    ],
    [
      "- [ ] FE-01 a\n- [ ] 2.1 b\n- [ ] 2.2 c\n",
      ["1 Tasks @1", "[ ] FE-01 a @1", "2 Phase 2 @2", "[ ] 2.1 b @2", "[ ] 2.2 c @3"],
    ],
    [
      "- [ ] Task T1: a\n- [ ] Task 2.1: b\n- [ ] Task 3.1: c\n",
      ["1 Tasks @1", "[ ] T1 a @1", "2 Phase 2 @2", "[ ] 2.1 b @2", "3 Phase 3 @3", "[ ] 3.1 c @3"],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("states in titles", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n### **✅ Task 1.1: b**\n### Task 1.2: c (80 %)\n### Task 1.3: d [DONE]\n### Task 1.4: e — in progress\n### Task 1.5: f - blocked\n### Task 1.6: g ⏳ started\n### Task 1.7: h (3/3)\n### Task 1.8: i **done**\n### Task 1.9: j: Say done\n### Task 1.10: k (done by Ada)\n### **Task 1.11: l ✅**\n### Task 1.12: m ( done )\n### Task 1.13: n (10 / 12)\n",
      [
        "1 A @1",
        "[x] 1.1 b @2",
        "[-] 1.2 c (80 %) @3",
        "[x] 1.3 d [DONE] @4",
        "[-] 1.4 e — in progress @5",
        "[!] 1.5 f - blocked @6",
        "[-] 1.6 g ⏳ started @7",
        "[x] 1.7 h (3/3) @8",
        "[ ] 1.8 i **done** @9",
        "[ ] 1.9 j: Say done @10",
        "[ ] 1.10 k (done by Ada) @11",
        "[x] 1.11 l ✅ @12",
        "[x] 1.12 m ( done ) @13",
        "[-] 1.13 n (10 / 12) @14",
      ],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

const HEAD = "## Phase 1: A\n";

describe("the items of a gate", () => {
  const gateOf = (text: string) => parsePlan(text).plan.phases.flatMap(({ validationGate }) => validationGate);

  it("have the box of a status line, and its line", () => {
    const text = `${HEAD}- [ ] **Task 1.1**: b\n### Validation Gate: Ready\n- **Type**: manual\n- **Status**: [x] passed\n`;
    expect(gateOf(text)).toEqual([
      {
        text: "Validation Gate: Ready",
        checked: true,
        checkbox: { mark: "x", position: { line: 5, column: 16, offset: 97 } },
        position: { line: 5, column: 3, offset: 84 },
      },
    ]);
  });

  it("have the boxes of a table one by one", () => {
    const table = "| Check | Run | Read |\n|---|---|---|\n| tests pass | [x] | [ ] |\n";
    const boxes = gateOf(`${HEAD}- [ ] **Task 1.1**: b\n### Validation Gate\n\n${table}`).map(
      ({ text, checked, checkbox }) => [text, checked, checkbox?.position.column],
    );
    expect(boxes).toEqual([
      ["tests pass", true, 17],
      ["tests pass", false, 23],
    ]);
  });
});

describe("the description of a task", () => {
  it.each([
    ["**Goal:**\nit runs\n", "**Goal:**\nit runs"],
    ["**Tasks:**\n1. read\n2. write\n", "**Tasks:**\n1. read\n2. write"],
    ["words\n\n**Description:**\nmore\n", "words\n\n**Description:**\nmore"],
    ["**Description:** words\n**Files:** `a.ts`\n", "words"],
    ["**Deliverables:**\n- the parser\n", "**Deliverables:**\n- the parser"],
    ["**Owner:** Ada\n**Time:** 2 hours\n", "**Owner:** Ada"],
    ["**Tests:** [x] pass\n", "**Tests:** [x] pass"],
    ["**Acceptance Criteria:**\n- it runs\n", undefined],
  ])("with %j", (text, description) => {
    expect(taskOf(`${HEAD}### Task 1.1: b\n${text}`).description).toBe(description);
  });
});

describe("a status line", () => {
  const withStatus = (status: string) => taskOf(`${HEAD}### Task 1.1: b\n${status}`);
  it.each([
    ["**Status:** Pending\nDone is better\n", "pending", "Pending", undefined],
    ["**Status:** ⏳\nDone soon\n", "pending", undefined, undefined],
    ["**Status:**\nDone\n", "done", "Done", undefined],
    ["**Status:** [todo]\n", "pending", undefined, "todo"],
    ["**Status:** ⚠ Done, but not tested\n", "pending", "Done, but not tested", undefined],
    ["**Status:** [ ] Done, but not tested\n", "pending", "Done", ""],
    ["**Status:** [x] Pending\n", "pending", "Pending", undefined],
    ["**Status:** [x] passed\n", "done", undefined, "x"],
  ])("of %j", (status, state, word, mark) => {
    const task = withStatus(status);
    expect([task.state, task.status?.text, task.checkbox?.mark]).toEqual([state, word, mark]);
    expect(Object.hasOwn(task, "status")).toBe(word !== undefined);
  });
});

it("a box behind 'Done' is the task's own, and behind another word a criterion", () => {
  const text = `${HEAD}### Task 1.1: b\n**Done**: [ ]\n**Tests**: [ ] pass\n`;
  const { plan } = parsePlan(text);
  expect(tickTask(text, plan, "1.1")).toBe(text.replace("[ ]", "[x]"));
  expect(taskOf(text).acceptanceCriteria).toEqual([
    {
      text: "**Tests**: [ ] pass",
      checked: false,
      checkbox: { mark: "", position: { line: 4, column: 13, offset: 56 } },
      position: { line: 4, column: 1, offset: 44 },
    },
  ]);
});

it("a label below an item of a gate says nothing about the task before", () => {
  const text = `${HEAD}- [ ] **Task 1.1**: b\n\n**Validation Gate:**\n- [ ] c\n  Files: \`a.ts\`\n`;
  expect(taskOf(text).files).toEqual([]);
});

it("a label below a plain item that ends with a colon is one of the task before", () => {
  for (const title of ["More:", "**More:**", "More："]) {
    expect(taskOf(`${HEAD}- [ ] a\n- ${title}\n  - **Files:** \`a.ts\`\n`).files, title).toEqual(["a.ts"]);
  }
});

it("a label without a meaning that names only tasks is reported, not a sentence that names one", () => {
  const withLabel = (label: string) => outline(`${HEAD}- [ ] 1.1 a\n- [ ] 1.2 b\n  - ${label}\n`).slice(3);
  expect(withLabel("**Leverage:** 1.1")).toEqual(["! DEPENDENCY_UNREAD 3"]);
  expect(withLabel("**Leverage:** what 1.1 has built")).toEqual([]);
});

it("the boxes beside a label with a text are its criteria, and the text is none", () => {
  expect(outline(`${HEAD}- [ ] a\n  - Acceptance: all of these\n  - [ ] b\n`)).toEqual(["1 A @1", "[ ] 1.1 a @2 0/1"]);
});
