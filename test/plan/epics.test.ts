import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { planToMarkdown } from "../../src/plan/write.js";
import { outline, taskOf } from "./outline.js";

const STORY = "Story 1.1: Sign up";

describe("epics with stories", () => {
  it("are phases with tasks, and the boxes of a story are its criteria", () => {
    const text = `# Shop

## Epic List

### Epic 1: Accounts
People can sign up.

### Epic 2: Billing
People pay.

## Epic 1: Accounts

People can have accounts.

### Story 1.1: Sign up

As a visitor, I want to sign up.

**Acceptance Criteria:**

- [ ] **Given** a visitor **When** they sign up **Then** they have an account
- [x] It sends a mail

### Story 1.2: Log in

**Acceptance Criteria:**

**Given** an account
**Then** its owner can log in

## Epic 2: Billing

### Story 2.1: Pay

**Status:** Done

#### Acceptance Criteria

1. Works

#### Tasks / Subtasks

- [x] Card
  - [x] Form

**Dependencies:** Story 1.2
`;
    expect(parsePlan(text).plan.dialect).toBe("epics");
    expect(outline(text)).toEqual([
      "1 Accounts @11",
      "[ ] 1.1 Sign up @15 1/2",
      "[ ] 1.2 Log in @24",
      "2 Billing @31",
      "[x] 2.1 Pay @33 2/3 < 1.2",
    ]);
  });

  it.each<readonly [string, string[]]>([
    ["# Epic 1: A\n## Story 1.1: B\n- [ ] c\n- [x] d\n", ["1 A @1", "[ ] 1.1 B @2 1/2"]],
    ["## Epic 1: A\n- [ ] Story 1.1: B\n  - [x] c\n", ["1 A @1", "[ ] 1.1 B @2 1/1"]],
    ["- **Epic 1: A**\n  - [x] Story 1.1: B\n    - [x] c\n", ["1 A @1", "[x] 1.1 B @2 1/1"]],
    [
      "- [ ] **Epic 1: A**\n  - [ ] User Story 1: B\n    - [x] c\n",
      ["1 A @1", "[ ] 1 B @2 1/1", "! CHECKBOX_UNPLACED 1"],
    ],
    [
      "## Epic 1: A\n**Story 1.1: B**\n- [ ] c\n\n**Story 1.2: D**\n- [x] e\n",
      ["1 A @1", "[ ] 1.1 B @2 0/1", "[x] 1.2 D @5 1/1"],
    ],
    ["## EPIC-1: A\n### User Story 1: B\n- [x] c\n", ["1 A @1", "[x] 1 B @2 1/1"]],
    ["## Epic A: One\n### Story A1: B\n- [ ] c\n", ["1 One @1", "[ ] A1 B @2 0/1"]],
    [
      "## Epic 1: A\n- [ ] first\n### Story 1.1: B\n- [ ] c\n",
      ["1 A @1", "[ ] 1.1-2 first @2", "[ ] 1.1 B @3 0/1", "! TASK_WITHOUT_ID 2"],
    ],
    [
      "## Epic 1: A\n### Story 1.1: B\nwords\n#### Tasks\n- [x] Task 1.1.1: c\n#### Acceptance Criteria\n- [ ] d\n",
      ["1 A @1", "[ ] 1.1 B @2 0/1", "[x] 1.1.1 c @5"],
    ],
    // Without epics, or in phases, stories are sections as any others.
    ["## Phase 1: A\n### Epic 1: B\n#### Story 1.1: C\n- [ ] d\n", ["1 A @1", "[ ] 1.1 d @4"]],
    [
      "## Story 1: A\n- [ ] b\n## Story 2: C\n- [ ] d\n",
      ["1 Story 1: A @1", "[ ] 1.1 b @2", "2 Story 2: C @3", "[ ] 2.1 d @4"],
    ],
    [
      "## Epic 1: A\n- [ ] a\n## Epic 2: B\n- [ ] b\n",
      ["1 Epic 1: A @1", "[ ] 1.1 a @2", "2 Epic 2: B @3", "[ ] 2.1 b @4"],
    ],
  ])("are read in %j", (text, expected) => {
    expect(outline(text)).toEqual(expected);
  });

  it("keep the words of a host beside theirs", () => {
    const text = `## Osa 1: A\n### ${STORY}\n- [ ] b\n`;
    const { plan } = parsePlan(text, { dialect: "epics", words: { phase: ["osa"] } });
    expect(plan.phases.map(({ name, tasks }) => [name, tasks.map(({ id }) => id)])).toEqual([["A", ["1.1"]]]);
  });

  it("can be written as a plan", () => {
    const { plan } = parsePlan(`## Epic 1: A\n### ${STORY}\n- [ ] b\n`);
    const again = parsePlan(planToMarkdown(plan, { dialect: "epics" }), { dialect: "epics" });
    expect(again.plan.phases.map(({ name, tasks }) => [name, tasks.map(({ name: task }) => task)])).toEqual([
      ["A", ["Sign up"]],
    ]);
  });
});

it("criteria behind the tasks of another task are those of the task whose section it is", () => {
  const text = "## Phase 1: A\n### Task 1.1: B\nwords\n- [ ] Task 1.1.1: c\n\n#### Acceptance Criteria\n- [ ] d\n";
  expect(outline(text)).toEqual(["1 A @1", "[ ] 1.1 B @2 0/1", "[ ] 1.1.1 c @4"]);
  expect(taskOf(text, "1.1").acceptanceCriteria.map(({ text: said }) => said)).toEqual(["d"]);
});
