/** Describes the evidence for a gate, as a JSON Schema and as names, as far as the gate's `reveal` setting allows. */
import type { JsonObject, JsonValue } from "../workflow/json.js";
import type {
  FieldDefinition,
  FieldGate,
  FieldType,
  GateDefinition,
  PlanGate,
  RuleDefinition,
  SchemaGate,
  VerifyDefinition,
} from "../workflow/structure.js";
import { checksOf, proofsOf, revealOf, WHOLE, wholeChecks } from "./check-gate.js";
import { fieldsOf, propertiesOf } from "./fields.js";
import { checkedFields, ITEMS_FIELD, requiredItems, TASKS_FIELD } from "./plan-gate.js";
import type { Problem, Verdict } from "./verdict.js";

/** The format of a claim with its proof, as a JSON Schema. */
export const PROOF_FORMAT = {
  type: "object",
  properties: {
    claim: { const: true },
    proof: { type: "string", description: "where it can be seen: a file, a command, a line" },
  },
  required: ["claim", "proof"],
} as const satisfies JsonObject;

/** Returns the format of a claim with its proof, with the description of the claim. */
export function proofFormat({ description }: JsonObject): JsonObject {
  return description === undefined ? PROOF_FORMAT : { ...PROOF_FORMAT, description };
}

/** Returns what a gate expects as a JSON Schema, as far as the gate reveals it. */
export function requiredFormat(gate: GateDefinition): JsonObject {
  switch (revealOf(gate)) {
    case "none":
      return { type: "object" };
    case "names": {
      const properties = namesOf(gate).map((name) => [name, proofsOf(gate).includes(name) ? PROOF_FORMAT : {}]);
      return { type: "object", properties: Object.fromEntries(properties) };
    }
    default:
      return fullFormat(gate);
  }
}

/** Returns problems as agents are shown them: without examples, which would be copied. */
export function withoutExamples(problems: readonly Problem[]): Problem[] {
  return problems.map(({ example: _, ...problem }) => problem);
}

/** Returns true if a value is `true`, or has that inside. */
function holdsClaim(value: JsonValue): boolean {
  return value === true || (typeof value === "object" && value !== null && Object.values(value).some(holdsClaim));
}

/** Returns the names of the fields that a gate expects, required ones first; empty where they are unknown or hidden. */
export function evidenceNames(gate: GateDefinition): readonly string[] {
  return revealOf(gate) === "none" ? [] : namesOf(gate);
}

/** Returns the names of the fields that a gate requires; empty where they are unknown or hidden. */
export function requiredNames(gate: GateDefinition): readonly string[] {
  const fields = revealOf(gate) === "none" ? [] : fieldsOf(gate);
  return fields.filter(({ required }) => required).map(({ name }) => name);
}

function namesOf(gate: GateDefinition): readonly string[] {
  const fields = fieldsOf(gate).toSorted((one, other) => Number(other.required) - Number(one.required));
  return fields.map(({ name }) => name);
}

/**
 * Returns the outcome of a gate as telemetry gets it. A problem names a field that the gate has: any other name is a key of
 * the evidence, which is in no metric.
 */
export function measuredOutcome(gate: GateDefinition, verdict: Verdict) {
  const names = namesOf(gate);
  const isOwn = (field: string) => field === "" || names.some((name) => field === name || field.startsWith(`${name}.`));
  const problems = verdict.passed ? [] : verdict.problems;
  return { problems: problems.map(({ field, problem }) => ({ field: isOwn(field) ? field : "_OTHER", problem })) };
}

function fullFormat(gate: GateDefinition): JsonObject {
  switch (gate.kind) {
    case "schema":
      return schemaFormat(gate);
    case "fields":
      return fieldsSchema(gate);
    case "plan":
      return planFormat(gate);
    case "open":
      return { type: "object" };
  }
}

