import { chmodSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import type { TestProject } from "vitest/node";

/** Where a sync costs nothing, if there is such a place: on a disk, stores and databases wait for thousands. */
const MEMORY = "/dev/shm";

/** Puts the temporary files of a run into one folder in memory; those of the long form go to the disk. */
export function setup({ config }: TestProject): (() => void) | undefined {
  if (config.env.PHASEGATE_LONG === "1" || !existsSync(MEMORY)) return undefined;
  const folder = mkdtempSync(`${MEMORY}/phasegate-`);
  // The user that the PostgreSQL server runs as must get through.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
