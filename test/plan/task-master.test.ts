import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { planOrder } from "../../src/plan/order.js";
import { taskMasterParser } from "../../src/plan/task-master.js";
import { lines } from "./outline.js";

const TEXT = `\uFEFF{
  "master": {
    "tasks": [
      {
        "id": 1, "title": "Set up", "status": "done", "priority": "high", "dependencies": [],
        "description": "First", "details": "More", "testStrategy": "",
        "subtasks": [
          { "id": 1, "title": "Folders", "status": "done", "dependencies": [] },
          { "id": "2", "title": "Files", "status" : "in-progress", "dependencies": [1, "1.1"] }
        ]
      },
      { "id": "2", "title": "Build", "status": "pending", "dependencies": ["1"] },
      { "id": 2, "title": "Build again", "status": "blocked", "dependencies": [1, "1.2"] },
      { "id": 3, "title": "Ship", "dependencies": null, "subtasks": [] }
    ],
    "metadata": { "created": "2025-07-18" }
  },
  "feature": { "tasks": [{ "id": 1, "title": "Other", "status": "deferred", "dependencies": [] }, { "id": 2, "title": "Next", "status": "review", "dependencies": [1] }] },
  "currentTag": "master"
}
`;

describe("task-master's tasks.json", () => {
  const reading = taskMasterParser.parse(TEXT, "tasks.json");

  it("has tags as phases, tasks with subtasks, and unique ids of both kinds", () => {
    expect(reading.plan.dialect).toBe("task-master");
    expect(lines(reading)).toEqual([
      "1 master @2",
      "[x] 1 Set up @4",
      "[x] 1.1 Folders @8",
      "[-] 1.2 Files @9 < 1.1",
      "[ ] 2 Build @12 < 1",
      "[!] 2-2 Build again @13 < 1 1.2",
      "[ ] 3 Ship @14",
      "2 feature @18",
      "[~] feature/1 Other @18",
      "[-] feature/2 Next @18 < feature/1",
      "! TASK_ID_REPEATED 13",
    ]);
    expect(reading.plan.phases[0]?.tasks[0]?.description).toBe("First\n\nMore");
    expect(planOrder(reading.plan).order).toHaveLength(8);
  });

  it("is ticked by changing the status, and nothing else", () => {
    const tick = (tasks: string[], done = true) =>
      taskMasterParser.tick?.(TEXT, reading.plan, { tasks, done, criteria: false });
    expect(tick(["1.2", "2-2"])).toBe(
      TEXT.replace('"status" : "in-progress"', '"status" : "done"').replace('"blocked"', '"done"'),
    );
    expect(tick(["1", "none"])).toBe(TEXT);
    expect(tick(["3"], false)).toBe(TEXT);
    expect(tick(["3"])).toBe(TEXT.replace('"id": 3', '"status": "done", "id": 3'));
    expect(tick(["1"], false)).toBe(TEXT.replace('"done", "priority"', '"pending", "priority"'));
  });

  it.each([
    ['"a \\" b"', '"done"'],
    ["null", '"done"'],
    ['"completed"', '"completed"'],
    ['"constructor"', '"done"'],
    [`"${"x".repeat(2000)}"`, `"${"x".repeat(2000)}"`],
  ])("is ticked with any status, and stays valid JSON: %s", (status, ticked) => {
    const text = `{"tasks": [{"id": 1, "title": "A", "status": ${status}, "z": "\\""}]}`;
    const { plan } = taskMasterParser.parse(text, "f");
    expect(plan.phases[0]?.tasks[0]?.state).toBe(status === '"completed"' ? "done" : "pending");
    const after = taskMasterParser.tick?.(text, plan, { tasks: ["1"], done: true, criteria: false }) ?? "";
    expect(after).toBe(text.replace(status, ticked));
    expect(JSON.parse(after)).toBeDefined();
  });

  it("may have the older format without tags", () => {
    const text = '{"tasks": [{"id": 1, "title": "A"}], "metadata": {}}';
    expect(lines(taskMasterParser.parse(text, "f"))).toEqual(["1 tasks @1", "[ ] 1 A @1"]);
  });

  it.each([
    ['{\n  "tasks": [\n}', 3, "JSON"],
    ["", 1, ""],
    ["[]", 1, "list of tasks"],
    ['{"a": {"tasks": 1}}', 1, "list of tasks"],
    ['{\n"a": {"tasks": [\n{"id": 1}]}}', 3, "title"],
    ['{\n"tasks": [\n{"id": {}, "title": "a"}]}', 1, "list of tasks"],
    [
      '{"a": {"tasks": [\n{"id": 1, "title": "a", "dependencies": [null]}]}}',
      2,
      "dependencies.0: Invalid input: expected string or number, received null",
    ],
  ])("is refused with a line if it cannot be read: %j", (text, line, words) => {
    try {
      taskMasterParser.parse(text, "some.json");
      expect.unreachable();
    } catch (error) {
      if (!isPhasegateError(error, "PLAN_PARSE")) throw error;
      expect(error.details).toMatchObject({ file: "some.json", line });
      expect(`${error.message} ${error.remedy}`).toContain(words);
    }
  });
});
