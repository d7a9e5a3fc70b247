import type { WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError } from "../../errors.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { Plan } from "../../plan/plan.js";
import { type Arrangement, arrangePhases } from "./arrange-phases.js";
import { diffPlan, type KindOfChange, type PlaceOf } from "./diff-plan.js";

/** A plan beside what a session has pinned of it. */
export interface Comparison {
  readonly arrangement: Arrangement;
  readonly changes: readonly KindOfChange[];
  /** Whether the session would be another one for it: not if all that has changed lies behind it. */
  readonly matters: boolean;
}

/** Lays a plan as it is now beside a session. Throws `NOT_ALLOWED` if the current phase is gone from it. */
export function comparePlan(structure: WorkflowStructure, position: number, plan: Plan): Comparison {
  const arrangement = arrangePhases(structure.phases, position, plan.phases);
  const { matches, ahead, shift } = arrangement;
  const placeOf: PlaceOf = (phase) => {
    const isPinned = !("validationGate" in phase);
    const behind = isPinned ? structure.phases.indexOf(phase) < position : !ahead.includes(phase);
    const number = isPinned || behind ? phase.number : phase.number + shift;
    return { phase: number, ...(behind ? { behind } : {}) };
  };
  const changes = diffPlan(structure.phases, plan.phases, matches, placeOf);
  return { arrangement, changes, matters: changes.some(({ behind }) => behind !== true) };
}

const COMPARISONS_KEPT = 16;
const comparisons = new WeakMap<Plan, RecentMap<string, readonly KindOfChange[] | "gone">>();

/**
 * What of a plan has changed for a session, as far as it lies ahead; `gone` if the current phase has
 * gone. `key` names the session's structure: what was compared once is not compared again.
 */
export function changesAhead(
  structure: WorkflowStructure,
  position: number,
  plan: Plan,
  key: string,
): readonly KindOfChange[] | "gone" {
  const known = comparisons.get(plan) ?? new RecentMap<string, readonly KindOfChange[] | "gone">(COMPARISONS_KEPT);
  comparisons.set(plan, known);
  const found = known.get(`${key} ${position}`) ?? compared(structure, position, plan);
  known.set(`${key} ${position}`, found);
  return found;
}

function compared(structure: WorkflowStructure, position: number, plan: Plan): readonly KindOfChange[] | "gone" {
  try {
    return comparePlan(structure, position, plan).changes.filter(({ behind }) => behind !== true);
  } catch (error) {
    if (isPhasegateError(error, "NOT_ALLOWED")) return "gone";
    throw error;
  }
}
