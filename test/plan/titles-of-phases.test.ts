import { describe, expect, it } from "vitest";
import { outline } from "./outline.js";

const plan = (...rows: string[]) => outline(`${rows.join("\n")}\n`);

describe("an unknown word with numbers", () => {
  it("is that of phases if all tasks are below such headings", () => {
    expect(plan("## Vaihe 3: A", "- [ ] b", "## Vaihe 5: C", "- [ ] d")).toEqual([
      "3 Vaihe 3: A @1",
      "[ ] 3.1 b @2",
      "5 Vaihe 5: C @3",
      "[ ] 5.1 d @4",
    ]);
  });

  it("is that of phases also with checkboxes below notes, which are no tasks", () => {
    expect(plan("## Vaihe 3: A", "- [ ] b", "## Vaihe 5: C", "- [ ] d", "## Notes", "- [ ] e")).toEqual([
      "3 Vaihe 3: A @1",
      "[ ] 3.1 b @2",
      "5 Vaihe 5: C @3",
      "[ ] 5.1 d @4",
      "! CHECKBOX_UNPLACED 6",
    ]);
  });

  it("of two words is the one with all tasks, not the one that is there more often", () => {
    expect(
      plan("# Osa 1: X", "# Osa 2: Y", "# Osa 3: Z", "## Vaihe 4: A", "- [ ] b", "## Vaihe 6: C", "- [ ] d"),
    ).toEqual(["4 Vaihe 4: A @4", "[ ] 4.1 b @5", "6 Vaihe 6: C @6", "[ ] 6.1 d @7"]);
  });

  it.each([
    ["with tasks elsewhere", ["## Vaihe 3: A", "- [ ] b", "## Vaihe 5: C", "- [ ] d", "## Other", "- [ ] e"], 3],
    ["with one heading", ["## Vaihe 3: A", "- [ ] b"], 1],
    ["that names options", ["## Option 3: A", "- [ ] b", "## Option 5: C", "- [ ] d"], 2],
  ])("is none %s", (_, rows, count) => {
    const phases = plan(...rows).filter((line) => line.includes(": ") || line.includes("Other"));
    expect(phases.map((line) => Number.parseInt(line, 10))).toEqual(Array.from({ length: count }, (__, at) => at + 1));
  });
});

describe("Roman numbers", () => {
  it("count up to twelve", () => {
    const numbers = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];
    const read = plan(...numbers.flatMap((number) => [`## Phase ${number}: A`, "- [ ] b"]));
    expect(read.filter((line) => line.endsWith(" b @2") === false && line.includes("A @"))).toEqual(
      numbers.map((_, at) => `${at + 1} A @${2 * at + 1}`),
    );
  });

  it("are letters in a plan that has others beside them", () => {
    expect(plan("## Phase H: A", "- [ ] b", "## Phase I: C", "- [ ] d")).toEqual([
      "1 A @1",
      "[ ] 1.1 b @2",
      "2 C @3",
      "[ ] 2.1 d @4",
      "! PHASE_RENUMBERED 1",
    ]);
  });
});

describe("phases in a list", () => {
  it("are items with checkboxes one level below", () => {
    expect(plan("- Phase 1: A", "  - [ ] b", "    - [ ] c", "- Phase 2: D", "  - [ ] e")).toEqual([
      "1 A @1",
      "[ ] 1.1 b @2 0/1",
      "2 D @4",
      "[ ] 2.1 e @5",
    ]);
  });

  it("are none beside other items, or if one is a task itself", () => {
    expect(plan("- Phase 1: A", "  - [ ] b", "- Words", "  - [ ] c")).not.toContain("1 A @1");
    expect(plan("- [ ] Phase 1: A", "- [ ] Phase 2: B", "  - [ ] c")[0]).toBe("1 Tasks @1");
  });
});

