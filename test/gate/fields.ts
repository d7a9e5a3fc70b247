import type { FieldDefinition, FieldGate } from "../../src/workflow/structure.js";

/** A required boolean called `done`, with what a test says otherwise. */
export function field(parts: Partial<FieldDefinition> = {}): FieldDefinition {
  return { name: "done", type: "boolean", required: true, ...parts };
}

/** A strict gate of a gate file that asks for these fields. */
export function fieldGate(fields: FieldDefinition[], parts: Partial<FieldGate> = {}): FieldGate {
  return { kind: "fields", strict: true, allowOverride: false, source: "gate-file", fields, ...parts };
}
