/** How differences between a session and its plan are said. */
import type { PhaseDefinition } from "../../definition/structure.js";
import type { PlanPhase } from "../../plan/plan.js";
import type { PlanChange, PlanChangeKind } from "../../session/plan-changes.js";

/** One difference, with its kind. */
export type KindOfChange = PlanChange & { readonly kind: PlanChangeKind };

/** A phase as it was pinned, or, where the session has none such, as the plan has it. */
export type EitherPhase = PhaseDefinition | PlanPhase;

/** Where a phase lies, in the numbers of the session. */
export type PlaceOf = (phase: EitherPhase) => Pick<PlanChange, "phase" | "behind">;

/** Says a difference of something whose place is known. */
export type Say = (kind: PlanChangeKind, change: Omit<PlanChange, "phase">) => void;

/** Says a difference of a phase or of a task in it; `from` is the phase that a task was in before. */
export type SayOf = (
  kind: PlanChangeKind,
  of: EitherPhase,
  change: Omit<PlanChange, "phase">,
  from?: EitherPhase,
) => void;

/** Collects what is said. It lies behind the session only if both ends of it do. */
export function collector(changes: KindOfChange[], placeOf: PlaceOf): SayOf {
  return (kind, of, change, from = of) => {
    const { phase, behind } = placeOf(of);
    const isBehind = behind === true && placeOf(from).behind === true;
    changes.push({ kind, phase, ...(isBehind ? { behind: true } : {}), ...change });
  };
}

/** Lists in a few words: what was taken out, what was put in. */
export function countOf(before: readonly string[], after: readonly string[]): { from: string; to: string } {
  const gone = before.filter((text) => !after.includes(text)).length;
  const come = after.filter((text) => !before.includes(text)).length;
  return { from: `${before.length}, ${gone} of them gone`, to: `${after.length}, ${come} of them new` };
}
