/**
 * The schema of gate-definition.yaml, of the gate of a step, and of the `checkpoint` of a phase in metadata.json. A
 * requirement that can't be read, or is in a place where it would be ignored, is an error.
 */
import * as z from "zod/mini";
import { TYPE_WORDS } from "../field-types.js";
import {
  anyObject,
  anything,
  asked,
  byFieldName,
  described,
  fieldNames,
  filled,
  flag,
  gateObject,
  optional,
  type Read,
  required,
  said,
  schemaKey,
  text,
  texts,
  WORDS,
} from "../file-schema.js";
import { type FieldDefinition, type FieldGate, fieldGateSchema, fieldSchema, REVEALS } from "../gate-definition.js";
import { orNearest, shown } from "../names.js";

/** A verifier with its parameters, side by side. Which parameters are right is up to the verifier. */
export const verifier = described(
  z.looseObject({
    verifier: required(filled, "The name of a verifier: a built-in one, or one that the host has registered."),
    description: said(optional(filled, "What it checks, for the agent."), {
      empty: () => ({ expected: "a text", hint: "Say what the check looks at, or remove the line." }),
    }),
    waivable: said(optional(z.boolean(), "`false` if nobody may waive a check of the gate as a whole."), {
      words: () => ({ expected: "true or false", hint: "Write waivable: false, or remove the line." }),
    }),
  }),
  { id: "verifier", description: "A verifier's name and its parameters, side by side." },
);

const VERIFY_HINT = "Write the verifier's name, {verifier: name, …its parameters}, or a list of these.";

const verify = said(
  described(z.union([filled, verifier, z.literal(false), z.array(z.union([filled, verifier]))]), { id: "verify" }),
  { words: () => ({ expected: "a verifier's name, or an object with one", hint: VERIFY_HINT }) },
);

/** Returns the key `verify`: a verifier's name, an object with parameters, or a list of these. */
export function verifyKey(description: string) {
  return asked(verify, description, VERIFY_HINT);
}

const rule = described(
  z.union([
    filled,
    gateObject({
      rule: required(filled, "A rule in CEL, or a Python lambda."),
      error_message: optional(text, "The message for evidence that breaks the rule. Default: the rule itself."),
    }),
  ]),
  { id: "rule", description: "A rule in CEL such as `value > 0`, or an object with a rule and its message." },
);

const TYPE_NAMES = [...TYPE_WORDS.keys()].join(", ");

const type = said(z.enum([...TYPE_WORDS.keys()]), {
  words: (value, name) =>
    typeof value === "string"
      ? {
          code: "FIELD_TYPE_UNKNOWN",
          message: `there is no type ${shown(value)}`,
          hint: `Write one of ${TYPE_NAMES}${orNearest(value, TYPE_WORDS.keys())}`,
        }
      : WORDS.TEXT(value, name),
});

/** Keys that only a whole gate can have. At a field they would be ignored. */
const GATE_KEYS = ["validators", "cross_field_validation", "approval", "reveal"];

const field = described(
  said(
    gateObject({
      type: required(
        type,
        "The type of the value. `integer` is a whole number; `any` is for a value of any type.",
        `type: boolean (or one of ${TYPE_NAMES})`,
      ),
      required: optional(
        flag,
        "False if evidence may lack the field. A required boolean must be true; a required text must have visible characters. Default: true.",
        true,
      ),
      description: optional(text, "What the field means. Shown to the agent, and again if the field is missing."),
      example: optional(anything, "A valid value, shown to the agent. A value that equals it is refused as copied."),
      allow_example: optional(flag, "True if the example may be what the work gives. Default: false.", false),
      waivable: optional(flag, "False if nobody may waive the field. Default: true.", true),
      validator: asked(
        said(z.union([filled, texts]), { words: WORDS.TEXT }),
        "A named validator (`greater_than_0`, `min_length_20`), a rule in CEL (`value > 0`), or a list of these. Default: none.",
        "Name a validator, or remove the line: it checks nothing.",
      ),
      validator_params: optional(anyObject, "The value of `params` in the validators: `{limit: 1000}`. Default: none."),
      verify: verifyKey("Checks the value with a verifier: a name, an object with parameters, or a list of these."),
    }),
    {
      misplaced: {
        keys: GATE_KEYS,
        fault: (key) => ({
          code: "RULE_MISPLACED",
          message: `only a whole gate can have ${shown(key)}, not a field`,
          hint: `Move ${shown(key)} to the top of the gate file, next to evidence_schema.`,
        }),
      },
    },
  ),
  { id: "field", description: "One field of the evidence." },
);

