import fc from "fast-check";
import { defineWorkflow, type WorkflowInput } from "phasegate";
import { workflowToFiles } from "phasegate/compose";
import { expect, it } from "vitest";
import * as z from "zod";
import { readWorkflow } from "../../src/workflow/files/read-workflow.js";
import type { JsonValue } from "../../src/workflow/json.js";
import type { GateDefinition, WorkflowStructure } from "../../src/workflow/structure.js";
import type { DynamicInput, FieldGateInput, FieldInput, PhaseInput } from "../../src/workflow/workflow-input.js";
import { howOften } from "../support/how-often.js";

const maybe = <T>(one: fc.Arbitrary<T>) => fc.option(one, { nil: undefined });
const flag = fc.boolean();
/** Names and sentences in any script, with every sign that YAML and JSON have a meaning for. */
const written = fc
  .oneof(
    fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
    fc.constantFrom(
      "größe",
      "名前",
      "a: b",
      "- x",
      "#x",
      "'q\"",
      "true",
      "null",
      "~",
      "1",
      "0x1f",
      "&a *b",
      "<<",
      "x-y",
      "é",
    ),
  )
  .filter((text) => text.trim() === text && text !== "");
const text = fc
  .string({
    unit: fc.constantFrom("a", "É", " ", "\n", "\r\n", "\t", "#", "- ", "`", "evidence", "gate", "{options.a}", "✓"),
    maxLength: 20,
  })
  .map((words) => `# A text\n${words}`);
const texts = fc.array(written, { maxLength: 3 });
/** Keys that no YAML may have here. */
const key = written.filter((name) => !["__proto__", "<<"].includes(name));
const json = fc
  .jsonValue({ maxDepth: 1 })
  .map((value) => JSON.stringify(value))
  .filter((text) => !text.includes('"__proto__":'))
  .map((text): JsonValue => JSON.parse(text));
/** Parameters of a verifier stand beside these keys in files; `since` names phases. */
const params = fc
  .dictionary(key, json, { maxKeys: 3 })
  .filter((some) => !["verifier", "description", "waivable", "since"].some((name) => name in some));

const VALIDATORS = {
  boolean: ["is_true", "value == true"],
  integer: ["greater_than_0", "between_1_and_50", "value % 2 == 0", "value < params.limit", "own rule", "under_limit"],
  number: ["positive", "percent_gte_1", "value <= 50.5", "own rule", "under_limit"],
  string: ["non_empty", "min_length_3", 'value.matches("^[a-z]+$")', "file_exists", "told"],
  object: ["non_empty", "size(value) >= 1"],
  list: ["non_empty", "max_length_9", "value.all(item, item != 0)", "directory_exists"],
  any: ["non_empty", "greater_than_0"],
} as const;
const EXAMPLES = {
  boolean: true,
  integer: 7,
  number: 1.5,
  string: "ümläut: 'x'",
  object: { a: [] },
  list: [1, "2"],
  any: "y",
};
const TABLE = {
  "own rule": "value != 13",
  under_limit: { rule: "value < params.limit", errorMessage: "too: much" },
  told: { rule: "size(value) < 99", errorMessage: "#1 is 'long'" },
};

const typed = fc.constantFrom("boolean", "integer", "number", "string", "object", "list", "any").chain(
  (type): fc.Arbitrary<FieldInput> =>
    fc.record({
      type: fc.constant(type),
      required: flag,
      description: maybe(written),
      waivable: maybe(flag),
      validator: fc.subarray<string>([...VALIDATORS[type]], { maxLength: 2 }),
      validatorParams: fc.constant({ limit: 60 }),
    }),
);
const exemplary = fc.constantFrom("boolean", "integer", "number", "string", "object", "list", "any").chain(
  (type): fc.Arbitrary<FieldInput> =>
    fc.record({
      type: fc.constant(type),
      required: flag,
      example: fc.constant(EXAMPLES[type]),
      allowExample: maybe(flag),
    }),
);

const gate = fc
  .record({
    fields: fc.dictionary(
      key.filter((name) => !["constructor", "prototype"].includes(name)),
      fc.oneof(typed, exemplary, fc.constant<FieldInput>({})),
      { minKeys: 1, maxKeys: 5 },
    ),
    cross: fc.subarray(["evidence.total > 0", "evidence.total < 100 || evidence.total == 200"]),
    verify: fc.array(
      fc.record({ verifier: written, params, description: maybe(written), waivable: maybe(flag), of: fc.nat() }),
      { maxLength: 3 },
    ),
    approval: maybe(
      fc.record({ prompt: written, approvers: maybe(fc.array(written, { minLength: 1, maxLength: 2 })) }),
    ),
    reveal: maybe(fc.constantFrom("fields", "names", "none")),
    strict: maybe(flag),
    allowOverride: maybe(flag),
  })
  .map(({ cross, verify, fields: some, ...others }): FieldGateInput => {
    const fields = { ...some, total: { type: "integer" } } satisfies Record<string, FieldInput>;
    const names = Object.keys(fields);
    const used = new Set(Object.values(some).flatMap(({ validator = [] }) => validator));
    const table = Object.entries(TABLE).filter(([name]) => used.has(name));
    return {
      ...others,
      fields,
      validators: Object.fromEntries(table),
      crossFieldValidation: cross.map((rule, index) => (index === 0 ? rule : { rule, errorMessage: "it's: so" })),
      // A remainder that names no field is a check of the whole gate.
      verify: verify.map(({ of, ...check }) => ({ ...check, field: names[of % (names.length + 1)] })),
    };
  });

