import { describe, expect, it } from "vitest";
import { parsePlan } from "../../src/plan/parse-plan.js";

/** Returns the diagnostics with a code as `5:4 message`, of a phase with a task in line 2 and these lines from line 3 on. */
function reports(code: string, lines: string, tasks = "- [ ] Task 1.1: X"): string[] {
  const { diagnostics } = parsePlan(`## Phase 1: A\n${tasks}\n${lines}\n`);
  return diagnostics.flatMap((one) => (one.code === code ? [`${one.line}:${one.column} ${one.message}`] : []));
}

describe("an item without a checkbox", () => {
  it.each([
    ["- ✅ Task 1.9: Name", "Task 1.9: Name"],
    ["- 🎯 Task 1.9: Name", "Task 1.9: Name"],
    ["- 🎯 **Task 1.9**: Name", "**Task 1.9**: Name"],
    ["- 🎯 __Task 1.9__ - Name", "__Task 1.9__ - Name"],
    ["- 🎯 Task 1.9 – Name", "Task 1.9 – Name"],
    ["- 🎯 Task\t1.9: Name", "Task 1.9: Name"],
    ["- ✅ done at last", "done at last"],
    ["- :white_check_mark: 1.9 Name", ":white_check_mark: 1.9 Name"],
  ])("is reported beside tasks: %s", (line, text) => {
    expect(reports("TASK_UNREAD", line)).toEqual([`3:3 '${text}' is not read as a task: it has no checkbox`]);
  });

  it.each([
    "- 🎯 done at last",
    "- 🎯 1.9 Name",
    "- 🎯 Task 1.1: Name",
    "- ✅ Task 1.1: Name",
    "- 🎯 Task force: Name",
    "- 🎯 Task 1.9 is Task 1.8 now",
    "- 🎯 See Task 1.9: Name",
    "  - ✅ done at last",
    "  - [ ] Task 1.1.1: Y\n  - ✅ done at last",
    "## Notes\n- ✅ done at last",
    "## Notes\n- ✅ the Task 1.9: Name",
    "## Notes\n- ✅ Task 1.9 is done",
  ])("is not reported if it may say anything: %j", (line) => {
    expect(reports("TASK_UNREAD", line)).toEqual([]);
  });

  it.each([
    ["- 🎯 T012 Name", ["3:3 'T012 Name' is not read as a task: it has no checkbox"]],
    ["- 🎯 T01 Name", []],
    ["- 🎯 T011 Name", []],
  ])("may have a code as its id: %s", (line, expected) => {
    expect(reports("TASK_UNREAD", line, "- [ ] T011 X")).toEqual(expected);
  });

  it("is reported in a phase that has no tasks, but not beside tasks that are headings", () => {
    expect(reports("TASK_UNREAD", "## Phase 2: B\n- ✅ done at last\n## Notes\n- ✅ it works")).toEqual([
      "4:3 'done at last' is not read as a task: it has no checkbox",
    ]);
    expect(reports("TASK_UNREAD", "### Task 1.1: X\nWords.", "- ✅ it works")).toEqual([]);
  });

  it.each([
    ["\n| Task | Done |\n|---|---|\n| X | [ ] |\n| Y | - |", ["7:3 the row '| Y | - |'"]],
    ["\n| Task | Done |\n|---|---|\n| Y | - |\n| X | [ ] |", ["6:3 the row '| Y | - |'"]],
    ["\n| Task | Done |\n|:-:|---|\n| X | [ ] |\n| Y | [ ] |", []],
    ["\n| Task | Done |\n|---|---|\n| X | no |\n| Y | - |", []],
  ])("is reported if it is the row of a table beside tasks: %j", (table, expected) => {
    const message = " is not read as a task: it has no checkbox";
    expect(reports("TASK_UNREAD", table)).toEqual(expected.map((row) => row + message));
  });

  it.each([
    ["  - Subtasks: 1.1.1, 1.1.2, 1.1.3\n  - [ ] 1.1.2 Y", "1.1.1, 1.1.3"],
    ["  - Subtasks: 1.1.1-1.1.3", "1.1.1, 1.1.2, 1.1.3"],
    ["  - Subtasks: 1.1.2\n  - [ ] 1.1.2 Y", ""],
  ])("is reported if only a list of subtasks has it: %j", (lines, ids) => {
    expect(reports("TASK_UNREAD", lines, "- [ ] 1.1 X")).toEqual(
      ids === "" ? [] : [`3:5 the subtasks ${ids} are no tasks of the plan: they have no line of their own`],
    );
  });
});

