import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkGate, checksOf, wholeChecks } from "../../src/gate/check-gate.js";
import { requiredFormat, requiredNames } from "../../src/gate/format.js";
import { judge } from "../../src/gate/judge.js";
import {
  requirementText,
  unaskedFields,
  validateWaived,
  waivable,
  waivableProblems,
  waive,
  waivedNames,
  waivedText,
  waiverName,
} from "../../src/gate/waivers.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { FieldGate, GateDefinition, PlanGate, SchemaGate } from "../../src/workflow/structure.js";
import { exampleEvidence } from "./example-evidence.js";

const GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [
    { name: "built", type: "boolean", required: true },
    { name: "coverage", type: "integer", required: true, rules: [{ source: "value >= 80", cel: "value >= 80" }] },
    { name: "tests", type: "integer", required: true },
    { name: "note", type: "string", required: false },
    { name: "reviewed", type: "boolean", required: true, waivable: false },
  ],
  rules: [{ source: "evidence.coverage < evidence.tests", cel: "evidence.coverage < evidence.tests" }],
  verify: [
    { verifier: "command", params: { command: "one" } },
    { verifier: "file_exists", params: {}, field: "coverage" },
    { verifier: "command", params: { command: "two" } },
  ],
};
const PLAN: PlanGate = {
  kind: "plan",
  allowOverride: false,
  tasks: [
    { id: "1.1", optional: false },
    { id: "1.2", optional: false },
    { id: "1.3", optional: true },
  ],
  items: ["Tests pass", "Docs are there"],
};

function schemaGate(schema: z.ZodType): SchemaGate {
  return { kind: "schema", allowOverride: false, jsonSchema: JSON.parse(JSON.stringify(z.toJSONSchema(schema))) };
}

const verdictOf = async (gate: GateDefinition, evidence: Record<string, never> | Record<string, unknown>) =>
  (await judge(gate, JSON.parse(JSON.stringify(evidence)), { surroundings: () => ({}) })).verdict;

