import * as z from "zod";
import { fieldGateSchema } from "../../definition/gate-structure.js";

const { shape } = fieldGateSchema;
const field = shape.fields.element;
const rule = shape.rules.unwrap().element.strict();
const check = shape.verify.unwrap().element;
const rules = z.array(z.union([z.string().transform((cel) => ({ source: cel, cel })), rule]));

const stepGateSchema = fieldGateSchema
  .extend({
    kind: shape.kind.default("fields"),
    source: shape.source.default("gate-file"),
    strict: shape.strict.default(true),
    allowOverride: shape.allowOverride.default(false),
    fields: z.array(
      field
        .extend({ type: field.shape.type.default("any"), required: z.boolean().default(true), rules: rules.optional() })
        .strict(),
    ),
    rules: rules.optional(),
    // A key that is misspelt here would let anybody answer.
    approval: shape.approval.unwrap().strict().optional(),
    verify: z.array(check.extend({ params: z._default(check.shape.params, {}) }).strict()).optional(),
  })
  .strict();

/**
 * What the gate of a step in code asks for: fields, each required and of any type unless it says more; rules in CEL, as
 * texts; verifiers, an approval and what agents see as in a gate file, under the names that code has for them.
 */
export type StepGateInput = z.input<typeof stepGateSchema>;

/** A gate in code as it is pinned, or what is wrong with it. */
export function readStepGate(gate: StepGateInput) {
  const read = stepGateSchema.safeParse(gate);
  if (read.success) return { gate: read.data, problems: [] };
  const problems = read.error.issues.map(({ path, message }) => `${["gate", ...path].join(".")}: ${message}`);
  return { problems: [...problems, "a gate is written as { fields: [{ name: 'tests_pass', type: 'boolean' }] }"] };
}
