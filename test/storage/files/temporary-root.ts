import { mkdtempSync, rmSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Returns a function that creates folders; they are deleted together after the tests of a file. */
export function temporaryRoots(): () => Promise<string> {
  let parent: string | undefined;
  let count = 0;
  afterAll(() => {
    if (parent !== undefined) rmSync(parent, { recursive: true, force: true, maxRetries: 5 });
  });
  return async () => {
    parent ??= mkdtempSync(join(tmpdir(), "phasegate-"));
    count += 1;
    const root = join(parent, `root-${count}`);
    await mkdir(root);
    return root;
  };
}
