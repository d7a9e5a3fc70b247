import type { StandardSchemaV1 } from "@standard-schema/spec";
import fc from "fast-check";
import { defineWorkflow, type JsonObject } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { checkGate } from "../../src/gate/check-gate.js";
import { sampleBy, withSamples } from "../../src/workflow/schema-sample.js";
import { exampleEvidence } from "../gate/example-evidence.js";
import { howOften } from "../support/how-often.js";
import { makeEngine } from "../support/make-engine.js";

/** The gate of a workflow with this schema. */
function gateOf(evidence: StandardSchemaV1, example?: JsonObject) {
  const gate = { evidence, ...(example === undefined ? {} : { example }) };
  const { definition } = defineWorkflow({
    ...{ type: "t", revision: "1", name: "T", description: "T" },
    phases: [{ number: 1, name: "P", content: "x", gate }],
  });
  const found = withSamples(definition).phases[0]?.gate;
  if (found?.kind !== "schema") throw new Error("no schema gate");
  return found;
}

/** The examples in a refusal of evidence, by field. */
function examplesFor(schema: z.ZodType, evidence: JsonObject): Record<string, unknown> {
  const gate = gateOf(schema);
  const { error } = schema.safeParse(evidence);
  const verdict = checkGate(gate, evidence, { schemaResult: { issues: error?.issues ?? [] } });
  const problems = verdict.passed ? [] : verdict.problems;
  return Object.fromEntries(problems.map(({ field, example }) => [field, example]));
}

const FIELDS = {
  list: z.array(z.string()).min(1),
  page: z.url(),
  mail: z.email(),
  day: z.iso.date(),
  time: z.iso.datetime(),
  version: z.string().regex(/^v\d+\.\d+$/),
  ticket: z.templateLiteral(["ABC-", z.number()]),
  id: z.uuid(),
  count: z.int().min(3).multipleOf(5),
  share: z.number().gt(0).lt(1),
  kind: z.enum(["a", "b"]),
  either: z.union([z.string().min(90), z.number()]),
  pair: z.tuple([z.string(), z.int()]),
  tags: z.record(z.string(), z.number()),
  nested: z.object({ name: z.string().min(2), parts: z.array(z.object({ sure: z.literal(true) })).min(2) }),
};

