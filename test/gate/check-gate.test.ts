import type { StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkGate } from "../../src/gate/check-gate.js";
import { PROBLEM_KINDS, problemSchema, type Verdict } from "../../src/gate/verdict.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import type { SchemaGate } from "../../src/workflow/structure.js";
import { field, fieldGate } from "./fields.js";

const problemsOf = (verdict: Verdict) => (verdict.passed ? [] : verdict.problems);

describe("an open gate", () => {
  it("accepts any evidence", () => {
    expect(checkGate({ kind: "open", allowOverride: false }, {})).toEqual({ passed: true, warnings: [] });
  });
});

describe("a gate with fields", () => {
  const gate = fieldGate([
    field({ name: "zulu", type: "string" }),
    field({ name: "alpha", type: "integer" }),
    field({ name: "mike" }),
    field({ name: "echo", type: "list", required: false }),
    field({ name: "kilo", type: "string" }),
  ]);

  it("accepts evidence with all of its fields and unknown keys", () => {
    const evidence = { zulu: "z", alpha: 1, mike: true, kilo: "k", anything: { else: [false, null] } };
    expect(checkGate(gate, evidence)).toEqual({ passed: true, warnings: [] });
  });

  it("reports all problems at once, in the gate's order, in the format of the log", () => {
    const verdict = checkGate(gate, { echo: "no list", kilo: " ", mike: false, alpha: 1.5 });
    expect(problemsOf(verdict).map(({ field: name, problem }) => [name, problem])).toEqual([
      ["zulu", "missing"],
      ["alpha", "wrong_type"],
      ["mike", "claimed_false"],
      ["echo", "wrong_type"],
      ["kilo", "empty"],
    ]);
    expect(verdict.warnings).toEqual([]);
    for (const problem of problemsOf(verdict)) expect(problemSchema.parse(problem)).toEqual(problem);
  });

  it("refuses {} with every required field", () => {
    const names = problemsOf(checkGate(gate, {})).map(({ field: name }) => name);
    expect(names).toEqual(["zulu", "alpha", "mike", "kilo"]);
  });

  it("does not treat another field of the gate as a misspelling", () => {
    const twins = fieldGate([field({ name: "test_a" }), field({ name: "test_b" })]);
    const [problem] = problemsOf(checkGate(twins, { test_a: true }));
    expect(problem?.message).toBe("Required evidence 'test_b' not provided");
    const [other] = problemsOf(checkGate(twins, { test_a: true, "test-b": true }));
    expect(other?.message).toContain('(you sent "test-b")');
  });

  it("searches the first thousand keys for misspellings of the first hundred fields", () => {
    const asked = fieldGate(Array.from({ length: 101 }, (_, at) => field({ name: `wanted_field_${at}` })));
    const others = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`o${at}`, 1]));
    const meant = (before: number, name: string) =>
      problemsOf(checkGate(asked, { ...others(before), [name]: true })).filter(({ message }) =>
        message.includes("you sent"),
      );
    expect(meant(999, "wanted-field-")).toHaveLength(100);
    expect(meant(1000, "wanted-field-")).toHaveLength(0);
    expect(meant(0, `wanted-field-${"-".repeat(2000)}`)).toHaveLength(0);
  });

  it("passes without fields", () => {
    expect(checkGate(fieldGate([]), {})).toEqual({ passed: true, warnings: [] });
  });
});

