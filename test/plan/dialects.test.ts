import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { outline, taskOf } from "./outline.js";

describe("spec-kit", () => {
  const TEXT = `# Tasks: Widgets

## Format: \`[ID] [P?] [Story] Description\`

- **[P]**: Can run in parallel

## Phase 1: Setup (Shared Infrastructure)

**Purpose**: Get ready

- [X] T001 Create the project
- [ ] T002 [P] Configure linting in \`biome.json\`

**Checkpoint**: Ready

## Phase 2: User Story 1 - Widgets (Priority: P1) 🎯 MVP

**Goal**: Widgets

### Tests for User Story 1 (OPTIONAL) ⚠️

- [ ] T003 [P] [US1] Contract test in tests/contract/widgets.ts (depends on T001, T002)

### Implementation for User Story 1

- [ ] T004 [US1] Model in src/models/widget.ts, depends on T001-T003
  - [ ] with a check of its own

---

## Dependencies & Execution Order

### Phase Dependencies

- **Setup (Phase 1)**: No dependencies

## Parallel Example: User Story 1

\`\`\`bash
Task: "Contract test"
\`\`\`
`;

  it("is recognized, and read with marks, stories, files, dependencies and checkpoints", () => {
    expect(parsePlan(TEXT).plan.dialect).toBe("spec-kit");
    expect(outline(TEXT)).toEqual([
      "1 Setup (Shared Infrastructure) @7",
      "[x] T001 Create the project @11",
      "[ ] T002 Configure linting in `biome.json` @12",
      "gate Ready",
      "2 User Story 1 - Widgets (Priority: P1) 🎯 MVP @16",
      "[ ] T003 Contract test in tests/contract/widgets.ts @22 < T001 T002",
      "[ ] T004 Model in src/models/widget.ts, depends on T001-T003 @26 0/1 < T001 T002 T003",
    ]);
    expect(taskOf(TEXT, "T002")).toMatchObject({ parallel: true, files: ["biome.json"] });
    expect(taskOf(TEXT, "T003")).toMatchObject({ parallel: true, story: "US1", files: ["tests/contract/widgets.ts"] });
    expect(taskOf(TEXT, "T004")).toMatchObject({ parallel: false, story: "US1" });
  });

  it("may number its phases 3.1, 3.2", () => {
    expect(outline("## Phase 3.1: Setup\n- [ ] T001 A\n## Phase 3.2: Tests\n- [ ] T002 B\n")).toEqual([
      "1 Setup @1",
      "[ ] T001 A @2",
      "2 Tests @3",
      "[ ] T002 B @4",
      "! PHASE_RENUMBERED 1",
    ]);
  });
});

describe("openspec", () => {
  it("has numbered sections, nested ids and any list marker", () => {
    const text = `## 1. Backend
- [x] 1.1 A
  - [ ] 1.1.1 A, first
  - [x] 1.1.2 A, second
+ [ ] 1.2 B
1. [ ] 1.3 C
2) [x] 1.4 D

## 2. Frontend
### 2.1 Components
- [ ] 2.1.1 E
### 2.2 Pages
- [ ] 2.2.1 F

## Validation
- [ ] all tests pass

## Notes
- [ ] not a task
`;
    expect(parsePlan(text).plan.dialect).toBe("openspec");
    expect(outline(text)).toEqual([
      "1 Backend @1",
      "[x] 1.1 A @2",
      "[ ] 1.1.1 A, first @3",
      "[x] 1.1.2 A, second @4",
      "[ ] 1.2 B @5",
      "[ ] 1.3 C @6",
      "[x] 1.4 D @7",
      "2 Frontend @9",
      "[ ] 2.1.1 E @11",
      "[ ] 2.2.1 F @13",
      "3 Validation @15",
      "[ ] 3.1 all tests pass @16",
      "! TASK_TICKED_OPEN 2",
      "! CHECKBOX_UNPLACED 19",
    ]);
  });

  it("may omit ids, or numbers of sections", () => {
    expect(outline("## 1. A\n- [x] do\n- [ ] more\n  - detail\n## 3. B\n- [ ] last\n")).toEqual([
      "1 A @1",
      "[x] 1.1 do @2",
      "[ ] 1.2 more @3",
      "3 B @5",
      "[ ] 3.1 last @6",
    ]);
    expect(outline("# Tasks\n\n## Implementation Tasks\n- [x] do\n- [ ] more\n")).toEqual([
      "1 Implementation Tasks @3",
      "[x] 1.1 do @4",
      "[ ] 1.2 more @5",
    ]);
  });
});

