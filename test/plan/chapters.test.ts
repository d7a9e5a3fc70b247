import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

const plan = (...rows: string[]) => outline(`${rows.join("\n")}\n`);

describe("numbered headings that are chapters", () => {
  it("do not keep checkboxes without a number from being tasks", () => {
    expect(
      plan(
        "# Chapter 1: Choices",
        "## 1.1 Languages",
        "Rust.",
        "## 1.2 Databases",
        "SQLite.",
        "## Phase 1: Base (weeks 1-2)",
        "### Week 1",
        "- [x] Set the project up",
        "- [ ] Write the reader",
        "## Phase 2: More",
        "- [ ] Measure it",
      ),
    ).toEqual([
      "1 Base @6",
      "[x] 1.1 Set the project up @8",
      "[ ] 1.2 Write the reader @9",
      "2 More @10",
      "[ ] 2.1 Measure it @11",
    ]);
  });

  it("may be the only ones that are named like phases: those without a checkbox are none", () => {
    expect(
      plan(
        "## 1. Where we are",
        "### 1.1 Speed",
        "Slow.",
        "## Week plan",
        "### First week: the reader",
        "- [ ] Write it",
        "### Second week: the writer",
        "- [ ] Test it",
        "## Later",
        "### Phase 2: a server",
        "### Phase 3: many servers",
      ),
    ).toEqual([
      "1 First week: the reader @5",
      "[ ] 1.1 Write it @6",
      "2 Second week: the writer @7",
      "[ ] 2.1 Test it @8",
    ]);
  });

  it("are tasks where the checkboxes are theirs, also in a section beside phases with names", () => {
    expect(
      plan(
        "## 1. Setup",
        "### 1.1 Layout",
        "- [x] folders",
        "- [ ] names",
        "### 1.2 Tools",
        "- [ ] linter",
        "## Schedule",
        "### Phase 1: Base",
        "- [ ] Task 7.1: Meet",
        "### Phase 2: End",
        "- [ ] Task 7.2: Part",
      ),
    ).toEqual([
      "1 1. Setup @1",
      "[ ] 1.1 Layout @2 1/2",
      "[ ] 1.2 Tools @5 0/1",
      "2 Base @8",
      "[ ] 7.1 Meet @9",
      "3 End @10",
      "[ ] 7.2 Part @11",
    ]);
  });
});

describe("a phase without other tasks", () => {
  it.each(["**Deliverables:**", "#### Deliverables", "**Checklist:**", "#### Test cases"])(
    "has the checkboxes below %s as tasks",
    (title) => {
      expect(plan("## Phase 1: A", title, "- [ ] b", "- [x] c", "## Phase 2: D", "- [ ] e")).toEqual([
        "1 A @1",
        "[ ] 1.1 b @3",
        "[x] 1.2 c @4",
        "2 D @5",
        "[ ] 2.1 e @6",
      ]);
    },
  );

  it.each(["**Risks:**", "#### Notes", "**Open questions:**", "#### Out of scope"])("has none below %s", (title) => {
    expect(plan("## Phase 1: A", title, "- [ ] b", "## Phase 2: D", "- [ ] e")).toEqual([
      "1 A @1",
      "2 D @4",
      "[ ] 2.1 e @5",
      "! PHASE_EMPTY 1",
      "! CHECKBOX_UNPLACED 3",
    ]);
  });

  it("keeps what is below such a title apart from tasks, if it has some", () => {
    expect(plan("## Phase 1: A", "- [ ] b", "", "**Deliverables:**", "- [ ] c")).toContain("! CHECKBOX_UNPLACED 5");
  });
});

