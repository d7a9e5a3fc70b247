import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline } from "./outline.js";

const TASK = "- [ ] **Task 1.1**: Do";

describe("phases", () => {
  it.each([
    ["## Phase 1: Setup", "1 Setup @1"],
    ["### Phase 1: Setup", "1 Setup @1"],
    ["# Phase 1 - Setup", "1 Setup @1"],
    ["## Phase 1) Setup", "1 Setup @1"],
    ["## Phase 1. Setup", "1 Setup @1"],
    ["## Phase 1 | Setup", "1 Setup @1"],
    ["## Phase 1 — Setup ##", "1 Setup @1"],
    ["## 🚀 Phase 1: Setup", "1 Setup @1"],
    ["## **Phase 1: Setup**", "1 Setup @1"],
    ["## 3. Phase 1: Setup", "1 Setup @1"],
    ["## PHASE 1", "1 Phase 1 @1"],
    ["## Phase 1: The task runner's tasks", "1 The task runner's tasks @1"],
    ["## Phase 1: Phase 2 prerequisites", "1 Phase 2 prerequisites @1"],
    ["**Phase 1: Setup**", "1 Setup @1"],
    ["**Phase 1: Setup**:", "1 Setup @1"],
    ["Phase 1: Setup\n--------------", "1 Setup @1"],
    ["Phase 1: Setup\n==============", "1 Setup @1"],
    ["## Phase 0: Prepare", "0 Prepare @1"],
    ["## Phase 7: Late", "7 Late @1"],
  ])("start with %j", (heading, phase) => {
    expect(outline(`${heading}\n\n${TASK}\n`)[0]).toBe(phase);
  });

  it("keep gaps, and are renumbered with a warning if a number is missing or goes back", () => {
    const text = ["0", "1", "4", "2a", "N", "4"]
      .map((key, step) => `## Phase ${key}: P${step}\n- [ ] do it\n`)
      .join("");
    expect(outline(text)).toEqual([
      "0 P0 @1",
      "[ ] 0.1 do it @2",
      "1 P1 @3",
      "[ ] 1.1 do it @4",
      "4 P2 @5",
      "[ ] 4.1 do it @6",
      "5 P3 @7",
      "[ ] 5.1 do it @8",
      "6 P4 @9",
      "[ ] 6.1 do it @10",
      "7 P5 @11",
      "[ ] 7.1 do it @12",
      "! PHASE_RENUMBERED 7",
      "! PHASE_RENUMBERED 9",
      "! PHASE_RENUMBERED 11",
    ]);
  });

  it("are the headings above tasks, not those of overviews, summaries, risks and dependencies", () => {
    const text = `# Plan

## Overview

### Phase 1: Setup
Two tasks.
### Phase 2: Build
- **Task 2.1**: only spoken of

## Phase 1: Setup

### Phase 1 Tasks

- [ ] **Task 1.1**: A
- [ ] **Task 1.2**: B

## Phase 2: Build

#### Task 2.1: C

- [ ] met

## Dependencies

### Phase 1 → Phase 2
- [ ] agreed

### Task 1.1 → Task 2.1
Because.

## Risks

### Phase 2: Late
**Task 2.1** may be late.

## Success Criteria

### Phase 1
- [ ] counted
`;
    expect(outline(text)).toEqual([
      "1 Setup @10",
      "[ ] 1.1 A @14",
      "[ ] 1.2 B @15",
      "2 Build @17",
      "[ ] 2.1 C @19 0/1",
      "! CHECKBOX_UNPLACED 26",
      "! CHECKBOX_OF_PLAN 39",
    ]);
  });

  it("have a goal and a duration from labels, titles, lists and tables", () => {
    const text = `## Time Estimates

- **Phase 1:** 4-6 hours (most of it)

| Phase | Effort | Who |
|---|---|---|
| 2 | 3 | we |
| **Phase 3: C** | 2 days | we |

## Phase 1: A
**Goal:** Be first
${TASK}

## Phase 2: B
Some words say it.
- [ ] **Task 2.1**: Do

## Phase 3: C
*Objective*: Be third
- [ ] **Task 3.1**: Do

## Phase 4: D (Week 2)
**Estimated Duration**: 5 days
**Goal:**
Two lines
of it.
- [ ] **Task 4.1**: Do

## Phase 5: E (1-2 weeks)
- [ ] **Task 5.1**: Do
`;
    expect(
      parsePlan(text).plan.phases.map(({ name, goal, estimatedDuration }) => [name, goal, estimatedDuration]),
    ).toEqual([
      ["A", "Be first", "4-6 hours"],
      ["B", "Some words say it.", "3 hours"],
      ["C", "Be third", "2 days"],
      ["D", "Two lines of it.", "5 days"],
      ["E", undefined, "1-2 weeks"],
    ]);
  });

  it("without tasks are kept, and reported", () => {
    expect(outline(`## Phase 1: A\n${TASK}\n\n## Phase 2: B\n\nLater.\n`)).toEqual([
      "1 A @1",
      "[ ] 1.1 Do @2",
      "2 B @4",
      "! PHASE_EMPTY 4",
    ]);
  });

  it("are sections if no heading says phase", () => {
    const text = "# Plan\n\n## Setup\n- [ ] 1.1 A\n- [x] 1.2 B\n\n## Build\n- [ ] 2.1 C\n";
    expect(outline(text)).toEqual(["1 Setup @3", "[ ] 1.1 A @4", "[x] 1.2 B @5", "2 Build @7", "[ ] 2.1 C @8"]);
  });
});

it("the goal of a phase ends where its tasks begin", () => {
  const text = "## Phase 1: A\n**Goal**:\nThe goal\nin two lines\n- [ ] Task 1.1: a\nWords of the task.\n";
  const [phase] = parsePlan(text).plan.phases;
  expect(phase).toMatchObject({ goal: "The goal in two lines", tasks: [{ description: "Words of the task." }] });
});