/**
 * Describes the fields of a gate as a JSON Schema (2020-12). `rules` and `verified_by` are our own
 * keywords, which validators ignore: the rules that must hold, and what is verified regardless of the
 * evidence.
 */
function fieldsSchema(gate: FieldGate): JsonObject {
  const { fields, rules = [] } = gate;
  const required = fields.filter((field) => field.required).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(
      fields.map((field) => {
        const schema = fieldSchema(field, checksOfField(gate, field.name));
        return [field.name, proofsOf(gate).includes(field.name) ? proofFormat(schema) : schema];
      }),
    ),
    ...(required.length === 0 ? {} : { required }),
    ...rulesOf(rules),
    ...verifiedBy(gate),
  };
}

/** Adds to the schema that a host has given what is verified besides. */
function schemaFormat(gate: SchemaGate): JsonObject {
  const { jsonSchema = { type: "object" } } = gate;
  if (checksOf(gate).length === 0) return jsonSchema;
  const properties = [...propertiesOf(jsonSchema)].map(([name, schema]): [string, JsonObject] => [
    name,
    { ...schema, ...verifiedIn(checksOfField(gate, name)) },
  ]);
  const whole: JsonObject = { ...jsonSchema, ...verifiedBy(gate) };
  return properties.length === 0 ? whole : { ...whole, properties: Object.fromEntries(properties) };
}

function checksOfField(gate: GateDefinition, name: string): string[] {
  const checks = checksOf(gate).filter(({ field }) => field === name);
  return checks.map(inWordsOf);
}

function verifiedIn(checks: readonly string[]): JsonObject {
  return checks.length === 0 ? {} : { verified_by: [...checks] };
}

/** By its number, each check has the name that a waiver and the results of a submission give to it. */
function verifiedBy(gate: GateDefinition): { readonly verified_by?: JsonObject } {
  const whole = wholeChecks(gate).map(([name, check]) => [name.slice(WHOLE.length), inWordsOf(check)]);
  return whole.length === 0 ? {} : { verified_by: Object.fromEntries(whole) };
}

function inWordsOf({ verifier, description }: VerifyDefinition): string {
  return description === undefined ? verifier : `${verifier}: ${description}`;
}

const TYPES: Record<FieldType, JsonObject> = {
  boolean: { type: "boolean" },
  integer: { type: "integer" },
  number: { type: "number" },
  string: { type: "string" },
  object: { type: "object" },
  list: { type: "array" },
  any: {},
};

function fieldSchema(
  { type, required, description, example, rules = [] }: FieldDefinition,
  checks: string[],
): JsonObject {
  return {
    ...TYPES[type],
    // A claim must be true to count.
    ...(type === "boolean" && required ? { const: true } : {}),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined || holdsClaim(example) ? {} : { examples: [example] }),
    ...rulesOf(rules),
    ...verifiedIn(checks),
  };
}

function rulesOf(rules: readonly RuleDefinition[]): JsonObject {
  return rules.length === 0 ? {} : { rules: rules.map(({ source, message }) => message ?? source) };
}

const ITEMS_FORMAT = "whether each item holds, by its number: a boolean";

/** Describes the validation items by number, which is how they are claimed. */
function planFormat(gate: PlanGate): JsonObject {
  const items = requiredItems(gate);
  const description =
    "the ids of the tasks that are done, apart from those that you have noted with complete_task, which count already; optional and waived tasks may be missing";
  const checked = Object.entries(checkedFields(gate)).map(([name, about]) => [
    name,
    { type: "object", required: true, description: about },
  ]);
  const each = gate.proofs && PROOF_FORMAT;
  return {
    [TASKS_FIELD]: { type: "list", required: true, description },
    ...(Object.keys(items).length === 0
      ? {}
      : { [ITEMS_FIELD]: { type: "object", required: true, description: ITEMS_FORMAT, items, each } }),
    ...Object.fromEntries(checked),
    ...verifiedBy(gate),
  };
}
