import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline, taskOf } from "./outline.js";

describe("the numbers of phases", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 3.5: A\n- [ ] a\n## Phase 3: B\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "3 B @3", "[ ] 3.1 b @4", "! PHASE_RENUMBERED 1"],
    ],
    [
      "## Phase 1: A\n- [ ] a\n## Phase 2: B\n- [ ] b\n## Phase 3.5: C\n- [ ] c\n## Phase 3: D\n- [ ] d\n",
      [
        "1 A @1",
        "[ ] 1.1 a @2",
        "2 B @3",
        "[ ] 2.1 b @4",
        "3 C @5",
        "[ ] 3.1 c @6",
        "4 D @7",
        "[ ] 4.1 d @8",
        "! PHASE_RENUMBERED 5",
        "! PHASE_RENUMBERED 7",
      ],
    ],
    [
      "## Phase 1.1: A\n- [ ] a\n## Phase 1.2: B\n- [ ] b\n## Phase 2: C\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4", "3 C @5", "[ ] 3.1 c @6", "! PHASE_RENUMBERED 1"],
    ],
    [
      "## Phase A: A\n- [ ] a\n## Phase C: B\n- [ ] b\n## Phase B: C\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4", "3 C @5", "[ ] 3.1 c @6", "! PHASE_RENUMBERED 5"],
    ],
    [
      "## Phase A: A\n- [ ] a\n## Phase A: B\n- [ ] b\n",
      ["1 A @1", "[ ] 1.1 a @2", "2 B @3", "[ ] 2.1 b @4", "! PHASE_RENUMBERED 3"],
    ],
    [
      "## Phase 1: No task\n## Phase 2: No changes needed\n## Phase 3: No change\n## Phase 4: C\n**Goal:** Nothing to do here.\n## Phase 5: D\n**Goal:** All of it.\n## Phase 6: E\n- [ ] a\n",
      [
        "1 No task @1",
        "2 No changes needed @2",
        "3 No change @3",
        "4 C @4",
        "5 D @6",
        "6 E @8",
        "[ ] 6.1 a @9",
        "! PHASE_EMPTY 6",
      ],
    ],
    [
      "## Phase 2: A\n- [ ] a\n## Phase 2a: B\n- [ ] b\n## Phase 2b: C\n- [ ] c\n## Phase D: D\n- [ ] d\n## Phase E: E\n- [ ] e\n",
      [
        "2 A @1",
        "[ ] 2.1 a @2",
        "3 B @3",
        "[ ] 3.1 b @4",
        "4 C @5",
        "[ ] 4.1 c @6",
        "5 D @7",
        "[ ] 5.1 d @8",
        "6 E @9",
        "[ ] 6.1 e @10",
        "! PHASE_RENUMBERED 3",
        "! PHASE_RENUMBERED 5",
        "! PHASE_RENUMBERED 7",
      ],
    ],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("the states of tasks", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n### Task 1.1: a\n- [x] Task 1.1.1: b\n- [ ] ~~Task 1.1.2: c~~\n",
      ["1 A @1", "[x] 1.1.1 b @3", "[~~] 1.1.2 c @4"],
    ],
    [
      "## Phase 1: A\n- Task 1.1: a\n  - [x] T001 b\n  - [ ] T002 ~~c~~\n",
      ["1 A @1", "[x] 1.1 a @2", "[x] T001 b @3", "[~~] T002 c @4"],
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Status:** Done\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1 b @2 0/1", "! TASK_TICKED_OPEN 2"],
    ],
    ["## Phase 1: A\n### Task 1.1: b\n**Status:** Cancelled\n- [ ] c\n", ["1 A @1", "[~~] 1.1 b @2 0/1"]],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

