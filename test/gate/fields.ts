import type { FieldDefinition, FieldGate } from "../../src/workflow/structure.js";

/** Returns a required boolean called `done`, with the given changes. */
export function field(parts: Partial<FieldDefinition> = {}): FieldDefinition {
  return { name: "done", type: "boolean", required: true, ...parts };
}

/** Returns a strict gate of a gate file with these fields. */
export function fieldGate(fields: FieldDefinition[], parts: Partial<FieldGate> = {}): FieldGate {
  return { kind: "fields", strict: true, allowOverride: false, source: "gate-file", fields, ...parts };
}
