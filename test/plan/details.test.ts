import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import type { PlanItem } from "../../src/plan/plan.js";

/** Returns an item as `text!(detail/detail)`: `!` if it is ticked, `°` if it has no checkbox. */
function itemLine({ text, checked, checkbox, details = [] }: PlanItem): string {
  const below = details.length === 0 ? "" : `(${details.join("/")})`;
  return `${text}${checked ? "!" : ""}${checkbox === undefined ? "°" : ""}${below}`;
}

/** Returns what a plan says about its first phase and the first task of it, without what is empty. */
function said(text: string): object {
  const [phase] = parsePlan(text).plan.phases;
  const task = phase?.tasks[0];
  const all = {
    goal: phase?.goal,
    takes: phase?.estimatedDuration,
    gate: phase?.validationGate.map(itemLine),
    criteria: task?.acceptanceCriteria.map(itemLine),
    text: task?.description,
    time: task?.estimatedTime,
    files: task?.files,
    requirements: task?.requirements,
    parallel: task?.parallel,
    needs: task?.dependencies,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value && (value === true || value.length > 0)));
}

describe("labels, lists and lines of a phase and of its task", () => {
  it.each<readonly [string, object]>([
    ["## Phase 1: A\n**Goal**: x\n**Goal**: y\n- [ ] **Task 1.1**: b\n", { goal: "y" }],
    ["## Phase 1: A\nwords first\n**Goal**: x\n- [ ] **Task 1.1**: b\n", { goal: "x" }],
    ["## Phase 1: A\n**Goal**: x\n**Description**: y\n- [ ] **Task 1.1**: b\n", { goal: "x" }],
    ["## Phase 1: A\n**Description**: y\n**Goal**: x\n- [ ] **Task 1.1**: b\n", { goal: "x" }],
    ["## Phase 1: A\n**Description**: y\n**Description**: z\n- [ ] **Task 1.1**: b\n", { goal: "y" }],
    [
      "## Phase 1: A\n**Goal:**\none\ntwo\n\n**Duration**: 2 days\nthree\n- [ ] **Task 1.1**: b\n",
      { goal: "one two", takes: "2 days" },
    ],
    ["## Phase 1: A\nwords\n\nmore words\n- [ ] **Task 1.1**: b\n", { goal: "words" }],
    ["## Phase 1: A\n> | no\n| a |\n- [ ] **Task 1.1**: b\n", {}],
    ["## Phase 1: A\n- a bullet\n`code` words\n- [ ] **Task 1.1**: b\n", { goal: "`code` words" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n**Goal**: late\n", { text: "**Goal**: late" }],
    ["## Phase 1: A\n**Duration**: 2 days\n**Duration**: 3 days\n- [ ] **Task 1.1**: b\n", { takes: "2 days" }],
    ["## Phase 1: A\n**Duration**:\n- [ ] **Task 1.1**: b\n", {}],
    ["## Phase 1: A\n**Tasks**:\n- [ ] **Task 1.1**: b\n", {}],
    ["## Phase 1: A\n**Notes**:\nwords\n- [ ] **Task 1.1**: b\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Time**: 2h\n  **Time**: 3h\n", { time: "2h" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Time**:\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Parallel**: yes\n", { parallel: true }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Parallel**: true\n", { parallel: true }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Parallel**: no\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Parallel**: not yet\n", {}],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Files**: a/b.ts, `c/d.ts`\n  **Files**: `e.ts`\n",
      { files: ["a/b.ts", "c/d.ts", "e.ts"] },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Files**: the readme\n", { files: ["the readme"] }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Files**:\n    - a/b.ts\n    - *some* file\n  more\n",
      { text: "more", files: ["a/b.ts", "*some* file"] },
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Requirements**: 1.1, 1.2\n  _Requirements: 2.1_\n",
      { requirements: ["1.1", "1.2", "2.1"] },
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Requirements**:\n    - FR-1: x\n    - FR-2\n",
      { requirements: ["FR-1: x", "FR-2"] },
    ],
    ["## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**: one\n", { criteria: ["one°"] }],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**: one\n- [x] two\n- three\n",
      { criteria: ["two!", "three°"] },
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- one\n  - two\n    - three\n- four\n",
      { criteria: ["one°(two/three)", "four°"] },
    ],
    ["## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n  - one\n- two\n", { criteria: ["one°", "two°"] }],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- [ ] one <!-- no -->\n  - **two**\n  - [x] three\n  - four\n",
      { criteria: ["one(**two**)", "three!", "four°"] },
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Success Criteria**:\n- [ ] one\n**Risks**:\n- [ ] two\n",
      { criteria: ["one", "two"], text: "**Risks**:" },
    ],
    ["## Phase 1: A\n### Task 1.1: b\n- one\n- [x] two\nwords\n", { criteria: ["two!"], text: "- one\nwords" }],
    ["## Phase 1: A\n### Task 1.1: b\n#### Acceptance Criteria\none\n- two\n", { criteria: ["two°"], text: "one" }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n**One**: x\n- [x] a\n  - b\n  - c\n- d\n",
      { gate: ["a!(b/c)", "d°"] },
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- **One**\n  - [ ] a\n  - b\n- **Two**\n  - [ ] c\n- d\n",
      { gate: ["a", "b°", "c", "d°"] },
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- **One**:\n- [ ] a\n- Two:\n  - b\n- [x] c\n- **Note**: e\n",
      { gate: ["a", "Two:°(b)", "c!(**Note**: e)"] },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- One:\n- a\n", { gate: ["One:°", "a°"] }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n- one\n  - two\n  - [ ] a\n",
      { gate: ["one°(two)", "a"] },
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- **Note**: one\n- [ ] two\n- **Notes** of it\n",
      { criteria: ["**Note**: one°", "two", "**Notes** of it°"] },
    ],
    [
      "## Phase 1: A\n### Task 1.1: b\n**Acceptance Criteria**:\n- [ ] two\n- **Footnote**: x\n- **Note that**: y\n",
      { criteria: ["two", "**Footnote**: x°", "**Note that**: y°"] },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Validation Gate**: all\n- one\n  - two\n", { gate: ["one°(two)"] }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Checkpoint**: a\n**Checkpoint**: b\n",
      { gate: ["a°"], text: "**Checkpoint**: b" },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\n**a**\nb\nc\n", { gate: ["b°"] }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Validation Gate\nAll of:\nb **c**\n", { gate: ["b **c**°"] }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Exit Gate**: a\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### Gate\n- [ ] a\n\nwords\n- [ ] b\n", { gate: ["a", "b"] }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  words\n\n  - **Acceptance Criteria**:\n    - [ ] c\n  - step\n",
      { criteria: ["c"], text: "words\n\n- step" },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  1. one\n  2. two\n\n     more\n", { text: "1. one\n2. two\n\n   more" }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Status**: done\n  words\n  **Dependencies**: None\n  more\n",
      { text: "words\nmore" },
    ],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  - **Note**: x\n    - [ ] y\n",
      { criteria: ["y"], text: "- **Note**: x" },
    ],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Purpose**: x\n", { text: "**Purpose**: x" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Description**: x\n  y\n", { text: "x\ny" }],
    ["## Phase 1: A\n### Task 1.1: b\nwords\n\n#### Steps\nwords\n", { text: "words\n\n#### Steps\nwords" }],
    ["## Phase 1: A\n### Task 1.1: b\none\n## Notes\ntwo\n", { text: "one" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\nwords after\n- bullet\n", { text: "words after\n- bullet" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n  > quote\n\n---\n\nwords\n", { text: "> quote\n\n---\n\nwords" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n- [ ] **Task 1.2**: c (after 1.1)\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b (depends on 1.2)\n- [ ] **Task 1.2**: c\n", { needs: ["1.2"] }],
    [
      "## Phase 1: A\n- [ ] **Task 1.1**: b\n  **Dependencies**:\n    - 1.2\n    - Task 1.3\n- [ ] **Task 1.2**: c\n- [ ] **Task 1.3**: d\n",
      { needs: ["1.2", "1.3"] },
    ],
    ["## Phase 1: A\n**Description**: y\nmore\n- [ ] **Task 1.1**: b\n", { goal: "y" }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n### More\n**Goal**: late\n", {}],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Requirements**: FR-1\n", { requirements: ["FR-1"] }],
    ["## Phase 1: A\n- [ ] **Task 1.1**: b\n\n**Parallel**: yes\n", { parallel: true }],
    ["## Phase 1: A\n### Task 1.1: b\none\n### Notes\ntwo\n", { text: "one" }],
  ])("%j say %j", (text, expected) => {
    expect(said(text)).toEqual(expected);
  });
});
