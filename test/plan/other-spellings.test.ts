import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";
import { taskMasterParser } from "../../src/plan/task-master.js";
import { tickTask } from "../../src/plan/tick.js";
import { planToMarkdown } from "../../src/plan/write.js";
import { outline } from "./outline.js";

const PHASE = "## Phase 1: A\n";
const plan = (...rows: string[]) => outline(`${PHASE}${rows.join("\n")}\n`);

describe("a checkbox", () => {
  it.each([
    ["- [done] 1.1 B", "x"],
    ["- [Completed] 1.1 B", "x"],
    ["- [**x**] 1.1 B", "x"],
    ["- [todo] 1.1 B", " "],
    ["- [In Progress] 1.1 B", "-"],
    ["- [BLOCKED] 1.1 B", "!"],
    ["- [N/A] 1.1 B", "~~"],
    ["- TODO 1.1 B", " "],
    ["- DONE 1.1 B", "x"],
  ])("may have a word in it, or be one: %s", (row, mark) => {
    expect(plan(row, "- [ ] 1.2 C")).toEqual(["1 A @1", `[${mark}] 1.1 B @2`, "[ ] 1.2 C @3"]);
  });

  it.each([
    ["- [done] 1.1 B", false, "- [ ] 1.1 B"],
    ["- [in progress] 1.1 B", true, "- [x] 1.1 B"],
    ["- TODO 1.1 B", true, "- DONE 1.1 B"],
    ["- DONE 1.1 B", false, "- TODO 1.1 B"],
  ])("of %j is ticked as a whole", (row, done, after) => {
    expect(tickTask(`${PHASE}${row}\n`, parsePlan(`${PHASE}${row}\n`).plan, "1.1", { done })).toBe(
      `${PHASE}${after}\n`,
    );
  });

  it("with a number in brackets behind it is no link", () => {
    expect(plan("- [x](1.7) B")).toContain("[x] 1.1 (1.7) B @2");
  });

  it.each(["- ( ) 1.3 B", "- (x) 1.3 B", "- &#9745; 1.3 B", "- [1] 1.3 B", "- [50%] 1.3 B", "- 🟢 1.3 B"])(
    "that is none to the reader is named: %s",
    (row) => expect(plan("- [ ] 1.1 C", row)).toEqual(["1 A @1", "[ ] 1.1 C @2", "! TASK_UNREAD 3"]),
  );

  it("that is none is named also in a phase with no other one, but not links and notes", () => {
    expect(plan("- ✅ 1.1 B", "- [B](b.md) is read", "- [^1] a note")).toEqual([
      "1 A @1",
      "! PHASE_EMPTY 1",
      "! TASK_UNREAD 2",
    ]);
  });
});

describe("a label that names tasks", () => {
  it.each(["depends_on: [T001]", "dependsOn: T001", "Blocked-by: T001", "After: T001", "Prerequisite tasks: T001"])(
    "is a dependency: %s",
    (label) => expect(plan("- [ ] T001 B", "- [ ] T002 C", `  - ${label}`)).toContain("[ ] T002 C @3 < T001"),
  );

  it("of what waits makes the edge of the other task", () => {
    expect(plan("- [ ] T001 B", "  - **Blocks:** T002", "- [ ] T002 C")).toContain("[ ] T002 C @4 < T001");
  });

  it("is reported if it is not known, but not if it says that nothing waits", () => {
    expect(plan("- [ ] T001 B", "- [ ] T002 C", "  - Odottaa: T001")).toContain("! DEPENDENCY_UNREAD 3");
    expect(
      plan("- [ ] T001 B", "- [ ] T002 C", "  - Parallel with: T001").filter((line) => line.startsWith("!")),
    ).toEqual([]);
  });

  it("may be the column of a table", () => {
    const table = ["| Done | Task | Depends on | Estimate |", "|---|---|---|---|", "| [ ] | T001 B | - | 2h |"];
    expect(plan(...table, "| [x] | T002 C | T001 | 1h |")).toEqual(["1 A @1", "[ ] T001 B @4", "[x] T002 C @5 < T001"]);
  });
});

describe("a gate's title", () => {
  const task = "### Task 1.1: B\n- [x] c\n";

  it.each(["#### Checkpoint", "**Exit Criteria**:"])(
    "inside a task that others follow is about that task: %s",
    (title) => {
      const rows = plan(task, title, "- [ ] d", "### Task 1.2: E", "- [ ] f");
      expect(rows.slice(0, 2)).toEqual(["1 A @1", "[ ] 1.1 B @2 1/2"]);
      expect(rows.join()).not.toContain("gate");
    },
  );

  it("behind the last task is the gate of the phase", () => {
    expect(plan(task, "**Validation Gate**:", "- [ ] d")).toEqual(["1 A @1", "[x] 1.1 B @2 1/1", "gate d"]);
  });
});