describe("examples of evidence", () => {
  it("pass their schema, whatever a field asks for", () => {
    for (const [name, field] of Object.entries(FIELDS)) {
      const { [name]: example } = examplesFor(z.object({ [name]: field }), {});
      expect(example, name).toBeDefined();
      expect(field.safeParse(example).error, name).toBeUndefined();
    }
    const schema = z.object(FIELDS);
    const example = exampleEvidence(gateOf(schema));
    expect(schema.safeParse(example).error).toBeUndefined();
    expect(Object.keys(example ?? {})).toEqual(Object.keys(FIELDS));
  });

  it("are left out where only code knows what passes; the other fields keep theirs", () => {
    const schema = z.object({
      ...{ odd: z.string().refine((text) => text === "sesame"), sure: z.literal(true), list: z.array(z.int()).min(1) },
      note: z.string().min(3).optional(),
    });
    expect(exampleEvidence(gateOf(schema))).toBeUndefined();
    expect(examplesFor(schema, {})).toEqual({ odd: undefined, sure: true, list: [1] });
    expect(examplesFor(schema, { odd: "x", sure: 1, list: ["x"] })).toEqual({
      odd: undefined,
      sure: true,
      "list.0": 1,
    });
  });

  it("are complete evidence only if the schema accepts it as a whole", () => {
    const schema = z
      .object({ passed: z.int().min(0), total: z.int().min(0) })
      .refine(({ passed, total }) => passed < total);
    expect(exampleEvidence(gateOf(schema))).toBeUndefined();
    const even = z.object({ passed: z.int().min(2) }).refine(({ passed }) => passed % 2 === 0);
    // Whether 2 passes is only known to a function, which is not asked.
    expect(exampleEvidence(gateOf(even))).toBeUndefined();
    expect(examplesFor(even, {})).toEqual({ passed: 2 });
  });

  it("include optional fields only where one is refused", () => {
    const schema = z.object({ sure: z.literal(true), note: z.string().min(3).optional() });
    expect(exampleEvidence(gateOf(schema))).toEqual({ sure: true });
    expect(examplesFor(schema, { note: "x" })).toEqual({ sure: true, note: "..." });
    expect(exampleEvidence(gateOf(z.object({ note: z.string().optional() })))).toEqual({});
  });

  it("are the author's where there is one", () => {
    const schema = z.object({ a: z.string(), b: z.int() });
    const gate = gateOf(schema, { a: "mine" });
    expect(exampleEvidence(gate)).toEqual({ a: "mine" });
    const schemaResult = { issues: schema.safeParse({}).error?.issues ?? [] };
    expect(checkGate(gate, {}, { schemaResult })).toMatchObject({ problems: [{ example: "mine" }, { example: 1 }] });
  });

  it("never ask functions of the author's, which may answer later or fail", () => {
    let calls = 0;
    const asked = () => {
      calls += 1;
      return Promise.reject(new Error("no network"));
    };
    const some = {
      refined: z.string().refine(asked),
      checked: z.int().superRefine(asked),
      both: z.string().check(asked),
      nested: z.object({ list: z.array(z.string().refine(asked)) }),
      either: z.union([z.string().refine(asked), z.int()]),
      changed: z.string().transform(asked),
      piped: z.string().pipe(z.string().refine(asked)),
      lazy: z.lazy(() => z.string().refine(asked)),
      format: z.stringFormat("mine", () => {
        calls += 1;
        return true;
      }),
      plain: z.string().min(3).trim(),
    };
    const gate = gateOf(z.object(some));
    expect(calls).toBe(0);
    expect(gate.sample).toEqual({ values: { plain: "..." }, complete: false });
    expect(exampleEvidence(gate)).toBeUndefined();
    expect(gateOf(z.object({ a: z.int() }).refine(asked)).sample).toEqual({ values: { a: 1 }, complete: false });
    expect(gateOf(z.union([z.object({ a: z.int() }).refine(asked), z.object({ b: z.int() })])).sample).toEqual({
      ...{ values: {}, complete: false },
    });
    expect(calls).toBe(0);
  });

  it("are found for recursive schemas and for objects of several forms", () => {
    const tree: z.ZodType = z.lazy(() => z.object({ name: z.string(), below: z.array(tree) }));
    expect(exampleEvidence(gateOf(z.object({ tree })))).toEqual({ tree: { name: "...", below: [] } });
    const forms = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a"), n: z.int() }),
      z.object({ kind: z.literal("b") }),
    ]);
    expect(exampleEvidence(gateOf(forms))).toEqual({ kind: "a", n: 1 });
  });

  it("are those that another library's schema accepts", () => {
    type Result = StandardSchemaV1.Result<unknown>;
    const other = (isOk: boolean, answer: (result: Result) => Result | Promise<Result> = (result) => result) => {
      const schema = z.object({ n: z.int() });
      const validate = (value: unknown) => answer(isOk ? { value } : { issues: [{ message: "no" }] });
      return { "~standard": { ...schema["~standard"], vendor: "other", validate } };
    };
    expect(exampleEvidence(gateOf(other(true)))).toEqual({ n: 1 });
    expect(exampleEvidence(gateOf(other(false)))).toBeUndefined();
    expect(exampleEvidence(gateOf(other(true, (result) => Promise.resolve(result))))).toBeUndefined();
    expect(exampleEvidence(gateOf(other(true, () => Promise.reject(new Error("later")))))).toBeUndefined();
    const thrown = other(true, () => {
      throw new Error("not now");
    });
    expect(exampleEvidence(gateOf(thrown))).toBeUndefined();
  });

  it("are left out where a keyword that nobody knows may refuse them", () => {
    expect(sampleBy({ type: "string", not: { odd: true } })).toBeUndefined();
    expect(sampleBy({ type: "string", not: { $ref: "#/$defs/a" }, $defs: { a: { odd: true } } })).toBeUndefined();
    expect(sampleBy({ oneOf: [{ type: "string" }, { odd: true }] })).toBeUndefined();
    expect(sampleBy({ type: "string", not: { const: "..." } })).toBe("a");
    expect(sampleBy({ oneOf: [{ type: "string" }, { type: "null" }] })).toBe("...");
  });

  it("are given for fields with a mark about waivers", () => {
    const schema = z.object({ a: z.string().meta({ waivable: false }) });
    expect(exampleEvidence(gateOf(schema))).toEqual({ a: "..." });
  });

  it("are the same each time", () => {
    expect(gateOf(z.object(FIELDS))).toEqual(gateOf(z.object(FIELDS)));
  });

  it("reach the host through the engine", async () => {
    const workflow = defineWorkflow({
      ...{ type: "t", revision: "1", name: "T", description: "T" },
      phases: [{ number: 1, name: "P", content: "x", gate: { evidence: z.object({ page: z.url() }) } }],
    });
    const { engine } = makeEngine({}, [workflow]);
    const { sessionId } = await engine.start({ workflowType: "t", target: "a" });
    const refused = await engine.session(sessionId).completePhase(1, { page: "x" });
    if (refused.passed) throw new Error("passed");
    expect(refused.example).toEqual({ page: expect.stringMatching(/^<text: a uri/) });
    expect(refused.problems[0]?.example).toBe("https://example.org/page");
  });
});

