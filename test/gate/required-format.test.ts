import { describe, expect, it } from "vitest";
import type { GateDefinition } from "../../src/definition/structure.js";
import { checkGate } from "../../src/gate/check-gate.js";
import { evidenceNames, exampleEvidence, requiredFormat } from "../../src/gate/required-format.js";
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
  it("shows fields with their types, or a JSON Schema where there is one", () => {
    expect(requiredFormat(fields)).toEqual({
      notes: { type: "string", required: false, description: "what else" },
      done: { type: "boolean", required: true },
      count: { type: "integer", required: true },
    });
    expect(requiredFormat(schema)).toEqual(jsonSchema);
    expect(requiredFormat(bare)).toEqual({ type: "object" });
    expect(requiredFormat(open)).toEqual({ type: "object" });
  });
});

describe("exampleEvidence", () => {
  it("has the required fields, and passes the gate", () => {
    const example = exampleEvidence(fields);
    expect(example).toEqual({ done: true, count: 42 });
    expect(checkGate(fields, example ?? {}).passed).toBe(true);
  });

  it("is the author's for a schema, and nothing where there is none", () => {
    expect(exampleEvidence(schema)).toEqual({ count: 3 });
    expect(exampleEvidence(bare)).toBeUndefined();
    expect(exampleEvidence(open)).toEqual({ summary: "what was done, in words" });
  });
});

describe("evidenceNames", () => {
  it("gives required names first, each once", () => {
    expect(evidenceNames(fields)).toEqual(["done", "count", "notes"]);
    expect(evidenceNames(schema)).toEqual(["count", "elsewhere", "optional"]);
  });

  it("gives none where none are known", () => {
    expect(evidenceNames(open)).toEqual([]);
    expect(evidenceNames(bare)).toEqual([]);
    expect(evidenceNames({ ...bare, jsonSchema: { required: "count", properties: null } })).toEqual([]);
  });
});
