import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGate } from "../../src/gate/check-gate.js";
import { evidenceNames, requiredFormat } from "../../src/gate/format.js";
import {
  checkedFields,
  claimedIds,
  claimedItems,
  droppedIds,
  givenUpProblems,
  withNoted,
} from "../../src/gate/plan-gate.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { PlanGate, PlannedTask } from "../../src/workflow/structure.js";
import { exampleEvidence } from "./example-evidence.js";

const gate: PlanGate = {
  kind: "plan",
  allowOverride: false,
  tasks: [
    { id: "1.1", optional: false },
    { id: "1.2", optional: true },
    { id: "3", optional: false },
  ],
  items: ["**All** tests pass ✅", "Docs are read"],
};
const noItems: PlanGate = { ...gate, items: [] };

const problems = (evidence: JsonObject, of = gate) => {
  const verdict = checkGate(of, evidence);
  return verdict.passed ? [] : verdict.problems.map(({ field, problem }) => `${field} ${problem}`);
};
const whole = { tasks_completed: ["1.1", "3"], validation_gate: { 1: true, 2: true } };

describe("the gate of a phase of a plan", () => {
  it("passes if everything that is not optional is claimed, items by number or by text", () => {
    expect(checkGate(gate, whole)).toEqual({ passed: true, warnings: [] });
    expect(problems({ ...whole, tasks_completed: ["1.1", "3", "1.2", 7, { not: "an id" }] })).toEqual([]);
    expect(problems({ ...whole, validation_gate: { "all tests pass": true, "2": true } })).toEqual([]);
    expect(problems({ tasks_completed: ["1.1", "3"] }, noItems)).toEqual([]);
  });

  it("names every missing task and item, items with their texts", () => {
    const all = [
      "tasks_completed missing",
      "tasks_completed missing",
      "validation_gate.1 missing",
      "validation_gate.2 missing",
    ];
    expect(problems({})).toEqual(all);
    expect(problems({ tasks_completed: null, validation_gate: null })).toEqual(all);
    const verdict = checkGate(gate, { tasks_completed: ["1.2", "1,1"], validation_gate: { 1: false } });
    expect(verdict).toMatchObject({
      problems: [
        { message: expect.stringMatching(/^Task 1\.1 is not .*you sent "1,1"/), example: "1.1" },
        { message: expect.stringMatching(/^Task 3 is not in/), example: "3" },
        { field: "validation_gate.1", problem: "claimed_false", got: "false" },
        {
          field: "validation_gate.2",
          message: expect.stringContaining("item 2 of the validation gate: Docs are read"),
        },
      ],
    });
  });

  it("refuses numbers as ids, and explains that 1.10 is 1.1 in JSON", () => {
    const tens: PlanGate = { ...noItems, tasks: ["1.1", "1.10", "3"].map((id) => ({ id, optional: false })) };
    const verdict = checkGate(tens, { tasks_completed: [1.1, "3"] });
    expect(verdict).toMatchObject({
      problems: [
        { message: expect.stringContaining('you sent the number 1.1, and ids are texts: send "1.1"') },
        { message: expect.stringContaining('send "1.10"') },
      ],
    });
    expect(problems({ tasks_completed: [1.1, 1.1, 3] }, tens)).toHaveLength(3);
  });

  it("limits the search for similar ids, and the number of named items", () => {
    const many: PlanGate = {
      ...gate,
      tasks: Array.from({ length: 200 }, (_, at) => ({ id: `task-${at}`, optional: false })),
    };
    const evidence = {
      tasks_completed: Array.from({ length: 200 }, (_, at) => `tosk-${at}`),
      validation_gate: Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`no item ${at}`, false])),
    };
    const verdict = checkGate(many, evidence);
    const found = verdict.passed ? [] : verdict.problems;
    expect(found.filter(({ message }) => message.includes("you sent"))).toHaveLength(100);
    expect(found.filter(({ message }) => message.includes("claimed as false"))).toHaveLength(100);
    const numbers = { ...evidence, tasks_completed: Array.from({ length: 200 }, (_, at) => at) };
    const tasks = numbers.tasks_completed.map((at) => ({ id: `${at}`, optional: false }));
    const counted = checkGate({ ...many, tasks }, numbers);
    const hints = counted.passed ? [] : counted.problems.filter(({ message }) => message.includes("the number"));
    expect(hints).toHaveLength(100);
  });

  it("accepts only a list and an object, and only true as a claim", () => {
    expect(problems({ tasks_completed: "1.1, 3", validation_gate: ["1", "2"] })).toEqual([
      "tasks_completed wrong_type",
      "tasks_completed missing",
      "tasks_completed missing",
      "validation_gate wrong_type",
      "validation_gate.1 missing",
      "validation_gate.2 missing",
    ]);
    expect(problems({ ...whole, validation_gate: { 1: "yes", 2: 1 } })).toEqual([
      "validation_gate.1 claimed_false",
      "validation_gate.2 claimed_false",
    ]);
  });

  it("ignores keys of an object's prototype", () => {
    const evidence: JsonObject = Object.create({ ...whole });
    expect(problems(evidence)).toHaveLength(4);
  });

  const claims = (items: readonly string[], validation_gate: JsonObject) =>
    problems({ ...whole, validation_gate }, { ...gate, items: [...items] });

  it.each([
    ["All tests pass", "ALL  tests *pass*!"],
    ["Coverage > 80%", "coverage >80 %"],
    ["✅ **Docs** are read", "docs are read"],
    ["1️⃣ First", "1 first"],
    ["Latency <= 5 ms", "`latency` <= 5 ms"],
    ["Cafe\u0301 is open", "Caf\u00e9 is open"],
    ["हिन्दी पाठ", "हिन्दी पाठ"],
    ["Takes 1-2 days", "takes 1 2 days"],
  ])("accepts an item by its text in any formatting: %j as %j", (item, text) => {
    expect(claims([item, "Something else"], { [text]: true, 2: true })).toEqual([]);
  });

  it.each([
    ["Coverage > 80%", "coverage 80"],
    ["Coverage > 80%", "coverage < 80%"],
    ["Price is 5 €", "price is 5 $"],
    ["Temperature > -5", "temperature > 5"],
    ["x != 1", "x = 1"],
    ["हिन्दी", "हान्दा"],
    ["Maße stimmen", "Masse stimmen"],
    ["✅", ""],
    ["✅", "🛑"],
    ["1", "1."],
    ["7", "7"],
    ["All tests pass", "1."],
    ["All tests pass", "01"],
    ["All tests pass", " 1"],
  ])("accepts no other text, and no other number: %j is not %j", (item, text) => {
    expect(claims([item, "Something else"], { [text]: true, 2: true })).toEqual(["validation_gate.1 missing"]);
  });

  it("treats a number as an item's number, never as its text", () => {
    expect(claims(["Two", "1"], { 1: true })).toEqual(["validation_gate.2 missing"]);
    expect(claims(["Two", "1"], { 1: true, 2: true })).toEqual([]);
  });

  it("refuses a text that two items have, and asks for their numbers", () => {
    const twice = ["Coverage is > 80%", "Docs", "coverage is >80%"];
    const text = { "Coverage is > 80%": true, Docs: true };
    const verdict = checkGate({ ...noItems, items: twice }, { ...whole, validation_gate: text });
    const unsure = { problem: "missing", message: expect.stringContaining("use the number") };
    expect(verdict).toMatchObject({
      problems: [
        { field: "validation_gate.1", ...unsure },
        { field: "validation_gate.3", ...unsure },
      ],
    });
    expect(claims(twice, { ...text, 1: true, 3: true })).toEqual([]);
    expect(claims(twice, { "coverage is > 80%": false, 1: true, 2: true, 3: true })).toEqual([
      "validation_gate.1 claimed_false",
      "validation_gate.3 claimed_false",
    ]);
  });

  it("refuses contradicting claims in any order, and unknown false claims", () => {
    for (const item of ["All tests pass", "all tests pass!"]) {
      expect(claims(["All tests pass"], { 1: true, [item]: false })).toEqual(["validation_gate.1 claimed_false"]);
      expect(claims(["All tests pass"], { [item]: true, 1: false })).toEqual(["validation_gate.1 claimed_false"]);
    }
    expect(claims(["All tests pass"], { 1: true, "1.": false })).toEqual(["validation_gate claimed_false"]);
    expect(claims(["All tests pass"], { 1: true, remark: "a word", other: true })).toEqual([]);
    expect(claims(["All tests pass"], JSON.parse('{"1": true, "__proto__": true}'))).toEqual([]);
  });

  it("returns its required format, and an example that passes", () => {
    expect(evidenceNames(gate)).toEqual(["tasks_completed", "validation_gate"]);
    expect(evidenceNames(noItems)).toEqual(["tasks_completed"]);
    expect(requiredFormat(gate)).toEqual({
      tasks_completed: { type: "list", required: true, description: expect.any(String) },
      validation_gate: {
        ...{ type: "object", required: true, description: "whether each item holds, by its number: a boolean" },
        items: { 1: "**All** tests pass ✅", 2: "Docs are read" },
      },
    });
    expect(requiredFormat(noItems)).not.toHaveProperty("validation_gate");
    expect(exampleEvidence(gate)).toEqual(whole);
    expect(exampleEvidence(noItems)).toEqual({ tasks_completed: ["1.1", "3"] });
  });

  it("accepts its own example, and no part of it", () => {
    const gates = fc.record({
      tasks: fc.uniqueArray(fc.record({ id: fc.stringMatching(/^[A-Z0-9][0-9.]{0,3}$/), optional: fc.boolean() }), {
        selector: ({ id }) => id,
        maxLength: 6,
      }),
      items: fc.uniqueArray(fc.stringMatching(/^[a-z]{3,8}$/), { maxLength: 4 }),
    });
    fc.assert(
      fc.property(gates, fc.nat(), ({ tasks, items }, left) => {
        const drawn: PlanGate = { kind: "plan", allowOverride: false, tasks, items };
        const required = tasks.filter(({ optional }) => !optional).map(({ id }) => id);
        const numbers = items.map((_, index) => `${index + 1}`);
        const claim = (out: string) => ({
          tasks_completed: required.filter((id) => `task ${id}` !== out),
          validation_gate: Object.fromEntries(numbers.filter((at) => `item ${at}` !== out).map((at) => [at, true])),
        });
        const all = [...required.map((id) => `task ${id}`), ...numbers.map((at) => `item ${at}`)];
        expect(checkGate(drawn, exampleEvidence(drawn) ?? {}).passed).toBe(true);
        expect(checkGate(drawn, claim("")).passed).toBe(true);
        const one = all[left % Math.max(all.length, 1)];
        if (one !== undefined) expect(problems(claim(one), drawn)).toHaveLength(1);
      }),
    );
  });
});

