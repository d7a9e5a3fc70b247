import { describe, expect, it } from "vitest";
import { schemaFaults } from "../../src/rules/schema-faults.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";

/** A condition of each keyword, by the type that it is for. */
const CONDITIONS: Readonly<Record<string, JsonObject>> = {
  number: { minimum: 1, maximum: 9, exclusiveMinimum: 0, exclusiveMaximum: 10, multipleOf: 2 },
  string: { minLength: 1, maxLength: 9, format: "email" },
  array: { items: {}, prefixItems: [{}], minItems: 1, maxItems: 9, uniqueItems: true, contains: {} },
  object: {
    properties: {},
    required: [],
    additionalProperties: false,
    propertyNames: {},
    minProperties: 1,
    maxProperties: 9,
  },
};

const ALL = Object.entries(CONDITIONS).flatMap(([type, conditions]) =>
  Object.entries(conditions).map(([key, value]): [string, string, JsonValue] => [key, type, value]),
);

/** Returns the faults of a schema with one property, `a`. */
const faultsOf = (a: JsonObject, rest: JsonObject = {}) => schemaFaults({ properties: { a }, ...rest });

describe("a condition that would be dropped", () => {
  it.each(ALL)("is %s without a type, and the hint is to write %s", async (key, type, value) => {
    expect(await faultsOf({ [key]: value })).toContainEqual({
      path: ["properties", "a", key],
      message: `"${key}" has no effect in a schema without a type`,
      hint: `Write "type": "${type}" beside it.`,
    });
  });

  it.each([
    ["enum", { enum: [1, 2] }],
    ["const", { const: 1 }],
    ["$ref", { $ref: "#/$defs/b" }],
  ] satisfies [string, JsonObject][])("is one beside %s, also with a type", async (key, whole) => {
    const faults = await faultsOf({ type: "integer", minimum: 1, ...whole }, { $defs: { b: { type: "integer" } } });
    expect(faults).toContainEqual({
      path: ["properties", "a", "minimum"],
      message: `"minimum" has no effect beside "${key}"`,
      hint: "Write both in an allOf.",
    });
  });

  it.each<[string, JsonObject, (string | number)[]]>([
    ["in an item of a list", { anyOf: [{ type: "string" }, { minimum: 1 }] }, ["anyOf", 1, "minimum"]],
    ["in a keyword's schema", { type: "array", items: { minimum: 1 } }, ["items", "minimum"]],
    ["in a property", { type: "object", properties: { b: { minimum: 1 } } }, ["properties", "b", "minimum"]],
    ["in a definition", { $defs: { b: { minimum: 1 } } }, ["$defs", "b", "minimum"]],
    ["in an older definition", { definitions: { b: { minimum: 1 } } }, ["definitions", "b", "minimum"]],
  ])("is found %s", async (_, a, path) => {
    expect((await faultsOf(a)).map((fault) => fault.path)).toContainEqual(["properties", "a", ...path]);
  });

  it.each<[string, JsonObject]>([
    ["a property with the name of a keyword", { type: "object", properties: { minimum: { type: "integer" } } }],
    ["a definition with such a name", { type: "object", $defs: { maxLength: { type: "string" } } }],
    ["an older definition with such a name", { type: "object", definitions: { maxLength: { type: "string" } } }],
    ["the data of a default", { type: "object", default: { minimum: 1 } }],
    ["the data of an example", { type: "object", examples: [{ minimum: 1 }] }],
  ])("is not %s", async (_, a) => {
    expect(await faultsOf(a)).toEqual([]);
  });
});

describe("a name that is required", () => {
  it.each<[string, JsonObject]>([
    ["there are no properties", {}],
    ["the properties are others", { properties: { c: { type: "string" } } }],
  ])("must be described beside it where %s", async (_, rest) => {
    expect(await faultsOf({ type: "object", required: ["b"], ...rest })).toEqual([
      {
        path: ["properties", "a", "required"],
        message: '"required" names "b", which this schema does not describe',
        hint: 'Describe it in "properties" beside it: {} if any value will do.',
      },
    ]);
  });

  it("may be one of the properties", async () => {
    expect(await faultsOf({ type: "object", required: ["b"], properties: { b: {} } })).toEqual([]);
  });

  it("of another keyword is no name", async () => {
    expect(await faultsOf({ type: "object", minProperties: 1, properties: { b: {} } })).toEqual([]);
  });
});
