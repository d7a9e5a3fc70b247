import type { StandardSchemaV1 } from "@standard-schema/spec";
import { defineWorkflow, isPhasegateError } from "phasegate";
import type { FieldGateInput } from "phasegate/gate";
import * as valibot from "valibot";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import * as mini from "zod/mini";
import type { JsonObject } from "../../src/workflow/json.js";
import { structureSchema } from "../../src/workflow/structure.js";
import { metadata, phase, read } from "./workflow-texts.js";

const about = { type: "w", revision: "1", name: "W", description: "D" };
const TEMPLATES = { phase: "# [PHASE_NAME]", task: () => "# [TASK_NAME]" };

/** Returns the gate of a phase in code. */
function gateOf(gate: FieldGateInput) {
  return defineWorkflow({ ...about, phases: [{ number: 1, name: "One", content: "", gate }] }).definition.structure
    .phases[0]?.gate;
}

/** Returns the diagnostics of a refused workflow. */
function problemsOf(change: object): readonly string[] {
  const phases = [{ number: 1, name: "One", content: "" }];
  try {
    defineWorkflow({ ...about, phases, ...change });
  } catch (error) {
    if (isPhasegateError(error, "DEFINITION_INVALID")) return error.details.diagnostics;
    throw error;
  }
  return [];
}

const gateProblems = (gate: object) => problemsOf({ phases: [{ number: 1, name: "One", content: "", gate }] });