it("gives the numbers of the items that evidence claims as true, by number or text", () => {
  expect(claimedItems(gate.items, { validation_gate: { 1: true, "Docs are read": true } })).toEqual([1, 2]);
  expect(claimedItems(gate.items, { validation_gate: { 1: true, 2: false } })).toEqual([1]);
  for (const evidence of [{}, { validation_gate: [true] }] as JsonObject[])
    expect(claimedItems(gate.items, evidence)).toEqual([]);
});

describe("the problems of a plan's gate, word for word", () => {
  const problemsWith = (evidence: JsonObject, of = gate) => {
    const verdict = checkGate(of, evidence);
    return verdict.passed ? [] : verdict.problems;
  };

  it("name a task that is not claimed, and what was sent in its place", () => {
    const tasks = ["1.1", "1.2"].map((id) => ({ id, optional: false }));
    const near: PlanGate = { ...noItems, tasks };
    const missing = { field: "tasks_completed", problem: "missing", expected: '"1.2" in the list', example: "1.2" };
    const because = (meant: string) =>
      `Task 1.2 is not in 'tasks_completed'${meant}, nor noted as done: do it, then note it or claim it by its id`;
    expect(problemsWith({ tasks_completed: ["1.1"] }, near)).toEqual([{ ...missing, message: because("") }]);
    expect(problemsWith({ tasks_completed: ["1.1", "1.2."] }, near)).toEqual([
      { ...missing, message: because(' (you sent "1.2.")') },
    ]);
    expect(problemsWith({ tasks_completed: ["1.1", 1.2] }, near)).toEqual([
      { ...missing, message: because(' (you sent the number 1.2, and ids are texts: send "1.2")') },
    ]);
  });

  it("name an item that is claimed as false, in two ways, or not at all", () => {
    const claims = (validation_gate: JsonObject) => problemsWith({ ...whole, validation_gate });
    const item = { field: "validation_gate.2", expected: "true" };
    const what = "item 2 of the validation gate: Docs are read";
    expect(claims({ 1: true })).toEqual([{ ...item, problem: "missing", message: `Not claimed: ${what}` }]);
    expect(claims({ 1: true, 2: false })).toEqual([
      { ...item, problem: "claimed_false", message: `Not claimed as true: ${what}`, got: "false" },
    ]);
    expect(claims({ 1: true, 2: false, "docs are READ": true })).toEqual([
      { ...item, problem: "claimed_false", message: `Claimed as true, and not: ${what}`, got: "false" },
    ]);
    expect(claims({ 1: true, 2: true, "3rd": false })).toMatchObject([{ problem: "claimed_false", got: "false" }]);
  });

  it("name a task that is claimed, though it was given up", () => {
    const claimed = { tasks_completed: ["1.1", "1.2"] };
    const because = (id: string, way: string) =>
      `Task ${id} is in 'tasks_completed', but is noted as given up: leave it out${way}; if it is done now, note that with complete_task first`;
    const invalid = { field: "tasks_completed", problem: "invalid" };
    expect(givenUpProblems(gate, claimed, ["1.1", "1.2", "3"])).toEqual([
      { ...invalid, message: because("1.1", " and ask for a waiver"), got: '"1.1"', example: "1.1" },
      { ...invalid, message: because("1.2", ""), got: '"1.2"' },
    ]);
    expect(givenUpProblems(gate, claimed, ["3"])).toEqual([]);
  });

  it("say which claim could mean two items", () => {
    const twins = { ...gate, items: ["Works", "works!"] };
    expect(problemsWith({ ...whole, validation_gate: { works: true } }, twins)).toEqual(
      ["Works", "works!"].map((text, index) => ({
        field: `validation_gate.${index + 1}`,
        problem: "missing",
        message: `Not claimed: item ${index + 1} of the validation gate: ${text} ("works" is more than one of them: use the number)`,
        expected: "true",
      })),
    );
  });
});

