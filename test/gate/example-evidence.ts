import { ITEMS_FIELD, requiredItems, TASKS_FIELD } from "../../src/gate/plan-gate.js";
import { exampleOf } from "../../src/workflow/field-types.js";
import { isJsonObject, type JsonObject } from "../../src/workflow/json.js";
import { sampleBy } from "../../src/workflow/schema-sample.js";
import type { GateDefinition, SchemaGate } from "../../src/workflow/structure.js";

/** Evidence that a gate would accept, by its examples and samples; undefined where they do not tell. */
export function exampleEvidence(gate: GateDefinition): JsonObject | undefined {
  if (gate.kind === "open") return { summary: "what was done, in words" };
  if (gate.kind === "schema") return ofSchema(gate);
  if (gate.kind === "fields") {
    const required = gate.fields.filter((field) => field.required);
    const examples = required.flatMap((field) => {
      const example = exampleOf(field);
      return example === undefined ? [] : [[field.name, example] as const];
    });
    return examples.length < required.length ? undefined : Object.fromEntries(examples);
  }
  const numbers = Object.keys(requiredItems(gate));
  return {
    [TASKS_FIELD]: gate.tasks.filter(({ optional }) => !optional).map(({ id }) => id),
    ...(numbers.length > 0 && { [ITEMS_FIELD]: Object.fromEntries(numbers.map((number) => [number, true])) }),
  };
}

function ofSchema({ example, sample, jsonSchema }: SchemaGate): JsonObject | undefined {
  if (example !== undefined || jsonSchema === undefined) return example;
  if (sample === undefined) {
    const generated = sampleBy(jsonSchema);
    return isJsonObject(generated) ? generated : undefined;
  }
  if (sample.complete === false) return undefined;
  const { required = [], properties = {} } = jsonSchema;
  const isOptional = (name: string) =>
    isJsonObject(properties) && name in properties && Array.isArray(required) && !required.includes(name);
  return Object.fromEntries(Object.entries(sample.values).filter(([name]) => !isOptional(name)));
}