const RULE = "a rule, or an object with one";
const CROSS_HINT = 'Write {rule: "evidence.passed == evidence.total", error_message: "what is wrong then"}.';
const APPROVAL_HINT = 'Write approval: {prompt: "what the person is asked"}.';
const REVEAL_HINT = `Write one of ${REVEALS.join(", ")}`;
const noApprovers = () => ({
  expected: "a list of at least one name",
  hint: "Name somebody, or leave it out.",
});

/** What a gate asks for besides fields, in a gate file and in a checkpoint. */
export const demands = {
  validators: asked(
    said(
      z.union([
        said(z.record(z.string(), rule), {
          members: (_, name) => ({
            expected: RULE,
            hint: `Write ${name}: "value > 0", say, or ${name}: {rule: "value > 0", error_message: "…"}.`,
          }),
        }),
        z.literal(false),
        z.array(z.never()).check(z.maxLength(0)),
      ]),
      { words: WORDS.OBJECT },
    ),
    "Further names for validators, each with its rule: `under_limit: value < params.limit`. Default: none.",
    'Write name: "value > 0" below it, say, or remove the line.',
  ),
  cross_field_validation: asked(
    said(z.union([z.array(rule), rule, z.literal(false), z.strictObject({})]), {
      words: () => ({ expected: RULE, hint: CROSS_HINT }),
    }),
    "Rules between fields: `evidence.passed == evidence.total`. Default: none.",
    CROSS_HINT,
  ),
  verify: verifyKey("Checks of the gate as a whole: a verifier's name, an object with parameters, or a list."),
  approval: asked(
    said(
      z.union([
        filled,
        gateObject({
          prompt: required(filled, "The question for the person.", 'prompt: "what the person is asked"'),
          approvers: said(
            optional(
              said(z.array(z.string()).check(z.minLength(1)), {
                words: (value, name) =>
                  Array.isArray(value) && value.length === 0 ? noApprovers() : WORDS.TEXTS(value, name),
              }),
              "Who may answer, by the names that the host gave them. Default: any approver.",
            ),
            { empty: noApprovers },
          ),
        }),
        z.literal(false),
      ]),
      { words: () => ({ expected: "an object with a prompt", hint: APPROVAL_HINT }) },
    ),
    "A person who must approve the evidence once it is complete: the question, or an object with it. Default: nobody.",
    APPROVAL_HINT,
  ),
  reveal: asked(
    said(z.enum(REVEALS), {
      words: (value) => ({
        expected: `one of ${REVEALS.map(shown).join(", ")}`,
        hint: `${REVEAL_HINT}${orNearest(String(value), REVEALS)}`,
      }),
    }),
    "How much of the gate the agent is shown: all of it (`fields`), the names of the fields, or nothing. Default: `fields`.",
    REVEAL_HINT,
    "fields",
  ),
};

const settings = {
  strict: optional(
    flag,
    "False: rules only warn. Missing values, wrong types, `verify` and `approval` still block. Default: true.",
    true,
  ),
  allow_override: optional(
    flag,
    "True: the host may let a session pass without evidence. The agent never can. Default: false.",
    false,
  ),
};

const checkpoint = gateObject({ ...settings, ...demands });

const requiredEvidence = {
  required_evidence: optional(fieldNames, "Names of required evidence fields, of any type. Default: none."),
};

/** The `checkpoint` of a phase in metadata.json: a gate without fields of its own. */
export const metadataCheckpoint = gateObject({ ...settings, ...demands, ...requiredEvidence });

/** The same where a gate file counts: what the checkpoint asks for is only compared with it. */
export const ignoredCheckpoint = gateObject({
  ...settings,
  ...Object.fromEntries(Object.keys(demands).map((key) => [key, optional(anything, "")])),
  ...requiredEvidence,
});

const gateShape = {
  checkpoint: optional(checkpoint, "How strict the gate is. Keys that only a whole gate can have may be here, too."),
  evidence_schema: optional(
    byFieldName(field, (value, name) => ({
      expected: "an object with keys",
      hint: `Write ${shown(name)}: {type: ${typeof value === "string" && TYPE_WORDS.has(value) ? value : "boolean"}}`,
    })),
    "The fields of the evidence, by name.",
  ),
};

export const stepGate = gateObject({ ...gateShape, ...demands });