it("items are numbered beyond nine, and a number has digits only", () => {
  const many = Array.from({ length: 10 }, (_, index) => `Item ${"abcdefghij".charAt(index)}`);
  const claims = Object.fromEntries(many.map((_, index) => [`${index + 1}`, true]));
  expect(claimedItems(many, { validation_gate: claims })).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(claimedItems(["a"], { validation_gate: { "1.": true, "1a": true, a1: true, " 1": true } })).toEqual([]);
});

it("without items, claims of items are ignored, and what is no list claims nothing", () => {
  expect(problems({ ...whole, validation_gate: { x: false } }, noItems)).toEqual([]);
  expect(claimedIds({ tasks_completed: "1.1" })).toEqual([]);
  expect(claimedIds({})).toEqual([]);
});

it("an item is claimed by its words and signs, in any case", () => {
  const claimed = (item: string, key: string) => claimedItems([item], { validation_gate: { [key]: true } }).length > 0;
  for (const [item, key] of [
    ["Step 1", "STEP 1"],
    ["1st step", "1st STEP"],
  ] as const)
    expect(claimed(item, key)).toBe(true);
  for (const [item, key] of [
    ["ab", "a b"],
    ["x = 5", "x 5"],
    ["x != 5", "x = 5"],
  ] as const) {
    expect(claimed(item, key), key).toBe(false);
  }
});

