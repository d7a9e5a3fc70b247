import { canonicalJson } from "../../definition/canonical-json.js";
import type { PhaseDefinition, WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError } from "../../errors.js";
import { RecentMap } from "../../kernel/recent-map.js";
import type { Plan } from "../../plan/plan.js";
import { type Arrangement, arrangePhases } from "./arrange-phases.js";
import { buildPhases } from "./build-phases.js";
import { diffPlan } from "./diff-plan.js";
import type { KindOfChange, PlaceOf } from "./plan-difference.js";

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
  const before = structure.phases.filter((phase, place) => place >= position && phase.plan !== undefined);
  const after = buildPhases(ahead, shift, { phase: "", task: "" });
  return { arrangement, changes, matters: asked(before) !== asked(after) };
}

/** All that a session would ask for: ticks in the plan and the state of templates are no part of it. */
function asked(phases: readonly PhaseDefinition[]): string {
  return canonicalJson(
    phases.map(({ textRevision: _, tasks, ...phase }) => ({
      ...phase,
      tasks: tasks.map(({ textRevision: __, plan, ...task }) => ({ ...task, plan: { ...plan, state: "" } })),
    })),
  );
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
    const { changes, matters } = comparePlan(structure, position, plan);
    return matters ? changes.filter(({ behind }) => behind !== true) : [];
  } catch (error) {
    if (isPhasegateError(error, "NOT_ALLOWED")) return "gone";
    throw error;
  }
}