describe("what is not to be done any more", () => {
  it("does not count among the criteria of a task", () => {
    const text = `Legend: [-] shelved, [!] blocked\n${PHASE}### Task 1.1: B\n- [x] c\n- [-] d\n- [ ] ~~e~~\n`;
    expect(outline(text)[1]).toBe("[x] 1.1 B @3 1/3");
    const { acceptanceCriteria } = parsePlan(text).plan.phases[0]?.tasks[0] ?? {};
    expect(acceptanceCriteria?.map(({ dropped = false }) => dropped)).toEqual([false, true, true]);
  });
});

describe("an unknown state", () => {
  it("is reported at its word", () => {
    const { diagnostics } = parsePlan(`${PHASE}### Task 1.1: B\n**Status:** Frobnicated\n`);
    expect(diagnostics).toMatchObject([{ code: "STATE_UNKNOWN", line: 3, column: 13 }]);
  });

  it("is reported in a tasks.json", () => {
    const { diagnostics, plan: read } = taskMasterParser.parse(
      '{"tasks": [{"id": 1, "title": "B", "status": "odd"}]}',
      "t.json",
    );
    expect(diagnostics).toMatchObject([{ code: "STATE_UNKNOWN", message: expect.stringContaining("'odd'") }]);
    expect(read.phases[0]?.tasks[0]?.state).toBe("pending");
  });

  it("that says done and limits it is replaced by a tick", () => {
    const text = `${PHASE}### Task 1.1: B\n**Status:** Done (partially)\n`;
    expect(tickTask(text, parsePlan(text).plan, "1.1")).toBe(`${PHASE}### Task 1.1: B\n**Status:** Done\n`);
  });
});

describe("ids and numbers", () => {
  it("may be a number with a letter, in headings and in all dialects that have numbers", () => {
    expect(plan("### 9a. B", "- [x] c", "### 9b. D", "- [ ] e")).toEqual([
      ...["1 A @1", "[x] 9a B @2 1/1", "[ ] 9b D @4 0/1"],
    ]);
    const { plan: read } = parsePlan(`${PHASE}- [ ] 9a. B\n- [ ] 9b. C (depends on Task 9a)\n`);
    for (const dialect of ["praxis-os", "openspec", "kiro", "spec-workflow", "plain"]) {
      const again = parsePlan(planToMarkdown(read, { dialect }), { dialect }).plan.phases[0]?.tasks;
      expect(again?.map(({ id, dependencies }) => [id, ...dependencies])).toEqual([["9a"], ["9b", "9a"]]);
    }
  });

  it("may be without a dot, if they count from 1", () => {
    expect(plan("- [ ] 1 B", "- [x] 2 C", "- [ ] 3 D")).toEqual(["1 A @1", "[ ] 1 B @2", "[x] 2 C @3", "[ ] 3 D @4"]);
    expect(plan("- [ ] 1 hour of tests", "- [ ] 3 reviews")).toContain("[ ] 1.1 1 hour of tests @2");
  });

  it("of phases may be words of several languages", () => {
    expect(outline("## Phase zwei: A\n- [ ] B\n## Fase tres: C\n- [ ] D\n")).toEqual([
      ...["2 A @1", "[ ] 2.1 B @2", "3 C @3", "[ ] 3.1 D @4"],
    ]);
  });
});

describe("lists", () => {
  it("that repeat tasks without ids are recognised by the names", () => {
    const text =
      "# Plan\n## Tasks\n- [x] Write it\n  - as said\n- [ ] Read it\n## Progress\n- [ ] Write it\n- [ ] Read it\n";
    expect(outline(text)).toEqual([
      ...["1 Tasks @2", "[x] 1.1 Write it @3", "[ ] 1.2 Read it @5", "! CHECKBOX_REPEATED 7", "! CHECKBOX_REPEATED 8"],
    ]);
  });

  it("of subtasks without boxes are named, whatever word is before", () => {
    expect(plan("- [ ] 1.1 B", "  **Included Subtasks**: 1.1.1, 1.1.2")).toContain("! TASK_UNREAD 3");
  });

  it("of an outliner have headings in bullets", () => {
    expect(outline("- ## Phase 1: A\n\t- [ ] 1.1 B\n- ## Phase 2: C\n\t- [x] 2.1 D\n")).toEqual([
      ...["1 A @1", "[ ] 1.1 B @2", "2 C @3", "[x] 2.1 D @4"],
    ]);
  });
});