const phase = fc.record({
  name: written,
  purpose: maybe(written),
  estimatedEffort: maybe(written),
  keyDeliverables: maybe(texts),
  validationCriteria: maybe(texts),
  content: fc.oneof(
    text,
    text.map((one) => async () => one),
  ),
  tasks: fc.array(fc.record({ name: written, purpose: maybe(written), content: text }), { maxLength: 3 }),
  gate: maybe(gate),
  skippable: maybe(flag),
  skip: maybe(fc.record({ skipWhen: fc.constant("!has(options.docs)"), skipCondition: maybe(written) })),
});

const dynamic: fc.Arbitrary<DynamicInput> = fc.record({
  templates: fc.record({ phase: text, task: text }),
  sourcePathKey: maybe(fc.constantFrom("spec", "the plan")),
  parser: maybe(written),
  enforceDependencies: maybe(flag),
  tickCriteria: maybe(flag),
  verify: maybe(fc.array(fc.record({ verifier: written, params, description: maybe(written) }), { maxLength: 2 })),
});

const options = z.object({ docs: z.string().optional(), count: z.int().min(1).default(3) });

const workflow = fc
  .record({
    name: written,
    description: written,
    version: maybe(written),
    category: maybe(written),
    estimatedDuration: maybe(written),
    targetLanguages: maybe(texts),
    artifacts: maybe(texts),
    tags: maybe(texts),
    target: maybe(fc.constant("none")),
    options: maybe(fc.constant(options)),
    dynamic: maybe(dynamic),
    phases: fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), phase), { maxLength: 3 }),
    start: fc.nat(),
    documents: fc.dictionary(fc.constantFrom("core/a.md", "phases/2/notes.md", "größe/x.txt"), text),
  })
  .filter(({ phases, dynamic }) => phases.length > 0 || dynamic !== undefined)
  .map(({ phases, start, target, ...input }): WorkflowInput => {
    let number = -1;
    const numbered = phases.map(([gap, { skip, ...one }]): PhaseInput => {
      number += gap;
      return { number, ...one, ...skip };
    });
    const startPhase = numbered[start % (numbered.length + 1)]?.number;
    return { type: "garden", revision: "r1", ...input, target: target && "none", startPhase, phases: numbered };
  });

/** Returns all that a workflow says, without revisions and paths, which files have of their own. */
function said({ revision: _, searches: __, dynamic, phases, ...facts }: WorkflowStructure) {
  return {
    ...facts,
    dynamic: dynamic && {
      ...dynamic,
      templates: undefined,
      verify: dynamic.verify?.length ? dynamic.verify : undefined,
    },
    phases: phases.map(({ file: ___, textRevision: ____, tasks, gate, skipWhen, ...one }) => ({
      ...one,
      skipWhen,
      tasks: tasks.map((task) => ({ ...task, file: undefined })),
      gate: saidOf(gate),
    })),
  };
}

function saidOf(gate: GateDefinition) {
  if (gate.kind !== "fields") return gate;
  const { verify = [], fields, ...others } = gate;
  const order = (name: string | undefined) =>
    name === undefined ? fields.length : fields.findIndex((one) => one.name === name);
  const checks = [...verify].sort((one, other) => order(one.field) - order(other.field));
  return { ...others, fields: fields.map(({ sample: _, ...field }) => field), verify: checks };
}

it("a workflow in code is the same after it was written as files and read again", { timeout: 120_000 }, async () => {
  const property = fc.asyncProperty(workflow, async (input) => {
    const defined = defineWorkflow(input);
    const files = await workflowToFiles(defined);
    const { definition, diagnostics } = await readWorkflow(
      input.type,
      Object.entries(files).map(([path, text]) => ({ path, text })),
    );
    if (definition === undefined) return expect(diagnostics).toEqual([]);
    expect(said(definition.structure)).toEqual(said(defined.definition.structure));
    for (const { number, file = "" } of definition.structure.phases) {
      expect(files[file]).toBe(await defined.text({ phase: number }));
    }
    for (const [path, document] of Object.entries(input.documents ?? {})) expect(files[path]).toBe(document);
    return undefined;
  });
  await fc.assert(property, { numRuns: howOften(150, 2_000) });
});
