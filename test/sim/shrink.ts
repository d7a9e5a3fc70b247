/**
 * Finds the few choices of a failing run that make it fail. All others become the usual ones, which makes the trace short
 * enough to be read.
 */
import type { Report } from "./world.js";

/** How many runs a search may take. */
const RUNS_MAX = 600;

/** Returns a run with as few unusual choices as possible that fails, too. */
export async function shrink(failed: Report, run: (kept: readonly string[]) => Promise<Report>): Promise<Report> {
  let best = failed;
  let runs = 0;
  for (let size = Math.ceil(best.unusual.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let start = 0; start < best.unusual.length && runs < RUNS_MAX; ) {
      const kept = best.unusual.filter((_, index) => index < start || index >= start + size);
      const found = await run(kept);
      runs += 1;
      // The part was not needed; what was behind it is now in its place.
      if (found.problems.length > 0 && found.unusual.length < best.unusual.length) best = found;
      else start += size;
    }
  }
  return best;
}
