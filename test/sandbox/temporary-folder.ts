import { rmSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/**
 * Creates a folder for one test, and returns its real path. It is deleted after the test, once servers that the test
 * started later were stopped: a running server would create files in it.
 */
export async function temporaryFolder(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "phasegate-")));
  onTestFinished(async () => {
    try {
      // A fifth of the processor time of `rm`.
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // Something was written meanwhile.
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  });
  return folder;
}