describe("what can be waived", () => {
  it("is every required field that the author does not exclude, and each check of the gate as a whole", () => {
    expect(waivable(GATE)).toEqual({
      names: ["built", "coverage", "tests", "verified_by.1", "verified_by.2"],
      excluded: ["reviewed"],
    });
    expect(waivable(GATE, ["tests", "verified_by.1"]).names).toEqual(["built", "coverage", "verified_by.2"]);
  });

  it("is every required task and item of a plan's gate; a task may be meant by its id", () => {
    const { names } = waivable(PLAN);
    expect(names).toEqual(["tasks_completed.1.1", "tasks_completed.1.2", "validation_gate.1", "validation_gate.2"]);
    expect(waiverName(PLAN, "1.2")).toBe("tasks_completed.1.2");
    expect(waiverName(PLAN, "validation_gate.1")).toBe("validation_gate.1");
    expect(waiverName(GATE, "1.2")).toBe("1.2");
  });

  const fixed = z.boolean().meta({ waivable: false });
  const shared = z.object({ seen: z.boolean().meta({ id: "Seen", waivable: false }) });
  const node: z.ZodType = z.object({ mark: fixed, children: z.lazy(() => z.array(node)) });
  it.each<[string, z.ZodType]>([
    ["in an object", z.object({ a: z.object({ default: fixed }), b: z.string() })],
    ["in a list", z.object({ a: z.array(fixed), b: z.string() })],
    ["in a choice", z.object({ a: z.union([z.string(), z.object({ inner: fixed })]), b: z.string() })],
    ["in a record", z.object({ a: z.record(z.string(), fixed), b: z.string() })],
    ["in a tuple", z.object({ a: z.tuple([z.string(), fixed]), b: z.string() })],
    ["behind a reference", z.object({ a: shared.meta({ id: "Shared" }), b: z.string() })],
    ["in what refers to itself", z.object({ a: node, b: z.string() })],
    ["in a branch of a union", z.union([z.object({ a: fixed, b: z.string() }), z.object({ b: z.string() })])],
    ["in a part of an intersection", z.object({ a: fixed }).and(z.object({ b: z.string() }))],
  ])("is no property that holds something with `waivable: false` %s", (_, schema) => {
    const gate: SchemaGate = { ...schemaGate(schema), example: { a: true, b: "x" } };
    expect(waivable(gate)).toEqual({ names: ["b"], excluded: ["a"] });
  });

  it("is nothing of a schema that is marked as a whole, and what data say of it does not count", () => {
    const gate = schemaGate(z.object({ a: z.string() }).meta({ waivable: false }));
    expect(waivable(gate)).toEqual({ names: [], excluded: ["a"] });
    const looks = z.looseObject({}).default({ waivable: false });
    expect(waivable(schemaGate(z.object({ a: looks }))).names).toEqual(["a"]);
    expect(waivable({ kind: "schema", allowOverride: false }).excluded).toEqual([]);
    const odd = { properties: { a: { $ref: "https://example.org" } }, anyOf: [true] };
    expect(waivable({ kind: "schema", allowOverride: false, jsonSchema: odd }).excluded).toEqual([]);
    const $defs: JsonObject = {
      Node: { anyOf: [{ $ref: "#/$defs/Node" }, { properties: { a: { waivable: false } } }] },
    };
    const circular: JsonObject = { $ref: "#/$defs/Node", $defs };
    expect(waivable({ kind: "schema", allowOverride: false, jsonSchema: circular }).excluded).toEqual(["a"]);
  });

  it("is every property of a schema but those with `waivable: false`, also of one with an id", () => {
    const gate = schemaGate(z.object({ a: z.string(), b: z.boolean().meta({ waivable: false }) }));
    expect(waivable(gate)).toEqual({ names: ["a"], excluded: ["b"] });
    const licensed = z.boolean().meta({ id: "Licensed", waivable: false });
    expect(waivable(schemaGate(z.object({ licensed, a: z.string() })))).toEqual({
      names: ["a"],
      excluded: ["licensed"],
    });
  });

  it("is every field of the example, for a schema that does not list its fields", () => {
    const gate: SchemaGate = { kind: "schema", allowOverride: false };
    expect(waivable(gate).names).toEqual([]);
    expect(waivable({ ...gate, example: { kind: "a", tested: true } }).names).toEqual(["kind", "tested"]);
  });

  it("is nothing in an open gate and in one with `reveal: none`", () => {
    expect(waivable({ kind: "open", allowOverride: false }).names).toEqual([]);
    expect(waivable({ ...GATE, reveal: "none" }).names).toEqual([]);
    expect(waivable({ ...GATE, reveal: "names" }).names).toEqual(["built", "coverage", "tests"]);
  });

  it("is found for problems: of fields, of failed checks, of tasks and of items", () => {
    const missing = (field: string, example?: string) =>
      ({ field, problem: "missing", message: "", ...(example === undefined ? {} : { example }) }) as const;
    expect(waivableProblems(GATE, [], [missing("reviewed"), missing("tests")])).toEqual(["tests"]);
    const whole = { field: "", problem: "unverified", message: "" } as const;
    expect(waivableProblems(GATE, [], [whole], [false, true])).toEqual(["verified_by.2"]);
    expect(waivableProblems(GATE, ["verified_by.1"], [whole], [true])).toEqual(["verified_by.2"]);
    const ofPlan = [missing("tasks_completed", "1.2"), missing("validation_gate.2")];
    expect(waivableProblems(PLAN, [], ofPlan)).toEqual(["tasks_completed.1.2", "validation_gate.2"]);
    const union: SchemaGate = { kind: "schema", allowOverride: false, example: { a: {} } };
    expect(waivableProblems(union, [], [missing("a.b"), missing("")])).toEqual(["a"]);
  });
});