describe("enforcement", () => {
  const fields = [
    field({ name: "gone" }),
    field({ name: "typed", type: "integer" }),
    field({ name: "claimed" }),
    field({ name: "blank", type: "string" }),
  ];
  const evidence = { typed: "3", claimed: false, blank: "" };
  const kinds = ["missing", "wrong_type", "claimed_false", "empty"];

  it("is strict by default, even if the gate file is not", () => {
    for (const strict of [true, false]) {
      for (const context of [undefined, {}, { enforcement: "strict" as const }]) {
        const verdict = checkGate(fieldGate(fields, { strict }), evidence, context);
        expect(problemsOf(verdict).map(({ problem }) => problem)).toEqual(kinds);
        expect(verdict.warnings).toEqual([]);
      }
    }
  });

  it('"as-defined" blocks every problem if the gate file is strict', () => {
    const verdict = checkGate(fieldGate(fields), evidence, { enforcement: "as-defined" });
    expect(problemsOf(verdict).map(({ problem }) => problem)).toEqual(kinds);
  });

  it('"as-defined" blocks only missing fields if the gate file is not strict, and warns of the rest', () => {
    const gate = fieldGate(fields, { strict: false });
    const verdict = checkGate(gate, evidence, { enforcement: "as-defined" });
    expect(problemsOf(verdict).map(({ problem }) => problem)).toEqual(["missing"]);
    expect(verdict.warnings.map(({ problem }) => problem)).toEqual(["wrong_type", "claimed_false", "empty"]);
    const passed = checkGate(gate, { ...evidence, gone: true }, { enforcement: "as-defined" });
    expect(passed.passed).toBe(true);
    expect(passed.warnings.map(({ field: name }) => name)).toEqual(["typed", "claimed", "blank"]);
  });

  it('"as-defined" treats null as missing', () => {
    const verdict = checkGate(fieldGate([field()], { strict: false }), { done: null }, { enforcement: "as-defined" });
    expect(verdict.passed).toBe(false);
  });
});

describe("a gate with a schema", () => {
  const gate: SchemaGate = { kind: "schema", allowOverride: false, example: { list: [{ name: "first" }], count: 3 } };
  const failing = (issues: StandardSchemaV1.Issue[], evidence = {}) => {
    return problemsOf(checkGate(gate, evidence, { schemaResult: { issues } }));
  };

  it("stays closed if its schema was not run", () => {
    const verdict = checkGate(gate, { count: 3 });
    expect(verdict.passed).toBe(false);
    expect(problemsOf(verdict)).toMatchObject([{ field: "", problem: "invalid" }]);
    expect(checkGate(gate, { count: 3 }, { enforcement: "as-defined" }).passed).toBe(false);
  });

  it("opens if the schema has no issues", () => {
    expect(checkGate(gate, {}, { schemaResult: { value: {} } })).toEqual({ passed: true, warnings: [] });
    expect(checkGate(gate, {}, { schemaResult: { value: {}, issues: undefined } }).passed).toBe(true);
  });

  it("stays closed for the examples of its properties, where they have any", () => {
    const properties = { a: { examples: ["an example"] }, b: true, c: { examples: "none" } };
    const withExamples: SchemaGate = { ...gate, jsonSchema: { properties }, example: { d: "another" } };
    const evidence = { a: "An example", b: "x", c: "none", d: "another" };
    const problems = problemsOf(checkGate(withExamples, evidence, { schemaResult: { value: evidence } }));
    expect(problems.map(({ field }) => field).sort()).toEqual(["a", "d"]);
  });

  it("stays closed if the schema refuses without an issue", () => {
    expect(failing([])).toMatchObject([{ field: "", problem: "invalid" }]);
  });

  it("names paths, with the submitted value and the author's example", () => {
    const evidence = { list: [{ name: 1 }] };
    expect(failing([{ message: "must be a text", path: ["list", 0, "name"] }], evidence)).toEqual([
      {
        field: "list.0.name",
        problem: "invalid",
        message: "'list.0.name': must be a text",
        got: "1",
        example: "first",
      },
    ]);
  });

  it("never shows the refused value as the example", () => {
    const issues = [
      { message: "more than b", path: ["count"] },
      { message: "not this one", path: ["list", 0] },
    ];
    const [count, first] = failing(issues, { count: 3, list: [{ name: "first" }] });
    expect([count?.got, first?.got]).toEqual(["3", '{"name":"first"}']);
    expect(count?.example).toBeUndefined();
    expect(first?.example).toBeUndefined();
  });

  it("accepts path segments that are objects or symbols", () => {
    expect(failing([{ message: "no", path: [{ key: "list" }, { key: 0 }] }], { list: ["x"] })).toMatchObject([
      { field: "list.0", got: '"x"', example: { name: "first" } },
    ]);
    expect(failing([{ message: "no", path: [Symbol("s")] }])).toMatchObject([{ field: "Symbol(s)" }]);
  });

  it("reports a missing value, by own keys only", () => {
    const missing = { problem: "missing", got: "nothing" };
    expect(failing([{ message: "required", path: ["count"] }])).toMatchObject([{ ...missing, example: 3 }]);
    expect(failing([{ message: "required", path: ["a", "b"] }], { a: null })).toMatchObject([missing]);
    expect(failing([{ message: "required", path: ["a", "b"] }], { a: "text" })).toMatchObject([missing]);
    expect(failing([{ message: "required", path: ["toString"] }])).toMatchObject([missing]);
    expect(failing([{ message: "required", path: ["other"] }])[0]?.example).toBeUndefined();
  });

  it("reports an issue without a path for the evidence as a whole", () => {
    const expected = { field: "", problem: "invalid", message: "passwords differ", got: '{"a":1}' };
    for (const issue of [{ message: "passwords differ" }, { message: "passwords differ", path: [] }]) {
      expect(failing([issue], { a: 1 })).toMatchObject([expected]);
    }
  });

  it("works without an example", () => {
    const { example: _, ...bare } = gate;
    const verdict = checkGate(bare, { a: 1 }, { schemaResult: { issues: [{ message: "no", path: ["a"] }] } });
    expect(problemsOf(verdict)).toEqual([{ field: "a", problem: "invalid", message: "'a': no", got: "1" }]);
  });

  it("reports issues of zod in zod's order", () => {
    const schema = z.object({ tests: z.int().min(5), ok: z.literal(true), notes: z.array(z.string()) });
    const evidence = { tests: 3, notes: ["a", 2] };
    const schemaResult = schema["~standard"].validate(evidence);
    if (schemaResult instanceof Promise) throw new Error("zod answered later");
    const found = problemsOf(checkGate({ kind: "schema", allowOverride: false }, evidence, { schemaResult }));
    expect(found.map(({ field: name, problem, got }) => [name, problem, got])).toEqual([
      ["tests", "invalid", "3"],
      ["ok", "missing", "nothing"],
      ["notes.1", "invalid", "2"],
    ]);
  });

  it("lists the first thousand issues and counts the others", () => {
    const issues = Array.from({ length: 100_003 }, (_, index) => ({ message: "no", path: ["list", index] }));
    const problems = failing(issues);
    expect(problems).toHaveLength(1001);
    expect(problems[999]?.field).toBe("list.999");
    expect(problems[1000]).toEqual({ field: "", problem: "invalid", message: "99003 more problems are not listed" });
    expect(failing(issues.slice(0, 1000))).toHaveLength(1000);
  });
});

