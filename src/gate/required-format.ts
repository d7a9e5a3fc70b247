import { exampleOf } from "../definition/field-types.js";
import { isJsonObject, type JsonObject } from "../definition/json.js";
import type { GateDefinition, PlanGate } from "../definition/structure.js";
import { planGateExample } from "./check-plan-gate.js";
import { ITEMS_FIELD } from "./check-plan-items.js";
import { TASKS_FIELD } from "./claimed-ids.js";
import { fieldsSchema } from "./fields-schema.js";
import { exampleBy } from "./json-schema-hints.js";
import { revealOf } from "./reveal.js";

/** What a gate asks for, as a JSON Schema; as much of it as the gate reveals. */
export function requiredFormat(gate: GateDefinition): JsonObject {
  switch (revealOf(gate)) {
    case "none":
      return { type: "object" };
    case "names":
      return { type: "object", properties: Object.fromEntries(namesOf(gate).map((name) => [name, {}])) };
    default:
      return fullFormat(gate);
  }
}

function fullFormat(gate: GateDefinition): JsonObject {
  switch (gate.kind) {
    case "open":
      return { type: "object" };
    case "schema":
      return gate.jsonSchema ?? { type: "object" };
    case "fields":
      return fieldsSchema(gate);
    case "plan":
      return planFormat(gate);
  }
}

/** Evidence that a gate would take, as far as the definition tells; nothing where it hides what it asks for. */
export function exampleEvidence(gate: GateDefinition): JsonObject | undefined {
  if (revealOf(gate) !== "fields") return undefined;
  switch (gate.kind) {
    case "open":
      return { summary: "what was done, in words" };
    case "schema":
      return gate.example ?? madeUp(gate.jsonSchema);
    case "fields":
      return Object.fromEntries(
        gate.fields.filter(({ required }) => required).map((field) => [field.name, exampleOf(field)]),
      );
    case "plan":
      return planGateExample(gate);
  }
}

/** The names of the fields that a gate asks for, required ones first; empty where they aren't known, or hidden. */
export function evidenceNames(gate: GateDefinition): readonly string[] {
  return revealOf(gate) === "none" ? [] : namesOf(gate);
}

function namesOf(gate: GateDefinition): readonly string[] {
  switch (gate.kind) {
    case "open":
      return [];
    case "schema":
      return schemaNames(gate.jsonSchema);
    case "fields":
      return [
        ...gate.fields.filter(({ required }) => required),
        ...gate.fields.filter(({ required }) => !required),
      ].map(({ name }) => name);
    case "plan":
      return Object.keys(planGateExample(gate));
  }
}

/** The items of the validation gate by number, as they are claimed. */
function planFormat({ items }: PlanGate): JsonObject {
  const byNumber = Object.fromEntries(items.map((text, index) => [index + 1, text]));
  const description = "the ids of all tasks of this phase";
  return {
    [TASKS_FIELD]: { type: "list", required: true, description },
    ...(items.length === 0 ? {} : { [ITEMS_FIELD]: { type: "object", required: true, items: byNumber } }),
  };
}

function madeUp(schema: JsonObject | undefined): JsonObject | undefined {
  const example = schema === undefined ? undefined : exampleBy(schema);
  return isJsonObject(example) ? example : undefined;
}

function schemaNames(schema: JsonObject | undefined): string[] {
  const required = schema?.required;
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
  const properties = schema?.properties;
  const all = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  return [...new Set([...names, ...all])];
}
