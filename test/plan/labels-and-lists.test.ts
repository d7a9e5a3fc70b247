import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

describe("labels, lists and lines of a plan", () => {
  // To which task, gate or list each of them belongs.
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Files**: `x.ts`\n  - **Dependencies**: 1.2\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2 < 1.2", "[ ] 1.2 c @5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Gate**:\n- **Dependencies**: 1.2\n- [ ] a\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @7", "gate **Dependencies**: 1.2, a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Acceptance Criteria**:\n  - [ ] one\n- **Files**: x\n  - [ ] two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 two @6", "! TASK_WITHOUT_ID 6"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Acceptance Criteria**:\n    - [ ] one\n    - **Files**: x\n    - [ ] two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Acceptance Criteria**:\n    - [ ] one\n      - **Files**: x\n    - [ ] two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Acceptance Criteria**:\n    - [ ] one\n    - **Speed**: x\n    - [ ] two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/3"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - Acceptance Criteria:\n  - [ ] one\n  - [ ] two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - Acceptance Criteria:\n  - one\n  - two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - Acceptance Criteria:\n  - Note: one\n  - two\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - Acceptance Criteria:\n    - [ ] one\n  - [ ] two\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2", "[ ] 1.2 c @6"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n  - Acceptance Criteria:\n    - [ ] one\n  - [ ] two\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2 0/2", "[ ] 1.2 c @6"],
    ],
    // Of the items of a list, only one in bold without a checkbox may be a label that ends it.
    [
      "## Phase 1: A\n- [ ] a\n**Acceptance Criteria**:\n- [ ] b\n- [ ] **Files**: x\n- Files: **all**\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2 0/4"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n**Acceptance Criteria**:\n- [ ] b\n- __Files__: x\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2 0/1", "[ ] 1.2 c @6"],
    ],
    ["## Phase 1: A\n- [ ] a\n  - [ ] b\n    - [ ] c\n  - d\n", ["1 A @1", "[ ] 1.1 a @2 0/2"]],
    ["## Phase 1: A\n### Task 1.1: a\n- [ ] b\n  - [ ] c\n    - [ ] d\n- e\n", ["1 A @1", "[ ] 1.1 a @2 0/3"]],
    [
      "## Phase 1: A\n- [ ] a\n- Notes:\n  - [ ] b\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 c @5", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: a\n- Notes:\n  - [ ] b\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 c @5", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: a\n- Steps:\n  - [ ] b\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 c @5", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: a\n\nSteps:\n- [ ] b\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 c @6", "! CHECKBOX_UNPLACED 5"],
    ],
    ["## Phase 1: A\n\nSteps:\n- [ ] b\n- [ ] **Task 1.2**: c\n", ["1 A @1", "[ ] 1.2 c @5", "! CHECKBOX_UNPLACED 4"]],
    ["## Phase 1: A\n\nSteps:\n- [ ] b\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @4", "[ ] 1.2 c @5"]],
    [
      "## Phase 1: A\n\nRisks:\n- [ ] b\n- [ ] c\n\nMore:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 d @8", "! CHECKBOX_UNPLACED 4", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n\n**Acceptance Criteria**:\n- [ ] b\n\n**Tasks**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 c @7", "gate b"],
    ],
    ["## Phase 1: A\n\n**Acceptance Criteria**: all of it\n- [ ] b\n", ["1 A @1", "[ ] 1.1 b @4"]],
    ["## Phase 1: A\n\n**Success Criteria**:\n- [ ] b\n- [ ] **Task 1.1**: c\n", ["1 A @1", "[ ] 1.1 c @5", "gate b"]],
    [
      "## Phase 1: A\n\n**Dependencies**:\n- [ ] **Task 1.1**: c\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 c @4", "[ ] 1.2 d @5", "! TASK_WITHOUT_ID 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n- [ ] a\n\n**Quality**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- [ ] a\n\n**Quality**:\n- [ ] c\n\n**Success Criteria**:\n- [ ] d\n\n**Acceptance Criteria**:\n- [ ] e\n\n**Exit Criteria**:\n- [ ] f\n\n**Dependencies**:\n- [ ] g\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a, c, d, e, f", "! CHECKBOX_UNPLACED 20"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n**Success Criteria**:\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate d"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n**Quality**:\n- [ ] d\n**More**:\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate d", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n**Files**: x\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 d @6", "! TASK_WITHOUT_ID 6"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n**Speed**:\n- [ ] a\n**Size**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- [ ] a\n**Size**:\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n**Speed**:\n- [ ] a\n**Files**: x\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n## Validation Gates\n**Phase 1**\n- [ ] a\n\n**Phase 2**\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a, b", "! PHASE_UNREAD 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n## Validation Gates\n**Phase 1**:\n- [ ] a\n**Phase 2**:\n- [ ] b\n**Final**\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "2 B @3", "[ ] 2.1 c @4", "gate b, d"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n## Validation Gates\nPhase 1:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 B @3", "[ ] 2.1 c @4", "! CHECKBOX_UNPLACED 7"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n## Validation Gates\n**Phase 1**: works\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 B @3", "[ ] 2.1 c @4", "! CHECKBOX_UNPLACED 7"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n**Phase 1, all before release**\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n**Phase 1 dependencies**\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- [ ] **Task 1.2**: c\n  - **Dependencies (in this phase)**: 1.1\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @3 < 1.1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n→ **Phase 1**\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n\n**Phase 1 Validation Gate**:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "2 B @3", "[ ] 2.1 c @4"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n\n**Phase 9 Validation Gate**:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 B @3", "[ ] 2.1 c @4", "gate a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n\n**Phase 1 Validation Gate**:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n\n**Validation Gate**:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n\n**Criteria**:\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n- **Validation Gate**:\n  - [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "- **Validation Gate**:\n  - [ ] a\n\n## Phase 1: A\n- [ ] **Task 1.1**: b\n",
      ["1 A @4", "[ ] 1.1 b @5", "! CHECKBOX_UNPLACED 2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- **Validation Gate**:\n  - [ ] a\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @5", "gate a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- **Validation Gate**:\n  - [ ] **Task 1.2**: c\n- [ ] **Task 1.3**: d\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.3 d @5", "gate **Task 1.2**: c"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**:\n- [ ] **Task 1.2**: c\n\n## Check\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate **Task 1.2**: c", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Success Criteria**:\n    - [ ] a\n  - **Phase Success Criteria**:\n    - [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Success Criteria**:\n- [ ] a\n", ["1 A @1", "[ ] 1.1 b @2", "gate a"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n  **Success Criteria**:\n  - [ ] a\n", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - [ ] **Task 1.2**: c\n\n  **Success Criteria**:\n  - [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 c @3"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- **Success Criteria**:\n  - [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Acceptance Criteria**:\n- [ ] a\n", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Status**: done\n", ["1 A @1", "[ ] 1.1 b @2"]],
    ["## Phase 1: A\n- Task 1.1: b\n  **Status**: done\n", ["1 A @1", "[x] 1.1 b @2"]],
    [
      "## Phase 1: A\n- Task 1.1: b\n\n**Status**: in progress\n- Task 1.2: c\n  - Status: blocked\n",
      ["1 A @1", "[-] 1.1 b @2", "[!] 1.2 c @5"],
    ],
    [
      "## Phase 1: A\n- Task 1.1: b\n  - [x] c\n  - [x] d\n- Task 1.2: c\n  - [x] e\n  - [ ] f\n",
      ["1 A @1", "[x] 1.1 b @2 2/2", "[ ] 1.2 c @5 1/2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Dependencies**:\n- 1.2\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2 < 1.2", "[ ] 1.2 c @6"],
    ],
    [
      "## Phase 1: A\n**Task 1.1**: b\n- [ ] c\n\n**Task 1.2**: d\n**Dependencies**: 1.1\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 d @5 0/1 < 1.1"],
    ],
    ["## Phase 1: A\n**Task 1.1**: b\n\n#### Steps\n- [ ] e\n", ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"]],
    ["words\n**Task 1.1**: b\n- [ ] c\n", ["1 Tasks @2", "[ ] 1.1 b @2 0/1"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\nAll is well.\n", ["1 A @1", "[ ] 1.1 b @2", "gate All is well."]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\n- [ ] a\n\nAll is well.\n", ["1 A @1", "[ ] 1.1 b @2", "gate a"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\nAll of: **\nmore\n", ["1 A @1", "[ ] 1.1 b @2", "gate more"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\n**All of these:**\nmore\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate more"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\n**Checkpoint**: one\n**Checkpoint**: two\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate one"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Checkpoint**: one\n\nwords\n", ["1 A @1", "[ ] 1.1 b @2", "gate one"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Checkpoint**:\none\n", ["1 A @1", "[ ] 1.1 b @2"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Phase Gate**: one\n", ["1 A @1", "[ ] 1.1 b @2", "gate one"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Exit Criteria**: one\n", ["1 A @1", "[ ] 1.1 b @2"]],
    [
      "## Tasks / Subtasks\n- [ ] Task 1: a (AC: 1)\n  - [ ] 1.1 b\n    - [ ] c\n- [ ] Task 2: d\n",
      ["1 Tasks / Subtasks @1", "[ ] 1 a @2 0/2", "[ ] 2 d @5"],
    ],
    [
      "## Phase 1: A\n- [ ] 1.1 a\n  - [ ] 1.2 b\n    - [ ] c\n  - [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2 0/1", "[ ] 1.2 b @3 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] 1.1 a\n- [ ] b\n### Notes\n- [ ] c\n- [ ] 1.2 d\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2-2 b @3", "[ ] 1.2 d @6", "! TASK_WITHOUT_ID 3", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: a\n### Notes\n- [ ] c\n- [ ] 1.2 d\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 4", "! CHECKBOX_UNPLACED 5", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: a\n- [ ] c\n- [ ] Task 1.2: d\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 a @2 0/2", "[ ] 1.2 d @4"],
    ],
    ["- [ ] c\n## Phase 1: A\n- [ ] Task 1.1: d\n", ["1 A @2", "[ ] 1.1 d @3", "! CHECKBOX_UNPLACED 1"]],
    [
      "## Phase 1: A\n- [ ] Task 1.1: d\n# Other\n- [ ] e\n- [ ] Task 1.2: f\n",
      ["1 A @1", "[ ] 1.1 d @2", "2 Other @3", "[ ] 2.1 e @4", "[ ] 1.2 f @5", "! TASK_WITHOUT_ID 4"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1.1: d\n---\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 d @2", "[ ] 1.2 e @4", "! TASK_WITHOUT_ID 4"],
    ],
    ["## Phase 1: A\n### Task 1.1: d\n**Acceptance Criteria**:\n- a\n\n---\n- b\n", ["1 A @1", "[ ] 1.1 d @2 0/1"]],
    [
      "# Plan\n**Validation Gate**:\n- [ ] x\n\n- [ ] 1.1 a\n- [ ] 2.1 b\n",
      ["1 Plan @1", "[ ] 1.1 a @5", "gate x", "2 Phase 2 @6", "[ ] 2.1 b @6"],
    ],
    [
      "## Phase 1: A\n**Task 1.1**: b\n**Acceptance Criteria**:\n- [ ] c\n\n**Task 1.2**: d\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 d @6 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n**Phase 1**\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate **Task 1.2**: c"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Validation Gate\n**One**: x\n", ["1 A @1", "[ ] 1.1 b @2"]],
    ["## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n**Files**:\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n**Speed**: fast\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n### Gate\nAll of these**:**\nmore\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate more"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Notes\n\n**Phase 1 Validation Gate**:\n- [ ] a\n\n**Files**: x\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a, c"],
    ],
    ["words\n\n**Notes**:\n- [ ] a\n\n## Phase 1: A\n- [ ] b\n", ["1 A @6", "[ ] 1.1 b @7", "! CHECKBOX_UNPLACED 4"]],
    ["## Phase 1: A\n### 2.2 My tasks\n- [ ] c\n", ["1 A @1", "[ ] 1.1 c @3"]],
    [
      "## Phase 1: A\n### 1.2 b\n- [ ] c\n### 2.2 d\n- [ ] e\n",
      ["1 A @1", "[ ] 1.2 b @2 0/1", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1.1: b\n### Other\n- **Validation Gate**:\n  - [ ] g\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate g"],
    ],
    ["## Phase 1: A\n- [ ] a\n## Notes\n## Validation Gate\n- [ ] g\n", ["1 A @1", "[ ] 1.1 a @2", "gate g"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n# Other\n## Task 1.2: c\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 Other @3", "[ ] 1.2 c @4 0/1"],
    ],
  ])("of %j belong where they say", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});