describe("a checklist about a phase", () => {
  it.each(["### Phase 1 Completion Checklist", "### ✅ Phase 1 Verification", "### Phase 1 sign-off"])(
    "is its gate: %s",
    (title) => {
      expect(plan("## Phase 1: A", "- [ ] b", title, "- [ ] c", "- [x] d", "## Phase 2: E", "- [ ] f")).toEqual([
        "1 A @1",
        "[ ] 1.1 b @2",
        "gate c, d",
        "2 E @6",
        "[ ] 2.1 f @7",
      ]);
    },
  );

  it.each(["## Validation checklist", "## 验证清单"])("may be below %s, behind all phases", (title) => {
    expect(
      plan(
        "## Phase 1: A",
        "- [ ] b",
        "## Phase 2: C",
        "- [ ] d",
        title,
        "### Phase 1",
        "- [ ] e",
        "### Phase 2",
        "- [ ] f",
      ),
    ).toEqual(["1 A @1", "[ ] 1.1 b @2", "gate e", "2 C @3", "[ ] 2.1 d @4", "gate f"]);
  });

  it("takes no checkbox that repeats a task", () => {
    expect(
      plan("## Phase 1: A", "- [ ] Task 1.1: b", "## Phase 1 Completion Checklist", "- [ ] Task 1.1: b", "- [ ] c"),
    ).toEqual(["1 A @1", "[ ] 1.1 b @2", "gate c", "! CHECKBOX_REPEATED 4"]);
  });
});

describe("a phase in another section", () => {
  it("is one if it has checkboxes and a number of its own", () => {
    expect(
      plan(
        "## Phase 1: A",
        "### 1.1 b",
        "- [ ] c",
        "## Later",
        "### Phase 2: D",
        "- [ ] e",
        "## Overview",
        "### Phase 1: A",
        "- [ ] all of it",
      ),
    ).toEqual(["1 A @1", "[ ] 1.1 b @2 0/1", "2 D @5", "[ ] 2.1 e @6", "! CHECKBOX_UNPLACED 9"]);
  });
});

describe("a phase without ids among others with ids", () => {
  it("is one by its word and number, and its checkboxes are its tasks", () => {
    expect(
      plan(
        "## Priority 1: High",
        "### 1.1 b",
        "- [ ] **1.1.1** c",
        "## Priority 2: Middle",
        "- [ ] **2.1.1** d",
        "## Priority 3: Low",
        "### 3.1 e",
        "- [ ] f",
      ),
    ).toEqual([
      "1 Priority 1: High @1",
      "[ ] 1.1.1 c @3",
      "2 Priority 2: Middle @4",
      "[ ] 2.1.1 d @5",
      "3 Priority 3: Low @6",
      "[ ] 3.1 f @8",
    ]);
  });
});

describe("codes on a few of many checkboxes", () => {
  it("do not make a plan one with ids", () => {
    const rows = Array.from({ length: 45 }, (_, index) => `- [ ] thing ${index}`);
    const read = plan(
      "## Phase 1: A",
      ...rows,
      "## Phase 2: B",
      "- [ ] A01: Access",
      "- [ ] A02: Keys",
      "#### Tools",
      "- [ ] c",
    );
    expect(read.slice(-4)).toEqual(["2 B @47", "[ ] A01 Access @48", "[ ] A02 Keys @49", "[ ] 2.3 c @51"]);
  });
});

describe("a plan whose only checkboxes are criteria", () => {
  it("has the sections that they are in as phases, with gates", () => {
    expect(
      plan(
        "# UI",
        "## Gate UI-1: Base",
        "### 1.1 Ring",
        "Draw it.",
        "### Acceptance criteria",
        "- [ ] drawn",
        "## Gate UI-2: Shelf",
        "### Acceptance criteria",
        "- [ ] shown",
      ),
    ).toEqual([
      "1 Gate UI-1: Base @2",
      "gate drawn",
      "2 Gate UI-2: Shelf @7",
      "gate shown",
      "! PHASE_EMPTY 2",
      "! PHASE_EMPTY 7",
    ]);
  });
});

describe("a section of subtasks", () => {
  it("has tasks, if the phase has no other ones", () => {
    expect(plan("## Phase 1: A", "### Subtasks", "- [ ] one", "- [x] two", "## Phase 2: B", "- [ ] three")).toEqual([
      "1 A @1",
      "[ ] 1.1 one @3",
      "[x] 1.2 two @4",
      "2 B @5",
      "[ ] 2.1 three @6",
    ]);
  });

  it("has what the gate asks for, if it follows a task of the phase", () => {
    const text = ["## Phase 1: A", "- [ ] one", "### Subtasks", "- [ ] two"];
    expect(plan(...text)).toEqual(["1 A @1", "[ ] 1.1 one @2", "gate two"]);
  });
});
