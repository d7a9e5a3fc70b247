import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkGate } from "../../src/gate/check-gate.js";
import { exampleAt, expectedBy, fixedIn, schemaAt } from "../../src/gate/fields.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { sampleBy } from "../../src/workflow/schema-sample.js";
import { exampleEvidence } from "./example-evidence.js";

const schema: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 3 },
    size: { type: "integer", minimum: 2 },
    kind: { enum: ["a", "b"] },
    sure: { const: true },
    parts: { type: "array", items: { type: "object", properties: { id: { type: "number" } }, required: ["id"] } },
    odd: { anyOf: [] },
    done: { type: "boolean" },
    level: { type: "string", default: "low" },
  },
  required: ["name", "size", "kind", "sure", "parts", "odd", "done", "missing"],
};

describe("hints from a JSON Schema", () => {
  it("find the schema at a path, or nothing", () => {
    expect(schemaAt(schema, ["parts", 0, "id"])).toEqual({ type: "number" });
    for (const path of [["none"], ["name", "deeper"], ["toString"], ["parts", "x"], ["odd", 1]]) {
      expect(schemaAt(schema, path), path.join(".")).toBeUndefined();
    }
    expect(schemaAt(undefined, ["name"])).toBeUndefined();
  });

  it("describe the expected value", () => {
    const said = ["name", "size", "kind", "sure", "parts", "odd"].map((name) =>
      expectedBy(schemaAt(schema, [name]) ?? {}),
    );
    expect(said).toEqual(["string, minLength 3", "integer, minimum 2", 'one of "a", "b"', "true", "array", undefined]);
  });

  it("generate a value with the required properties, or none if no value fits", () => {
    const { odd: _, ...properties } = Object(schema.properties);
    const required = ["name", "size", "kind", "sure", "parts", "done", "missing"];
    const possible = { type: "object", properties, required };
    expect(sampleBy(possible)).toEqual({
      ...{ name: "...", size: 2, kind: "a", sure: true, parts: [], done: true, missing: true },
    });
    expect(sampleBy(schema)).toBeUndefined();
    expect(sampleBy(schemaAt(schema, ["level"]) ?? {})).toBe("low");
    expect(sampleBy({ type: "number" })).toBe(1);
    expect(sampleBy({ type: "object" })).toEqual({});
    const endless: JsonObject = { type: "object", required: ["a"] };
    endless.properties = { a: endless };
    expect(sampleBy(endless)).toBeUndefined();
    expect(sampleBy({ anyOf: [{ $ref: "#" }] })).toBeUndefined();
  });

  it("are part of a refusal, after the author's example", async () => {
    const evidence = z.object({ size: z.int().min(2), name: z.string() });
    const schemaResult = await evidence["~standard"].validate({ size: 1 });
    const gate = { kind: "schema", allowOverride: false, jsonSchema: schema, example: { name: "Ada" } } as const;
    expect(checkGate(gate, { size: 1 }, { schemaResult })).toMatchObject({
      problems: [
        { field: "size", problem: "invalid", got: "1", expected: "integer, minimum 2", example: 2 },
        { field: "name", problem: "missing", got: "nothing", expected: "string, minLength 3", example: "Ada" },
      ],
    });
    const { odd: _, ...properties } = Object(schema.properties);
    const possible = { type: "object", properties, required: ["size"] };
    expect(exampleEvidence({ kind: "schema", allowOverride: false, jsonSchema: possible })).toEqual({ size: 2 });
    expect(exampleEvidence({ kind: "schema", allowOverride: false, jsonSchema: schema })).toBeUndefined();
    expect(exampleEvidence({ kind: "schema", allowOverride: false, jsonSchema: { type: "string" } })).toBeUndefined();
  });
});

describe("fixedIn", () => {
  it("follows references, also round and round, and finds nothing behind one without a mark", () => {
    const $defs = {
      Plain: { type: "object", properties: { next: { $ref: "#/$defs/Plain" } } },
      Kept: { type: "boolean", waivable: false },
    };
    const properties = { plain: { $ref: "#/$defs/Plain" }, kept: { $ref: "#/$defs/Kept" }, bare: { type: "string" } };
    expect(fixedIn({ type: "object", $defs, properties })).toEqual(["kept"]);
  });
});

describe("an example of a schema that was run on samples", () => {
  const withProperties = { type: "object", properties: { name: {}, size: {}, note: {} }, required: ["name"] };
  const gate = { kind: "schema", allowOverride: false, jsonSchema: withProperties } as const;

  it("has the required fields, and those that the schema does not tell", () => {
    const values = { name: "n", note: "x", other: 1 };
    expect(exampleEvidence({ ...gate, sample: { complete: true, values } })).toEqual({ name: "n", other: 1 });
    const { required: _, ...optional } = withProperties;
    expect(exampleEvidence({ ...gate, jsonSchema: optional, sample: { complete: true, values } })).toEqual({
      other: 1,
    });
    expect(exampleEvidence({ ...gate, jsonSchema: { type: "object" }, sample: { complete: true, values } })).toEqual(
      values,
    );
  });

  it("is none if a field has none", () => {
    expect(exampleEvidence({ ...gate, sample: { complete: false, values: { name: "n" } } })).toBeUndefined();
  });
});

it("every bound of a schema is described", () => {
  const bounds = { minimum: 1, maximum: 2, minLength: 3, maxLength: 4, minItems: 5, pattern: "a+", format: "date" };
  expect(expectedBy({ type: "string", ...bounds })).toBe(
    "string, minimum 1, maximum 2, minLength 3, maxLength 4, minItems 5, pattern a+, format date",
  );
  expect(expectedBy({ type: "string" })).toBe("string");
});

it("a value inside evidence has an example only if a sample or the author has one", () => {
  const gate = { kind: "schema", allowOverride: false, jsonSchema: schema } as const;
  expect(exampleAt(gate, ["name"])).toBeDefined();
  expect(exampleAt({ ...gate, sample: { complete: false, values: {} } }, ["name"])).toBeUndefined();
  expect(exampleAt({ ...gate, example: { name: "abc" } }, ["name"])).toBe("abc");
  expect(exampleAt({ ...gate, example: { name: "abc" } }, [])).toBeUndefined();
});
