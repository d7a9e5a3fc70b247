import { describe, expect, it } from "vitest";
import { checkGate } from "../../src/gate/check-gate.js";
import { evidenceNames, PROOF_FORMAT, requiredFormat, requiredNames, withoutExamples } from "../../src/gate/format.js";
import type { JsonValue } from "../../src/workflow/json.js";
import type { GateDefinition } from "../../src/workflow/structure.js";
import { exampleEvidence } from "./example-evidence.js";
import { field, fieldGate } from "./fields.js";

const open: GateDefinition = { kind: "open", allowOverride: false };
const bare: GateDefinition = { kind: "schema", allowOverride: false };
const jsonSchema = {
  type: "object",
  properties: { optional: {}, count: { type: "integer" } },
  required: ["count", 7, "elsewhere"],
};
const schema: GateDefinition = { ...bare, jsonSchema, example: { count: 3 } };
const fields = fieldGate([
  field({ name: "notes", type: "string", required: false, description: "what else" }),
  field({ name: "done" }),
  field({ name: "count", type: "integer", example: 42 }),
]);

describe("requiredFormat", () => {
  it("returns fields with their types, or the JSON Schema if there is one", () => {
    expect(requiredFormat(fields)).toStrictEqual({
      type: "object",
      properties: {
        notes: { type: "string", description: "what else" },
        done: { type: "boolean", const: true },
        count: { type: "integer", examples: [42] },
      },
      required: ["done", "count"],
    });
    expect(requiredFormat(schema)).toEqual(jsonSchema);
    expect(requiredFormat(bare)).toEqual({ type: "object" });
    expect(requiredFormat(open)).toEqual({ type: "object" });
  });

  it("shows no example with a claim in it", () => {
    const formatOf = (example: JsonValue) =>
      requiredFormat(fieldGate([field({ name: "x", type: "any", required: false, example })]));
    for (const example of [true, [1, true], { ok: true, count: 3 }, { all: [{ ok: true }] }] as JsonValue[]) {
      expect(formatOf(example), JSON.stringify(example)).toEqual({ type: "object", properties: { x: {} } });
    }
    for (const example of [false, "text", 3, null, { ok: false, none: null, list: ["a"] }] as JsonValue[]) {
      expect(formatOf(example), JSON.stringify(example)).toMatchObject({ properties: { x: { examples: [example] } } });
    }
  });
});

describe("the gate of a plan", () => {
  const gate: GateDefinition = {
    kind: "plan",
    allowOverride: false,
    tasks: [{ id: "1.1", optional: false }],
    items: ["it runs"],
  };

  it("requires tasks by id, and items by number", () => {
    expect(requiredFormat(gate)).toMatchObject({
      tasks_completed: { type: "list" },
      validation_gate: { items: { "1": "it runs" } },
    });
    expect(requiredFormat({ ...gate, items: [] })).not.toHaveProperty("validation_gate");
    expect(evidenceNames(gate)).toEqual(["tasks_completed", "validation_gate"]);
    expect(exampleEvidence(gate)).toEqual({ tasks_completed: ["1.1"], validation_gate: { "1": true } });
  });
});

