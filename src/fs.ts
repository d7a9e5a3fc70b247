/**
 * Workflows and sessions in folders, and targets that stay in theirs. Needs Node's file system.
 *
 * @packageDocumentation
 */
export { FileContent, type FileContentOptions } from "./adapters/fs/content/file-content.js";
export { FileTexts, type FileTextsOptions } from "./adapters/fs/content/file-texts.js";
export { FilePlans, type FilePlansOptions } from "./adapters/fs/plans/file-plans.js";
export { FileStorage, type FileStorageOptions } from "./adapters/fs/storage/file-storage.js";
export type { FileSystem } from "./adapters/fs/storage/reading-disk.js";
export { createProjectRoot, type ProjectRoot } from "./walls/project-root.js";