it("reads the fields that its checks are about, and none of a check without one", () => {
  const verify: PlanGate["verify"] = [
    { verifier: "file_exists", params: { field: "where" }, description: "the file" },
    { verifier: "git_clean", params: { field: "state" } },
    { verifier: "git_clean", params: {} },
  ];
  expect(checkedFields({ ...gate, verify })).toEqual({ where: "the file", state: "git_clean" });
  expect(checkedFields({ ...gate, verify: undefined })).toEqual({});
  expect(requiredFormat({ ...gate, verify })).toMatchObject({
    where: { type: "object", required: true, description: "the file" },
    state: { description: "git_clean" },
  });
});

describe("tasks that are noted as done", () => {
  it("count as claimed, beside those that the evidence lists", () => {
    for (const claimed of [{}, { tasks_completed: [] }, { tasks_completed: ["3"] }] as JsonObject[]) {
      expect(problems(withNoted(claimed, ["1.1", "3"]), noItems), JSON.stringify(claimed)).toEqual([]);
    }
    const evidence = { tasks_completed: ["3"], validation_gate: { 1: true } };
    expect(withNoted({}, ["1.1"])).toEqual({ tasks_completed: ["1.1"] });
    expect(withNoted(evidence, ["1.1", "3"])).toEqual({ ...evidence, tasks_completed: ["3", "1.1"] });
  });

  it("leave evidence as it is that lists them all, or has no list", () => {
    for (const evidence of [whole, { tasks_completed: "1.1" }])
      expect(withNoted(evidence, ["1.1", "3"])).toBe(evidence);
    expect(withNoted({}, [])).toEqual({});
  });
});

it("tells the tasks of a phase that its plan has dropped", () => {
  const task = (id: string, state: PlannedTask["state"]) => ({
    ...{ number: 1, name: id },
    plan: { ...{ id, dependencies: [], acceptanceCriteria: [] }, state, optional: false, parallel: false },
  });
  const tasks = [task("1.1", "dropped"), task("1.2", "done"), { number: 3, name: "of no plan" }];
  expect(droppedIds({ number: 1, name: "Build", tasks, gate: { kind: "open" } })).toEqual(["1.1"]);
});
