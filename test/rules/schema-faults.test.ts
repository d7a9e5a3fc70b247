import { describe, expect, it } from "vitest";
import { schemaFaults } from "../../src/rules/schema-faults.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import { SCHEMA } from "./options-schema.js";

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

describe("the faults of a schema", () => {
  it.each<readonly [string, JsonObject, readonly (readonly (string | number)[])[]]>([
    ["the whole", { type: "array" }, [[]]],
    ["a property", { properties: { a: "text" } }, [["properties", "a"]]],
    ["a property's schema", { properties: { a: { type: "int" } } }, [["properties", "a"]]],
    ["its type", { properties: { a: { type: 1 } } }, [["properties", "a", "type"]]],
    ["its default", { properties: { a: { type: "string", default: 1 } } }, [["properties", "a", "default"]]],
    ["its keyword", { properties: { a: { tpye: "string" } } }, [["properties", "a", "tpye"]]],
    ["a keyword", { properties: {}, requierd: [] }, [["requierd"]]],
    ["what is required", { properties: {}, required: ["a"] }, [["required"]]],
    ["an invalid pattern", { properties: { a: { pattern: "(" } } }, [["properties"]]],
    ["a pattern elsewhere", { properties: { a: { anyOf: [{ pattern: "(" }] } } }, [["properties"]]],
    [
      "such a pattern of a text",
      { properties: { a: { anyOf: [{ type: "string", pattern: "(" }] } } },
      [["properties"]],
    ],
    ["a condition", { properties: {}, if: {} }, [[]]],
  ])("have the place of %s", async (_, schema, paths) => {
    expect((await schemaFaults(schema)).map(({ path }) => path)).toEqual(paths);
  });

  it("finds nothing in keywords of one's own, in shared definitions, and in data that has a pattern", async () => {
    const draft7 = {
      ...{ $schema: "http://json-schema.org/draft-07/schema#", definitions: { a: { type: "string" } }, "x-if": 1 },
    };
    const a = { $ref: "#/definitions/a" };
    expect(await schemaFaults({ ...draft7, properties: { a } })).toEqual([]);
    expect(await schemaFaults({ ...draft7, properties: { a: { $ref: "#/definitions/b" } } })).toMatchObject([
      { path: ["properties", "a"], message: expect.stringContaining("Reference not found") },
    ]);
    for (const data of ["default", "const", "enum", "examples"]) {
      const schema = { properties: { a: { [data]: [{ pattern: "a" }] } } };
      expect(JSON.stringify(await schemaFaults(schema)), data).not.toContain("a pattern can only be used");
    }
  });
});

describe("schemaFaults", () => {
  it("finds nothing in a sound schema", async () => {
    expect(await schemaFaults(SCHEMA)).toEqual([]);
    expect(
      await schemaFaults({
        properties: { "x-any": {}, list: { type: "array", items: { $ref: "#/$defs/a" } } },
        $defs: { a: { type: "string" } },
      }),
    ).toEqual([]);
  });

  it.each<readonly [string, JsonObject, RegExp]>([
    ["no properties", { depth: { type: "integer" } }, /must describe an object/],
    ["another type", { type: "array", properties: {} }, /must describe an object/],
    ["a bare type", { properties: { depth: "integer" } }, /"depth" must be a schema in braces/],
    ["an unknown type", { properties: { depth: { type: "int" } } }, /"depth": Unsupported type: int/],
    ["no type", { properties: { depth: { type: null } } }, /the type of "depth" is not one/],
    ["an empty list of types", { properties: { depth: { type: [] } } }, /the type of "depth" is not one/],
    ["no type in a list", { properties: { depth: { type: ["string", null] } } }, /the type of "depth" is not one/],
    ["a misspelt keyword", { properties: {}, requierd: ["a"] }, /"requierd" has no meaning here.*"required"/],
    ["a misspelt keyword below", { properties: { a: { tpye: "string" } } }, /"tpye" has no meaning here.*"type"/],
    ["an unknown required option", { properties: { depth: {} }, required: ["dpeth"] }, /"dpeth".*Did you mean "depth"/],
    ["a required option alone", { properties: {}, required: ["a"] }, /"a" is not among the properties.*Describe it/],
    [
      "a wrong default",
      { properties: { a: { type: "integer", default: "x" } } },
      /the default of "a".*expected number/,
    ],
    ["a bad pattern", { properties: { a: { pattern: "(" } } }, /the pattern "\(" is invalid/],
    ["a backreference", { properties: { a: { pattern: "(a)\\1" } } }, /can't be matched in linear time/],
    ["a deep pattern", { properties: { a: { anyOf: [{ type: "string", pattern: "a" }] } } }, /only be used directly/],
    [
      "patterns in two places",
      { properties: { a: { patternProperties: { "^a": {} }, anyOf: [{ pattern: "a" }] } } },
      /only be used directly/,
    ],
    ["pattern properties", { properties: {}, patternProperties: { "^a": {} } }, /only be used directly/],
    ["a condition", { properties: {}, if: {} }, /can't be used: Conditional schemas/],
    [
      "a limit without a type",
      { properties: { a: { minimum: 1 } } },
      /"minimum" has no effect.*Write "type": "number" beside it/,
    ],
    [
      "a limit without a type in a part",
      { properties: { a: { type: "integer", allOf: [{ minimum: 1 }] } } },
      /"minimum" has no effect in a schema without a type/,
    ],
    ["a length below a definition", { properties: {}, $defs: { a: { items: { minLength: 1 } } } }, /"minLength" has/],
    [
      "a required option that a part does not describe",
      { properties: { a: {}, b: {} }, anyOf: [{ type: "object", required: ["a"] }] },
      /"required" names "a".*Describe it in "properties"/,
    ],
    ["a limit beside a list of values", { properties: { a: { enum: [1, 2], minimum: 2 } } }, /no effect beside "enum"/],
    [
      "a limit beside a reference",
      { properties: { a: { $ref: "#/$defs/n", minimum: 2 } }, $defs: { n: {} } },
      /"\$ref"/,
    ],
  ])("reports %s", async (_, schema, message) => {
    const said = (await schemaFaults(schema)).map((fault) => `${fault.message}. ${fault.hint}`);
    expect(said.join("\n")).toMatch(message);
  });
});
