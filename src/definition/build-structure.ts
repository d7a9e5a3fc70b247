import type { StandardSchemaV1 } from "@standard-schema/spec";
import { revisionOf } from "./digest.js";
import { isJsonObject, type JsonObject } from "./json.js";
import type { GateDefinition, PhaseDefinition, SchemaGate, TaskDefinition, WorkflowStructure } from "./structure.js";
import type { GateInput, PhaseInput, TaskInput, TextInput, WorkflowInput } from "./workflow-input.js";

/** The plain-JSON part of a workflow in code; keys that were not given are left out. */
export function buildStructure(input: WorkflowInput): WorkflowStructure {
  const { type, revision, name, description, version = "1", phases, startPhase, ...rest } = input;
  return {
    type,
    version,
    revision,
    name,
    description,
    ...optional("category", rest.category),
    ...optional("estimatedDuration", rest.estimatedDuration),
    ...optionalList("targetLanguages", rest.targetLanguages),
    ...optionalList("artifacts", rest.artifacts),
    ...optionalList("prerequisites", rest.prerequisites),
    ...optionalList("tags", rest.tags),
    startPhase: startPhase ?? phases[0]?.number ?? 0,
    phases: phases.map(buildPhase),
  };
}

function buildPhase(phase: PhaseInput): PhaseDefinition {
  return {
    number: phase.number,
    name: phase.name,
    ...optional("purpose", phase.purpose),
    ...optional("estimatedEffort", phase.estimatedEffort),
    ...optionalList("keyDeliverables", phase.keyDeliverables),
    ...optionalList("validationCriteria", phase.validationCriteria),
    skippable: phase.skippable ?? false,
    tasks: (phase.tasks ?? []).map(buildTask),
    gate: buildGate(phase.gate),
    ...textRevision(phase.content),
  };
}

function buildTask(task: TaskInput, index: number): TaskDefinition {
  return {
    number: task.number ?? index + 1,
    name: task.name,
    ...optional("purpose", task.purpose),
    ...textRevision(task.content),
  };
}

function buildGate(gate: GateInput | undefined): GateDefinition {
  if (gate === undefined) return { kind: "open", allowOverride: false };
  return {
    kind: "schema",
    allowOverride: gate.allowOverride ?? false,
    ...optional("jsonSchema", jsonSchemaOf(gate.evidence)),
    ...optional("example", gate.example),
    ...demandsOf(gate),
  };
}

function demandsOf({ verify, approval, reveal }: GateInput): Pick<SchemaGate, "verify" | "approval" | "reveal"> {
  return {
    ...optional(
      "verify",
      verify?.map(({ verifier, params, field }) => ({ verifier, params: params ?? {}, ...optional("field", field) })),
    ),
    ...(approval === undefined
      ? {}
      : { approval: { prompt: approval.prompt, ...optionalList("approvers", approval.approvers) } }),
    ...optional("reveal", reveal),
  };
}

/** A function's text is read when it is asked for, so it has no revision to compare with. */
function textRevision(content: TextInput): { textRevision?: string } {
  return typeof content === "string" ? { textRevision: revisionOf(content) } : {};
}

/**
 * The JSON Schema of what a Standard Schema takes, where its library gives one (standardschema.dev,
 * "Standard JSON Schema"). It shows agents what is wanted and is no part of the check, so a schema
 * that has none, or says that it can't be expressed as one, is simply shown without.
 */
function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  const standard: object = schema["~standard"];
  if (!("jsonSchema" in standard) || !isConverter(standard.jsonSchema)) return undefined;
  try {
    const found: unknown = JSON.parse(JSON.stringify(standard.jsonSchema.input({ target: "draft-2020-12" })));
    if (!isJsonObject(found)) return undefined;
    // The dialect is always the same, and every word of this is read by an agent.
    delete found.$schema;
    return withoutSafeBounds(found);
  } catch {
    return undefined;
  }
}

function isConverter(value: unknown): value is { input(options: { target: string }): unknown } {
  return typeof value === "object" && value !== null && "input" in value && typeof value.input === "function";
}

function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  const entry: { [P in K]?: V } = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}

function optionalList<K extends string>(key: K, value: readonly string[] | undefined): { [P in K]?: string[] } {
  return optional(key, value === undefined ? undefined : [...value]);
}

/** Every integer has the bounds of safe ones, which tell nobody anything. */
function withoutSafeBounds(schema: JsonObject): JsonObject {
  const text = JSON.stringify(schema, (key, value: unknown) => {
    const isBound = key === "minimum" || key === "maximum";
    return isBound && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value;
  });
  return JSON.parse(text);
}