describe("sections without a word for phases", () => {
  it("with ids have others beside them, with checkboxes alone, but no notes", () => {
    expect(
      plan(
        "## Setup",
        "- [ ] T001 a",
        "## Docs",
        "- [ ] write",
        "- [ ] read",
        "## Notes",
        "- [ ] n",
        "### Deep",
        "- [ ] o",
      ),
    ).toEqual([
      "1 Setup @1",
      "[ ] T001 a @2",
      "2 Docs @3",
      "[ ] 2.1 write @4",
      "[ ] 2.2 read @5",
      "! CHECKBOX_UNPLACED 7",
      "! CHECKBOX_UNPLACED 9",
    ]);
  });

  it("with numbers include the headings below", () => {
    expect(plan("## 1. Setup", "### Tools", "- [ ] a", "### Rules", "- [ ] b", "## 2. Build", "- [ ] c")).toEqual([
      "1 Setup @1",
      "[ ] 1.1 a @3",
      "[ ] 1.2 b @5",
      "2 Build @6",
      "[ ] 2.1 c @7",
    ]);
  });

  it("of one name have the names of the headings above, if these have no other section", () => {
    expect(plan("## Reader", "### Steps", "- [ ] a", "## Writer", "### Steps", "- [ ] b")).toEqual([
      "1 Reader @1",
      "[ ] 1.1 a @3",
      "2 Writer @4",
      "[ ] 2.1 b @6",
    ]);
    expect(
      plan("## Reader", "### Steps", "- [ ] a", "### Checks", "- [ ] c", "## Writer", "### Steps", "- [ ] b"),
    ).toEqual(["1 Steps @2", "[ ] 1.1 a @3", "2 Checks @4", "[ ] 2.1 c @5", "3 Writer @6", "[ ] 3.1 b @8"]);
  });
});

describe("numbers without a dot", () => {
  it("are ids where they follow each other from 1", () => {
    expect(plan("## Phase 1: A", "- [ ] 1 Alpha", "- [ ] 2 Beta", "- [ ] 3   Gamma")).toEqual([
      "1 A @1",
      "[ ] 1 Alpha @2",
      "[ ] 2 Beta @3",
      "[ ] 3 Gamma @4",
    ]);
  });

  it.each([
    [
      ["- [ ] 3 cherries", "- [ ] 7 days"],
      ["[ ] 1.1 3 cherries @2", "[ ] 1.2 7 days @3"],
    ],
    [
      ["- [ ] 2 cherries", "- [ ] 3 days"],
      ["[ ] 1.1 2 cherries @2", "[ ] 1.2 3 days @3"],
    ],
    [
      ["- [ ] 1 cherry", "- [ ] words", "- [ ] 2 days"],
      ["[ ] 1.1 1 cherry @2", "[ ] 1.2 words @3", "[ ] 1.3 2 days @4"],
    ],
  ])("are amounts elsewhere: %j", (rows, tasks) => {
    expect(plan("## Phase 1: A", ...rows)).toEqual(["1 A @1", ...tasks]);
  });
});

describe("a task that is named again", () => {
  it.each(["## Checklist", "## Progress", "## Summary"])("in %s is the same, by its id or its name", (title) => {
    expect(plan("## Phase 1: A", "- [ ] T001 Write the reader", title, "- [x] T001 anything")).toEqual([
      "1 A @1",
      "[ ] T001 Write the reader @2",
      "! CHECKBOX_REPEATED 4",
    ]);
    expect(plan("## Build", "- [ ] Write it", "- [ ] Test it", title, "- [x] Write it")).toEqual([
      "1 Build @1",
      "[ ] 1.1 Write it @2",
      "[ ] 1.2 Test it @3",
      "! CHECKBOX_REPEATED 5",
    ]);
  });

  it("elsewhere is the same if it has half of the words of its name", () => {
    const rows = ["## Phase 1: A", "- [ ] T001 Write the plan reader", "  - [ ] b", "## Phase 2: C"];
    expect(plan(...rows, "- [ ] T001 write reader", "- [ ] T002 d")).toContain("! CHECKBOX_REPEATED 5");
    expect(plan(...rows, "- [ ] T001 deploy the server to it", "- [ ] T002 d")).not.toContain("! CHECKBOX_REPEATED 5");
  });
});
