import type { Commit, StorageAdapter } from "../ports/storage-adapter.js";

/** Appends commits one after the other, and gives them back. */
export async function appendAll<const T extends readonly Commit[]>(storage: StorageAdapter, commits: T): Promise<T> {
  for (const commit of commits) await storage.append(commit);
  return commits;
}
