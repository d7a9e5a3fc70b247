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
