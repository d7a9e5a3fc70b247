import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { WorkflowStructure } from "./structure.js";

/**
 * A definition that an engine can run: its structure, and the evidence schemas that exist only as
 * code, by phase number.
 */
export interface WorkflowDefinition {
  readonly structure: WorkflowStructure;
  readonly schemas: ReadonlyMap<number, StandardSchemaV1>;
}