describe("PROBLEM_KINDS", () => {
  it("contains the kinds of the log's format", () => {
    expect(PROBLEM_KINDS).toEqual([
      "missing",
      "wrong_type",
      "claimed_false",
      "empty",
      "copied",
      "invalid",
      "unverified",
      "denied",
    ]);
    expect(problemSchema.safeParse({ field: "a", problem: "odd", message: "b" }).success).toBe(false);
    expect(problemSchema.safeParse({ field: "a", problem: "empty", message: "b" }).success).toBe(true);
  });
});

describe("a problem of a schema", () => {
  const gate: SchemaGate = {
    ...{ kind: "schema", allowOverride: false },
    jsonSchema: { type: "object", properties: { name: { type: "string", minLength: 3 } } },
  };
  const problemsAt = (path: PropertyKey[], evidence = { name: "ab" }) =>
    problemsOf(checkGate(gate, evidence, { schemaResult: { issues: [{ message: "wrong", path }] } }));

  it("has what the schema expects at its place", () => {
    expect(problemsAt(["name"])).toMatchObject([{ problem: "invalid", got: '"ab"', expected: "string, minLength 3" }]);
  });

  it("has nothing more about the whole, or about a place that the schema does not know", () => {
    expect(problemsAt([])).toEqual([{ field: "", problem: "invalid", message: "wrong", got: '{"name":"ab"}' }]);
    const missing = { problem: "missing", got: "nothing" };
    expect(problemsAt(["size"])).toEqual([{ ...missing, field: "size", message: "'size' is missing: wrong" }]);
    expect(problemsAt(["name", 0])).toEqual([{ ...missing, field: "name.0", message: "'name.0' is missing: wrong" }]);
  });
});

