import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { requiredFormat } from "../../src/gate/format.js";
import { formatDiagnostic } from "../../src/workflow/diagnostic.js";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import { FIELD_TYPES, type FieldType } from "../../src/workflow/gate-definition.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import { howOften } from "../support/how-often.js";
import { texts } from "../workflow/workflow-texts.js";
import { exampleEvidence } from "./example-evidence.js";
import { complaints } from "./rules.js";

const FILE = "phases/1/gate-definition.yaml";

/** Returns a gate with these fields: its description, its diagnostics, and the verdict on its own example. */
async function gateOf(fields: JsonObject) {
  const { definition, diagnostics } = await readWorkflow(
    "garden_v1",
    texts({ [FILE]: `evidence_schema: ${JSON.stringify(fields)}\n` }),
  );
  const gate = definition?.structure.phases[0]?.gate;
  const lines = diagnostics.filter(({ file }) => file === FILE).map(formatDiagnostic);
  if (gate?.kind !== "fields") return { lines, example: undefined, said: undefined };
  const example = exampleEvidence(gate) ?? {};
  return { lines, example, said: await complaints(gate, example), gate };
}

const validators: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("is_true", "greater_than_0", "positive", "non_empty", "in_range"),
  fc.constantFrom("equals_true", "equals_false", "equals_yes", "equals_0", "equals_-3", "equals_99.5", "equals_\u200b"),
  fc.integer({ min: 0, max: 60 }).map((n) => `min_length_${n}`),
  fc.integer({ min: 0, max: 120 }).map((n) => `percent_gte_${n}`),
);
const params: fc.Arbitrary<JsonObject> = fc
  .record({ min: fc.double({ min: -200, max: 200 }), max: fc.integer({ min: -100, max: 200 }) })
  .map(({ min, max }) => ({ min: Math.round(min * 100) / 100, max }));

describe("a generated example", () => {
  it("passes its own gate, or a diagnostic reports that it does not", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...FIELD_TYPES),
        fc.array(validators, { minLength: 1, maxLength: 3 }),
        params,
        fc.boolean(),
        async (type, validator, validator_params, required) => {
          const x = { type, validator, validator_params, required };
          const { lines, said } = await gateOf({ x });
          if (said === undefined) expect(lines.join()).toMatch(/error: .*(doesn't go with|can pass)/);
          else if (lines.length === 0) expect(said).toEqual([]);
          else expect(lines.join()).toMatch(/can pass|counts? for nothing|no example/);
        },
      ),
      { numRuns: howOften(60, 3_000) },
    );
  });

  const PASSING: readonly (readonly [FieldType, string | string[], JsonObject])[] = [
    ["boolean", "is_true", {}],
    ["boolean", "equals_true", {}],
    ["integer", "greater_than_0", {}],
    ["number", "positive", {}],
    ["any", "greater_than_0", {}],
    ["number", "percent_gte_80", {}],
    ["integer", "percent_gte_99.5", {}],
    ["number", "percent_gte_100", {}],
    ["number", "in_range", { min: 0.001, max: 0.002 }],
    ["integer", "in_range", { min: -20, max: -10 }],
    ["integer", ["in_range", "percent_gte_80"], { min: 10, max: 81 }],
    ["integer", "equals_0", {}],
    ["string", "equals_yes", {}],
    ["any", "equals_1.5", {}],
    ["string", "min_length_500", {}],
    ["list", "min_length_12", {}],
    ["object", "min_length_3", {}],
    ["any", "min_length_1000", {}],
    ["list", "non_empty", {}],
    ["string", "value.startsWith('v') && value.endsWith('.md')", {}],
    ["string", "value.matches('^[0-9]+[.][0-9]+[.][0-9]+$')", {}],
    ["string", "size(value) < 6", {}],
    ["string", "value in ['red', 'green']", {}],
    ["list", "value.all(f, f.endsWith('.ts')) && size(value) >= 2", {}],
    ["list", "value.all(v, v.done == true)", {}],
    ["list", "lambda x: len(x) >= 5 and all(y > 100 for y in x)", {}],
    ["object", "value.failed == 0", {}],
    ["object", "has(value.report) && value.report != ''", {}],
    ["number", "value > params.least && value < 7", { least: 6.5 }],
  ];

  it.each(PASSING)("of a %s passes %j", async (type, validator, validator_params) => {
    const { lines, said, gate } = await gateOf({ x: { type, validator, validator_params } });
    expect(lines.filter((line) => line.includes("xample"))).toEqual([]);
    expect(said).toEqual([]);
    const { properties } = gate === undefined ? {} : requiredFormat(gate);
    expect(JSON.stringify(properties)).toContain("rules");
  });

  it("satisfies rules that refer to other fields", async () => {
    const { said, example } = await gateOf({
      passed: { type: "integer", example: 12 },
      total: { type: "integer", validator: "value >= evidence.passed" },
      same: { type: "integer", validator: "value == evidence.passed && value == evidence.same" },
    });
    expect(said).toEqual([]);
    expect(example).toEqual({ passed: 12, total: 12, same: 12 });
  });

  it.each([
    [{ type: "string", validator: "file_exists" }, "docs/report.md"],
    [{ type: "list", validator: "file_exists" }, ["docs/report.md"]],
    [{ type: "any", validator: "directory_exists" }, "docs"],
    [{ type: "string", verify: { verifier: "git_commit_exists" } }, "0123abc"],
    [{ type: "string", verify: "http_ok" }, "https://example.org/"],
    [{ type: "string", validator: ["file_exists", "value.endsWith('.txt')"] }, "report.txt"],
    [{ type: "boolean", verify: { verifier: "file_exists", path: "a.md" } }, true],
    [{ type: "string", verify: "json_value" }, "reports/result.json"],
    [{ type: "string", verify: "command" }, "what was done, in words"],
  ])("of a verified field has a matching form: %j", async (x, example) => {
    expect((await gateOf({ x })).example).toEqual({ x: example });
  });
});

