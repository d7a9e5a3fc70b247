import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

describe("the structure of a plan", () => {
  // Which headings are phases, which rows are tasks, and to what each checkbox belongs.
  it.each<readonly [string, string[]]>([
    [
      "- [ ] 1 Setup\n- [ ] 1.1 a\n- [ ] 1.2 b\n- [ ] 2 Build\n- [ ] 2.1 c\n",
      [
        "1 Tasks @2",
        "[ ] 1.1 a @2",
        "[ ] 1.2 b @3",
        "[ ] 1.3 2 Build @4",
        "2 Phase 2 @5",
        "[ ] 2.1 c @5",
        "! CHECKBOX_UNPLACED 1",
        "! TASK_WITHOUT_ID 4",
      ],
    ],
    [
      "# Plan\n- [ ] 1.1 a\n- [ ] 2.1 b\n- [ ] c\n",
      ["1 Plan @1", "[ ] 1.1 a @2", "2 Phase 2 @3", "[ ] 2.1 b @3", "[ ] 2.2 c @4", "! TASK_WITHOUT_ID 4"],
    ],
    ["# Plan\n- [ ] 1. a\n- [ ] 2. b\n", ["1 Plan @1", "[ ] 1 a @2", "[ ] 2 b @3"]],
    [
      "# Plan\n- [ ] 2.1 a\n  - [ ] 2.2 b\n- [ ] 2 c\n",
      ["2 Plan @1", "[ ] 2.1 a @2", "[ ] 2.2 b @3", "[ ] 2.3 2 c @4", "! TASK_WITHOUT_ID 4"],
    ],
    ["# Tasks\n- [ ] 1.1 a\n## More\n- [ ] 2.1 b\n", ["1 Tasks @1", "[ ] 1.1 a @2", "2 More @3", "[ ] 2.1 b @4"]],
    ["- [ ] Task 1: a\n- [ ] Task 2: b\n", ["1 Tasks @1", "[ ] 1 a @1", "[ ] 2 b @2"]],
    ["words\n- [ ] T001 a\n# Later\nwords\n", ["1 Tasks @2", "[ ] T001 a @2"]],
    ["## Phase 1: A\n### 1.1 a\n- [ ] c\n### 1.2 b\n", ["1 A @1", "[ ] 1.1 a @2 0/1", "[ ] 1.2 b @4"]],
    ["## Phase 1: A\n### 1.1 a\n- [ ] 1.2 c\n", ["1 A @1", "[ ] 1.2 c @3"]],
    ["## Phase 1: A\n### 1.1 a\n- [ ] 3 c\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
    [
      "## 2. Setup\n- [ ] 2.1 a\n## Task 3\n- [ ] c\n## 4. Rest\n- [ ] 4.1 d\n",
      ["2 Setup @1", "[ ] 2.1 a @2", "[ ] 3 Task 3 @3 0/1", "4 Rest @5", "[ ] 4.1 d @6"],
    ],
    [
      "## 1. Setup\n### Part\n- [ ] 1.1 a\n## Notes\n- [ ] x\n## Other\n- [ ] y\n",
      ["1 Setup @1", "[ ] 1.1 a @3", "2 Other @6", "[ ] 2.1 y @7", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "# Plan\n## 1. Setup\n### 1. Deep\n- [ ] 1.1 a\n## 2. Build\n- [ ] 2.1 b\n",
      ["1 Setup @2", "[ ] 1.1 a @4", "2 Build @5", "[ ] 2.1 b @6"],
    ],
    [
      "## Setup\n- [ ] 3.1 a\n- [ ] 3.2 b\n## Build\n- [ ] 4.1 c\n- [ ] 5.1 d\n",
      ["3 Setup @1", "[ ] 3.1 a @2", "[ ] 3.2 b @3", "4 Build @4", "[ ] 4.1 c @5", "[ ] 5.1 d @6"],
    ],
    [
      "Setup\n-----\n- [ ] a\n\nBuild\n-----\n- [ ] b\n\nIt is late.\n---\n- [ ] c\n",
      ["1 Setup @1", "[ ] 1.1 a @3", "2 Build @5", "[ ] 2.1 b @7", "[ ] 2.2 c @11"],
    ],
    [
      "## Setup\n- [ ] a\n## Build\nwords\n## Ship\n- [x] c\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "2 Ship @5", "[x] 2.1 c @6"],
    ],
    [
      "## **Setup**\n- [ ] a\n### Success Criteria\n- [ ] b\n### Validation Gate\n- [ ] c\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "gate b, c"],
    ],
    ["## Phase 1: A\n- Task 1.1: a\n  - more\n- Task 1.2: b\n", ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4"]],
    ["## Phase 1: A\n__Task 1.1__: a\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
    ["## Phase 1: A\nTask 1.1: a\n- [ ] **Task 1.1**: b\n", ["1 A @1", "[ ] 1.1 b @3"]],
    ["## Phase 1: A\n- **Task 1.1**: a\n  - [ ] c\n## Checklist\n- [ ] Task 1.1\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
    [
      "## Phase 1: A\n- **Task 1.1**: a\n## Checklist\n- [ ] Task 1.1\n",
      ["1 A @1", "! PHASE_EMPTY 1", "! CHECKBOX_UNPLACED 4"],
    ],
    ["## Phase 1: A\n- Task 1.1: a\n- Task 1.1: b\n  - one\n  - two\n", ["1 A @1", "[ ] 1.1 b @3"]],
    [
      "## Phase 1: A\n## Checklist\n- [ ] Task 1.1: b\n  - [ ] c\n- **Task 1.1**: a\n  - more\n",
      ["1 A @1", "! PHASE_EMPTY 1", "! CHECKBOX_UNPLACED 3", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Overview\n### Phase 1: A\n### Phase 2: B\n## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: B\n- [ ] **Task 2.1**: c\n",
      ["1 A @4", "[ ] 1.1 b @5", "2 B @6", "[ ] 2.1 c @7"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 2: Empty\n### Phase 3: Deep\n## Phase 1: Again\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 Empty @3", "! PHASE_EMPTY 3"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n# Phase 2: High\n- [ ] **Task 1.1**: again\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 High @3", "[ ] 1.1-2 again @4", "! TASK_ID_REPEATED 4"],
    ],
    [
      "## Milestone 1\n### Phase 1: A\n- [ ] Task 1: a\n## Milestone 2\n### Phase 2: B\n- [ ] Task 1: b\n",
      ["1 A @2", "[ ] 1 a @3", "2 B @5", "[ ] 1-2 b @6", "! TASK_ID_REPEATED 6"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n## Phase 2: Soon\n# Later\n## Phase 2: B\n- [ ] Task 1: b\n",
      ["1 A @1", "[ ] 1 a @2", "2 B @5", "[ ] 1-2 b @6", "! TASK_ID_REPEATED 6"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n# Done\n## Phase 1: A\n- [ ] Task 1: a\n",
      ["1 A @1", "[ ] 1 a @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- ✅ Task 1.1: done\n- [ ] Task 1.2: b\n- ⬜ **Task 1.3**: c\n- ✅ Tests pass\n- ⚠️ Task 2.5 needs a review\n- 🎉 1.9 is out\n- ✅ Task 1.2\n",
      ["1 A @1", "[ ] 1.2 b @3", "! TASK_UNREAD 2", "! TASK_UNREAD 4", "! TASK_UNREAD 5"],
    ],
    [
      "## Phase 1 Setup\n- [ ] a\n## Phase 2 Tasks\n- [ ] b\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "! PHASE_UNREAD 3", "! CHECKBOX_UNPLACED 4"],
    ],
    ...[
      ...["Depends on Phase 1", "*Depends on Phase 1*", "Requires phases 1 and 2 complete.", "Deps: Phase 2"],
      "**Dependencies:** Phase 1",
    ].map((sentence): [string, string[]] => [
      `## Phase 1: A\n- [ ] a\n## Phase 2: B\n${sentence}\n\n- [ ] b\n- [ ] c\n`,
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @6", "[ ] 2.2 c @7"],
    ]),
    [
      "## Phase 1: A\n- [ ] a\n## Phase 2: B\n**Dependencies:**\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "! PHASE_EMPTY 3", "! CHECKBOX_UNPLACED 5"],
    ],
    ["## Phase 1: A\n**References:** the handbook\n- [ ] b\n", ["1 A @1", "! PHASE_EMPTY 1", "! CHECKBOX_UNPLACED 3"]],
    ...["Notes API", "Metrics endpoint", "Notebook kernel", "Question bank", "Risk engine", "Checklist component"].map(
      (title): [string, string[]] => [
        `## Phase 1: A\n### ${title}\n- [ ] a\n### Setup Notes\n- [ ] b\n#### More work\n- [ ] c\n`,
        ["1 A @1", "[ ] 1.1 a @3", "[ ] 1.2 c @7", "! CHECKBOX_UNPLACED 5"],
      ],
    ),
    ...["Acceptance Criteria", "Key Deliverables", "Final Summary", "Estimated Timeline", "Test Results"].flatMap(
      (part): [string, string[]][] => [
        [
          `## 1. Setup\n- [ ] a\n- [ ] b\n### Phase 1 ${part}\nwords\n## 2. Build\n- [ ] c\n`,
          ["1 Setup @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "2 Build @6", "[ ] 2.1 c @7"],
        ],
        [
          `**Phase 1: Setup**\n- [ ] a\n\n**Phase 1 ${part}**\nwords\n\n**Phase 2: Build**\n- [ ] c\n`,
          ["1 Setup @1", "[ ] 1.1 a @2", "2 Build @7", "[ ] 2.1 c @8"],
        ],
      ],
    ),
    ["**Phase 1: Setup**\n- [ ] a\n\n**Phase 1 Extras**\n- [ ] b\n", ["1 Setup @1", "[ ] 1.1 a @2", "[ ] 1.2 b @5"]],
    [
      "**Phase 1: Setup**\n\n## Phase 1 Setup\n- [ ] a\n## 2. More\n- [ ] b\n",
      ["1 Setup @3", "[ ] 1.1 a @4", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## 1. Setup\n- [ ] a\n### Phase 1 Review\n- [ ] b\n## 2. Build\n- [ ] c\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4", "2 Build @5", "[ ] 2.1 c @6"],
    ],
    ...["Estimated 3 days", "Owner is Bob", "Total 3 hours", "Some note (draft)", "Task | Owner"].map(
      (words): [string, string[]] => [
        `## Phase 1: A\n\n${words}\n---\n\n- [ ] a\n- [ ] b\n`,
        ["1 A @1", "[ ] 1.1 a @6", "[ ] 1.2 b @7"],
      ],
    ),
    [
      "## 1. Setup\n- [ ] a\n## Notes API\n- [ ] b\n## Notes\n- [ ] c\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "2 Notes API @3", "[ ] 2.1 b @4", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## Tasks\n- [ ] Phase 1: schema\n- [ ] Phase 2: api\n- [ ] Phase 3: ui\n  - [ ] colours\n",
      ["1 Tasks @1", "[ ] 1.1 Phase 1: schema @2", "[ ] 1.2 Phase 2: api @3", "[ ] 1.3 Phase 3: ui @4 0/1"],
    ],
    [
      "## Phase 1 Setup and Configuration\n- [ ] a\n## Phase 2 Core\n- [ ] b\n",
      ["1 Setup and Configuration @1", "[ ] 1.1 a @2", "2 Core @3", "[ ] 2.1 b @4"],
    ],
    [
      "## Phase 1: Setup\n- [ ] a\n## Phase 1 Setup again\n- [ ] b\n## Phase 2 Build\n- [ ] c\n",
      ["1 Setup @1", "[ ] 1.1 a @2", "2 Build @5", "[ ] 2.1 c @6", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n**Phase 2: B**\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4", "! PHASE_UNREAD 3"],
    ],
    [
      "## Phase 1: Validation Gate work\n- [ ] a\n## Phase 2 Validation Gate\n- [ ] b\n",
      ["1 Validation Gate work @1", "[ ] 1.1 a @2", "gate b"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n## Phase 2. Exit Gate\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 Exit Gate @3", "[ ] 2.1 b @4"],
    ],
    [
      "## Story\n- [ ] 1.1 a\n## Tasks / Subtasks\n- [ ] Task 1: a\n  - [ ] Sub 1.1\n",
      ["1 Tasks / Subtasks @3", "[ ] 1 a @4 0/1", "gate 1.1 a"],
    ],
    [
      "## Tasks / Subtasks\n- [ ] Task 1: a\n## Other\n- [ ] Task 2: b\n",
      ["1 Tasks / Subtasks @1", "[ ] 1 a @2", "gate Task 2: b"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Notes**:\n    - [ ] n\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.2 c @5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Files**:\n    - `a/b.ts`\n    - c\n  - **Dependencies**:\n    - None\n",
      ["1 A @1", "[ ] 1.1 b @2"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria:**\n- [ ] a\n- **Note**: x\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria:**\n- a\n  - b\n- c\n**Dependencies**: None\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2 0/3"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n#### Steps\n- [ ] a\n#### Acceptance Criteria\n- [ ] b\n### Notes\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2", "! CHECKBOX_UNPLACED 8"],
    ],
    ["## Phase 1: A\n### Task 1.1: b\n- [ ] a\n\n---\n- [ ] b\n", ["1 A @1", "[ ] 1.1 b @2 0/2"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate:**\n**Exit Criteria:** now\n- [ ] a\n**Note**: x\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a, b"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate:**\nAll done.\n", ["1 A @1", "[ ] 1.1 b @2"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\nBefore it:\nAll done.\nMore.\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate All done."],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- one\n- [ ] two\n  - three\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate one, two"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Checkpoint**: works\n- [ ] a\n", ["1 A @1", "[ ] 1.1 b @2", "gate a"]],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Quality Gate**: works\n", ["1 A @1", "[ ] 1.1 b @2"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Phase 1 Gate**:\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- [ ] **Task 1.2**: c\n\n**Gate**:\n- [ ] Task 1.2 done\n- [ ] **Task 1.3**: d\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @3", "[ ] 1.3 d @7", "gate Task 1.2 done"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n## Validation Gates\n**Before Phase 2:**\n- [ ] a\n**Phase 1**\n- [ ] b\n__Phase 1:__\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate b, c", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n## Validation Gates\n### Phase 1\n- [ ] a\n## Phase 9 notes\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "! PHASE_UNREAD 7", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n## Final Validation Gate\n- [ ] a\n## Phase 2: B\n- [ ] **Task 2.1**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "2 B @6", "[ ] 2.1 c @7"],
    ],
    [
      "### Validation Gate\n- [ ] a\n## Phase 1: A\n- [ ] **Task 1.1**: b\n",
      ["1 A @3", "[ ] 1.1 b @4", "! CHECKBOX_UNPLACED 2"],
    ],
    [
      "**Validation Gate**:\n- [ ] a\n## Phase 1: A\n- [ ] **Task 1.1**: b\n",
      ["1 A @3", "[ ] 1.1 b @4", "! CHECKBOX_UNPLACED 2"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n**Deliverables:**\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n\n**Steps:**\n- [ ] b\n\n**Deliverables:**\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @5", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n### Acceptance Criteria\n- [ ] b\n- [ ] c\n### More\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 d @7", "gate b, c"],
    ],
    [
      "## Phase 1: A\n### Risks\n- [ ] a\n#### High\n- [ ] b\n### Work\n- [ ] c\n### Open questions\n- [ ] d\n## Phase 2: B\n- [ ] e\n",
      [
        ...["1 A @1", "[ ] 1.1 b @5", "[ ] 1.2 c @7", "2 B @10", "[ ] 2.1 e @11"],
        ...["! CHECKBOX_UNPLACED 3", "! CHECKBOX_UNPLACED 9"],
      ],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### More\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 4"]],
    [
      "## Phase 1: A\n### Notes\n- [ ] c\n- [ ] **Task 1.1**: a\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @4", "[ ] 1.2 d @5", "! CHECKBOX_UNPLACED 3", "! TASK_WITHOUT_ID 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  1. [ ] c\n    - [ ] d\n- [ ] e\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2", "[ ] 1.2 e @5", "! TASK_WITHOUT_ID 5"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n- [ ] c\n  - [ ] d\n- **Task 1.2**: x\n  - [ ] e\n",
      ["1 A @1", "[ ] 1.1 b @2 0/2", "[ ] 1.2 x @5 0/1"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n**Phase Completion Criteria**\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate c"],
    ],
    ["## Phase 1: A\n### Task 1.1: b\n**Phase 1 Success Criteria**: x\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @2 0/1"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\nDepends on: Task 1.2\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2 < 1.2", "[ ] 1.2 c @4"],
    ],
    [
      "## Tasks/Subtasks\n- [ ] Task 1: a\n## My Tasks / Subtasks\n- [ ] Task 2: b\n",
      ["1 Tasks/Subtasks @1", "[ ] 1 a @2", "gate Task 2: b"],
    ],
    ["# A\n## Phase 1: x\n- [ ] **Task 1.1**: b\n# B\n## Phase 2: y\n", ["1 x @2", "[ ] 1.1 b @3"]],
    [
      "# A\n## Phase 1: x\n- [ ] **Task 1.1**: b\n### Deep\n## Phase 2: y\n",
      ["1 x @2", "[ ] 1.1 b @3", "2 y @5", "! PHASE_EMPTY 5"],
    ],
    ["## Phase 1: A\n## Notes\n- [ ] **Task 1.1**: b\n", ["1 A @1", "! PHASE_EMPTY 1", "! CHECKBOX_UNPLACED 3"]],
    ["## Phase 1: A\n### Notes\n- [ ] **Task 1.1**: b\n", ["1 A @1", "[ ] 1.1 b @3"]],
    ["## Phase 1: A\n## Validation Gate\n- [ ] x\n- [ ] **Task 1.1**: b\n", ["1 A @1", "[ ] 1.1 b @4", "gate x"]],
    ["## Phase 1: A\n## Task 1.1: a\n## Task 1.2: b\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3 0/1"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 1: More\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "2 More @3", "[ ] 1.2 c @4", "! PHASE_RENUMBERED 3"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 1: Same\n- [ ] **Task 1.1**: b\n- [ ] **Task 1.2**: c\n",
      [
        "1 A @1",
        "[ ] 1.1 b @2",
        "2 Same @3",
        "[ ] 1.1-2 b @4",
        "[ ] 1.2 c @5",
        "! PHASE_RENUMBERED 3",
        "! TASK_ID_REPEATED 4",
      ],
    ],
    ["# A\n- [ ] T001 a\n- [ ] T002 b\n", ["1 A @1", "[ ] T001 a @2", "[ ] T002 b @3"]],
    ["# A\n- [ ] 1.1 a\n- [ ] T002 b\n", ["1 A @1", "[ ] 1.1 a @2", "[ ] T002 b @3"]],
    ["# A\n- [ ] a 1.1\n- [ ] 2 b\n", ["1 A @1", "[ ] 1.1 a 1.1 @2", "[ ] 1.2 2 b @3"]],
    ["## __A__\n- [ ] a\n## 2) B\n- [ ] b\n", ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4"]],
    ["## Acceptance Criteria\n- [ ] a\n## Work\n- [ ] b\n", ["1 Work @3", "[ ] 1.1 b @4", "! CHECKBOX_OF_PLAN 2"]],
    [
      "## Work\n- [ ] a\n## Notes\n- [ ] b\n## 3. More\n- [ ] c\n",
      ["1 Work @1", "[ ] 1.1 a @2", "3 More @5", "[ ] 3.1 c @6", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## 1. A\n- [ ] a\n### 2. Deep\n- [ ] b\n## Open questions\n- [ ] c\n## Rest\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4", "2 Rest @7", "[ ] 2.1 d @8", "! CHECKBOX_UNPLACED 6"],
    ],
    ["# 1. A\n## 2. B\n- [ ] 2.1 a\n", ["2 B @2", "[ ] 2.1 a @3"]],
    [
      "### 1. A\n- [ ] 1.1 a\n## 2. B\n- [ ] 2.1 b\n## Notes\n- [ ] 9.1 x\n",
      ["2 B @3", "[ ] 2.1 b @4", "! CHECKBOX_UNPLACED 2", "! CHECKBOX_UNPLACED 6"],
    ],
    ["## Phase 1: A\n### 1.1 a\n### 1.2 b\n- [ ] 3. c\n", ["1 A @1", "[ ] 3 c @4"]],
    ["## Phase 1: A\n### 2.1 a\n- [ ] c\n### 1.2 b\n", ["1 A @1", "[ ] 1.2 b @4", "! CHECKBOX_UNPLACED 3"]],
    ["### 1.1 a\n- [ ] c\n", ["1 1.1 a @1", "[ ] 1.1 c @2"]],
    ["## Phase 1: A\n### T1 a\n- [ ] c\n### T2\n", ["1 A @1", "[ ] T1 a @2 0/1", "[ ] T2 Task T2 @4"]],
    ["## Phase 1: A\n### Task list\n- [ ] **Task 1.1**: a\n", ["1 A @1", "[ ] 1.1 a @3"]],
    [
      "**Phase 1: A**\n\n- [ ] a\n\n**Phase 2: B**:\n\n- [ ] b\n\n**Phase 3**: c\n",
      ["1 A @1", "[ ] 1.1 a @3", "2 B @5", "[ ] 2.1 b @7"],
    ],
    [
      "**Phase 1: A**\n\n- [ ] **Task 1.1**: b\n\n## Notes\n- [ ] x\n",
      ["1 A @1", "[ ] 1.1 b @3", "! CHECKBOX_UNPLACED 6"],
    ],
    [
      "**Phase 1: A**\n- [ ] a\n  - [ ] c\n**Phase 2: B**\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2 0/1", "2 B @4", "[ ] 2.1 b @5"],
    ],
    [
      "Phase 1: A\n===\n- [ ] a\nPhase 2: B\n===\n- [ ] b\nPhase 3: C\n---\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @3", "2 B @4", "[ ] 2.1 b @6", "3 C @7", "[ ] 3.1 c @9"],
    ],
    ["> **Phase 1: A**\n\n- [ ] a\n", ["1 A @1", "[ ] 1.1 a @3"]],
    [
      "## Phase 1: A\n- [ ] a\n## Phase 2 Build it\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 Build it @3", "[ ] 2.1 b @4"],
    ],
    [
      "### Phase 1 Setup the thing\n- [ ] a\n### Phase 1: Real\n- [ ] b\n",
      ["1 Real @3", "[ ] 1.1 b @4", "! CHECKBOX_UNPLACED 2"],
    ],
    [
      "## Phase 1\n- [ ] **Task 1.1**: b\n## Phase 1 Validation Gate\n- [ ] g\n## Phase 2: Gate: x\n- [ ] **Task 2.1**: c\n",
      ["1 Phase 1 @1", "[ ] 1.1 b @2", "gate g", "2 Gate: x @5", "[ ] 2.1 c @6"],
    ],
    ["## ⚙ Phase 1) Exit Gate\n- [ ] **Task 1.1**: b\n", ["1 Exit Gate @1", "[ ] 1.1 b @2"]],
    ["## Phase one: Exit Gate\n- [ ] **Task 1.1**: b\n", ["1 Exit Gate @1", "[ ] 1.1 b @2"]],
    [
      "## Phase 1: A\n- **Task 1.1**: a\n  - x\n- **Task 1.1**: b\n  - y\n  - z\n## Phase 2: B\n- **Task 2.1**: c\n",
      ["1 A @1", "[ ] 1.1 b @4", "2 B @7", "[ ] 2.1 c @8"],
    ],
    ["## Phase 1: A\n- **Task 1.1**: a\n  - x\n## Done\n- [ ] **Task 1.1**: a\n", ["1 A @1", "[ ] 1.1 a @2"]],
    [
      "## Phase 1: A\n- **Task 1.1**: a\n  - x\n## Done\n- [ ] **Task 1.1**: a\n  - y\n",
      ["1 A @1", "2 Done @4", "[ ] 1.1 a @5", "! PHASE_EMPTY 1"],
    ],
    ["## Phase 1: A\n### Task 1.1: a\nwords\n## Done\n- [x] **Task 1.1**: a\n", ["1 A @1", "[x] 1.1 a @2"]],
    [
      "## Phase 1: A\n- [ ] Task 1.1: a\n- Task 1.2: b\n- task 1.3 c\n- Taskless 1.4\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "[ ] 1.3 c @4"],
    ],
    [
      "## Phase 1: A\n__Task 1.1__: a\n\n**Tasks**: 1.2\n\n**Task 1.3**\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.3 Task 1.3 @6"],
    ],
    [
      "## Phase 1: A\n**Gate**:\n- [ ] **Task 1.1**: b\n- [ ] **Task 1.2**: c\n\n- [ ] **Task 1.1**: b\n",
      ["1 A @1", "[ ] 1.2 c @4", "[ ] 1.1 b @6", "gate **Task 1.1**: b"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Acceptance Criteria**:\n    - [ ] Task 1.2: c\n- [ ] **Task 1.3**: d\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "[ ] 1.3 d @5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Gate**:\n- [ ] a\n  - [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a, **Task 1.2**: c"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n- **Files**: x\n- **Note**: y\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "[ ] 1.2 c @5"],
    ],
    [
      "words\n\n- [ ] **Task 1.1**: b\n- [ ] **Task 2.1**: c\n",
      ["1 Tasks @3", "[ ] 1.1 b @3", "2 Phase 2 @4", "[ ] 2.1 c @4"],
    ],
    ["words\n- [ ] a\n  - [ ] c\n- [ ] b\n# Later\nwords\n", ["1 Tasks @2", "[ ] 1.1 a @2 0/1", "[ ] 1.2 b @4"]],
    [
      "**Phase 1: A** (2 days)\n\n- [ ] a\n\n**Phase 2**: (b)\n- [ ] b\n\n**Phase 3** later\n",
      ["1 A @1", "[ ] 1.1 a @3", "2 (b) @5", "[ ] 2.1 b @6"],
    ],
    [
      "# Plan\n- first\n- **Phase 1: A**\n  - note\n  - [ ] a\n    - [ ] c\n- Phase 2: B\n  - [ ] b\n- __Phase 3__\n# Phases\n",
      ["1 A @3", "[ ] 1.1 a @5 0/1", "2 B @7", "[ ] 2.1 b @8", "3 Phase 3 @9", "! PHASE_EMPTY 9"],
    ],
    [
      "- [ ] Phase 1: A\n  - [ ] 1.1 a\n  - [ ] 1.2 b\n- [x] Phase 2: B\n  - [x] 2.1 c\n",
      [
        ...["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "2 B @4", "[x] 2.1 c @5"],
        ...["! CHECKBOX_UNPLACED 1", "! CHECKBOX_UNPLACED 4"],
      ],
    ],
    ["- [ ] Phase 1: A\n  - [ ] a\n- [ ] Release\n", ["1 Tasks @1", "[ ] 1.1 Phase 1: A @1 0/1", "[ ] 1.2 Release @3"]],
    ["- [ ] Phase 1: A\n- [ ] Phase 2: B\n", ["1 Tasks @1", "[ ] 1.1 Phase 1: A @1", "[ ] 1.2 Phase 2: B @2"]],
    ["- **Phase 1**: 2 days\n\n## Setup\n- [ ] a\n  - [ ] b\n", ["1 Setup @3", "[ ] 1.1 a @4 0/1"]],
    ["# Only\n\nwords\n## Phase 1\n", ["1 Phase 1 @4", "! PHASE_EMPTY 4"]],
    [
      "## Phase 2: B\n## Phase 3: C\n### Phase 4: D\n",
      ["2 B @1", "3 C @2", "4 D @3", "! PHASE_EMPTY 1", "! PHASE_EMPTY 2", "! PHASE_EMPTY 3"],
    ],
    ["# Plan\n### Phase 1: A\n## Phase 2: B\n- [ ] **Task 1.1**: b\n", ["2 B @3", "[ ] 1.1 b @4"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase Validation Gates\n### Phase 1\n- [ ] a\n## Later\n### Phase 1 again\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "! CHECKBOX_UNPLACED 8"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n## Phase 1 recap\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n### Notes\n- [ ] n\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Acceptance Criteria\n- [ ] x\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_OF_PLAN 4"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Acceptance Criteria\n- [ ] x\n", ["1 A @1", "[ ] 1.1 b @2", "gate x"]],
    ["## Phase 1: A\n### Acceptance Criteria\n- [ ] b\n### Work\n- [ ] a\n", ["1 A @1", "[ ] 1.1 a @5", "gate b"]],
    ["## Phase 1: A\n- [ ] a\n### Success Criteria\n- [ ] b\n", ["1 A @1", "[ ] 1.1 a @2", "gate b"]],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Phase 1 Validation Gates\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n## Validation Gates\n- [ ] **Task 1.2**: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 5"],
    ],
    ["## Phase 1: A\n### Task 1.1: a\n#### Acceptance Criteria\n", ["1 A @1", "[ ] 1.1 a @2"]],
    [
      "## Phase 1: A\n### Task 1.1: a\n#### Acceptance Criteria\n- **Speed**: fast\n- [ ] two\n",
      ["1 A @1", "[ ] 1.1 a @2 0/2"],
    ],
    [
      "## Phase 1: A\n### Success Criteria\n- Speed: fast\n- [ ] b\n### Work\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 a @6", "gate b"],
    ],
    [
      "## Phase 1: A\n### Success Criteria\n- **Speed**: fast\n- [ ] b\n### Work\n- [ ] a\n",
      ["1 A @1", "[ ] 1.1 a @6", "gate b"],
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n## Validation Gates\n### Phase 1 Gate\n- [ ] a\n### Phase 7 Gate\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 b @2", "gate a", "! CHECKBOX_UNPLACED 7"],
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n### Phase 7 Gate\n- [ ] b\n", ["1 A @1", "[ ] 1.1 b @2", "gate b"]],
    ["## Phase 1: A\n### 1.2 b\n## 1.1 a\n", ["1 A @1", "[ ] 1.2 b @2"]],
    // A heading in a list is a line like others: no task, also with a checkbox.
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n  ### [ ] Task 1.2: c\n",
      ["1 A @1", "[ ] 1.1 b @2", "! CHECKBOX_UNPLACED 4"],
    ],
    ["## Notes\n- a\n\n  ### [ ] b\n## Work\n- [ ] c\n", ["1 Work @5", "[ ] 1.1 c @6", "! CHECKBOX_UNPLACED 4"]],
  ])("of %j is found", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});