describe("the names of tasks", () => {
  it.each<readonly [string, string[]]>([
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: Use ~~Redis~~\n- [ ] **Task 1.2**: ~~Read\n- [ ] **Task 1.3**: **~~Write~~**\n- [ ] **Task 1.4**: a~~b~~\n- [ ] **Task 1.5**: ~~(later) Read\n",
      [
        "1 A @1",
        "[ ] 1.1 Use ~~Redis~~ @2",
        "[ ] 1.2 ~~Read @3",
        "[~~] 1.3 Write @4",
        "[ ] 1.4 a~~b~~ @5",
        "[ ] 1.5 ~~(later) Read @6",
      ],
    ],
    [
      "## Phase 1: A\n- [ ] 2 b\n- [ ] T002 打印机（依赖 T001）\n- [ ] T001 解析器\n",
      ["1 A @1", "[ ] 1.1 2 b @2", "[ ] T002 打印机 @3 < T001", "[ ] T001 解析器 @4", "! TASK_WITHOUT_ID 2"],
    ],
    ["## Phase 1: A\n### ✅ 🔥 T005 b\n### 🔧  T006 c\n", ["1 A @1", "[x] T005 b @2", "[ ] T006 c @3"]],
  ])("of %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });
});

const HEAD = "## Phase 1: A\n";

it("a phase with a letter in its number keeps it as it is written", () => {
  const text = "## Phase 2: A\n- [ ] a\n## Phase 2b: B\n- [ ] b\n## Phase N: C\n- [ ] c\n";
  expect(parsePlan(text).plan.phases.map(({ number, written }) => [number, written])).toEqual([
    [2, undefined],
    [3, "2b"],
    [4, "N"],
  ]);
});

it("criteria are in the order of the source, those in a table too", () => {
  const table = "  | Check | Run | Read |\n  |---|---|---|\n  | tests | [ ] | [x] |\n";
  const text = `${HEAD}- [ ] **Task 1.1**: b\n  - **Acceptance Criteria:**\n    - it runs\n\n${table}`;
  expect(taskOf(text).acceptanceCriteria.map((item) => [item.text, item.checked])).toEqual([
    ["it runs", false],
    ["tests", false],
    ["tests", true],
  ]);
});

describe("a diagnostic about a state", () => {
  it.each([
    ["- [x] **Task 1.1**: b\n  - [ ] c\n", "is ticked, with 1 open box inside it", 4],
    ["- [x] **Task 1.1**: b\n  - [ ] c\n  - [ ] d\n", "is ticked, with 2 open boxes inside it", 4],
    ["### Task 1.1: b\n**Status:** Done\n- [ ] c\n", "says done and counts as pending, with 1 open box inside it", 5],
    ["### Task 1.1: b\n**Status:** Done, but late\n", "'Done, but late' says done and limits it", 13],
    ["### Task 1.1: b\n**Status:** Somehow\n", "'Somehow' is no known state", 13],
  ])("of %j", (text, message, column) => {
    expect(parsePlan(HEAD + text).diagnostics).toMatchObject([{ message: expect.stringContaining(message), column }]);
  });
});

describe("a description", () => {
  it.each([
    ["\n**Description:** words\n", "words"],
    ["**Description:**\n\n  words\n\n\n\n  more\n\n---\n", "words\n\n  more"],
    ["\twords\n\t\tmore\n", "words\n\tmore"],
  ])("of %j", (text, description) => {
    expect(taskOf(`${HEAD}### Task 1.1: b\n${text}`).description).toBe(description);
  });
});

describe("the duration of a phase in an overview", () => {
  it.each([
    ["| Phase | Duration\n| 1 | 2 days\n", "2 days"],
    ["| Phase | Duration |\n|---|---|\n| 1 | 2 days |\n", "2 days"],
    ["- **Phase 1:** 2-3 days\n", "2-3 days"],
    ["- **Phase 1**: 4 hours (after the review)\n", "4 hours"],
    ["- **Phase 1** – 4 hours\n", "4 hours"],
    ["- **Phase 1: A** soon\n", undefined],
  ])("of %j", (overview, duration) => {
    expect(parsePlan(`${overview}\n${HEAD}- [ ] a\n`).plan.phases[0]?.estimatedDuration).toBe(duration);
  });
});

describe("the line of a task", () => {
  it.each([
    ["- [ ] T001 \\[P\\] \\[US1\\] Read", { name: "Read", parallel: true, story: "US1" }],
    ["- [ ] \\* T001 Read", { name: "Read", optional: true }],
    ["- [ ] T001 Rename \\*.js", { name: "Rename \\*.js", optional: false }],
    ["- [ ] T001 Read ( urgent, depends on T002)", { name: "Read (urgent)" }],
  ])("of %j", (line, expected) => {
    expect(taskOf(`${HEAD}${line}\n- [ ] T002 Write\n`)).toMatchObject(expected);
  });
});
