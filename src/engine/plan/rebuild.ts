import type { WorkflowStructure } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { PlanChange } from "../../session/plan-changes.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { buildPhases, checkPinned } from "./build-phases.js";
import { type Comparison, comparePlan } from "./compare-plan.js";
import { planPin, type UsablePlan, usablePlan } from "./pin-plan.js";
import { takenAway } from "./taken-away.js";

/** A structure for a session under way, with what is different about it. */
export interface Rebuilt extends Comparison {
  readonly structure: WorkflowStructure;
  /** What its gates from the current phase on ask for no more. */
  readonly takenAway: readonly PlanChange[];
  /** The phases from the current one on that are still there: their places before and now. */
  readonly places: readonly (readonly [from: number, to: number])[];
}

/**
 * The structure that a session would have with its plan as it is now: phases that are done as they were,
 * those from the current one on as the plan has them. `base` gives everything else: the static phases,
 * and how plans are read.
 */
function rebuild(base: WorkflowStructure, pinned: WorkflowStructure, position: number, usable: UsablePlan): Rebuilt {
  const comparison = comparePlan(pinned, position, usable.reading.plan);
  const { matches, done, ahead, shift } = comparison.arrangement;
  const { plan: _, ...rest } = base;
  const statics = base.phases.filter(({ plan }) => plan === undefined);
  const phases = [...statics, ...done, ...buildPhases(ahead, shift, usable.revisions)];
  const startPhase = statics.length === 0 ? pinned.startPhase : base.startPhase;
  const structure = { ...rest, startPhase, phases, plan: planPin(usable, shift) };
  checkPinned(structure, usable.source.path);
  const places = pinned.phases.flatMap((phase, from) => {
    if (from < position) return [];
    if (phase.plan === undefined) return [[from, from] as const];
    const now = matches.get(phase);
    const at = now === undefined ? -1 : ahead.indexOf(now);
    return at < 0 ? [] : [[from, statics.length + done.length + at] as const];
  });
  return { ...comparison, structure, places, takenAway: takenAway(pinned, structure, position) };
}

/** A session's structure with its plan read anew; `base` is the pinned one, or a newer definition of its workflow. */
export async function rereadPlan(
  context: EngineContext,
  { head }: PhasedSession,
  pinned: WorkflowStructure,
  base: WorkflowStructure,
  operation: "syncPlan" | "migrate",
): Promise<Rebuilt> {
  if (pinned.plan === undefined || base.dynamic === undefined) throw noPlan(head.phase, pinned, operation);
  const usable = await usablePlan(context, base, base.dynamic, pinned.plan.path, true);
  return rebuild(base, pinned, head.position, usable);
}

function noPlan(phase: number, { plan }: WorkflowStructure, operation: string): PhasegateError<"NOT_ALLOWED"> {
  const what =
    plan === undefined ? "this session's phases come out of no plan" : "its workflow reads no plans any more";
  return new PhasegateError("NOT_ALLOWED", `${operation} is not possible: ${what}`, {
    remedy: "Go on with the session as it is, or start a new one.",
    details: { phase, operation },
  });
}
