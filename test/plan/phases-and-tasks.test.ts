import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

describe("the phases and tasks of a plan", () => {
  // Each plan with what its headings, lists and lines in bold mean beside each other.
  it.each<readonly [string, string[]]>([
    ["## Phase 1: A\n- [ ] Task 1.1: b\n## More\n- Task 1.1: more\n  - x\n", ["1 A @1", "[ ] 1.1 b @2"]],
    [
      "## Phase 1: A\n- Task 1.1: more\n  - x\n## Check\n- [ ] Task 1.1: b\n- [ ] Task 1.2: c\n",
      ["1 A @1", "[ ] 1.1 more @2", "2 Check @4", "[ ] 1.1-2 b @5", "[ ] 1.2 c @6", "! TASK_ID_REPEATED 5"],
    ],
    [
      "## Phase 1: A\n- Task 1.1: a\n  - x\n- [ ] Task 1.1: b\n- [ ] Task 1.1: c\n  - y\n",
      ["1 A @1", "[ ] 1.1 b @4", "[ ] 1.1-2 c @5", "! TASK_ID_REPEATED 5"],
    ],
    ["## Phase 1: A\n- Task 1.1: a\n- [ ] Task 1.1: b\n  - y\n", ["1 A @1", "[ ] 1.1 b @3"]],
    ["## Phase 1: A\n- Task 1.1: a\n  words\n- Task 1.1: b\n", ["1 A @1", "[ ] 1.1 a @2"]],
    ["## Phase 1: A\n- Task 1.1: a\nwords\n## B\n- Task 1.1: b\n  - c\n  - d\n", ["1 A @1", "! PHASE_EMPTY 1"]],
    ["## Phase 1: A\n**Task 1.1**: a\n- c\n- d\n\n**Task 1.1**: b\n- e\n", ["1 A @1", "[ ] 1.1 a @2"]],
    ["## Phase 1: A\n**Task 1.1**: a\n- c\n## B\n**Task 1.1**: b\n- e\n- f\n- g\n", ["1 A @1", "! PHASE_EMPTY 1"]],
    ["## Phase 1: A\n- Task 1.1: a\n  - Task 1.2: b\n    - x\n", ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3"]],
    ["## Phase 1: A\n- Task 1.1: a\n- x\n  - y\n  - z\n- Task 1.1: b\n  - w\n", ["1 A @1", "[ ] 1.1 b @6"]],
    ["## Phase 1: A\n- text\n  **Task 1.1**: b\n- [ ] **Task 1.2**: c\n", ["1 A @1", "[ ] 1.2 c @4"]],
    ["## Phase 1: A\n- 1.1 a\n- [ ] 1.2 b\n", ["1 A @1", "[ ] 1.2 b @3"]],
    ["## Phase 1: A\n1.1 a\n- [ ] 1.2 b\n", ["1 A @1", "[ ] 1.2 b @3"]],
    ["## Phase 1: A\nTask 1.1: a\n- [ ] 1.2 b\n", ["1 A @1", "[ ] 1.1 1.2 b @3"]],
    ["## Phase 1: A\n- **Task** 1.1: a\n- __Task 1.2__ b\n- Tasks 1.3: c\n", ["1 A @1", "[ ] 1.2 b @3"]],
    ["## Phase 1: A\n**Tasks 1.1**: a\n\n**Task list**\n- [ ] b\n", ["1 A @1", "[ ] 1.1 b @5"]],
    [
      "## Setup\n### 1.1 a\n- [ ] c\n### 1.2 b\n- [ ] d\n",
      ["1 1.1 a @2", "[ ] 1.1 c @3", "2 1.2 b @4", "[ ] 2.1 d @5"],
    ],
    ["## Phase 1: A\n### 1 a\n- [ ] c\n### 2 b\n- [ ] d\n", ["1 A @1", "[ ] 1.1 c @3", "[ ] 1.2 d @5"]],
    ["## Phase 1: A\n### 1. a\n- [ ] c\n### 2. b\n- [ ] d\n", ["1 A @1", "[ ] 1.1 c @3", "[ ] 1.2 d @5"]],
    ["## Phase 1: A\n### Task 1: a\n- [ ] c\n### Task 2: b\n- [ ] d\n", ["1 A @1", "[ ] 1 a @2 0/1", "[ ] 2 b @4 0/1"]],
    ["## Phase 1: A\n### **Task 1**: a\n- [ ] c\n", ["1 A @1", "[ ] 1 a @2 0/1"]],
    ["## Phase 1: A\n### __Task 1__: a\n- [ ] c\n", ["1 A @1", "[ ] 1 a @2 0/1"]],
    ["## Phase 1: A\n### My Task 1: a\n- [ ] c\n", ["1 A @1", "[ ] 1.1 c @3"]],
    ["## Phase 1: A\n### 1.1 a\n- 1.2 b\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
    [
      "## Phase 1: A\n### 1.1 a\n- [ ] 1.2 b\n- [ ] c\n",
      ["1 A @1", "[ ] 1.2 b @3", "[ ] 1.2-2 c @4", "! TASK_WITHOUT_ID 4"],
    ],
    ["## Phase 1: A\n### 1.1 a\n- [ ] T1 b\n", ["1 A @1", "[ ] T1 b @3"]],
    ["## Phase 1: A\n### 1.1 a\n1.2 b [ ]\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2 0/1", "! CHECKBOX_UNPLACED 3"]],
    ["# Plan\n### 1.1 a\n- [ ] c\n", ["1 1.1 a @2", "[ ] 1.1 c @3"]],
    ["## Phase 1: A\n- a\n  - [ ] b\n- [ ] c\n", ["1 A @1", "[ ] 1.1 b @3", "[ ] 1.2 c @4"]],
    ["## Phase 1: A\n### [ ] a\n- [ ] b\n", ["1 A @1", "[ ] 1.1 b @3", "! CHECKBOX_UNPLACED 2"]],
    ["- [ ] a\n  - [ ] b\n    - [ ] c\n", ["1 Tasks @1", "[ ] 1.1 a @1 0/2"]],
    [
      "## Phase 1: A\n### Part\n- [ ] a\n## Other\n- [ ] b\n## Phase 2: B\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @3", "2 B @6", "[ ] 2.1 c @7", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n## Validation Gate\n- [ ] g\n- [ ] a\n## Phase 2: B\n- [ ] c\n",
      ["1 A @1", "gate g, a", "2 B @5", "[ ] 2.1 c @6", "! PHASE_EMPTY 1"],
    ],
    [
      "### Phase 1: A\n## Validation Gate\n- [ ] **Task 1.1**: a\n## Phase 2: B\n- [ ] **Task 2.1**: c\n",
      ["1 A @1", "[ ] 1.1 a @3", "2 B @4", "[ ] 2.1 c @5"],
    ],
    [
      "## Phase 1: A\n## Task 1.1: a\n## Phase 2: B\n## Task 2.1: b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4"],
    ],
    [
      "# M1\n## Phase 1: A\n- [ ] a\n# M2\n## Phase 2: B\n- [ ] b\n## Phase 3: C\n",
      ["1 A @2", "[ ] 1.1 a @3", "2 B @5", "[ ] 2.1 b @6", "3 C @7", "! PHASE_EMPTY 7"],
    ],
    [
      "# M1\n## Phase 1: A\n- [ ] a\n## Phase 3: C\n# M2\n## Phase 2: B\n",
      ["1 A @2", "[ ] 1.1 a @3", "3 C @4", "! PHASE_EMPTY 4"],
    ],
    [
      "# M1\n## Phase 1: A\n- [ ] a\n### Deep\n#### Phase 2: B\n## Phase 3: C\n",
      ["1 A @2", "[ ] 1.1 a @3", "3 C @6", "! PHASE_EMPTY 6"],
    ],
    ["# M1\n### Phase 1: A\n- [ ] a\n## Part\n### Phase 2: B\n", ["1 A @2", "[ ] 1.1 a @3"]],
    [
      "**Phase 1: A**\n- [ ] a\n\n**Phase 1 Gate**\n- [ ] b\n\n**Phase 2: B**\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "gate b", "2 B @7", "[ ] 2.1 c @8"],
    ],
    [
      "**Phase 1: A**\n- [ ] a\n\n**Phase 2 Build**\n- [ ] b\n\n**Phase 2: B**\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @5", "2 B @7", "[ ] 2.1 c @8"],
    ],
    ["**Phase 1: A**\n\n**Phase 1 Setup**\n- [ ] a\n", ["1 A @1", "[ ] 1.1 a @4"]],
    ["text **Phase 1: A**\n- [ ] a\n", ["1 Tasks @2", "[ ] 1.1 a @2"]],
    ["- **Phase 1: A**\n\n  **Phase 2: B**\n- [ ] a\n", ["1 Tasks @4", "[ ] 1.1 a @4"]],
    ["**Phase 1: A** and more\n- [ ] a\n", ["1 Tasks @2", "[ ] 1.1 a @2", "! PHASE_UNREAD 1"]],
    [
      "**Phase 1: A**:\n- [ ] a\n\n**Phase 2: B** (2 days):\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @4", "[ ] 2.1 b @5"],
    ],
    ["**Phase 1: A** [x]\n- [ ] a\n", ["1 Tasks @2", "[ ] 1.1 a @2", "! PHASE_UNREAD 1", "! CHECKBOX_UNPLACED 1"]],
    [
      "# Plan\n**Phase 1: A**\n- [ ] a\n## Notes\n- [ ] b\n**Phase 2: B**\n- [ ] c\n",
      ["1 A @2", "[ ] 1.1 a @3", "2 B @6", "[ ] 2.1 c @7", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n\n**Phase 2: B**\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @5", "! PHASE_UNREAD 4"],
    ],
    ["## Phase 1: Exit Gate\n- [ ] a\n## Phase 2 - Exit Gate\n- [ ] b\n", ["1 Exit Gate @1", "[ ] 1.1 a @2", "gate b"]],
    ["## 🚀 Phase 2: Quality Gate\n- [ ] a\n", ["2 Quality Gate @1", "[ ] 2.1 a @2"]],
    [
      "- other\n- **Phase 1: A**\n  - [ ] a\n- **Phase 2: B**\n  - [ ] b\n",
      ["1 A @2", "[ ] 1.1 a @3", "2 B @4", "[ ] 2.1 b @5"],
    ],
    [
      "- **Phase 1: A**\n  - [ ] a\n    - [ ] deep\n- **Phase 2: B**\n  - b\n",
      ["1 A @1", "[ ] 1.1 a @2 0/1", "2 B @4", "! PHASE_EMPTY 4"],
    ],
    [
      "- [ ] other\n- **Phase 1: A**\n  - [ ] a\n",
      ["1 Tasks @1", "[ ] 1.1 other @1", "[ ] 1.2 a @3", "! PHASE_UNREAD 2"],
    ],
    [
      "- **Phase 1: A**\n  - [ ] 1.1 a\n  - [ ] b\n- **Phase 2: B**\n  - [ ] 2.1 c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "2 B @4", "[ ] 2.1 c @5", "! TASK_WITHOUT_ID 3"],
    ],
    [
      "- **Phase 1: A**\n  - Task 1.1: a\n    - x\n- **Phase 2: B**\n  - Task 2.1: b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @4", "[ ] 2.1 b @5"],
    ],
    [
      "- [ ] Phase 1: A\n  - [ ] a\n- [ ] Phase 2: B\n  - [ ] b\n- Phase 3: C\n",
      [
        "1 A @1",
        "[ ] 1.1 a @2",
        "2 B @3",
        "[ ] 2.1 b @4",
        "3 C @5",
        "! CHECKBOX_UNPLACED 1",
        "! CHECKBOX_UNPLACED 3",
        "! PHASE_EMPTY 5",
      ],
    ],
    [
      "- [ ] Phase 1: A\n  words\n- [ ] Phase 2: B\n  - [ ] b\n",
      ["1 Tasks @1", "[ ] 1.1 Phase 1: A @1", "[ ] 1.2 Phase 2: B @3 0/1"],
    ],
    ["1. Phase 1: A\n   - [ ] a\n2. Phase 2: B\n   - [ ] b\n", ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4"]],
    ["- Phase 1: A\n\n  text\n\n  - [ ] a\n", ["1 A @1", "[ ] 1.1 a @5"]],
    [
      "# Plan\n\n- Phase 1: A\n  - [ ] a\n\n# Rest\n- Phase 2: B\n  - [ ] b\n",
      ["1 A @3", "[ ] 1.1 a @4", "2 B @7", "[ ] 2.1 b @8"],
    ],
    [
      "## Phase 1: A\n- [ ] 1 a\n## Phase 2: B\n- [ ] 1 b\n## Phase 3: C\n- [ ] 2 c\n",
      ["1 A @1", "[ ] 1.1 1 a @2", "2 B @3", "[ ] 2.1 1 b @4", "3 C @5", "[ ] 3.1 2 c @6"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n## Phase 1: A\n- [ ] Task 1: a\n",
      ["1 A @1", "[ ] 1 a @2", "! CHECKBOX_UNPLACED 4"],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n## Phase 1: A again\n- [ ] Task 1: a\n- [ ] Task 2: b\n",
      [
        "1 A @1",
        "[ ] 1 a @2",
        "2 A again @3",
        "[ ] 1-2 a @4",
        "[ ] 2 b @5",
        "! PHASE_RENUMBERED 3",
        "! TASK_ID_REPEATED 4",
      ],
    ],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n- [ ] Task 2: b\n## Phase 2: B\n- [ ] Task 2: b\n## Phase 2: C\n- [ ] Task 1: a\n",
      ["1 A @1", "[ ] 1 a @2", "[ ] 2 b @3", "2 B @4", "[ ] 2-2 b @5", "! TASK_ID_REPEATED 5", "! CHECKBOX_UNPLACED 7"],
    ],
    [
      "## Phase 1: A\n## Phase 2: B\n## Phase 1: A\n- [ ] a\n## Phase 2: B\n",
      ["2 B @2", "3 A @3", "[ ] 3.1 a @4", "! PHASE_EMPTY 2", "! PHASE_RENUMBERED 3"],
    ],
    ["## Phase 1: A\n## Phase 1: A\n", ["1 A @1", "! PHASE_EMPTY 1"]],
    ["# X\n## Phase 2: B\n# Y\n## Phase 1: A\n- [ ] a\n", ["1 A @4", "[ ] 1.1 a @5"]],
    [
      "## 2. B\n- [ ] a\n## 1. A\n- [ ] b\n",
      ["2 B @1", "[ ] 2.1 a @2", "3 A @3", "[ ] 3.1 b @4", "! PHASE_RENUMBERED 3"],
    ],
    ["## 1. A\n### 1. B\n- [ ] a\n### 2. C\n- [ ] b\n", ["1 B @2", "[ ] 1.1 a @3", "2 C @4", "[ ] 2.1 b @5"]],
    ["### 1. A\n- [ ] a\n## Other\n- [ ] b\n", ["1 A @1", "[ ] 1.1 a @2", "2 Other @3", "[ ] 2.1 b @4"]],
    [
      "## 1. A\n- [ ] a\n### More\n- [ ] b\n## Other\n### Part\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "[ ] 1.2 b @4", "2 Other @5", "[ ] 2.1 c @7"],
    ],
    ["## 1. A\n- [ ] 1.1 a\n## Risks\n- [ ] 2.1 b\n", ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 4"]],
    ["## 1. A\n- [ ] 1.1 a\n## 2. Risks\n- [ ] 2.1 b\n", ["1 A @1", "[ ] 1.1 a @2", "2 Risks @3", "[ ] 2.1 b @4"]],
    [
      "## 1. A\n- [ ] 1.1 a\n## Other\n- [ ] b\n  - [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 Other @3", "[ ] 2.1 b @4 0/1"],
    ],
    [
      "## 1. Validation Gate\n- [ ] a\n## Work\n- [ ] b\n",
      ["1 Validation Gate @1", "[ ] 1.1 a @2", "2 Work @3", "[ ] 2.1 b @4"],
    ],
    [
      "## Work\n- [ ] a\n## Validation Gate\n- [ ] g\n## Acceptance Criteria\n- [ ] c\n## Success Criteria\n- [ ] d\n## Exit Criteria\n- [ ] e\n",
      ["1 Work @1", "[ ] 1.1 a @2", "gate g, e", "! CHECKBOX_OF_PLAN 6", "! CHECKBOX_OF_PLAN 8"],
    ],
    ["## **Work**\n- [ ] a\n## __More__ \n- [ ] b\n", ["1 Work @1", "[ ] 1.1 a @2", "2 More @3", "[ ] 2.1 b @4"]],
    [
      "## Work\n- [ ] 3.1 a\n- [ ] b\n## More\n- [ ] T1 c\n",
      ["3 Work @1", "[ ] 3.1 a @2", "[ ] 3.2 b @3", "4 More @4", "[ ] T1 c @5", "! TASK_WITHOUT_ID 3"],
    ],
    ["## Work\n- [ ] 3.1 a\n- [ ] 4.1 b\n", ["3 Work @1", "[ ] 3.1 a @2", "4 Phase 4 @3", "[ ] 4.1 b @3"]],
    [
      "## Work\n- [ ] 3.1 a\n## More\n- [ ] 3.2 b\n",
      ["3 Work @1", "[ ] 3.1 a @2", "4 More @3", "[ ] 3.2 b @4", "! PHASE_RENUMBERED 3"],
    ],
    [
      "## Work\n- [ ] 10.1 a\n- [ ] 10.2 b\n## More\n- [ ] 12.1 c\n",
      ["10 Work @1", "[ ] 10.1 a @2", "[ ] 10.2 b @3", "12 More @4", "[ ] 12.1 c @5"],
    ],
    [
      "## Work\n- [ ] 1. Setup\n  - [ ] 1.1 a\n- [ ] 2. Build\n  - [ ] 2.1 b\n",
      ["1 Setup @2", "[ ] 1 Setup @2", "[ ] 1.1 a @3", "2 Build @4", "[ ] 2 Build @4", "[ ] 2.1 b @5"],
    ],
    ["## Work\n- [ ] 1. Setup\n- [ ] 2. Build\n  - [ ] c\n", ["1 Work @1", "[ ] 1 Setup @2", "[ ] 2 Build @3 0/1"]],
    [
      "- [ ] 1. Setup\n  - [ ] 1.1 a\n  - [ ] 1.2 b\n- [ ] 2. Build\n  - [ ] 2.1 c\n",
      ["1 Setup @1", "[ ] 1 Setup @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "2 Build @4", "[ ] 2 Build @4", "[ ] 2.1 c @5"],
    ],
    [
      "## A\n- [ ] 1.1 a\n## B\n- [ ] 1.2 b\n- [ ] 2.1 c\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 1.2 b @4", "[ ] 2.1 c @5"],
    ],
    ["## Tasks / Subtasks\n- [ ] 1.1 a\n- [ ] 2.1 b\n", ["1 Tasks / Subtasks @1", "[ ] 1.1 a @2", "[ ] 2.1 b @3"]],
    ["words\n- [ ] a\n", ["1 Tasks @2", "[ ] 1.1 a @2"]],
    ["words\n- [ ] 1 a\n- [ ] b\n# Later\n", ["1 Tasks @2", "[ ] 1.1 1 a @2", "[ ] 1.2 b @3"]],
    ["- [ ] a\n# H\nwords\n", ["1 Tasks @1", "[ ] 1.1 a @1"]],
    ["- [ ] Task 1: a\n# H\nwords\n", ["1 Tasks @1", "[ ] 1 a @1"]],
    ["# H\n- Task 1: a\n", ["1 H @1", "[ ] 1 a @2"]],
    ["- Task 1.1: a\n- Task 2.1: b\n", ["1 Tasks @1", "[ ] 1.1 a @1", "2 Phase 2 @2", "[ ] 2.1 b @2"]],
    [
      "## Phase 1 Build it\n- [ ] a\n## 1. One\n- [ ] b\n- [ ] c\n",
      ["1 Phase 1 Build it @1", "[ ] 1.1 a @2", "2 One @3", "[ ] 2.1 b @4", "[ ] 2.2 c @5"],
    ],
    [
      "## Phase 1 Build it\n- [ ] a\n- [ ] b\n## 1. One\n- [ ] c\n",
      ["1 Build it @1", "[ ] 1.1 a @2", "[ ] 1.2 b @3", "! CHECKBOX_UNPLACED 5"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n## 1. One\n- [ ] b\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 4", "! CHECKBOX_UNPLACED 5"],
    ],
    ["## Phase 1 Build it\n## 1. One\n- [ ] b\n", ["1 One @2", "[ ] 1.1 b @3"]],
    [
      "**Phase 1: A**\n- [ ] a\n## 1. One\n- [ ] b\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "! CHECKBOX_UNPLACED 4", "! CHECKBOX_UNPLACED 5"],
    ],
    ["# H\n### Task 1: a\n", ["1 H @1", "[ ] 1 a @2"]],
    ["words\n# X\n## Phase 2: B\n# Y\n## Phase 1: A\n- [ ] a\n", ["1 A @5", "[ ] 1.1 a @6"]],
    ["- Task 1.1: a\nwords\n- Task 1.1: b\nwords\n", ["1 Tasks @1", "[ ] 1.1 a @1"]],
    ["- Task 3.1: a\n- Task 3.1: b\nwords\n", ["3 Tasks @2", "[ ] 3.1 b @2"]],
    ["## Phase 1: A\n### 10. a\n- [ ] c\n", ["1 A @1", "[ ] 1.1 c @3"]],
    ["## Phase 1: A\n### 1. The Task list\n- [ ] c\n", ["1 A @1", "[ ] 1.1 c @3"]],
    ["## 1. A\n- [ ] 2.1 a\n", ["1 A @1", "[ ] 2.1 a @2"]],
    [
      "## Phase 1: A\n- [ ] Task 1: a\n- [ ] Task 2: b\n## Phase 2: B\n- [ ] Task 2: b\n## Phase 2: C\n- [ ] Task 3: c\n",
      ["1 A @1", "[ ] 1 a @2", "[ ] 2 b @3", "2 C @6", "[ ] 3 c @7", "! CHECKBOX_UNPLACED 5"],
    ],
    ["- Phase 1: A\n### Task 1.1: b\n", ["1 Tasks @2", "[ ] 1.1 b @2"]],
    ["## 1. Work\n- **Phase 1: A**\n  - [ ] 1.1 a\n", ["1 A @2", "[ ] 1.1 a @3"]],
    ["## Phase 1: A\n- [ ] Task 1.1: b\n### More\n- Task 1.1: more\n  - x\n", ["1 A @1", "[ ] 1.1 b @2"]],
    ["- Phase 1: A\n\n### 1.1 a\n- [ ] c\n", ["1 1.1 a @3", "[ ] 1.1 c @4"]],
    ["## Phase 1: A\n### [ ] 1.1 a\n- [ ] c\n", ["1 A @1", "[ ] 1.1 a @2 0/1"]],
    ["## Phase 1: A\n- Task 1.1: more\n  - x\n### Task 1.1: b\n- y\n", ["1 A @1", "[ ] 1.1 b @4"]],
    ["## Phase 2: B\n# X\n## Phase 1: A\n- [ ] a\n", ["1 A @3", "[ ] 1.1 a @4"]],
    ["Phase 1: A\n- [ ] a\n\n**Phase 1 Setup**\n- [ ] b\n", ["1 Setup @4", "[ ] 1.1 b @5", "! CHECKBOX_UNPLACED 2"]],
    ["## Phase  2: Quality Gate\n- [ ] a\n", ["2 Quality Gate @1", "[ ] 2.1 a @2"]],
    ["## Phase 10: Quality Gate\n- [ ] a\n", ["10 Quality Gate @1", "[ ] 10.1 a @2"]],
    ["## Phase 2 : Quality Gate\n- [ ] a\n", ["2 Quality Gate @1", "[ ] 2.1 a @2"]],
    ["**Phase 1: A**  (2 days)\n- [ ] a\n", ["1 A @1", "[ ] 1.1 a @2"]],
    ["→ **Phase 1: A**\n- [ ] a\n", ["1 Tasks @2", "[ ] 1.1 a @2"]],
    ["- **Phase 1: A**\n  - [ ] a\n\nPhase 2: B\n", ["1 A @1", "[ ] 1.1 a @2"]],
    ["- **Phase 1: A**\n  Phase 2: B\n  - [ ] a\n", ["1 A @1", "[ ] 1.1 a @3"]],
    ["- **Phase 1: A**\n  - [ ] a\n  - Phase 2: B\n", ["1 A @1", "[ ] 1.1 a @2"]],
    ["- [ ] a\n\n  ## b [ ]\n", ["1 Tasks @1", "[ ] 1.1 a @1", "! CHECKBOX_UNPLACED 3"]],
    ["## Work\n- [ ] T3.1 a\n## More\n- [ ] T3.2 b\n", ["1 Work @1", "[ ] T3.1 a @2", "2 More @3", "[ ] T3.2 b @4"]],
    ["## Work\n- [ ] T3.1 a\n- [ ] T4.1 b\n", ["3 Work @1", "[ ] T3.1 a @2", "4 Phase 4 @3", "[ ] T4.1 b @3"]],
    ["- [ ] T3.1 a\n- [ ] T4.1 b\n", ["3 Tasks @1", "[ ] T3.1 a @1", "4 Phase 4 @2", "[ ] T4.1 b @2"]],
    [
      "## Work\n- [ ] Task 1a: a\n- [ ] Task 1b: b\n- [ ] Task 2.1: c\n",
      ["1 Work @1", "[ ] 1a a @2", "[ ] 1b b @3", "2 Phase 2 @4", "[ ] 2.1 c @4"],
    ],
    [
      "## Work\n- [ ] Task 1.1: a\n- [ ] T9 b\n- [ ] Task 2.1: c\n- [ ] T10 d\n",
      [
        "1 Work @1",
        "[ ] 1.1 a @2",
        "[ ] 1.2 T9 b @3",
        "2 Phase 2 @4",
        "[ ] 2.1 c @4",
        "[ ] 2.2 T10 d @5",
        "! TASK_WITHOUT_ID 3",
        "! TASK_WITHOUT_ID 5",
      ],
    ],
    ["- **Phase 1: A**\n  - [ ] a\n- other\n", ["1 Tasks @2", "[ ] 1.1 a @2", "! PHASE_UNREAD 1"]],
    [
      "- **Phase 1: A**\n  - [ ] a\n- other\n- **Phase 2: B**\n  - [ ] b\n",
      ["1 Tasks @2", "[ ] 1.1 a @2", "[ ] 1.2 b @5", "! PHASE_UNREAD 1", "! PHASE_UNREAD 4"],
    ],
    ["# Later\nwords\n\nmore\n- x\n  - [ ] a\n", ["1 Later @1", "[ ] 1.1 a @6"]],
    ["- [ ] 10.1 a\n- [ ] 11.1 b\n", ["10 Tasks @1", "[ ] 10.1 a @1", "11 Phase 11 @2", "[ ] 11.1 b @2"]],
  ])("of %j are found", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });

  it.each([
    ["# Plan\n## [ ] a\n## [ ] b\n", "no heading above them is a phase"],
    ["## Phase A Gate: x\n- [ ] a\n", "no heading above them is a phase"],
    ["## Phase 1 Exit Gate\n- [ ] a\n", "no heading above them is a phase"],
    ["## My Phase 2: Quality Gate\n- [ ] a\n", "no heading above them is a phase"],
    ["- **Phase 1: A**\n- **Phase 2: B**\n", "no phase and no task"],
  ])("can't be found in %j: it has %s", (text, reason) => {
    expect(() => outline(text)).toThrowError(
      expect.objectContaining({ code: "PLAN_PARSE", message: expect.stringContaining(reason) }),
    );
  });

  it("can't be found without a phase: the error names the line of the first checkbox", () => {
    expect(() => outline("# Plan\n\n## [ ] a\n## [ ] b\n")).toThrowError(
      expect.objectContaining({ code: "PLAN_PARSE", details: { file: "tasks.md", line: 3 } }),
    );
  });
});
