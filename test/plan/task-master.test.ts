import { describe, expect, it } from "vitest";
import { isPhasegateError } from "../../src/errors.js";
import { planOrder } from "../../src/plan/order.js";
import { PLAN_MAX } from "../../src/plan/plan.js";
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
    ['{\n"tasks": [\n{"id": {}, "title": "a"}]}', 3, "tasks.0.id: "],
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

  const read = (text: string) => taskMasterParser.parse(text, "f");

  it.each([
    ["done", "done"],
    ["completed", "done"],
    ["cancelled", "dropped"],
    ["in-progress", "in_progress"],
    ["review", "in_progress"],
    ["deferred", "queued"],
    ["blocked", "blocked"],
    ["pending", "pending"],
    ["", "pending"],
  ])("has the state of a status: %j", (status, state) => {
    expect(read(JSON.stringify({ tasks: [{ id: 1, title: "A", status }] })).plan.phases[0]?.tasks[0]?.state).toBe(
      state,
    );
  });

  it("has each part of a task where it is, and nothing that is not there", () => {
    const text = `{ "tasks": [
  { "id": "a", "title": "A", "description": null, "details": "", "testStrategy": "T", "dependencies": ["b", 7] },
  { "id": "b", "title": "B", "subtasks": [{ "title": "C", "id": 1 }, { "id": 2, "title": "D", "dependencies": [1] }] }
] }`;
    const { plan, diagnostics } = read(text);
    const common = {
      acceptanceCriteria: [],
      optional: false,
      parallel: false,
      requirements: [],
      files: [],
      state: "pending",
    };
    expect(plan).toStrictEqual({
      dialect: "task-master",
      phases: [
        {
          ...{ number: 1, name: "tasks", validationGate: [], position: { line: 1, column: 3, offset: 2 } },
          tasks: [
            {
              ...{ ...common, id: "a", name: "A", description: "T", dependencies: ["b"] },
              position: { line: 2, column: 3, offset: text.indexOf('{ "id": "a"') },
            },
            {
              ...{ ...common, id: "b", name: "B", dependencies: [] },
              position: { line: 3, column: 3, offset: text.indexOf('{ "id": "b"') },
            },
            {
              ...{ ...common, id: "b.1", name: "C", dependencies: [] },
              position: { line: 3, column: 43, offset: text.indexOf('{ "title": "C"') },
            },
            {
              ...{ ...common, id: "b.2", name: "D", dependencies: ["b.1"] },
              position: { line: 3, column: 70, offset: text.indexOf('{ "id": 2') },
            },
          ],
        },
      ],
    });
    expect(diagnostics).toMatchObject([{ code: "DEPENDENCY_UNKNOWN", line: 2, message: expect.stringContaining("7") }]);
  });

  it.each([
    ['{"tasks": [{"id": 1}]}', 1, 12, "tasks.0.title: "],
    ['{"a": {"tasks": [\n {"id": 1, "title": 2}]}}', 2, 12, "tasks.0.title: "],
    ['{"a": {"tasks": [\n {"id": 1, "title": "a", "subtasks": [\n{"id": 1}]}]}}', 3, 1, "tasks.0.subtasks.0.title: "],
    ['{"a": null, "b": [], "c": {"tasks": {}}}', 1, 1, "list of tasks"],
    ['{"a": {"tasks": []},\n "b": {"tasks": [1]}}', 2, 18, "tasks.0: "],
    ['{"tasks": []}', 1, 2, "it has no tasks"],
    ['{"a": {"tasks": []},\n "b": {"tasks": []}}', 1, 2, "it has no tasks"],
    ['{"tasks": [}', 1, 12, ""],
  ])("is refused at the place of the fault: %j", (text, line, column, words) => {
    expect(() => read(text)).toThrowError(
      expect.objectContaining({
        ...{ code: "PLAN_PARSE", message: expect.stringContaining(words) },
        details: { file: "f", line, ...(words === "list of tasks" ? {} : { column: expect.any(Number) }) },
      }),
    );
    if (words !== "list of tasks")
      expect(() => read(text)).toThrowError(expect.objectContaining({ details: { file: "f", line, column } }));
  });

  it("has tags with tasks alone, with names that no prototype has", () => {
    const tag = {
      tasks: [
        { id: 1, title: "A", dependencies: [2] },
        { id: 2, title: "B" },
      ],
    };
    const text = JSON.stringify({ note: 1, toString: tag, none: { tasks: 1 }, later: tag });
    expect(lines(read(text))).toEqual([
      ...[
        "1 toString @1",
        "[ ] 1 A @1 < 2",
        "[ ] 2 B @1",
        "2 later @1",
        "[ ] later/1 A @1 < later/2",
        "[ ] later/2 B @1",
      ],
    ]);
    expect(lines(read('{"a": {"tasks": []}, "b": {"tasks": [{"id": 1, "title": "A"}]}}'))).toEqual([
      ...["1 a @1", "2 b @1", "[ ] b/1 A @1"],
    ]);
  });

  it("leaves the ids of later tasks alone when it makes one unique", () => {
    const tasks = ["1", "1", "1-2"].map((id) => ({ id, title: "A" }));
    const [phase] = read(JSON.stringify({ tasks })).plan.phases;
    expect(phase?.tasks.map(({ id }) => id)).toEqual(["1", "1-3", "1-2"]);
  });

  it("is ticked where a status is missing or odd", () => {
    const tick = (text: string, done = true) =>
      taskMasterParser.tick?.(text, read(text).plan, { tasks: ["1"], done, criteria: false });
    expect(tick('{"tasks": [{"title": "A", "id": 1}]}')).toBe('{"tasks": [{"status": "done", "title": "A", "id": 1}]}');
    const blocked = '{"tasks": [{"id": 1, "title": "A", "status":\n "blocked"}]}';
    expect(tick(blocked, false)).toBe(blocked);
    expect(tick(blocked)).toBe(blocked.replace("blocked", "done"));
    const nothing = '{"tasks": [{"id": 1, "title": "A", "status": null}]}';
    expect([tick(nothing), tick(nothing, false)]).toEqual([nothing.replace("null", '"done"'), nothing]);
    const dropped = nothing.replace("null", '"cancelled"');
    expect([tick(dropped), tick(dropped, false)]).toEqual([nothing.replace("null", '"done"'), dropped]);
  });

  const DEEP = `{ "tasks": [ { "id": 1, "title": "A", "status": "pending", "dependencies": [],
  "subtasks": [ { "id": 1, "title": "B", "status": "done", "subtasks": [ { "id": 1, "title": "C", "status": "pending" } ] } ] } ] }`;

  it.each([
    ["three levels", DEEP, ["1 tasks @1", "[ ] 1 A @1", "[x] 1.1 B @2", "[ ] 1.1.1 C @2"]],
    [
      "four levels in a tag, with dependencies on siblings and by full ids",
      `{"main": {"tasks": [{"id": 1, "title": "A", "subtasks": [
        {"id": 1, "title": "B", "subtasks": [{"id": 1, "title": "C", "subtasks": [{"id": 1, "title": "D", "dependencies": ["1.2"]}]},
          {"id": 2, "title": "E", "dependencies": [1]}]},
        {"id": 2, "title": "F", "dependencies": ["1.1.2", 1]}]}]}}`,
      [
        ...["1 main @1", "[ ] 1 A @1", "[ ] 1.1 B @2", "[ ] 1.1.1 C @2", "[ ] 1.1.1.1 D @2 < 1.2"],
        ...["[ ] 1.1.2 E @3 < 1.1.1", "[ ] 1.2 F @4 < 1.1.2 1.1"],
      ],
    ],
    [
      "full ids at each level, as words and numbers",
      `{"tasks": [{"id": "2", "title": "A", "subtasks": [
        {"id": "2.1", "title": "B", "subtasks": [{"id": "2.1.1", "title": "C"}, {"id": 2, "title": "D", "dependencies": ["2.1.1"]}]},
        {"id": 2.10, "title": "E", "dependencies": ["2.1"]}, {"id": 3, "title": "F", "dependencies": [2.10]}]}]}`,
      [
        ...["1 tasks @1", "[ ] 2 A @1", "[ ] 2.1 B @2", "[ ] 2.1.1 C @2", "[ ] 2.1.2 D @2 < 2.1.1"],
        ...["[ ] 2.10 E @3 < 2.1", "[ ] 2.3 F @3 < 2.10"],
      ],
    ],
  ])("has subtasks of subtasks: %s", (_, text, expected) => {
    expect(lines(read(text))).toEqual(expected);
  });

  it("is ticked at each level", () => {
    const tick = (tasks: string[]) =>
      taskMasterParser.tick?.(DEEP, read(DEEP).plan, { tasks, done: true, criteria: false });
    expect(tick(["1.1.1"])).toBe(DEEP.replace('"C", "status": "pending"', '"C", "status": "done"'));
    expect(tick(["1", "1.1"])).toBe(DEEP.replace('"A", "status": "pending"', '"A", "status": "done"'));
  });

  it("may be nested as deep as JSON may be, and is refused beyond", () => {
    const text = (depth: number) =>
      `{"tasks": [${'{"id": 1, "title": "A", "subtasks": ['.repeat(depth)}${"]}".repeat(depth)}]}`;
    expect(read(text(30)).plan.phases[0]?.tasks.at(-1)?.id).toBe("1".padEnd(59, ".1"));
    expect(() => read(text(10_000))).toThrowError(expect.objectContaining({ code: "PLAN_PARSE" }));
  });

  const STRAY = `{ "master": { "tasks": [ { "id": 1, "title": "A", "status": "pending" }, { "id": 2, "title": "B", "status": "pending", "dependencies": [1] } ] },
  "tasks": [ { "id": 9, "title": "stray", "status": "done" } ] }`;

  it.each([
    [
      "after a tag",
      STRAY,
      ["1 master @1", "[ ] 1 A @1", "[ ] 2 B @1 < 1", "2 tasks @2", "[x] tasks/9 stray @2"],
      '"stray", "status": "pending"',
    ],
    [
      "before the tags, with the same ids",
      `{"tasks": [{"id": 1, "title": "A"}, {"id": 2, "title": "B", "dependencies": [1]}],
        "metadata": {"tasks": 2},
        "later": {"tasks": [{"id": 1, "title": "C"}, {"id": 2, "title": "D", "dependencies": [1]}]}}`,
      [
        ...["1 tasks @1", "[ ] 1 A @1", "[ ] 2 B @1 < 1"],
        ...["2 later @3", "[ ] later/1 C @3", "[ ] later/2 D @3 < later/1"],
      ],
      undefined,
    ],
    [
      "empty, between tags",
      '{"a": {"tasks": [{"id": 1, "title": "A"}]},\n"tasks": [],\n"b": {"tasks": [{"id": 1, "title": "B"}]}}',
      ["1 a @1", "[ ] 1 A @1", "2 tasks @2", "3 b @3", "[ ] b/1 B @3"],
      undefined,
    ],
  ])("may have a list of tasks beside its tags: %s", (_, text, expected, unticked) => {
    const { plan } = read(text);
    expect(lines(read(text))).toEqual(expected);
    const tick = taskMasterParser.tick?.(text, plan, { tasks: ["tasks/9"], done: false, criteria: false });
    expect(tick).toBe(unticked === undefined ? text : text.replace('"stray", "status": "done"', unticked));
  });
});

