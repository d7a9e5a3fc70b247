import type { PhaseDefinition } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { PlanPhase } from "../../plan/plan.js";
import { shiftAfter } from "./build-phases.js";
import { matchPhases, type PhaseMatches } from "./match-phases.js";

/** How the phases of a plan, as it is now, lie beside those of a session. */
export interface Arrangement {
  readonly matches: PhaseMatches;
  /** Phases out of the plan that are done: they stay as they are. */
  readonly done: readonly PhaseDefinition[];
  /** Phases of the plan from the current one on. */
  readonly ahead: readonly PlanPhase[];
  /** What is added to the plan's own numbers of the phases ahead. */
  readonly shift: number;
}

/**
 * Lays a plan beside a session that stands at a place. What is done stays; the current phase keeps its
 * number, and those ahead follow it. A phase that was put in right before the current one is the
 * current one now; one that was put in before a phase that is done is behind the session.
 */
export function arrangePhases(
  pinned: readonly PhaseDefinition[],
  position: number,
  live: readonly PlanPhase[],
): Arrangement {
  const matches = matchPhases(pinned, live);
  const current = pinned[position];
  if (current?.plan === undefined) {
    const last = pinned.findLast(({ plan }) => plan === undefined);
    return { matches, done: [], ahead: live, shift: shiftAfter(last?.number ?? 0, live) };
  }
  const done = pinned.slice(0, position).filter(({ plan }) => plan !== undefined);
  const isDone = (phase: PlanPhase) => done.some((candidate) => matches.get(candidate) === phase);
  const found = matches.get(current);
  const here = found === undefined ? -1 : live.indexOf(found);
  const from = Math.min(here, live.findLastIndex(isDone) + 1);
  const ahead = live.filter((phase, index) => index >= from && !isDone(phase));
  const first = ahead[0];
  if (here < 0 || first === undefined) throw currentGone(current);
  return { matches, done, ahead, shift: current.number - first.number };
}

function currentGone({ number, name }: PhaseDefinition): PhasegateError<"NOT_ALLOWED"> {
  return new PhasegateError("NOT_ALLOWED", `the plan does not have the current phase ${number}, '${name}', any more`, {
    remedy: "Put the phase back into the plan, or go on with what is pinned: the session needs no sync.",
    details: { phase: number, operation: "syncPlan" },
  });
}
