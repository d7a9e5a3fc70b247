/** The schema of gate-definition.yaml, and of the `checkpoint` of a phase in metadata.json. */
import * as z from "zod";
import { BUILT_IN, type VerifierName } from "../../src/verifiers/create-verifiers.js";
import { TYPE_WORDS } from "../../src/workflow/field-types.js";
import { REVEALS } from "../../src/workflow/gate-definition.js";
import {
  byFieldName,
  fieldNames,
  filled,
  gateObject,
  optional,
  required,
  schemaKey,
  texts,
  withKeywords,
} from "./parts.js";

/** Exactly one of some keys. */
const oneOf = (...keys: readonly string[]) => ({ oneOf: keys.map((key) => ({ required: [key] })) });

/** What goes together in the verifiers that run a command. */
const RUN = {
  ...oneOf("argv", "line"),
  properties: {
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    output: { if: { type: "object" }, then: oneOf("pattern", "rule"), else: { items: oneOf("pattern", "rule") } },
  },
};

/** Parameters that go together. */
const TOGETHER: Readonly<Partial<Record<VerifierName, object>>> = {
  changed_since_phase_start: oneOf("path", "paths", "within"),
  unchanged_since_phase_start: oneOf("path", "paths"),
  command: RUN,
  fails_without: {
    ...RUN,
    if: { required: ["except"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["files"], properties: { files: { const: "changed" } } },
  },
};

const verifierName = filled.meta({
  description: "The name of a verifier: a built-in one, or one that the host has registered.",
  examples: Object.keys(BUILT_IN),
});

const aboutCheck = {
  description: optional(filled, "What it checks, for the agent."),
  waivable: optional(z.boolean(), "`false` if nobody may waive a check of the gate as a whole."),
};

function togetherIn(name: string) {
  const together = Object.entries(TOGETHER).flatMap(([of, keywords]) => (of === name ? [keywords] : []));
  return together.length === 0 ? {} : { allOf: together };
}

/** A verifier with its parameters. Those of the built-in verifiers are checked; others are up to the host. */
const verifierObject = withKeywords(z.looseObject({ verifier: verifierName, ...aboutCheck }), {
  allOf: Object.entries(BUILT_IN).map(([name, { params, about }]) => ({
    if: { properties: { verifier: { const: name } }, required: ["verifier"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      ...jsonSchemaOf(params.extend({ verifier: z.literal(name).describe(about), ...aboutCheck })),
      ...togetherIn(name),
    },
  })),
}).meta({ id: "verifier", description: "A verifier's name and its parameters, side by side." });

/** `verify`: a verifier's name, an object with parameters, or a list of these. */
export const verify = z
  .union([filled, verifierObject, z.literal(false), z.array(z.union([filled, verifierObject]))])
  .meta({ id: "verify" });

const rule = z
  .union([
    filled,
    gateObject({
      rule: required(filled, "A rule in CEL, or a Python lambda."),
      error_message: optional(z.string(), "The message for evidence that breaks the rule. Default: the rule itself."),
    }),
  ])
  .meta({ id: "rule", description: "A rule in CEL such as `value > 0`, or an object with a rule and its message." });

const field = gateObject({
  type: required(
    z.enum([...TYPE_WORDS.keys()]),
    "The type of the value. `integer` is a whole number; `any` is for a value of any type.",
  ),
  required: optional(
    z.boolean(),
    "False if evidence may lack the field. A required boolean must be true; a required text must have visible characters. Default: true.",
    true,
  ),
  description: optional(z.string(), "What the field means. Shown to the agent, and again if the field is missing."),
  example: optional(z.unknown(), "A valid value, shown to the agent. A value that equals it is refused as copied."),
  allow_example: optional(z.boolean(), "True if the example may be what the work gives. Default: false.", false),
  waivable: optional(z.boolean(), "False if nobody may waive the field. Default: true.", true),
  validator: optional(
    z.union([filled, texts]),
    "A named validator (`greater_than_0`, `min_length_20`), a rule in CEL (`value > 0`), or a list of these. Default: none.",
  ),
  validator_params: optional(
    z.looseObject({}),
    "The value of `params` in the validators: `{limit: 1000}`. Default: none.",
  ),
  verify: optional(verify, "Checks the value with a verifier: a name, an object with parameters, or a list of these."),
}).meta({ id: "field", description: "One field of the evidence." });

/** What a gate asks for besides fields, in a gate file and in a checkpoint. */
const demands = {
  validators: optional(
    z.union([z.record(z.string(), rule), z.literal(false), z.array(z.never()).max(0)]),
    "Further names for validators, each with its rule: `under_limit: value < params.limit`. Default: none.",
  ),
  cross_field_validation: optional(
    z.union([z.array(rule), rule, z.literal(false), z.strictObject({})]),
    "Rules between fields: `evidence.passed == evidence.total`. Default: none.",
  ),
  verify: optional(verify, "Checks of the gate as a whole: a verifier's name, an object with parameters, or a list."),
  approval: optional(
    z.union([
      filled,
      gateObject({
        prompt: required(filled, "The question for the person."),
        approvers: z
          .array(z.string())
          .min(1)
          .optional()
          .describe("Who may answer, by the names that the host gave them. Default: any approver."),
      }),
      z.literal(false),
    ]),
    "A person who must approve the evidence once it is complete: the question, or an object with it. Default: nobody.",
  ),
  reveal: optional(
    z.enum(REVEALS),
    "How much of the gate the agent is shown: all of it (`fields`), the names of the fields, or nothing. Default: `fields`.",
    "fields",
  ),
};

const settings = {
  strict: optional(
    z.boolean(),
    "False: rules only warn. Missing values, wrong types, `verify` and `approval` still block. Default: true.",
    true,
  ),
  allow_override: optional(
    z.boolean(),
    "True: the host may let a session pass without evidence. The agent never can. Default: false.",
    false,
  ),
  ...demands,
};

/** The `checkpoint` of a gate file. */
const checkpoint = gateObject(settings);

/** The `checkpoint` of a phase in metadata.json: a gate without fields of its own. */
export const metadataCheckpoint = gateObject({
  ...settings,
  required_evidence: optional(fieldNames, "Names of required evidence fields, of any type. Default: none."),
});

/** A key with a demand: `verify: false` demands nothing. */
const asks = (key: string) => ({
  required: [key],
  properties: { [key]: { not: { enum: [null, false, []] } } },
});

/** gate-definition.yaml. */
export const gateSchema = withKeywords(
  gateObject({
    ...schemaKey,
    checkpoint: optional(checkpoint, "How strict the gate is. What only a whole gate can have may be here, too."),
    evidence_schema: optional(byFieldName(field), "The fields of the evidence, by name."),
    gate: optional(z.literal("none"), "`none`: the phase is meant to require nothing. No other key may be there then."),
    ...demands,
  }),
  {
    title: "phasegate: gate-definition.yaml",
    description: "What an agent must submit before a phase counts as done.",
    // A gate asks for something, unless it says that it doesn't. As a choice, editors would propose each part of it as an object of its own.
    if: {
      anyOf: [
        asks("verify"),
        asks("approval"),
        { required: ["checkpoint"], properties: { checkpoint: { anyOf: [asks("verify"), asks("approval")] } } },
      ],
    },
    else: {
      if: { required: ["gate"], properties: { gate: { const: "none" } } },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        properties: Object.fromEntries(
          ["checkpoint", "evidence_schema", ...Object.keys(demands)].map((key) => [key, { type: "null" }]),
        ),
      },
      else: { required: ["evidence_schema"], properties: { evidence_schema: { type: "object", minProperties: 1 } } },
    },
  },
);

/** Returns a JSON Schema as a part of another one. */
function jsonSchemaOf(schema: z.ZodType): Omit<z.core.JSONSchema.BaseSchema, "$schema"> {
  const { $schema: _, ...part } = z.toJSONSchema(schema, { target: "draft-7", io: "input", unrepresentable: "any" });
  return part;
}