describe("checks of a gate as a whole", () => {
  const told = { verifier: "command", params: { command: "one" }, description: "it builds" };
  const fixed = { verifier: "command", params: { command: "two" }, waivable: false } as const;
  const gate: FieldGate = { ...GATE, verify: [told, fixed] };

  it("have the same numbers in the format, in results and in waivers, also once one is waived", () => {
    const names = (of: GateDefinition) => wholeChecks(of).map(([name, { params }]) => [name, params.command]);
    expect(names(GATE)).toEqual([
      ["verified_by.1", "one"],
      ["verified_by.2", "two"],
    ]);
    expect(names(waive(GATE, ["verified_by.1"]))).toEqual([["verified_by.2", "two"]]);
    expect(requiredFormat(waive(GATE, ["verified_by.1"]))).toMatchObject({ verified_by: { 2: "command" } });
    expect(requiredFormat(gate)).toMatchObject({ verified_by: { 1: "command: it builds", 2: "command" } });
    expect(requirementText(gate, "verified_by.1")).toBe('it builds; checked by command {"command":"one"}');
    const inCode: SchemaGate = { ...schemaGate(z.object({ ok: z.boolean() })), verify: [told, fixed] };
    expect(names(inCode)).toEqual(names(gate));
    expect(names(waive(inCode, ["verified_by.1", "ok"]))).toEqual([["verified_by.2", "two"]]);
    const planned: PlanGate = { ...PLAN, verify: [told, fixed] };
    expect(names(planned)).toEqual(names(gate));
    expect(names(waive(planned, ["verified_by.1"]))).toEqual([["verified_by.2", "two"]]);
    expect(waivable(planned)).toMatchObject({
      names: expect.arrayContaining(["verified_by.1"]),
      excluded: ["verified_by.2"],
    });
    expect(requiredFormat(planned)).toMatchObject({ verified_by: { 1: "command: it builds", 2: "command" } });
    expect(wholeChecks({ kind: "open", allowOverride: false })).toEqual([]);
  });

  it("can't be waived if the author excludes them", () => {
    expect(waivable(gate)).toEqual({
      names: ["built", "coverage", "tests", "verified_by.1"],
      excluded: ["reviewed", "verified_by.2"],
    });
    const whole = { field: "", problem: "unverified", message: "" } as const;
    expect(waivableProblems(gate, [], [whole], [true, true])).toEqual(["verified_by.1"]);
    expect(waivableProblems(gate, ["verified_by.1"], [whole], [true])).toEqual([]);
  });
});

