/**
 * Workflows and sessions in folders, and targets that stay in theirs. Needs Node's file system.
 *
 * @packageDocumentation
 */
export { FileContent, type FileContentOptions } from "./adapters/fs/file-content.js";
export { FileStorage, type FileStorageOptions } from "./adapters/fs/file-storage.js";
export { createProjectRoot } from "./walls/project-root.js";