describe("kiro", () => {
  const TEXT = `# Implementation Plan: Widgets

## Overview

In order.

## Tasks

- [x] 1. Set up
  - [x] 1.1 Create folders
    - with a note
    - _Requirements: 1.1, 1.2_
  - [ ]* 1.2 Write property tests
    - **Property 1: Round trip**
    - **Validates: Requirements 2.3**

- [-] 2. Build
- [~] 2.1 Queue it
  - [ ] with a check
- [ ]*2.2 Document it

- [ ] 3. Checkpoint - Ensure all tests pass
  - Ask the user if questions arise.

## Task Dependency Graph

\`\`\`json
{ "waves": [{ "id": 0, "tasks": ["1.1"] }, { "id": 1, "tasks": ["1.2", "2.1"] }, { "id": 2, "tasks": ["3", 9] }] }
\`\`\`

## Notes

- [ ] not a task
`;

  it("has groups as phases, states, optional tasks, requirements and waves", () => {
    expect(parsePlan(TEXT).plan.dialect).toBe("kiro");
    expect(outline(TEXT)).toEqual([
      "1 Set up @9",
      "[x] 1 Set up @9",
      "[x] 1.1 Create folders @10",
      "[ ] 1.2 Write property tests @13 < 1.1",
      "2 Build @17",
      "[-] 2 Build @17",
      "[~] 2.1 Queue it @18 0/1 < 1.1",
      "[ ] 2.2 Document it @20",
      "3 Checkpoint - Ensure all tests pass @22",
      "[ ] 3 Checkpoint - Ensure all tests pass @22 < 1.2 2.1",
      "! CHECKBOX_UNPLACED 33",
    ]);
    expect(taskOf(TEXT, "1.1")).toMatchObject({ requirements: ["1.1", "1.2"], optional: false });
    expect(taskOf(TEXT, "1.2")).toMatchObject({ requirements: ["2.3"], optional: true });
    expect(taskOf(TEXT, "2.2").optional).toBe(true);
  });

  it("reports unknown tasks in a graph of waves, and ignores an invalid graph", () => {
    const waves = (json: string) => `- [ ] 1. A\n- [ ]* 2. B\n\n\`\`\`json\n${json}\n\`\`\`\n`;
    expect(outline(waves('{"waves": [{"tasks": ["7"]}, {"tasks": ["2"]}]}'), "kiro")).toContain(
      "! DEPENDENCY_UNKNOWN 2",
    );
    for (const json of ['{"waves": 1}', '{"waves": [', "[]", '{"waves": [{"tasks": [{}]}]}']) {
      expect(parsePlan(waves(json)).diagnostics).toEqual([]);
    }
  });
});

describe("spec-workflow", () => {
  const TEXT = `# Tasks Document

- [x] 1. Create interfaces in src/types.ts
  - File: src/types.ts
  - Purpose: Type safety
  - _Leverage: src/base.ts_
  - _Requirements: 1.1_
  - _Prompt: Role: Developer | Task: Create them: all [ ] of them | Success: It compiles_

- [-] 2. Create a model
  - File: src/model.ts, src/other.ts

- [~] 3. Wait for it

- [ ] 3. Again
`;

  it("has files, requirements, blocked tasks and repeated ids", () => {
    expect(parsePlan(TEXT).plan.dialect).toBe("spec-workflow");
    expect(outline(TEXT)).toEqual([
      "1 Tasks Document @1",
      "[x] 1 Create interfaces in src/types.ts @3",
      "[-] 2 Create a model @10",
      "[!] 3 Wait for it @13",
      "[ ] 3-2 Again @15",
      "! CHECKBOX_UNPLACED 8",
      "! TASK_ID_REPEATED 15",
    ]);
    expect(taskOf(TEXT, "1")).toMatchObject({ files: ["src/types.ts"], requirements: ["1.1"] });
    expect(taskOf(TEXT, "1").description).toContain("_Prompt: Role: Developer");
    expect(taskOf(TEXT, "2").files).toEqual(["src/model.ts", "src/other.ts"]);
  });

  it("reads [~] differently if another dialect is given", () => {
    expect(outline(TEXT, "kiro")).toContain("[~] 3 Wait for it @13");
  });
});

describe("bmad", () => {
  it("has the tasks of one section, with subtasks as criteria", () => {
    const text = `# Story 1.2: Login

## Acceptance Criteria
1. One
- [ ] two

## Tasks / Subtasks

- [ ] Task 1: Create the form (AC: 1, 2)
  - [ ] Subtask 1.1: fields
  - [x] Subtask 1.2: button
- [x] Task 2 (AC: 2)
- [ ] Write tests

## Dev Notes
- [ ] a note
`;
    expect(parsePlan(text).plan.dialect).toBe("bmad");
    expect(outline(text)).toEqual([
      "1 Tasks / Subtasks @7",
      "[ ] 1 Create the form @9 1/2",
      "[x] 2 Task 2 @12",
      "[ ] 1.3 Write tests @13",
      "gate two, a note",
      "! TASK_WITHOUT_ID 13",
    ]);
    expect(taskOf(text, "1").requirements).toEqual(["AC 1", "AC 2"]);
  });
});

describe("dialects", () => {
  it("are selected by name, and an unknown name is refused with the nearest one", () => {
    expect(parsePlan("- [ ] a\n- [ ] b\n# P\n- [ ] c\n").plan.dialect).toBe("plain");
    expect(() => parsePlan("- [ ] a", { dialect: "spec-kits" })).toThrowError(
      expect.objectContaining({ code: "INVALID_INPUT", remedy: expect.stringContaining("'spec-kit'") }),
    );
    expect(() => parsePlan("- [ ] a", { dialect: "qqqqqqqqqqqq" })).toThrowError(
      expect.objectContaining({ remedy: expect.stringMatching(/^Use praxis-os|^Use bmad/) }),
    );
  });
});
