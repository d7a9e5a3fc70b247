import { describe, expect, it } from "vitest";
import { checkGate } from "../../src/gate/check-gate.js";
import { evidenceForm, formOfMembers } from "../../src/gate/forms.js";
import { ruleFaults } from "../../src/gate/judge.js";
import type { JsonObject } from "../../src/workflow/json.js";
import type { SchemaGate } from "../../src/workflow/structure.js";
import { unnamed } from "../support/phase-names.js";
import { field, fieldGate } from "./fields.js";

const gateOf = (jsonSchema: JsonObject): SchemaGate => ({ kind: "schema", allowOverride: false, jsonSchema });

/** Returns the form of one value. */
function formOf(value: JsonObject, isBrief = false): unknown {
  return evidenceForm(gateOf({ type: "object", properties: { x: value }, required: ["x"] }), { isBrief })?.x;
}

describe("the form of a value", () => {
  it.each<[JsonObject, unknown]>([
    [{}, "<value>"],
    [{ type: "string", minLength: 3, maxLength: 9 }, "<text: 3 or more characters; at most 9 characters>"],
    [{ type: "string", pattern: "^a", format: "date" }, "<text: matching ^a; a date>"],
    [{ type: "integer", minimum: 1, maximum: 5 }, "<integer: at least 1; at most 5>"],
    [{ type: "number", exclusiveMinimum: 1, exclusiveMaximum: 5 }, "<number: more than 1; less than 5>"],
    [{ type: "integer", minimum: -9007199254740991 }, "<integer>"],
    [{ const: true }, "<boolean: true, once it is so>"],
    [{ const: "yes" }, '<value: "yes", once it is so>'],
    [{ const: "9007199254740991" }, '<value: "9007199254740991", once it is so>'],
    [{ type: "integer", minimum: 1, description: "" }, "<integer: at least 1>"],
    [{ type: "string", description: "in  two\nlines" }, "<text: in two lines>"],
    [{ type: "string", description: "x".repeat(201) }, `<text: ${"x".repeat(200)}>`],
    [{ enum: ["a", 2] }, '<one of "a", 2>'],
    [{ type: "array", items: { type: "string" }, minItems: 2, maxItems: 3 }, "<2 or more texts: at most 3 of them>"],
    [{ type: "array", minItems: 0 }, "<list of values>"],
    ...["integer", "number", "boolean", "object"].map((type): [JsonObject, string] => [
      ...([{ type: "array", items: { type } }, `<list of ${type}s>`] as const),
    ]),
    [{ type: "array", items: { type: "array" } }, "<list of lists>"],
    [{ type: "array", items: { type: "unknown" } }, "<list of values>"],
    [{ type: "unknown" }, "<value>"],
    [{ type: "object", properties: { a: { type: "boolean" } } }, { a: "<boolean>" }],
    [
      { type: "object", properties: { a: { type: "boolean" }, b: {} }, required: ["a"], description: "both" },
      { a: "<boolean>" },
    ],
    [
      { type: "object", properties: { a: {}, b: {} }, required: [] },
      { a: "<value>", b: "<value>" },
    ],
  ])("of %j says what is wanted", (schema, form) => {
    expect(formOf(schema)).toEqual(form);
  });

  it.each<[JsonObject, unknown]>([
    [
      { type: "object", description: "where it is", examples: [{ file: "a.js", line: 2, at: { x: 0.5 }, is: true }] },
      { file: "<text>", line: "<integer>", at: { x: "<number>" }, is: "<boolean>" },
    ],
    [{ type: "array", examples: [[{ file: "a.js", tags: ["b"] }]] }, [{ file: "<text>", tags: "<list of texts>" }]],
    [{ type: "array", examples: [["a.js"]] }, "<list of texts>"],
    [{ type: "array", minItems: 1, examples: [[{ file: "a.js" }]] }, [{ file: "<text>" }]],
    [{ type: "array", minItems: 2, examples: [[{ file: "a.js" }]] }, "<2 or more objects>"],
    [{ type: "array", items: { type: "object", properties: { a: {} } } }, [{ a: "<value>" }]],
    [{ type: "object", properties: { a: { type: "string" } }, examples: [{ b: 1 }] }, { a: "<text>" }],
    // Keys that only stand for others, and examples that say nothing of the members.
    [{ type: "object", examples: [{ "src/a.js": "why" }] }, "<object>"],
    [{ type: "object", examples: [{ file: "a.js", "src/a.js": "why" }] }, "<object>"],
    [{ type: "array", examples: [[{ "src/a.js": "why" }]] }, "<list of objects>"],
    [{ type: "object", examples: [{}] }, "<object>"],
    [{ type: "object", examples: ["a"] }, "<object>"],
    [{ type: "array", examples: [[]] }, "<list of values>"],
    [{ type: "array", examples: [[null]] }, "<list of values>"],
    [{ examples: [{ file: "a.js" }] }, "<value>"],
  ])("of %j shows the members that an example has, if it is for a call", (schema, form) => {
    expect(formOf(schema, true)).toEqual(form);
  });

  it("has words in place of the members of an example, if it stands alone", () => {
    const place: JsonObject = { type: "object", description: "where it is", examples: [{ file: "a.js" }] };
    expect(formOf(place)).toBe("<object: where it is>");
  });

  it("has no members deeper than three objects", () => {
    const nested = (depth: number): JsonObject =>
      depth === 0 ? { type: "string" } : { type: "object", properties: { x: nested(depth - 1) } };
    expect(formOf(nested(5))).toEqual({ x: { x: { x: "<object>" } } });
  });

  it("has its words, unless it is for a call", () => {
    const gate = fieldGate([field({ name: "x", type: "string", description: "why" })]);
    expect(evidenceForm(gate)).toEqual({ x: "<text: why>" });
    expect(evidenceForm(gate, { isBrief: true })).toEqual({ x: "<text>" });
  });

  it("is missing for the gate of a plan, and where the gate hides what it asks for", () => {
    expect(evidenceForm({ kind: "plan", tasks: [], items: ["Works"] })).toBeUndefined();
    for (const reveal of ["names", "none"] as const) {
      expect(evidenceForm(fieldGate([field()], { reveal }))).toBeUndefined();
    }
  });

  it("is told of a field only where that has members", () => {
    const place = { type: "object", properties: { file: { type: "string", description: "where it is" } } };
    const format = { type: "object", properties: { place, places: { type: "array", items: place }, name: {} } };
    expect(formOfMembers(format, "place")).toEqual({ file: "<text>" });
    expect(formOfMembers(format, "places")).toEqual([{ file: "<text>" }]);
    expect(formOfMembers(format, "name")).toBeUndefined();
    expect(formOfMembers(format, "other")).toBeUndefined();
  });

  it("is any value where the schema says nothing of it", () => {
    expect(evidenceForm(gateOf({ type: "object", required: ["x"] }))).toEqual({ x: "<value>" });
  });

  it("is missing where nothing is required, and words where any evidence passes", () => {
    expect(evidenceForm(gateOf({ type: "object" }))).toBeUndefined();
    expect(evidenceForm(fieldGate([]))).toBeUndefined();
    expect(evidenceForm({ kind: "open", allowOverride: false })).toEqual({
      summary: "<text: what was done, in words>",
    });
  });
});

it("a gate with neither a JSON Schema nor an example has nothing that could be copied", () => {
  const bare = { kind: "schema", allowOverride: false } as const;
  const schemaResult = { value: {} };
  expect(checkGate(bare, { x: "anything at all" }, { schemaResult }).passed).toBe(true);
  const own = { ...bare, example: { x: "anything at all" } };
  const problems = [{ field: "x", problem: "copied" }];
  for (const x of ["ANYTHING at all", " anything  at\nall "]) {
    expect(checkGate(own, { x }, { schemaResult }), x).toMatchObject({ passed: false, problems });
  }
});

it("a gate without rules has no faults in them", async () => {
  expect(await ruleFaults(fieldGate([]), { phase: 1, phases: unnamed(1) })).toEqual([]);
  expect(await ruleFaults(gateOf({}), { phase: 1, phases: unnamed(1) })).toEqual([]);
});
