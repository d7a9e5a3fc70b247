import type { PhaseDefinition } from "../../definition/structure.js";
import type { PlanPhase } from "../../plan/plan.js";

/** Which phase of a plan is which of a session's: by its number and name, then its name, then its number. */
export type PhaseMatches = ReadonlyMap<PhaseDefinition, PlanPhase>;

/** Finds the phases of a session, as far as they come out of a plan, in that plan as it is now. */
export function matchPhases(pinned: readonly PhaseDefinition[], live: readonly PlanPhase[]): PhaseMatches {
  const matches = new Map<PhaseDefinition, PlanPhase>();
  const taken = new Set<PlanPhase>();
  const rules: readonly ((phase: PhaseDefinition, candidate: PlanPhase) => boolean)[] = [
    (phase, { number, name }) => phase.plan?.number === number && phase.name === name,
    (phase, { name }) => phase.name === name,
    (phase, { number }) => phase.plan?.number === number,
  ];
  for (const rule of rules) {
    for (const phase of pinned) {
      if (phase.plan === undefined || matches.has(phase)) continue;
      const found = live.filter((candidate) => !taken.has(candidate) && rule(phase, candidate));
      // A name that several phases have says nothing.
      if (found.length !== 1 || found[0] === undefined) continue;
      matches.set(phase, found[0]);
      taken.add(found[0]);
    }
  }
  return matches;
}
