import { shown } from "../names.js";
import type { PhaseDefinition } from "../structure.js";
import type { PhaseClaims } from "./metadata.js";
import type { ObjectReader } from "./object-reader.js";
import type { Report } from "./report.js";

/** How many numbers of phases a hint lists. */
const LISTED_MAX = 20;

/**
 * Compares the phases that there are with how many the metadata says there are. A phase that is missing
 * is work that nobody would ask for, and a gate that nobody would stand at: an error. One more than was
 * said is run like the others, so that nothing is passed over: a warning.
 */
export function checkCounts(
  claims: PhaseClaims,
  phases: readonly PhaseDefinition[],
  metadata: ObjectReader,
  report: Report,
): void {
  if (phases.length === 0 && claims.counts.length === 0 && claims.dynamic) return;
  if (phases.length === 0) {
    const hint = "Write phases/1/phase.md, and what the phase is into metadata.json.";
    report.error("PHASES_MISSING", metadata.place("phases"), "the workflow has no phase", hint);
    return;
  }
  // An entry that can't be read is reported where it stands.
  if (claims.list !== undefined && phases.length < claims.list.length) return;
  for (const [key, count] of claims.counts) {
    const there = phases.length === 1 ? "is 1 phase" : `are ${phases.length} phases`;
    const message = `${shown(key)} says ${count}, but there ${there}`;
    const write = `"${key}": ${phases.length}`;
    if (count > phases.length) {
      const hint = `Add the phases that are missing beside ${numbersOf(phases)}, or write ${write}.`;
      report.error("PHASE_COUNT", metadata.place(key), message, hint);
    } else if (count < phases.length) {
      report.warn("PHASE_COUNT", metadata.place(key), message, `Write ${write}.`);
    }
  }
}

function numbersOf(phases: readonly PhaseDefinition[]): string {
  const numbers = phases.slice(0, LISTED_MAX).map(({ number }) => number);
  return [...numbers, ...(phases.length > LISTED_MAX ? ["…"] : [])].join(", ");
}
