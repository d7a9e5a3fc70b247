import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

/** A folder where a sync costs nothing, if there is one: on a disk, tests wait for thousands of syncs. */
const MEMORY = "/dev/shm";

/** Places the temporary files of a run in one folder: in memory, or in the long form on the disk. */
export function setup({ config }: TestProject): () => void {
  const isLong = config.env.PHASEGATE_LONG === "1";
  const folder = mkdtempSync(join(!isLong && existsSync(MEMORY) ? MEMORY : tmpdir(), "phasegate-run-"));
  // The user of the PostgreSQL server needs access.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  process.env.PHASEGATE_RUN = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
