import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

type Case = readonly [name: string, plan: string, read: readonly string[]];

const check = (_: string, plan: string, read: readonly string[]) => expect(outline(plan)).toEqual(read);

describe("a sentence above checkboxes", () => {
  it.each([
    "Restore scripts referenced in the guide:",
    "Reduce the risk of data loss:",
    "**Restore scripts from the notes of last week:**",
    "Answer the questions that people have asked:",
  ])("is no label for its words: %s", (line) => {
    expect(outline(`## Phase 1: Fix\n${line}\n\n- [ ] a\n\n## Phase 2: Remove\n- [ ] b\n`)).toEqual([
      "1 Fix @1",
      "[ ] 1.1 a @4",
      "2 Remove @6",
      "[ ] 2.1 b @7",
    ]);
  });

  it.each(["Risks and mitigations:", "Known risks (open):", "**Open questions**", "References:", "Release notes:"])(
    "is a label if such a word begins or ends it: %s",
    (line) => {
      expect(outline(`## Phase 1: Fix\n- [ ] a\n\n${line}\n\n- [ ] b\n`)).toEqual([
        "1 Fix @1",
        "[ ] 1.1 a @2",
        "! CHECKBOX_UNPLACED 6",
      ]);
    },
  );
});

describe("front matter", () => {
  it("is no part of the plan", () => {
    const yaml =
      "---\nid: task-1\nassignee: []\nlabels:\n  - docs\ntext: >\n  Several words\n\ndependencies: []\n---\n";
    expect(outline(`${yaml}## Phase 1: A\n- [ ] b\n`)).toEqual(["1 A @11", "[ ] 1.1 b @12"]);
  });

  it.each<Case>([
    ["a rule", "---\n# Plan\n## Phase 1: A\n- [ ] b\n\n---\n- [ ] c\n", ["1 A @3", "[ ] 1.1 b @4", "[ ] 1.2 c @7"]],
    ["text that is no YAML", "---\nBy: Ann\n\n## Phase 1: A\n- [ ] b\n---\n", ["1 A @4", "[ ] 1.1 b @5"]],
    ["checkboxes", "---\nname: A\n- [ ] b\n---\n", ["1 Tasks @3", "[ ] 1.1 b @3"]],
  ])("is not what begins with %s", check);
});

describe("a story of BMAD", () => {
  it.each<Case>([
    [
      "has groups of tasks below headings",
      "# Story 1\n## Tasks / Subtasks\n### Fix it (AC: 1)\n- [x] a\n### Show it (AC: 2)\n- [ ] b\n## Dev Notes\n- [ ] c\n",
      ["1 Tasks / Subtasks @2", "[x] 1.1 a @4", "[ ] 1.2 b @6", "gate c"],
    ],
    [
      "has no tasks in what is said of them elsewhere",
      "# Story 1\n## Tasks / Subtasks\n- [ ] Set up (AC: 3)\n  - [ ] init\n- [ ] Configure\n## QA Results\n- Task 1 suggests more\n- Task 3 suggests less\n",
      ["1 Tasks / Subtasks @2", "[ ] 1.1 Set up @3 0/1", "[ ] 1.2 Configure @5"],
    ],
  ])("%s", check);
});