describe("a diagnostic", () => {
  const told = async (x: JsonObject) => (await gateOf({ x })).lines;

  it.each<[JsonObject, string]>([
    [{ type: "boolean", validator: "equals_false" }, 'error: no value of "x", which must be true'],
    [{ type: "boolean", validator: "value == false" }, 'error: no value of "x", which must be true'],
    [{ type: "number", validator: "percent_gte_101" }, 'error: no value of "x" can pass'],
    [{ type: "number", validator: "percent_gte_101", required: false }, "warning: no value"],
    [{ type: "integer", validator: "in_range", validator_params: { min: 0.2, max: 0.8 } }, "error: no value"],
    [{ type: "integer", validator: ["equals_0", "positive"] }, "error: no value"],
    [{ type: "string", validator: "min_length_100000" }, "warning: no example of"],
    [{ type: "string", validator: "value.matches('^[A-Z]{40}$')" }, "warning: no example of"],
    [{ type: "boolean", validator: "file_exists" }, "a field of type boolean names no path"],
    [{ type: "integer", validator: "" }, 'error: "validator" must be something, not ""'],
    [{ type: "integer", validator: "  " }, 'error: "validator" must be something'],
    [{ type: "integer", verify: "" }, 'error: "verify" must be something'],
  ])("reports a rule that no value can satisfy: %j", async (x, says) => {
    const lines = await told(x);
    expect(lines.join("\n")).toContain(says);
  });

  it("does not report optional fields that may be false, nor rules that need a session", async () => {
    expect(await told({ type: "boolean", required: false, validator: "equals_false" })).toEqual([]);
    expect(await told({ type: "boolean", validator: null })).toEqual([]);
    expect(await told({ type: "string", validator: "value == session.id" })).toEqual([]);
    expect(await told({ type: "integer", validator: "value == size(artifacts)" })).toEqual([]);
    expect(await told({ type: "boolean", validator: "file_exists", validator_params: { path: "a.md" } })).toEqual([]);
  });

  it.each<[JsonObject, string, JsonValue | undefined]>([
    [{ type: "integer", example: "3" }, "it is not of type integer", 3],
    [{ type: "boolean", example: false }, "a required field must not be false", true],
    [{ type: "string", example: "\u2800" }, "it is empty", "what was done, in words"],
    [{ type: "number", example: 0.95, validator: "percent_gte_80" }, 'the rule "percent_gte_80" doesn\'t hold', 90],
    [{ type: "list", example: ["a"], validator: "value.all(v, v > 1)" }, "a text can't be compared", [2]],
  ])("reports an author's example that fails, with its line: %j", async (x, says, shown) => {
    const { definition, diagnostics } = await readWorkflow(
      "garden_v1",
      texts({
        [FILE]: `evidence_schema:\n  x:\n${Object.entries(x)
          .map(([key, value]) => `    ${key}: ${JSON.stringify(value)}\n`)
          .join("")}`,
      }),
    );
    const [found, ...others] = diagnostics.filter(({ file }) => file === FILE);
    expect(found).toMatchObject({ code: "EXAMPLE_WRONG", severity: "warning", line: 4 });
    expect(found?.message).toContain(says);
    expect(others).toEqual([]);
    const gate = definition?.structure.phases[0]?.gate;
    expect(gate === undefined ? undefined : exampleEvidence(gate)).toEqual({ x: shown });
  });

  it("reports a failing example if no other one was found", async () => {
    const lines = await told({ type: "string", example: "x", validator: "value.matches('^[A-Z]{40}$')" });
    expect(lines).toEqual([expect.stringContaining("the example of"), expect.stringContaining("no example of")]);
  });

  it("is limited: only a number of values is tried for all fields", async () => {
    const count = howOften(300, 1000);
    const fields = Object.fromEntries(
      Array.from({ length: count }, (_, index) => [
        `f${index}`,
        { type: "any", validator: "value.matches('^[A-Z]{40}$')" },
      ]),
    );
    const { lines } = await gateOf(fields);
    expect(lines.length).toBeGreaterThan(10);
    expect(lines.length).toBeLessThan(count);
  });
});
