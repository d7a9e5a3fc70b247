/**
 * Workflows put together: several content sources as one, and a workflow in code as the files of a folder. Needs nothing of
 * Node's; `loadWorkflow` of `phasegate/fs` reads a folder into code.
 *
 * @packageDocumentation
 */

export { type CombineContentOptions, combineContent } from "./content/combine.js";
export { extendWorkflow } from "./workflow/files/extend-workflow.js";
export type { ChangedPhase, GateAddition, PhaseChange, WorkflowExtension } from "./workflow/files/extension-input.js";
export { workflowToFiles } from "./workflow/files/write-workflow.js";
