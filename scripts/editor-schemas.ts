/**
 * The JSON Schemas that the package ships for editors, by file name: those by which the readers read, with what only an
 * editor is told, such as the parameters of the built-in verifiers.
 */
import * as z from "zod";
import { ZodMiniOptional } from "zod/mini";
import { BUILT_IN } from "../src/verifiers/create-verifiers.js";
import type { VerifierName } from "../src/workflow/built-in-verifiers.js";
import { takesNull } from "../src/workflow/file-schema.js";
import { extensionFile } from "../src/workflow/files/extension-schema.js";
import { demands, gateFile, verifier } from "../src/workflow/files/gate-schema.js";
import { metadataFile } from "../src/workflow/files/metadata.js";
import { bundleFile } from "../src/workspace/bundles/bundle.js";

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
const TOGETHER: Readonly<Partial<Record<string, object>>> = {
  changed_since_phase_start: oneOf("path", "paths", "within"),
  unchanged_since_phase_start: oneOf("path", "paths"),
  command: RUN,
  fails_without: {
    ...RUN,
    if: { required: ["except"] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ["files"], properties: { files: { const: "changed" } } },
  },
} satisfies Partial<Record<VerifierName, object>>;

/** A key with a demand: `verify: false` demands nothing. */
const asks = (key: string) => ({
  required: [key],
  properties: { [key]: { not: { enum: [null, false, []] } } },
});

/** What goes together in each file, in keywords that zod has no word for. */
const FILES: Readonly<Record<string, readonly [z.core.$ZodType, object]>> = {
  "metadata.json": [
    z.union([extensionFile, metadataFile]),
    {
      title: "phasegate: metadata.json",
      description: "A phased workflow: what it is for, and its phases; or in what it differs from another one.",
    },
  ],
  "gate-definition.json": [
    gateFile,
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
        else: {
          if: { required: ["workflow"] },
          else: {
            required: ["evidence_schema"],
            properties: { evidence_schema: { type: "object", minProperties: 1 } },
          },
        },
      },
    },
  ],
  "bundle.json": [
    bundleFile,
    {
      title: "phasegate: bundle.yaml",
      description: "Agents and their workflows, for a workspace.",
      if: { properties: { type: { const: "standalone" } }, required: ["type"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ["agent"], properties: { agent: { type: "object" } } },
      else: { required: ["agents"], properties: { agents: { type: "array" } } },
    },
  ],
};

/** What goes together in a metadata.json that extends no other workflow. */
const WHOLE_WORKFLOW = {
  if: {
    anyOf: [
      { required: ["total_phases"], properties: { total_phases: { not: { type: "null" } } } },
      { required: ["dynamic_phases"], properties: { dynamic_phases: { const: true } } },
    ],
  },
  else: { required: ["phases"], properties: { phases: { not: { type: "null" } } } },
};

/** A JSON Schema as plain JSON. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/** Returns the schemas by file name. */
export function editorSchemas(): Readonly<Record<string, JsonSchema>> {
  const schemas = Object.entries(FILES).map(([name, [schema, together]]) => {
    const converted = convert(schema);
    if (name === "metadata.json") branch(converted, { required: ["extends"] }, WHOLE_WORKFLOW);
    return [name, { ...converted, ...together }] as const;
  });
  return withoutRepeats(Object.fromEntries(schemas));
}