describe("a tasks.json", () => {
  it("with an unknown status says which there are", () => {
    const { diagnostics } = taskMasterParser.parse(
      '{"tasks": [{"id": 1, "title": "A", "status": "maybe"}]}',
      "tasks.json",
    );
    expect(diagnostics).toMatchObject([
      {
        code: "STATE_UNKNOWN",
        message: "task 1 has the status 'maybe', which is no known state; it counts as pending",
        hint: "Write pending, done, completed, cancelled, in-progress, review, deferred, blocked.",
      },
    ]);
  });

  it("of more characters than a plan may have is refused", () => {
    const text = `{"tasks": [{"id": 1, "title": "A"}]}${" ".repeat(PLAN_MAX)}`;
    expect(() => taskMasterParser.parse(text, "long.json")).toThrow(
      `long.json can't be read as a plan: it has more than ${PLAN_MAX} characters`,
    );
  });

  it("that is no JSON any more is not ticked", () => {
    const { plan } = taskMasterParser.parse('{"tasks": [{"id": 1, "title": "A"}]}', "tasks.json");
    const request = { tasks: ["1"], done: true, criteria: false };
    expect(() => taskMasterParser.tick('{"tasks": [', plan, request)).toThrow("tasks.json can't be read as a plan");
  });

  it.each(["5", "null", '"text"', "[]", '[{"tasks": []}]', "{}", '{"tasks": {}}'])("of %s has no tasks", (text) => {
    expect(() => taskMasterParser.parse(text, "tasks.json")).toThrow(/it has no (?:list of )?tasks/);
  });
});