const leaf: fc.Arbitrary<z.ZodType> = fc.oneof(
  fc.constantFrom(...Object.values(FIELDS)),
  fc.tuple(fc.nat(30), fc.nat(30)).map(([least, more]) =>
    z
      .string()
      .min(least)
      .max(least + more),
  ),
  fc.tuple(fc.integer({ min: -50, max: 50 }), fc.nat(9)).map(([least, more]) =>
    z
      .int()
      .min(least)
      .max(least + more),
  ),
  fc.tuple(fc.integer({ min: -9, max: 9 }), fc.nat(3)).map(([least, more]) =>
    z
      .number()
      .gt(least)
      .lt(least + more + 0.5),
  ),
  fc.integer({ min: 1, max: 12 }).map((step) => z.int().positive().multipleOf(step)),
  fc
    .constantFrom(/^[A-Z]{2,4}-\d+$/, /^(?:red|green)$/, /^\d{4}-\d{2}$/, /^[^a]+$/, /^.{3}$/, /^(?=.*\d)\w+$/)
    .map((pattern) => z.string().regex(pattern)),
  fc.constantFrom("a", "b", 1, 0, true, null).map((value) => z.literal(value)),
  fc.constantFrom(
    z.boolean(),
    z.null(),
    z.any(),
    z.unknown(),
    z.never(),
    z.json(),
    z.ipv4(),
    z.ipv6(),
    z.base64(),
    z.jwt(),
    z.emoji(),
  ),
  fc.constantFrom(2, 3, 7).map((step) => z.int().refine((value) => value % step === 1)),
  fc.nat(3).map((length) => z.string().refine((text) => text.length === length)),
);

const { schema: anySchema } = fc.letrec<{ schema: z.ZodType }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.tuple(tie("schema"), fc.nat(3)).map(([item, least]) => z.array(item).min(least)),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((options) => z.union(options)),
    fc.tuple(tie("schema"), tie("schema")).map(([one, other]) => z.tuple([one, other])),
    fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema")).map((shape) => z.strictObject(shape)),
    tie("schema").map((inner) => inner.optional()),
    tie("schema").map((inner) => z.record(z.string(), inner)),
  ),
}));

const objects = fc
  .dictionary(fc.constantFrom("one", "two", "three", "four"), anySchema, { minKeys: 1 })
  .map((shape) => z.object(shape));

describe("examples for any schema", () => {
  it("pass it, or are left out: as a whole, and for each field", () => {
    let given = 0;
    fc.assert(
      fc.property(objects, (schema) => {
        const gate = gateOf(schema);
        const example = exampleEvidence(gate);
        if (example !== undefined) {
          given += 1;
          expect(schema.safeParse(example).error).toBeUndefined();
        }
        for (const [field, value] of Object.entries(examplesFor(schema, { one: -0.25, two: { x: 1 } }))) {
          const part = schema.shape[field];
          if (value !== undefined && part !== undefined) expect(part.safeParse(value).error, field).toBeUndefined();
        }
      }),
      { numRuns: howOften(120, 600) },
    );
    // One in six has one.
    expect(given, "some schemas have an example").toBeGreaterThan(0);
  });

  it("are accepted by the JSON Schema that they come from, where no code was run", () => {
    fc.assert(
      fc.property(objects, (schema) => {
        const { jsonSchema } = gateOf(schema);
        const example = jsonSchema === undefined ? undefined : sampleBy(jsonSchema);
        // zod reads patterns without the flag u, which JSON Schema recommends and the pattern of emojis needs.
        if (JSON.stringify(jsonSchema).includes("emoji")) return;
        if (jsonSchema !== undefined && example !== undefined) {
          expect(z.fromJSONSchema(jsonSchema).safeParse(example).error).toBeUndefined();
        }
      }),
      { numRuns: howOften(50, 400) },
    );
  });
});