describe("a heading", () => {
  it.each<Case>([
    [
      "that counts down is no task",
      "# Launch\n### T-24 Hours: Planning\n- [ ] a\n### T-2 Hours: Check\n- [ ] b\n### T-30 Minutes: Final\n- [ ] c\n### Hardware\n- [ ] d\n",
      [
        "1 T-24 Hours: Planning @2",
        "[ ] 1.1 a @3",
        "2 T-2 Hours: Check @4",
        "[ ] 2.1 b @5",
        "3 T-30 Minutes: Final @6",
        "[ ] 3.1 c @7",
        "4 Hardware @8",
        "[ ] 4.1 d @9",
      ],
    ],
    [
      "of a checkpoint with a number in its phase is a group of tasks",
      "## Phase 5: Access\n### Checkpoint 5.1: Server ✅\n- [x] a\n### Checkpoint 5.2: Chat\n- [ ] b\n## Phase 6: X\n- [ ] c\n",
      ["5 Access @1", "[x] 5.1 a @3", "[ ] 5.2 b @5", "6 X @6", "[ ] 6.1 c @7"],
    ],
    [
      "of a week is a group of tasks, whatever its name is",
      "## Phase 1: Build\n### Week 11: Models\n- [ ] a\n### Week 12: Quality Gates & Review\n- [ ] b\n",
      ["1 Build @1", "[ ] 1.1 a @3", "[ ] 1.2 b @5"],
    ],
    [
      "inside a task is a part of it, where no heading is a phase",
      "# Plan\n## Approach\nText.\n## Task 1: Sync\n### 1.1 Schema\n- [x] a\n### 1.2 Rows\n- [x] b\n## Task 2: Refresh\n### 2.1 Schema\n- [ ] c\n",
      ["1 Approach @2", "[x] 1 Sync @4 2/2", "[ ] 2 Refresh @9 0/1"],
    ],
    [
      "of criteria may name their phase",
      "### Phase 1: Docs\n1. write\n### Phase 2: Code\n1. write\n## Success Metrics\n### Phase 1 Success Criteria (Docs)\n- [ ] a\n### Phase 2 Success Criteria\n- [ ] b\n",
      ["1 Docs @1", "gate a", "2 Code @3", "gate b", "! PHASE_EMPTY 1", "! PHASE_EMPTY 3"],
    ],
    [
      "of a checklist is above tasks if there are no others",
      "### Phase 1: Update\n1. do a\n### Phase 2: Remove\n1. do b\n## Implementation Checklist\n### Task 2.1: Audit\n- [x] a\n### Task 2.2: Standardize\n- [ ] b\n",
      [
        "1 Update @1",
        "2 Remove @3",
        "3 Implementation Checklist @5",
        "[x] 2.1 Audit @6 1/1",
        "[ ] 2.2 Standardize @8 0/1",
        "! PHASE_EMPTY 1",
        "! PHASE_EMPTY 3",
      ],
    ],
  ])("%s", check);
});

describe("the rows of a table without checkboxes", () => {
  it.each<Case>([
    [
      "are named if they have an id and a state",
      "### Phase 1: A\n| # | Task | Status |\n|---|---|---|\n| 1.1 | add | ✅ |\n| 1.2 | make | In progress |\n| 1.3 | why | |\n### Phase 2: B\n- [ ] 2.1 b\n",
      ["1 A @1", "2 B @7", "[ ] 2.1 b @8", "! PHASE_EMPTY 1", "! TASK_UNREAD 4", "! TASK_UNREAD 5"],
    ],
    [
      "are named beside tasks without ids",
      "## Phase 1: A\n| 1.1 | a | ✅ |\n|---|---|---|\n| 1.2 | b | ✅ |\n## Phase 2: B\n- [ ] c\n",
      ["1 A @1", "2 B @5", "[ ] 2.1 c @6", "! PHASE_EMPTY 1", "! TASK_UNREAD 4"],
    ],
    [
      "are not, if they list the tasks of the plan",
      "### Phase 1: A\n- [ ] 1.1 a\n## Progress\n| # | Status |\n|---|---|\n| 1.1 | ✅ |\n| 7 | ✅ |\n",
      ["1 A @1", "[ ] 1.1 a @2"],
    ],
  ])("%s", check);
});

describe("other languages", () => {
  it.each<Case>([
    [
      "Ukrainian",
      "## Етап 1: Збірка\n### Завдання 1.1: Почати\n### Завдання 1.2: Далі\n**Залежності**: 1.1\n**Статус**: виконано\n",
      ["1 Збірка @1", "[ ] 1.1 Почати @2", "[x] 1.2 Далі @3 < 1.1"],
    ],
    [
      "Romanian",
      "## Etapa 1: Baza\n- [ ] **Sarcina 1.1**: Start\n- [ ] **Sarcina 1.2**: Mai departe\n  - Depinde de: 1.1\n",
      ["1 Baza @1", "[ ] 1.1 Start @2", "[ ] 1.2 Mai departe @3 < 1.1"],
    ],
    [
      "Arabic",
      "## المرحلة 1: البداية\n- [ ] 1.1 أول\n  - _المتطلبات: 2.1, 2.2_\n- [ ] 1.2 ثان\n  - التبعيات: 1.1\n",
      ["1 البداية @1", "[ ] 1.1 أول @2", "[ ] 1.2 ثان @4 < 1.1"],
    ],
    ["Chinese", "## 阶段 1：基础\n- [ ] 1.1 开始\n  - _需求: 2.1_\n", ["1 基础 @1", "[ ] 1.1 开始 @2"]],
  ])("have words of their own: %s", check);
});
