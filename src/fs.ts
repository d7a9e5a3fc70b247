/**
 * Workflows and sessions in folders, and targets that stay in theirs. Needs Node's file system.
 *
 * @packageDocumentation
 */

export { FilePlans, FileTexts } from "./content/file-plans.js";
export { FileContent, type FileContentOptions } from "./content/files.js";
export { type LoadedWorkflow, type LoadWorkflowOptions, loadWorkflow } from "./content/load-workflow.js";
export { createProjectRoot, type ProjectRoot } from "./sandbox/sandbox.js";
export type { FileSystem } from "./storage/files/file-system.js";
export { FileStorage, type FileStorageOptions } from "./storage/files/storage.js";