describe("a gate of fields with a waiver", () => {
  const good = { built: true, coverage: 90, tests: 100, reviewed: true };

  it("requires everything else, and does not change the definition", async () => {
    const before = JSON.stringify(GATE);
    const gate = waive(GATE, ["coverage"]);
    expect(JSON.stringify(GATE)).toBe(before);
    const { coverage: _, ...rest } = good;
    expect(await verdictOf(GATE, rest)).toMatchObject({ passed: false });
    expect(await verdictOf(gate, rest)).toEqual({ passed: true, warnings: [] });
    expect(await verdictOf(gate, { ...rest, tests: "100" })).toMatchObject({ problems: [{ field: "tests" }] });
    expect(await verdictOf(gate, {})).toMatchObject({
      problems: [{ field: "built" }, { field: "tests" }, { field: "reviewed" }],
    });
  });

  it("does not run the rules and checks of a waived field, but checks its type", async () => {
    const gate = waive(GATE, ["coverage", "verified_by.1"]);
    expect(checksOf(gate)).toEqual([{ verifier: "command", params: { command: "two" } }]);
    expect(await verdictOf(gate, { ...good, coverage: 10 })).toMatchObject({ passed: true });
    expect(await verdictOf(gate, { ...good, coverage: "low" })).toMatchObject({
      problems: [{ problem: "wrong_type" }],
    });
  });

  it("runs a rule between fields if the waived one was submitted", async () => {
    const gate = waive(GATE, ["coverage"]);
    expect(await verdictOf(gate, { ...good, coverage: 200 })).toMatchObject({ problems: [{ problem: "invalid" }] });
    expect(await verdictOf(gate, { ...good, coverage: null })).toMatchObject({ passed: true });
  });

  it.each(["has(evidence.note)", "'note' in evidence"])(
    "runs no rule between fields that reads it, also with %s",
    async (noted) => {
      const cel = `evidence.coverage > 90 || ${noted}`;
      const gate = { ...GATE, rules: [{ source: cel, cel }] };
      const { coverage: _, ...rest } = good;
      expect(await verdictOf(waive(gate, ["coverage"]), rest)).toMatchObject({ passed: true });
      expect(await verdictOf(gate, { ...good, coverage: 80 })).toMatchObject({ problems: [{ problem: "invalid" }] });
      // The wrong type is the only problem: a rule that reads the field is not run.
      expect(await verdictOf(gate, { ...good, coverage: "91" })).toMatchObject({
        problems: [{ problem: "wrong_type" }],
      });
    },
  );

  it("keeps the rules of other fields, even if they read the waived one", async () => {
    const rule = { source: "value > 10 && evidence.coverage > 3", cel: "value > 10 && evidence.coverage > 3" };
    const fields = GATE.fields.map((field) => (field.name === "tests" ? { ...field, rules: [rule] } : field));
    const gate = waive({ ...GATE, fields }, ["coverage"]);
    const { coverage: _, ...rest } = good;
    expect(await verdictOf(gate, { ...rest, tests: 1 })).toMatchObject({ problems: [{ field: "tests" }] });
    expect(await verdictOf(gate, { ...good, tests: 100 })).toMatchObject({ passed: true });
    expect(await verdictOf(waive({ ...GATE, fields }, ["coverage", "tests"]), { ...rest, tests: 1 })).toMatchObject({
      passed: true,
    });
  });

  it("accepts an honest false for a waived boolean", async () => {
    expect(await verdictOf(waive(GATE, ["built"]), { ...good, built: false })).toMatchObject({ passed: true });
  });

  it("lacks the waived field in its format, its example and its names", () => {
    const gate = waive(GATE, ["coverage"]);
    expect(requiredNames(gate)).toEqual(["built", "tests", "reviewed"]);
    expect(requiredFormat(gate)).toMatchObject({ required: ["built", "tests", "reviewed"] });
    expect(exampleEvidence(gate)).not.toHaveProperty("coverage");
  });

  it("has exactly the problems of the whole gate that are not about a waived field", async () => {
    const values = fc.record(
      {
        built: fc.constantFrom(true, false, 1),
        coverage: fc.constantFrom(10, 90, "x"),
        tests: fc.constantFrom(100, true),
      },
      { requiredKeys: [] },
    );
    const names = fc.subarray(["built", "coverage", "tests"]);
    const noRules: FieldGate = { ...GATE, rules: [], verify: [] };
    await fc.assert(
      fc.asyncProperty(values, names, async (evidence, waived) => {
        const whole = await verdictOf(noRules, evidence);
        const left = await verdictOf(waive(noRules, waived), evidence);
        const kept = (whole.passed ? [] : whole.problems).filter(
          ({ field, problem }) => !waived.includes(field) || problem === "wrong_type",
        );
        expect(left.passed ? [] : left.problems.map(({ field }) => field)).toEqual(kept.map(({ field }) => field));
      }),
      { numRuns: 200 },
    );
  });
});

describe("the text of a requirement in a request", () => {
  it("is its description, its checks, or an item's text", () => {
    const described = {
      name: "built",
      type: "boolean",
      required: true,
      description: "the whole suite passes",
    } as const;
    const gate: FieldGate = { ...GATE, fields: [described, ...GATE.fields.slice(1)] };
    expect(requirementText(gate, "built")).toBe("the whole suite passes");
    expect(requirementText(gate, "coverage")).toBe("checked by file_exists");
    expect(requirementText(gate, "verified_by.2")).toBe('checked by command {"command":"two"}');
    expect(requirementText(gate, "tests")).toBeUndefined();
    expect(requirementText(PLAN, "validation_gate.2")).toBe("Docs are there");
    expect(requirementText(PLAN, "tasks_completed.1.1")).toBeUndefined();
    const inCode = schemaGate(z.object({ ok: z.boolean().describe("all of it") }));
    expect(requirementText(inCode, "ok")).toBe("all of it");
    expect(requirementText({ kind: "open", allowOverride: false }, "ok")).toBeUndefined();
  });
});