const gateKey = {
  gate: optional(
    said(z.literal("none"), {
      words: () => ({
        code: "VALUE_WRONG",
        message: "'gate' can only be none, which says that the phase requires nothing",
        hint: "Write gate: none, or remove it.",
      }),
    }),
    "`none`: the phase is meant to require nothing. No other key may be there then.",
  ),
};

const VALUE_RULE =
  "A rule in CEL that gives the value. It reads artifacts, options, session, plan, and `item` with for_each.";

const valueRule = gateObject({ rule: required(filled, VALUE_RULE) });

/** The keys of a phase that is a workflow of its own. */
const childKeys = {
  workflow: optional(filled, "The type of another workflow: the phase passes when its sessions on that are completed."),
  target: optional(
    said(z.union([filled, valueRule]), {
      words: () => ({ expected: "a path, or an object with a rule", hint: "Write target: {rule: item}, say." }),
    }),
    "What they work on: a path, or {rule: …}. Default: what this session works on.",
  ),
  options: optional(
    z.record(z.string(), z.union([valueRule, anything])),
    "The options that they are started with: values, or {rule: …}. Default: none.",
  ),
  for_each: optional(filled, "A rule in CEL that gives a list: one session for each item. Default: one session."),
  allow_empty: optional(flag, "True if the phase passes where that list is empty. Default: false.", false),
};

/** The keys that mean nothing without `workflow`. */
export const CHILD_KEYS = Object.keys(childKeys).filter((key) => key !== "workflow");

export const gateFile = gateObject({ ...schemaKey, ...gateShape, ...gateKey, ...demands, ...childKeys });

/** gate-definition.yaml of a phase that is a workflow. */
export const childGate = gateObject({
  ...schemaKey,
  ...childKeys,
  checkpoint: optional(gateObject({ allow_override: settings.allow_override }), "Whether the host may let it pass."),
});

/** gate-definition.yaml of a phase that is meant to require nothing. */
export const noGate = gateObject({ ...schemaKey, ...gateKey });

export type WrittenGate = Read<z.infer<typeof stepGate>>;
export type WrittenField = Read<z.infer<typeof field>>;
/** What is written in a gate besides its fields. */
export type WrittenDemands = Read<z.infer<typeof metadataCheckpoint>>;
/** The keys that are in a gate file, and in a checkpoint. */
export type DemandKey = keyof typeof demands;
export type WrittenRule = Read<z.infer<typeof rule>>;
export type WrittenCheck = string | z.infer<typeof verifier>;

/** The name under which each key is pinned as it is written; `read` where the reader makes something else of it. */
type PinnedAs<Written, Pinned> = Readonly<Record<keyof Written, keyof Pinned | "read">>;

const fieldPinnedAs: PinnedAs<WrittenField, FieldDefinition> = {
  type: "read",
  required: "read",
  description: "description",
  example: "example",
  allow_example: "allowExample",
  waivable: "waivable",
  validator: "read",
  validator_params: "read",
  verify: "read",
};

const gatePinnedAs: PinnedAs<WrittenDemands, FieldGate> = {
  strict: "read",
  allow_override: "allowOverride",
  validators: "read",
  cross_field_validation: "read",
  verify: "read",
  approval: "read",
  reveal: "reveal",
  required_evidence: "read",
};

const keptFieldSchema = z.partial(fieldSchema);
const keptGateSchema = z.partial(fieldGateSchema);

/** Returns what is pinned of a field as it is written. */
export function keptOfField(written: WrittenField): Partial<FieldDefinition> {
  return keptFieldSchema.parse(kept(field, fieldPinnedAs, written));
}

/** Returns what is pinned of a gate as it is written, at its top or in its checkpoint. */
export function keptOfGate(written: WrittenDemands): Partial<FieldGate> {
  return keptGateSchema.parse(kept(metadataCheckpoint, gatePinnedAs, written));
}

/** A flag that is as by default is left out. */
function kept(schema: z.core.$ZodObject, pinnedAs: Readonly<Record<string, string>>, written: object): object {
  const entries = Object.entries(written).flatMap(([key, value]): [string, unknown][] => {
    const name = pinnedAs[key];
    const inner = schema._zod.def.shape[key];
    const preset = inner && z.globalRegistry.get(inner)?.default;
    const isPreset = typeof value === "boolean" && value === preset;
    return name === undefined || name === "read" || isPreset ? [] : [[name, value]];
  });
  return Object.fromEntries(entries);
}