describe("a gate with fields in code", () => {
  it("is the gate that a gate file with the same keys is", async () => {
    const inCode = gateOf({
      fields: {
        passed: { type: "integer", validator: "greater_than_0", description: "how many", example: 3 },
        total: { type: "integer", validator: ["value >= 0", "small"], validatorParams: { limit: 9 }, example: 3 },
        notes: { type: "string", required: false, validator: "min_length_3", example: "long" },
        report: { type: "string", validator: "file_exists", example: "a.md" },
        done: { type: "boolean", example: true },
      },
      validators: { small: { rule: "value < params.limit", errorMessage: "too many" } },
      crossFieldValidation: [{ rule: "evidence.passed == evidence.total", errorMessage: "some failed" }],
      strict: false,
      allowOverride: true,
      verify: [{ verifier: "git_clean" }],
      approval: { prompt: "Good?", approvers: ["ann"] },
      reveal: "names",
    });
    const file = `checkpoint: {strict: false, allow_override: true}
evidence_schema:
  passed: {type: integer, validator: greater_than_0, description: how many, example: 3}
  total: {type: integer, validator: ["value >= 0", small], validator_params: {limit: 9}, example: 3}
  notes: {type: string, required: false, validator: min_length_3, example: long}
  report: {type: string, validator: file_exists, example: a.md}
  done: {type: boolean, example: true}
validators:
  small: {rule: "value < params.limit", error_message: too many}
cross_field_validation:
  - {rule: "evidence.passed == evidence.total", error_message: some failed}
verify: git_clean
approval: {prompt: "Good?", approvers: [ann]}
reveal: names
`;
    const bare = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });
    const { structure, lines } = await read({ "metadata.json": bare, "phases/1/gate-definition.yaml": file });
    expect(lines).toEqual([]);
    expect(inCode).toEqual(structure?.phases[0]?.gate);
  });

  it("takes the same validators for the same types as a gate file", async () => {
    const types = ["boolean", "integer", "number", "string", "object", "list", "any"] as const;
    const names = [
      "is_true",
      "positive",
      "non_empty",
      "in_range",
      "min_length_2",
      "percent_gte_80",
      "equals_3",
      "nonsense",
    ];
    const bare = metadata({ phases: [phase(1, { required_evidence: undefined }), phase(2)] });
    for (const type of types) {
      for (const validator of names) {
        const validatorParams: JsonObject = validator === "in_range" ? { min: 1, max: 5 } : {};
        const field = JSON.stringify({ type, validator, validator_params: validatorParams });
        const file = `evidence_schema: {a: ${field}}\n`;
        const { structure } = await read({ "metadata.json": bare, "phases/1/gate-definition.yaml": file });
        const fields = { a: { type, validator, validatorParams } };
        const isRefused = gateProblems({ fields }).length > 0;
        expect(isRefused, `${validator} of ${type}`).toBe(structure === undefined);
        if (isRefused) continue;
        const [inFile, inCode] = [structure?.phases[0]?.gate, gateOf({ fields })];
        const rules = [inFile, inCode].map((gate) => (gate?.kind === "fields" ? gate.fields[0]?.rules : undefined));
        expect(rules[1], `${validator} of ${type}`).toEqual(rules[0]);
      }
    }
  });

  it("requires fields of any type by default, and blocks", () => {
    expect(gateOf({ fields: { done: {} } })).toEqual({
      ...{ kind: "fields", strict: true, source: "gate-file" },
      fields: [{ name: "done", type: "any", required: true }],
    });
    expect(gateOf({ fields: {}, approval: { prompt: "Good?" } })).toMatchObject({ fields: [], approval: {} });
  });

  it("is no schema: the compiler and the engine know it by its fields", () => {
    const gate = { fields: { done: { type: "boolean" } } } as const;
    const { definition } = defineWorkflow({ ...about, phases: [{ number: 1, name: "One", content: "", gate }] });
    expect(definition.schemas.size).toBe(0);
    expect(structureSchema.parse(definition.structure)).toEqual(definition.structure);
  });

  it.each<readonly [string, object, string | RegExp]>([
    ["an unknown validator", { fields: { a: { validator: "greater_than" } } }, /there is no validator "greater_than"/],
    [
      "a misspelt validator",
      { fields: { a: { validator: "smal" } }, validators: { small: "value < 3" } },
      /did you mean small/,
    ],
    [
      "a validator of another type",
      { fields: { a: { type: "boolean", validator: "min_length_3" } } },
      /doesn't go with a field of type boolean/,
    ],
    [
      "a function",
      { fields: { a: { validator: () => true } } },
      "phase 1: gate.fields.a: a validator is a name or a rule in CEL, as a text",
    ],
    ["a blank validator", { fields: { a: { validator: [" "] } } }, /a validator is a name or a rule/],
    ["a lambda", { fields: { a: { validator: "lambda x: x > 0" } } }, /write the rule in CEL/],
    [
      "an unknown type",
      { fields: { a: { type: "boolaen" } } },
      'phase 1: gate.fields.a: there is no type "boolaen"; did you mean boolean?',
    ],
    ["a type of another kind", { fields: { a: { type: 3 } } }, /there is no type 3/],
    ["a bare type", { fields: { a: "boolean" } }, /gate.fields.a must be an object/],
    ["no field", { fields: { a: null } }, /gate.fields.a must be an object/],
    [
      "a reserved name",
      { fields: JSON.parse('{"__proto__": {"type": "boolean"}}') },
      /no field may be called "__proto__"/,
    ],
    ["a list of fields", { fields: [{ name: "a" }] }, /gate.fields must be an object/],
    [
      "a misspelt key of a field",
      { fields: { a: { requierd: true } } },
      /gate.fields.a has no key "requierd"; did you mean required/,
    ],
    [
      "a misspelt key of the gate",
      { fields: { a: {} }, aproval: { prompt: "?" } },
      /gate has no key "aproval"; did you mean approval/,
    ],
    [
      "a misspelt key of a rule",
      { fields: { a: {} }, crossFieldValidation: [{ rule: "true", message: "x" }] },
      /crossFieldValidation\[0\] has no key "message"/,
    ],
    [
      "a rule without text",
      { fields: { a: {} }, crossFieldValidation: [{}] },
      /crossFieldValidation\[0\] must be a rule/,
    ],
    ["a validator without text", { fields: { a: {} }, validators: { v: 3 } }, /gate.validators.v must be a rule/],
    ["both kinds", { fields: { a: {} }, evidence: z.object({}) }, /either evidence, a schema, or fields/],
    ["nothing", { fields: {} }, /the gate requires nothing/],
  ])("is refused with %s", (_, gate, message) => {
    expect(gateProblems(gate)).toEqual(expect.arrayContaining([expect.stringMatching(message)]));
  });
});