describe("a field that is called like a check of the gate as a whole", () => {
  it("is waived without the check", () => {
    const fields = [{ name: "verified_by.1", type: "boolean", required: true }] as const;
    const waived = waive({ ...GATE, fields: [...fields] }, ["verified_by.1"]);
    expect(checksOf(waived)).toHaveLength(3);
    expect(wholeChecks(waived).map(([name]) => name)).toEqual(["verified_by.1", "verified_by.2"]);
    const inCode: SchemaGate = { ...schemaGate(z.object({ "verified_by.1": z.boolean() })), verify: GATE.verify };
    expect(wholeChecks(waive(inCode, ["verified_by.1"])).map(([name]) => name)).toEqual([
      ...["verified_by.1", "verified_by.2"],
    ]);
  });
});

describe("a plan's gate with a waiver", () => {
  it("requires the other tasks and items, under the same numbers", () => {
    const gate = waive(PLAN, ["tasks_completed.1.2", "validation_gate.1"]);
    expect(checkGate(gate, { tasks_completed: ["1.1"], validation_gate: { 2: true } }).passed).toBe(true);
    expect(checkGate(gate, { tasks_completed: ["1.1"], validation_gate: { 1: false, 2: true } }).passed).toBe(true);
    expect(checkGate(gate, { tasks_completed: [], validation_gate: {} })).toMatchObject({
      problems: [{ example: "1.1" }, { field: "validation_gate.2" }],
    });
    expect(exampleEvidence(gate)).toEqual({ tasks_completed: ["1.1"], validation_gate: { 2: true } });
    expect(requiredFormat(gate)).toMatchObject({ validation_gate: { items: { 2: "Docs are there" } } });
    const all = waive(PLAN, ["validation_gate.1", "validation_gate.2"]);
    expect(requiredFormat(all)).not.toHaveProperty("validation_gate");
    expect(exampleEvidence(all)).not.toHaveProperty("validation_gate");
  });
});

