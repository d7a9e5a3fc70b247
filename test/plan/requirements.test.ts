import { describe, expect, it } from "vitest";
import { readReferences } from "../../src/plan/task-line.js";
import { taskOf } from "./outline.js";

const requirementsOf = (words: string) =>
  taskOf(`## Phase 1: A\n- [ ] **Task 1.1**: Name\n  - ${words}\n`).requirements;

describe("requirements", () => {
  it.each([
    ["_Requirements: 1.1, 1.2_", ["1.1", "1.2"]],
    ["Requirements: 1.1, 1.2", ["1.1", "1.2"]],
    ["**Validates: Requirements 1.1, 1.2**", ["1.1", "1.2"]],
    ["**Requirements**:\n    - FR-001, FR-002\n    - It is fast", ["FR-001", "FR-002", "It is fast"]],
    ["**Requirements**: FR-001\n  - **Traces to**: FR-002, FR-001", ["FR-001", "FR-002"]],
    ["Requirements: None", []],
    ["Requirements: **None**", []],
  ])("are read below a task: %j", (words, ids) => {
    expect(requirementsOf(words)).toEqual(ids);
  });

  it.each([
    ["(AC: 1, 2)", ["AC 1", "AC 2"]],
    ["(ACs #1 and #3)", ["AC #1", "AC #3"]],
    ["(AC: AC1, AC2)", ["AC1", "AC2"]],
    ["(AC: all of them)", ["AC all of them"]],
  ])("are read next to its name: %j", (words, ids) => {
    expect(taskOf(`## Phase 1: A\n- [ ] **Task 1.1**: Name ${words}\n`).requirements).toEqual(ids);
  });

  it.each([
    ["1.1,1.2;2.3", ["1.1", "1.2", "2.3"]],
    ["1.1 and 1.2", ["1.1", "1.2"]],
    ["1.1, 1.2, and 2.3.", ["1.1", "1.2", "2.3"]],
    ["FR-001 & AC2 + US-3/R1.2", ["FR-001", "AC2", "US-3", "R1.2"]],
    ["NFR-Sc1, REQ_12, FR-AUTH-01, AC-1.2", ["NFR-Sc1", "REQ_12", "FR-AUTH-01", "AC-1.2"]],
    ["Requirement 1.1, Req 1.2", ["1.1", "1.2"]],
    ["FR-004, Story 4, Story 6", ["FR-004", "Story 4", "Story 6"]],
    ["#12, §3.4", ["#12", "§3.4"]],
    ["[1.1, 1.2]", ["1.1", "1.2"]],
    ["(1.1, 1.2)", ["1.1", "1.2"]],
    ["[FR-001][FR-002]", ["FR-001", "FR-002"]],
    ["[FR-001](spec.md#fr-001), `FR-002`, **FR-003**", ["FR-001", "FR-002", "FR-003"]],
    ["FR-001 (login), FR-002", ["FR-001 (login)", "FR-002"]],
    ["1.1-1.3, 2.1 – 2.4", ["1.1-1.3", "2.1 – 2.4"]],
    ["NFR-P1 through NFR-P4, 1.1 to 1.3", ["NFR-P1 through NFR-P4", "1.1 to 1.3"]],
  ])("in a list are separated: %j", (text, ids) => {
    expect(readReferences(text)).toEqual(ids);
  });

  it.each([
    "specs.md 2.1",
    "specs.md Sections 2.1-2.4 (All)",
    "srd.md (All), FR-001",
    "5 users and 3 admins",
    "FR-001: login, FR-002: logout",
    "1.1, and what follows from it",
    "Stories 4 and 6",
    "FR-001 (login, logout), FR-002",
    "Node 20 and later",
    "2024-01-02",
    "`a1.ts`, `b2.ts`",
    "All",
  ])("in other words are one text: %j", (text) => {
    expect(readReferences(text)).toEqual([text]);
  });
});