describe("a gate with a schema in code", () => {
  const shownOf = (evidence: StandardSchemaV1) => {
    const phases = [{ number: 1, name: "One", content: "", gate: { evidence } }];
    const [phase] = defineWorkflow({ ...about, phases }).definition.structure.phases;
    return phase?.gate.kind === "schema" ? phase.gate.jsonSchema : undefined;
  };

  it.each<[string, StandardSchemaV1]>([
    ["zod", z.object({ tests: z.int(), note: z.string().optional() })],
    ["zod/mini", mini.object({ tests: mini.int(), note: mini.optional(mini.string()) })],
    [
      "zod with what JSON Schema can't say",
      z.object({ tests: z.int(), note: z.string().optional() }).transform((all) => all),
    ],
  ])("shows agents its fields and their types: %s", (_, evidence) => {
    const properties = { tests: { type: "integer" }, note: { type: "string" } };
    expect(shownOf(evidence)).toMatchObject({ type: "object", properties, required: ["tests"] });
  });

  it.each<[string, StandardSchemaV1]>([
    ["Valibot", valibot.object({ tests: valibot.number(), note: valibot.optional(valibot.string()) })],
    ["another library, whose problems have plain paths", asking([{ message: "missing", path: ["tests"] }])],
  ])("without a JSON Schema shows the names of the required fields: %s", (_, evidence) => {
    const shown = { type: "object", properties: { tests: {} }, required: ["tests"], additionalProperties: true };
    expect(shownOf(evidence)).toEqual(shown);
  });

  it.each<[string, StandardSchemaV1]>([
    ["that requires nothing", asking([])],
    ["that is checked later", { "~standard": { version: 1, vendor: "mine", validate: async () => ({ issues: [] }) } }],
    ["whose problems have no place", asking([{ message: "no" }])],
    ["that throws", { "~standard": { version: 1, vendor: "mine", validate: () => fail() } }],
  ])("of which nothing can be told is taken as it is: one %s", (_, evidence) => {
    expect(shownOf(evidence)).toBeUndefined();
  });

  it("is refused if it gives what JSON can't hold, with the place", () => {
    const evidence = z.object({
      report: z.object({ when: z.coerce.date() }),
      sizes: z.array(z.bigint()),
      seen: z.union([z.string(), z.set(z.string())]),
    });
    expect(gateProblems({ evidence }).toSorted()).toEqual([
      expect.stringContaining('phase 1: gate.evidence: "report.when" becomes a date, which JSON can\'t hold'),
      expect.stringContaining('"seen.anyOf.1" becomes a set'),
      expect.stringContaining('"sizes" becomes a bigint'),
    ]);
    expect(gateProblems({ evidence: z.object({ when: z.iso.date() }) })).toEqual([]);
  });
});

function asking(issues: StandardSchemaV1.Issue[]): StandardSchemaV1 {
  const validate = (value: unknown) => (issues.length === 0 ? { value } : { issues });
  return { "~standard": { version: 1, vendor: "mine", validate } };
}

function fail(): never {
  throw new Error("not now");
}

describe("a workflow in code with a plan", () => {
  it("has the same defaults as a folder, and its templates as texts", async () => {
    const workflow = defineWorkflow({ ...about, phases: [], dynamic: { templates: TEMPLATES } });
    const { structure } = workflow.definition;
    expect(structureSchema.parse(structure)).toEqual(structure);
    const config = { dynamic_phases: true, dynamic_config: {}, phases: [phase(1), phase(2)] };
    const paths = ["phases/dynamic/phase-template.md", "phases/dynamic/task-template.md"] as const;
    const files = { [paths[0]]: "# [PHASE_NAME]", [paths[1]]: "# [TASK_NAME]" };
    const folder = await read({ "metadata.json": metadata(config), ...files });
    const { templateRevisions: read2, ...same } = folder.structure?.dynamic ?? {};
    expect(structure.dynamic).toEqual({ ...same, templateRevisions: { phase: Object(read2).phase } });
    expect(structure).toMatchObject({ startPhase: 1, phases: [] });
    expect(workflow.text({ template: "phase" })).toBe("# [PHASE_NAME]");
    expect(workflow.text({ template: "task" })).toBe("# [TASK_NAME]");
    expect(
      defineWorkflow({ ...about, phases: [{ number: 1, name: "One", content: "" }] }).text({ template: "task" }),
    ).toBeUndefined();
  });

  it("takes every setting of dynamic_config", () => {
    const settings = { sourcePathKey: "plan", parser: "task-master", enforceDependencies: true, tickCriteria: true };
    const dynamic = { templates: TEMPLATES, ...settings };
    expect(defineWorkflow({ ...about, phases: [], dynamic }).definition.structure.dynamic).toMatchObject(settings);
  });

  it("is refused without its templates, with a misspelt key, and without any phase", () => {
    expect(problemsOf({ phases: [], dynamic: {} })).toEqual(["dynamic.templates is missing"]);
    expect(problemsOf({ phases: [], dynamic: { templates: { phase: 5 } } })).toEqual([
      "dynamic.templates.phase must be a text, or a function that returns one, not 5",
      "dynamic.templates.task is missing",
    ]);
    expect(problemsOf({ dynamic: { templates: TEMPLATES, parsre: "x" } })).toEqual([
      'dynamic has no key "parsre"; did you mean parser?',
    ]);
    expect(problemsOf({ dynamic: { templates: { ...TEMPLATES, tasks: "" } } })).toEqual([
      'dynamic.templates has no key "tasks"; did you mean task?',
    ]);
    expect(problemsOf({ phases: [] })).toEqual(["there is no phase"]);
  });
});