describe("a schema's gate with a waiver", () => {
  const schema = z
    .object({ low: z.number(), high: z.number(), coverage: z.number().min(80), url: z.url().optional() })
    .refine(({ low, high }) => low < high, { message: "low must be below high" });

  const checked = (names: string[], evidence: Record<string, number | string>, gate = schemaGate(schema)) =>
    validateWaived(schema, waive(gate, names), evidence);

  it("accepts evidence without the waived field, and no other error", async () => {
    expect(await checked([], { low: 1, high: 2 })).toHaveProperty("issues");
    expect(await checked(["coverage"], { low: 1, high: 2 })).toEqual({ value: { low: 1, high: 2 } });
    expect(await checked(["coverage"], { low: 1, high: 2, coverage: 5 })).toHaveProperty("value");
    expect(await checked(["coverage"], { low: 1 })).toMatchObject({ issues: [{ path: ["high"] }] });
    expect(await checked(["coverage"], { low: 1, high: 2, coverage: 90 })).toMatchObject({ value: { coverage: 90 } });
  });

  it("still checks the other fields together", async () => {
    expect(await checked(["coverage"], { low: 3, high: 2 })).toMatchObject({
      issues: [{ message: "low must be below high" }],
    });
  });

  it("does not check the other fields together if no example of the waived field is known", async () => {
    const gate = schemaGate(schema.safeExtend({ coverage: z.any() }));
    expect(await checked(["coverage"], { low: 3, high: 2 }, gate)).toHaveProperty("value");
    expect(await checked(["coverage"], { low: 3 }, gate)).toMatchObject({ issues: [{ path: ["high"] }] });
    const withExample: SchemaGate = { ...gate, example: { coverage: 81 } };
    expect(await checked(["coverage"], { low: 3, high: 2 }, withExample)).toHaveProperty("issues");
  });

  it("returns the other fields as the schema transforms them", async () => {
    const lengths = z.object({
      name: z.string().transform((name) => name.length),
      coverage: z.number(),
      size: z.int().default(7),
    });
    const gate = waive({ ...schemaGate(schema), example: { coverage: 81 } }, ["coverage"]);
    expect(await validateWaived(lengths, gate, { name: "abc" })).toEqual({ value: { name: 3, size: 7 } });
    const sent = { name: "abc", coverage: "none" };
    expect(await validateWaived(lengths, gate, sent)).toEqual({ value: { name: 3, size: 7, coverage: "none" } });
  });

  it("refuses evidence if the schema cannot check the other fields without the waived one", async () => {
    const union = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), tested: z.literal(true) }),
      z.object({ kind: z.literal("b"), linted: z.literal(true) }),
    ]);
    const gate = schemaGate(union);
    expect(await validateWaived(union, waive(gate, ["kind"]), {})).toMatchObject({ issues: [{ path: ["kind"] }] });
    const withExample = waive({ ...gate, example: { kind: "a", tested: true } }, ["kind"]);
    expect(await validateWaived(union, withExample, {})).toMatchObject({ issues: [{ path: ["tested"] }] });
    expect(await validateWaived(union, withExample, { tested: true })).toEqual({ value: { tested: true } });
  });

  it("returns the evidence unchanged if the schema transforms it into something other than an object", async () => {
    const pair = z.object({ a: z.number(), b: z.number() });
    const gate = waive(schemaGate(pair), ["b"]);
    for (const result of [3, null, [1, 2]]) {
      const schema = pair.transform(() => result);
      expect(await validateWaived(schema, gate, { a: 1 })).toEqual({ value: { a: 1 } });
    }
  });

  it("keeps a refusal without issues", async () => {
    const gate = waive(schemaGate(schema), ["coverage"]);
    const answers = [{ issues: [] }, { value: {} }];
    const silent = {
      "~standard": { version: 1, vendor: "silent", validate: () => answers.shift() ?? { value: {} } },
    } as const;
    expect(await validateWaived(silent, gate, {})).toEqual({ issues: [] });
  });

  it("reads paths whose segments are objects", async () => {
    const issues = [{ message: "bad", path: [{ key: "coverage" }] }];
    const odd = { "~standard": { version: 1, vendor: "odd", validate: () => ({ issues }) } } as const;
    expect(await validateWaived(odd, waive(schemaGate(schema), ["coverage"]), {})).toEqual({ value: {} });
  });

  it("no longer lists the waived field as required", () => {
    expect(requiredFormat(waive(schemaGate(schema), ["coverage"]))).toMatchObject({ required: ["low", "high"] });
    const open: SchemaGate = { kind: "schema", allowOverride: false, jsonSchema: { type: "object", properties: {} } };
    expect(requiredFormat(waive(open, ["a"]))).toEqual({ type: "object", properties: {} });
    const bare: SchemaGate = { kind: "schema", allowOverride: false, example: { a: 1 } };
    expect(waive(bare, ["a"])).toEqual({ ...bare, waived: ["a"] });
  });
});

describe("the line about a waiver", () => {
  it("says who waived what, the agent's reason and the person's note", () => {
    const waived = { fields: ["a", "b"], by: "ann", reason: "no disk" };
    expect(waivedText(waived)).toBe("a, b waived by ann. The agent's reason: no disk");
    expect(waivedText({ ...waived, note: "once" })).toBe(
      "a, b waived by ann. The agent's reason: no disk. ann's note: once",
    );
    expect(waivedNames([waived, { fields: ["c"] }])).toEqual(["a", "b", "c"]);
    expect(waivedNames()).toEqual([]);
  });

  it("is missing if nothing is waived: the gate is the same object", () => {
    expect(waive(GATE, [])).toBe(GATE);
    const open: GateDefinition = { kind: "open", allowOverride: false };
    expect(waive(open, ["a"])).toBe(open);
  });
});