/** Lets metadata.json refer to the parts that it shares with a gate file, most of both. */
function withoutRepeats({ "metadata.json": metadata = {}, ...others }: Record<string, JsonSchema>) {
  const shared = Object.keys(others["gate-definition.json"]?.definitions ?? {});
  const own = Object.entries(metadata.definitions ?? {}).filter(([name]) => !shared.includes(name));
  const text = JSON.stringify({ ...metadata, definitions: Object.fromEntries(own) }, (key, value: unknown) => {
    const [, name] = (key === "$ref" && /^#\/definitions\/(\w+)$/.exec(String(value))) || [];
    return name !== undefined && shared.includes(name) ? `gate-definition.json${value}` : value;
  });
  const parsed: JsonSchema = JSON.parse(text);
  return { "metadata.json": parsed, ...others };
}

/** Draft 7 is the newest that editors know in full. */
function convert(schema: z.core.$ZodType): JsonSchema {
  return z.toJSONSchema(schema, { target: "draft-7", io: "input", unrepresentable: "any", override: rewrite });
}

/** Writes what zod can only say as a choice so that editors report one fault, and not one for each alternative. */
function rewrite({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonSchema }): void {
  const id = z.globalRegistry.get(zodSchema)?.id;
  if (id === "phase")
    branch(jsonSchema, { properties: { phase_number: { type: "string" } }, required: ["phase_number"] });
  if (id === "difference") branch(jsonSchema, { required: ["change"] }, oneOf("before", "after"));
  if (id === "verifier") Object.assign(jsonSchema, { allOf: paramsIn(jsonSchema) });
  if (zodSchema === verifier.shape.verifier) jsonSchema.examples = Object.keys(BUILT_IN);
  // `null`, as in YAML's `key:` with nothing behind it, counts as missing.
  if (zodSchema instanceof ZodMiniOptional && takesNull(zodSchema)) allowNull(jsonSchema);
}

/** A value of two shapes has the first one under a condition, and else the second one, of which `together` says more. */
function branch(schema: JsonSchema, condition: JsonSchema, together: object = {}): void {
  const [first, second] = schema.anyOf ?? [];
  delete schema.anyOf;
  schema.if = condition;
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  Object.assign(schema, { then: first, else: { ...Object(second), ...together } });
}

/** A phase by its number or name, or the start. The reader gives verifiers the number. */
const SINCE: JsonSchema[] = [
  {
    type: "object",
    properties: { phase: { type: ["integer", "string"], description: "The number or the name of an earlier phase." } },
    required: ["phase"],
    additionalProperties: false,
  },
  { type: "string", minLength: 1 },
];

/** Returns the parameters of each built-in verifier, which are checked if it is named; others are up to the host. */
function paramsIn({ properties: { verifier: _, ...about } = {} }: JsonSchema): object[] {
  return Object.entries(BUILT_IN).map(([name, { params, about: checks }]) => {
    const together = TOGETHER[name];
    const part = convert(params);
    delete part.$schema;
    if (typeof part.properties?.since === "object") part.properties.since.anyOf = SINCE;
    return {
      if: { properties: { verifier: { const: name } }, required: ["verifier"] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: {
        ...part,
        properties: { ...part.properties, verifier: { type: "string", const: name, description: checks }, ...about },
        required: [...(part.required ?? []), "verifier"],
        ...(together === undefined ? {} : { allOf: [together] }),
      },
    };
  });
}

/** The keywords that say nothing about `null`; `enum` is given it. */
const BY_TYPE: ReadonlySet<string> = new Set([
  ...["type", "enum", "properties", "required", "additionalProperties", "patternProperties", "propertyNames"],
  ...["items", "minItems", "maxItems", "pattern", "minimum", "maximum"],
]);

/** Lets `null` through, in the same schema where the rest of it does. */
function allowNull(schema: JsonSchema): void {
  const { description, default: preset, ...rest } = schema;
  const keys = Object.keys(rest);
  if (keys.length === 0) return;
  const isPlain = typeof rest.type === "string" && keys.every((key) => BY_TYPE.has(key));
  if (isPlain) {
    Object.assign(schema, rest.enum && { enum: [...rest.enum, null] }, { type: [rest.type, "null"] });
  } else {
    for (const key of keys) delete schema[key];
    const one = keys.length > 1 ? [rest] : (rest.anyOf ?? rest.allOf ?? [rest]);
    schema.anyOf = [...one, { type: "null" }];
  }
}