describe("the state of a task without a box", () => {
  const withStatus = (...lines: string[]) => plan("### Task 1.1: B", ...lines, "- [x] c")[1];

  it.each([
    ["**Status:** Not done", " "],
    ["**Status:** Almost done", " "],
    ["**Status:** Frobnicated", " "],
    ["**Status:** 80%", "-"],
    ["**Status:** 3/5", "-"],
    ["**Status:** 100%", "x"],
    ["**Status:** ❌", " "],
    ["**Completed:** No", " "],
    ["**Current status:** In progress", "-"],
    ["**Priority:** High · **Status:** In progress", "-"],
    ["**Owner:** Bob, **Status:** In progress", "-"],
    ["Status = in progress", "-"],
    ["status:: in progress", "-"],
    ["**Status** In progress", "-"],
    ["`Status: in progress`", "-"],
    ["#### Status\nIn progress", "-"],
  ])("is what its status line says, whatever is ticked: %j", (line, mark) => {
    expect(withStatus(line)).toMatch(`[${mark}] 1.1 B`);
  });

  it.each([
    ["### Task 1.1: B - NOT DONE", " "],
    ["### Task 1.1: B ❌", " "],
    ["### 🔴 Task 1.1: B", " "],
    ["### Task 1.1: B (80%)", "-"],
    ["### Task 1.1: B 🟡 In Progress", "-"],
    ["### Task 1.1: [ ] B", " "],
    ["### Task 1.1: Show ❌ for errors", "x"],
  ])("may stand in its title: %s", (title, mark) => {
    expect(plan(title, "- [x] c")[1]).toMatch(`[${mark}] 1.1`);
  });

  it("does not hide what else its line says", () => {
    const text = `${PHASE}### Task 1.1: B\n**Story**: US-1 | **Status**: Done\n`;
    const [task] = parsePlan(text).plan.phases[0]?.tasks ?? [];
    expect(task).toMatchObject({ state: "done", description: "**Story**: US-1 | **Status**: Done" });
  });
});

describe("an item without a box that holds some", () => {
  it("is a task if it has an id", () => {
    expect(plan("- T001 B", "  - [ ] c", "- **T002 D** (depends on T001)", "  - [x] e")).toEqual([
      ...["1 A @1", "[ ] T001 B @2 0/1", "[x] T002 D @4 1/1 < T001"],
    ]);
  });

  it("is named if it has dependencies, which are those of no other task", () => {
    expect(plan("1. **B**", "   - [ ] c", "2. **D** (depends on 1)", "   - [x] e")).toContain("! TASK_UNREAD 4");
    const rows = outline(
      "## Phase 1: A\n- [ ] a\n## Phase 2: B\n1. **C**\n   - [ ] c\n2. **D**\n   - Depends on: Phase 1\n   - [ ] d\n",
    );
    expect(rows).toContain("[ ] 2.1 c @5");
    expect(rows).toContain("! TASK_UNREAD 7");
  });
});

describe("what looks like a task", () => {
  it("is one below numbered sections, and is named beside tasks of another form", () => {
    expect(outline("## 1. S\n### 1.1 B\n- [ ] c\n### 1.2 D\nDepends on 1.1\n## 2. T\n### 2.1 E\n- [x] f\n")).toEqual([
      ...["1 S @1", "[ ] 1.1 B @2 0/1", "[ ] 1.2 D @4 < 1.1", "2 T @6", "[x] 2.1 E @7 1/1"],
    ]);
    expect(plan("- [ ] 1.1 B", "### 1.2 C", "**Status:** In progress")).toContain("! TASK_UNREAD 4");
  });

  it("is named in a table whose other rows have boxes", () => {
    const head = ["| ID | Task | Done |", "|---|---|---|"];
    expect(plan(...head, "| T001 | B | ✅ |", "| T002 | C | [ ] |")).toEqual([
      ...["1 A @1", "[ ] T002 C @5", "! TASK_UNREAD 4"],
    ]);
  });

  it("may have its box and its name in one cell", () => {
    const head = ["| Task | Owner | Depends on |", "|---|---|---|"];
    expect(plan(...head, "| [x] T001 B | ann | - |", "| [ ] T002 C | bo | T001 |")).toEqual([
      ...["1 A @1", "[x] T001 B ann @4", "[ ] T002 C bo @5 < T001"],
    ]);
  });

  it("has a word of an outliner before it", () => {
    const rows = plan("- DOING B", "- LATER C", "- WAITING D", "- CANCELED E");
    expect(rows.slice(1)).toEqual(["[-] 1.1 B @2", "[ ] 1.2 C @3", "[!] 1.3 D @4", "[~~] 1.4 E @5"]);
  });
});

it("a symbol beside boxes in the criteria of a phase is an item of its gate", () => {
  expect(plan("- [ ] 1.1 B", "### Success Criteria", "- [ ] c", "- ✅ d")).toEqual([
    "1 A @1",
    "[ ] 1.1 B @2",
    "gate c, ✅ d",
  ]);
});

it("a box without a marker that is not indented belongs to no item above", () => {
  expect(plan("- [ ] B", "  - [ ] c", "[ ] D")).toEqual(["1 A @1", "[ ] 1.1 B @2 0/1", "[ ] 1.2 D @4"]);
});

it.each([
  ["- [ ] 3.1 `serve` runs", "`serve` runs"],
  ["- **[ ]** 3.1 B", "B"],
  ["- ~~[ ]~~ 3.1 B", "B"],
])("a name keeps its code, and has no emphasis of its box: %s", (row, name) => {
  expect(parsePlan(PHASE + row).plan.phases[0]?.tasks[0]?.name).toBe(name);
});