describe("fields that are not asked for any more", () => {
  it("are those of a plan all of whose parts are waived, and otherwise the waived ones", () => {
    const plan: PlanGate = {
      ...{ kind: "plan", allowOverride: false, items: ["Works", "Fast"] },
      tasks: [
        { id: "1", optional: false },
        { id: "2", optional: true },
      ],
    };
    expect(unaskedFields(plan, [])).toEqual([]);
    expect(unaskedFields(plan, ["validation_gate.1"])).toEqual([]);
    expect(unaskedFields(plan, ["validation_gate.1", "validation_gate.2"])).toEqual(["validation_gate"]);
    expect(unaskedFields(plan, ["tasks_completed.1"])).toEqual(["tasks_completed"]);
    expect(unaskedFields({ ...plan, items: [], tasks: [] }, ["tasks_completed.1"])).toEqual([]);
    expect(unaskedFields(GATE, ["built"])).toEqual(["built"]);
  });
});

describe("an open gate", () => {
  const open: GateDefinition = { kind: "open", allowOverride: false };

  it("has nothing that could be waived", () => {
    expect(waivable(open)).toEqual({ names: [], excluded: [] });
    expect(waive(open, ["a"])).toBe(open);
    expect(requirementText(open, "a")).toBeUndefined();
  });
});

it("a gate whose fields are waived keeps its list of checks only if it had one", () => {
  const { verify: _, ...bare } = GATE;
  expect(waive(bare, ["built"])).not.toHaveProperty("verify");
  expect(waive(GATE, ["built"])).toHaveProperty("verify.length", 3);
});

it("a plan's problems are known by their tasks and items", () => {
  const tasks = ["1", "2"].map((id) => ({ id, optional: false }));
  const plan: PlanGate = { kind: "plan", allowOverride: false, items: ["Works", "Fast"], tasks };
  const waivableWith = (field: string, example?: string | number) =>
    waivableProblems(plan, [], [{ problem: "missing", message: "m", field, example }]);
  expect(waivableWith("tasks_completed", "2")).toEqual(["tasks_completed.2"]);
  expect(waivableWith("tasks_completed", 2)).toEqual([]);
  expect(waivableWith("tasks_completed")).toEqual([]);
  expect(waivableWith("validation_gate.1", "2")).toEqual(["validation_gate.1"]);
});

it("of a schema's errors, those about a waived field do not count", async () => {
  const schema = z.object({ a: z.string(), b: z.number() });
  const jsonSchema = { type: "object", properties: { a: {}, b: {} }, required: ["a", "b"] };
  const gate = waive({ kind: "schema", allowOverride: false, jsonSchema, example: { a: "x" } }, ["a"]);
  const result = await validateWaived(schema, gate, { b: "x" });
  expect(result.issues?.map(({ path }) => path)).toEqual([["b"]]);
  expect(await validateWaived(schema, gate, { b: 1 })).toEqual({ value: { b: 1 } });
  const refusing = (issues: { message: string }[]) =>
    ({ "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } }) as const;
  for (const issues of [[], [{ message: "no" }]]) {
    expect(await validateWaived(refusing(issues), gate, { b: 1 })).toEqual({ issues });
  }
});

describe("rules of a gate as a whole", () => {
  const check = (gate: GateDefinition, evidence: JsonObject) => judge(gate, evidence, { surroundings: () => ({}) });
  const evidence = { built: true, coverage: 90, tests: 80, reviewed: true };

  it("still hold if something is waived that they do not read", async () => {
    expect(await check(waive(GATE, ["built"]), evidence)).toMatchObject({
      verdict: { passed: false, problems: [{ field: "", expected: "evidence.coverage < evidence.tests" }] },
    });
    expect(await check(waive(GATE, ["built"]), { ...evidence, tests: 100 })).toMatchObject({
      verdict: { passed: true },
    });
  });

  it("are reported beside a problem with a field that they do not read", async () => {
    expect(await check(GATE, { ...evidence, built: false })).toMatchObject({
      verdict: { problems: [{ field: "built" }, { field: "" }] },
    });
  });
});

it("a plan excludes nothing from waivers", () => {
  expect(waivable(PLAN)).toHaveProperty("excluded", []);
});
