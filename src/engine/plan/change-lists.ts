import {
  PLAN_CHANGE_KINDS,
  type PlanChange,
  type PlanChangeKind,
  type PlanChanges,
} from "../../session/plan-changes.js";
import type { KindOfChange } from "./plan-difference.js";

/** How many differences of a kind a session's log has. */
const KEPT_MAX = 100;

/** The differences by kind, as they are kept in the log: all counted, so many of them listed. */
export function changesByKind(
  changes: readonly KindOfChange[],
  takenAway: readonly PlanChange[],
  max = KEPT_MAX,
): PlanChanges {
  const of = (kind: PlanChangeKind) => changes.filter((change) => change.kind === kind);
  const list = (kind: PlanChangeKind) =>
    of(kind)
      .slice(0, max)
      .map(({ kind: _, ...change }) => change);
  return {
    added: list("added"),
    removed: list("removed"),
    renamed: list("renamed"),
    moved: list("moved"),
    dependencies: list("dependencies"),
    criteria: list("criteria"),
    gate: list("gate"),
    other: list("other"),
    count: changes.length,
    counts: {
      added: of("added").length,
      removed: of("removed").length,
      renamed: of("renamed").length,
      moved: of("moved").length,
      dependencies: of("dependencies").length,
      criteria: of("criteria").length,
      gate: of("gate").length,
      other: of("other").length,
    },
    takenAway: takenAway.slice(0, max),
  };
}

/** The differences in a line: `2 added, 1 renamed`. */
export function summaryOf(changes: readonly KindOfChange[]): string {
  const { counts } = changesByKind(changes, [], 0);
  const words: Partial<Record<PlanChangeKind, string>> = {
    dependencies: "with other dependencies",
    criteria: "with other criteria",
    gate: "with another validation gate",
    other: "changed otherwise",
  };
  return PLAN_CHANGE_KINDS.filter((kind) => counts[kind] > 0)
    .map((kind) => `${counts[kind]} ${words[kind] ?? kind}`)
    .join(", ");
}