describe("a title that is no phase", () => {
  const message = (at: string, title: string, key: string) =>
    `${at} '${title}' is not read as a phase, and the plan has no phase ${key}`;

  it.each([
    ["**Phase 2 Ship**\n\n- [ ] Y", [message("3:1", "**Phase 2 Ship**", "2")]],
    ["- **Phase 2 Ship**\n  - [ ] Y", [message("3:3", "**Phase 2 Ship**", "2")]],
    ["- **Phase 2 Ship**\n- [ ] Y", []],
    ["- x\n  - **Phase 2 Ship**\n    - [ ] Y", []],
    ["- x\n\n  **Phase 2 Ship**\n\n- [ ] Y", []],
    ["- [ ] **Phase 2 Ship**\n  - [ ] Y", []],
    ["**Phase 1 again**\n\n- [ ] Y", []],
    ["**Phases of it: 2**\n\n- [ ] Y", []],
    ["**Phase 2 Ship**\n\nWords.", []],
  ])("is reported with checkboxes below if it names one that is nowhere else: %j", (lines, expected) => {
    expect(reports("PHASE_UNREAD", lines)).toEqual(expected);
  });
});

describe("a checkbox that repeats a task", () => {
  it.each([
    ["- [x] 1.1 X", "which is done"],
    ["- [ ] 1.1 X", "which is done: they differ"],
    ["- [ ] 1.2 Y", "which is in progress"],
    ["- [x] 1.2 Y", "which is in progress: they differ"],
  ])("is reported with the state of the task: %s", (line, state) => {
    const [id] = /1\.\d/.exec(line) ?? [];
    expect(reports("CHECKBOX_REPEATED", `- [-] 1.2 Y\n## Checklist\n${line}`, "- [x] 1.1 X")).toEqual([
      `5:4 this checkbox repeats task ${id}, ${state}`,
    ]);
  });
});

describe("a checkbox without a place", () => {
  const unplaced = (lines: string) => reports("CHECKBOX_UNPLACED", `## Notes\n${lines}`);

  it.each([
    ["- [ ] a", "4:4", "below 'Notes'"],
    ["the [x] of it", "4:6", "in the middle of a line"],
    ["as said, [x]", "4:11", "in the middle of a line"],
    ["remark [x]", "4:9", "in the middle of a line"],
    ["<!--\n- [ ] a\n-->", "5:4", "in a comment"],
    ["<!--\nthe [x] of it\n-->", "5:6", "in a comment"],
    ["```\n- [ ] a", "5:4", "in code that is never closed"],
    ["```\n- [ ] a\n```\n- [ ] b", "7:4", "below 'Notes'"],
    ["<!-- - [ ] a -->\n- [ ] b", "4:9", "in a comment"],
  ])("is reported with the reason: %j", (lines, at, reason) => {
    expect(unplaced(lines)[0]).toBe(`${at} a checkbox that belongs to no task and no gate, ${reason}`);
  });

  it.each([
    ...["- [ ]", "1. [ ]", "12) [x]", "> [ ]", "> - [x]", "## [ ]", "[ ]", "  * [ ]", "+ [-]", "- [d]", "- - [ ]"],
    ...["- # [x]", "-\t[ ]", "###### [ ]", "**Note:**\n- [ ]"],
  ])("and without a text is reported as such: %j", (lines) => {
    expect(unplaced(lines)).toEqual([
      expect.stringContaining("a checkbox without a text, which belongs to no task and no gate, below 'Notes'"),
    ]);
  });

  it("is told from another one without a text", () => {
    expect(unplaced("- [ ]\n- [ ] a")).toEqual([
      expect.stringContaining("4:4 a checkbox without a text"),
      expect.stringContaining("5:4 a checkbox that belongs"),
    ]);
  });

  it("in the line of a state is reported, although it explains signs elsewhere", () => {
    expect(reports("CHECKBOX_UNPLACED", "  - **Status**: [ ] Pending [x] Done")).toHaveLength(2);
    expect(reports("CHECKBOX_UNPLACED", "  - **Marks**: [ ] Pending [x] Done")).toEqual([]);
  });

  it.each([
    ...[
      "Set it to [x]",
      "as [x]",
      "with [x]",
      "Mark [x]",
      "It marks [x]",
      "when marked [x]",
      "Use [x]",
      "who uses [x]",
    ],
    ...["using [x]", "from [x]", "Put a [x]", "an [x]", "See it [x]", "Give them [x]", "first [x]", "Change [x]"],
    ...["They mean [x]", "This means [x]", "They become [x]", "It becomes [x]", "The sign [x]", "The signs [x]"],
    ...["the box [x]", "The boxes [x]", 'as "[x]"', "as '[x]'", "as “[x]”", "as ‘[x]’", "as ([x])", "as  [x]"],
  ])("is not reported in a sentence about the sign: %s", (text) => {
    expect(unplaced(`${text} here.`)).toEqual([]);
    expect(unplaced(`<!--\n${text} here.\n-->`)).toEqual([]);
  });
});