it.each([{}, { fields: {} }, { evidence: {} }, "fields: {}"])("refuses what is no gate of a definition: %j", (gate) => {
  expect(() => checkGate(gate as never, {})).toThrow(
    expect.objectContaining({
      code: "INVALID_INPUT",
      message: "checkGate takes the gate of a definition",
      details: { field: "gate", expected: "a gate of a definition" },
    }),
  );
});

describe("the example of a field", () => {
  const gate = fieldGate([
    field({ name: "done", required: false }),
    field({ name: "count", type: "integer", required: false, example: 42 }),
    field({ name: "text", type: "string", required: false, example: "Five words" }),
    field({ name: "note", type: "string", required: false }),
  ]);
  const copiedIn = (evidence: JsonObject, of = gate) => problemsOf(checkGate(of, evidence)).map(({ field }) => field);

  it("is refused, and a number only if all that was submitted is an example", () => {
    expect(problemsOf(checkGate(gate, { text: "five words" }))).toEqual([
      {
        field: "text",
        problem: "copied",
        message: "'text' is the example of the gate's author: submit what your own work gave",
        got: '"five words"',
        expected: "a value of your own, not the example",
      },
    ]);
    expect(copiedIn({ count: 42, text: "Five words" })).toEqual(["text"]);
    expect(copiedIn({ count: 42, note: "what was done" })).toEqual([]);
    expect(copiedIn({ count: 7 })).toEqual([]);
    for (const more of [{}, { done: true }, { note: null }, { other: "no field of the gate" }] as JsonObject[]) {
      expect(copiedIn({ count: 42, ...more }), JSON.stringify(more)).toEqual(["count"]);
    }
  });

  it.each<[example: JsonValue, copied: JsonValue, own: JsonValue]>([
    ["Five words", "fivewords", "five swords"],
    [["a b"], ["A  B"], ["a c"]],
    [{ file: "a.js" }, { file: " A.js" }, { file: "b.js" }],
    [{ file: "a.js" }, { file: "a.\u200bjs" }, { path: "a.js" }],
  ])("%j is the same as %j, and not as %j", (example, copied, own) => {
    const any = fieldGate([field({ name: "x", type: "any", example })]);
    expect(copiedIn({ x: copied }, any)).toEqual(["x"]);
    expect(copiedIn({ x: own }, any)).toEqual([]);
  });

  it("may be submitted where the author allows it, and where a verifier checks the value", () => {
    const text = field({ name: "text", type: "string", example: "Five words" });
    const evidence = { text: "Five words" };
    expect(copiedIn(evidence, fieldGate([{ ...text, allowExample: true }]))).toEqual([]);
    const verify = [{ verifier: "file_exists", params: {}, field: "text" }];
    expect(copiedIn(evidence, fieldGate([text], { verify }))).toEqual([]);
    const inCode: SchemaGate = { kind: "schema", allowOverride: false, example: evidence };
    const ofSchema = (more: Partial<SchemaGate>) =>
      problemsOf(checkGate({ ...inCode, ...more }, evidence, { schemaResult: { value: evidence } })).length;
    expect([ofSchema({}), ofSchema({ allowExample: true }), ofSchema({ verify })]).toEqual([1, 0, 0]);
  });

  it("is refused behind a reference of a schema, too", () => {
    const schema = z.object({ name: z.string().meta({ id: "Name", examples: ["an example"] }) });
    const jsonSchema = JSON.parse(JSON.stringify(z.toJSONSchema(schema)));
    const evidence = { name: "An example" };
    const verdict = checkGate({ kind: "schema", jsonSchema }, evidence, { schemaResult: { value: evidence } });
    expect(problemsOf(verdict)).toMatchObject([{ field: "name", problem: "copied" }]);
  });

  it("blocks a gate that is not strict, too", () => {
    const evidence = { text: "Five words", done: "yes" };
    expect(checkGate({ ...gate, strict: false }, evidence, { enforcement: "as-defined" })).toMatchObject({
      ...{ passed: false, problems: [{ field: "text", problem: "copied" }], warnings: [{ problem: "wrong_type" }] },
    });
  });
});