describe("a gate with rules and verifiers", () => {
  const rule = { source: "positive", cel: "value > 0" };
  const gate = fieldGate([field({ name: "count", type: "integer", required: false, rules: [rule] })], {
    rules: [{ source: "evidence.count < 9", cel: "evidence.count < 9", message: "too many" }],
    verify: [
      { verifier: "git_clean", params: {} },
      { verifier: "json_value", params: {}, field: "count" },
    ],
  });

  it("shows its rules and its verifiers", () => {
    expect(requiredFormat(gate)).toEqual({
      type: "object",
      properties: { count: { type: "integer", rules: ["positive"], verified_by: ["json_value"] } },
      rules: ["too many"],
      verified_by: { 1: "git_clean" },
    });
    expect(requiredFormat(fieldGate([]))).toEqual({ type: "object", properties: {} });
  });

  it("shows its verifiers beside the schema of a host", () => {
    const { verify } = gate;
    const jsonSchema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };
    expect(requiredFormat({ ...schema, jsonSchema, verify })).toEqual({
      type: "object",
      properties: { count: { type: "integer", verified_by: ["json_value"] } },
      required: ["count"],
      verified_by: { 1: "git_clean" },
    });
    expect(requiredFormat({ ...schema, jsonSchema })).toEqual(jsonSchema);
    expect(requiredFormat({ ...bare, verify })).toMatchObject({ verified_by: { 1: "git_clean" } });
  });

  it("shows only names, or nothing, according to `reveal`", () => {
    expect(requiredFormat({ ...fields, reveal: "names" })).toEqual({
      type: "object",
      properties: { done: {}, count: {}, notes: {} },
    });
    expect(evidenceNames({ ...fields, reveal: "names" })).toEqual(["done", "count", "notes"]);
    const { properties } = requiredFormat({ ...fields, reveal: "names", proofs: ["done"] });
    expect(properties).toEqual({ done: PROOF_FORMAT, count: {}, notes: {} });
    expect(requiredFormat({ ...schema, reveal: "none" })).toEqual({ type: "object" });
    expect(evidenceNames({ ...fields, reveal: "none" })).toEqual([]);
    expect(requiredFormat({ ...fields, reveal: "fields" })).toEqual(requiredFormat(fields));
  });
});

describe("exampleEvidence", () => {
  it("contains the required fields, and passes the gate", () => {
    const example = exampleEvidence(fields);
    expect(example).toEqual({ done: true, count: 42 });
    const allowed = fields.fields.map((one) => ({ ...one, allowExample: true as const }));
    expect(checkGate({ ...fields, fields: allowed }, example ?? {}).passed).toBe(true);
  });

  it("returns the author's example for a schema, or nothing", () => {
    expect(exampleEvidence(schema)).toEqual({ count: 3 });
    expect(exampleEvidence(bare)).toBeUndefined();
    expect(exampleEvidence(open)).toEqual({ summary: "what was done, in words" });
  });
});

describe("evidenceNames", () => {
  it("returns required names first, each once", () => {
    expect(evidenceNames(fields)).toEqual(["done", "count", "notes"]);
    expect(evidenceNames(schema)).toEqual(["count", "elsewhere", "optional"]);
  });

  it("returns nothing if no names are known", () => {
    expect(evidenceNames(open)).toEqual([]);
    expect(evidenceNames(bare)).toEqual([]);
    expect(evidenceNames({ ...bare, jsonSchema: { required: "count", properties: null } })).toEqual([]);
  });
});

describe("the names that a gate requires", () => {
  it("are those of its fields, of its schema or of its plan", () => {
    const plan: GateDefinition = {
      kind: "plan",
      allowOverride: false,
      tasks: [{ id: "1", optional: false }],
      items: ["Works"],
    };
    expect(requiredNames(fields)).toEqual(["done", "count"]);
    expect(requiredNames(schema)).toEqual(["count", "elsewhere"]);
    expect(requiredNames(plan)).toEqual(evidenceNames(plan));
    expect(requiredNames(open)).toEqual([]);
  });

  it("are none where the gate hides them", () => {
    const none = { ...fields, reveal: "none" as const };
    expect(requiredNames(none)).toEqual([]);
    expect(evidenceNames(none)).toEqual([]);
    expect(requiredNames({ ...fields, reveal: "names" })).toEqual(["done", "count"]);
  });
});

it("problems are shown without examples", () => {
  const problem = { field: "f", problem: "missing", message: "m" } as const;
  expect(withoutExamples([problem, { ...problem, example: 42 }])).toEqual([problem, problem]);
});

it("each type of field has its type in the format", () => {
  const types = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;
  const gate = fieldGate(types.map((type) => field({ name: type, type, required: false })));
  expect(requiredFormat(gate)).toEqual({
    type: "object",
    properties: {
      ...{ boolean: { type: "boolean" }, integer: { type: "integer" }, number: { type: "number" }, any: {} },
      ...{ string: { type: "string" }, object: { type: "object" }, list: { type: "array" } },
    },
  });
});
