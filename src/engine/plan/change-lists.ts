import { PLAN_CHANGE_KINDS, type PlanChangeKind, type PlanChanges } from "../../session/plan-changes.js";
import type { KindOfChange } from "./plan-difference.js";

/** How many differences of a kind are listed. */
const LISTED_MAX = 100;

/** The differences by kind, as they are told and kept. */
export function changesByKind(changes: readonly KindOfChange[]): PlanChanges {
  const of = (kind: PlanChangeKind) =>
    changes
      .filter((change) => change.kind === kind)
      .slice(0, LISTED_MAX)
      .map(({ kind: _, ...change }) => change);
  return {
    added: of("added"),
    removed: of("removed"),
    renamed: of("renamed"),
    moved: of("moved"),
    dependencies: of("dependencies"),
    criteria: of("criteria"),
    gate: of("gate"),
    other: of("other"),
    count: changes.length,
  };
}

/** The differences in a line: `2 added, 1 renamed`. */
export function summaryOf(changes: readonly KindOfChange[]): string {
  const counted = PLAN_CHANGE_KINDS.map(
    (kind) => [kind, changes.filter((change) => change.kind === kind).length] as const,
  );
  const words: Partial<Record<PlanChangeKind, string>> = {
    dependencies: "with other dependencies",
    criteria: "with other criteria",
    gate: "with another validation gate",
    other: "changed otherwise",
  };
  return counted.flatMap(([kind, count]) => (count === 0 ? [] : [`${count} ${words[kind] ?? kind}`])).join(", ");
}
