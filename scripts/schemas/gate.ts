/** The schema of gate-definition.yaml, and of the `checkpoint` of a phase in metadata.json. */
import * as z from "zod";
import { params as changedParams } from "../../src/verifiers/changed-since-phase-start.js";
import { params as commandParams } from "../../src/verifiers/command.js";
import type { VerifierName } from "../../src/verifiers/create-verifiers.js";
import { params as withoutParams } from "../../src/verifiers/fails-without.js";
import { containsParams, directoryParams, params as fileParams, matchParams } from "../../src/verifiers/file-exists.js";
import { commitParams, params as gitParams } from "../../src/verifiers/git.js";
import { changedFilesParams, changesParams, sinceParams, tagParams } from "../../src/verifiers/git-changes.js";
import { params as httpParams } from "../../src/verifiers/http-ok.js";
import { params as jsonParams } from "../../src/verifiers/json-value.js";
import { params as lineParams } from "../../src/verifiers/lines.js";
import { headingParams, planParams } from "../../src/verifiers/markdown.js";
import { params as tasksParams } from "../../src/verifiers/tasks-shown.js";
import { params as keptParams } from "../../src/verifiers/tests-kept.js";
import { params as unchangedParams } from "../../src/verifiers/unchanged-since-phase-start.js";
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

/** The parameters of the built-in verifiers as a start reads them, what each checks, and which go together. */
const VERIFIERS: Readonly<Record<VerifierName, readonly [params: z.ZodObject, checks: string, together?: object]>> = {
  file_exists: [fileParams, "Regular files exist and are not empty."],
  directory_exists: [directoryParams, "Folders exist."],
  file_matches: [matchParams, "So many lines of a file match a pattern."],
  file_contains: [containsParams, "A file contains certain texts."],
  markdown_headings: [headingParams, "A Markdown file has so many headings, or certain ones."],
  json_value: [jsonParams, "A value in a JSON file is the expected one."],
  line_exists: [lineParams, "Places that the evidence names, as file:line, exist."],
  plan_parses: [planParams, "A plan can be read without errors."],
  changed_since_phase_start: [
    changedParams,
    "Files have new content since the phase was entered.",
    oneOf("path", "paths", "within"),
  ],
  unchanged_since_phase_start: [
    unchangedParams,
    "Files are as they were when the phase was entered.",
    oneOf("path", "paths"),
  ],
  git_clean: [gitParams, "There are no uncommitted files."],
  git_clean_since_phase_start: [sinceParams, "No file is uncommitted but those that were when the phase was entered."],
  git_changed_since_phase_start: [
    changedFilesParams,
    "There is a new commit, or other uncommitted files, since the phase was entered.",
  ],
  git_tag_exists: [tagParams, "A tag is in the repository."],
  git_changes: [changesParams, "The evidence names exactly the files that differ between two commits."],
  git_commit_exists: [commitParams, "A commit is in the repository."],
  command: [commandParams, "A command that the host allows ends as expected.", RUN],
  fails_without: [
    withoutParams,
    "A command passes, and fails once certain changed files are as they were when the phase was entered.",
    {
      ...RUN,
      if: { required: ["except"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ["files"], properties: { files: { const: "changed" } } },
    },
  ],
  tasks_shown: [tasksParams, "Each claimed task of a plan is shown by changed files, or by lines of files."],
  tests_kept: [keptParams, "The tests that there were are still there, are not turned off, and assert as much."],
  http_ok: [httpParams, "A server that the host allows answers as expected."],
};

const verifierName = filled.meta({
  description: "The name of a verifier: a built-in one, or one that the host has registered.",
  examples: Object.keys(VERIFIERS),
});

const aboutCheck = {
  description: optional(filled, "What it checks, for the agent."),
  waivable: optional(z.boolean(), "`false` if nobody may waive a check of the gate as a whole."),
};

/** A verifier with its parameters. Those of the built-in verifiers are checked; others are up to the host. */
const verifierObject = withKeywords(z.looseObject({ verifier: verifierName, ...aboutCheck }), {
  allOf: Object.entries(VERIFIERS).map(([name, [params, checks, together]]) => ({
    if: { properties: { verifier: { const: name } }, required: ["verifier"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: {
      ...jsonSchemaOf(params.extend({ verifier: z.literal(name).describe(checks), ...aboutCheck })),
      ...(together === undefined ? {} : { allOf: [together] }),
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
