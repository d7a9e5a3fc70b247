import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Where a sync costs nothing, if there is such a place: for tests that open hundreds of stores. */
const MEMORY = "/dev/shm";

/** Gives folders that are deleted after the tests of a file. */
export function temporaryRoots({ inMemory = false } = {}): () => Promise<string> {
  const parent = inMemory && existsSync(MEMORY) ? MEMORY : tmpdir();
  const roots: string[] = [];
  afterAll(async () => {
    for (const root of roots) await rm(root, { recursive: true, force: true });
  });
  return async () => {
    const root = await mkdtemp(join(parent, "phasegate-"));
    roots.push(root);
    return root;
  };
}
