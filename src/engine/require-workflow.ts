import { isWorkflowType, shown } from "../definition/names.js";
import { nearest } from "../definition/nearest.js";
import type { WorkflowDefinition } from "../definition/workflow-definition.js";
import { PhasegateError } from "../errors.js";
import type { ResolvedOptions } from "./options.js";

/** The newest definition of a type. Throws `WORKFLOW_NOT_FOUND` with the nearest name. */
export async function requireWorkflow({ content }: ResolvedOptions, type: string): Promise<WorkflowDefinition> {
  const definition = isWorkflowType(type) ? await content.definition(type) : undefined;
  if (definition !== undefined) return definition;
  const types = (await content.list()).map((listing) => listing.type);
  const similar = nearest(String(type), types);
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow of type ${shown(type)}`, {
    remedy: similar === undefined ? "List the workflows to see what there is." : `Did you mean '${similar}'?`,
    details: { workflowType: shown(type), ...(similar === undefined ? {} : { nearest: similar }) },
  });
}
