import { isTicked } from "./checkboxes.js";
import type { Dialect } from "./dialects.js";
import type { TaskDraft } from "./drafts.js";
import type { TaskState } from "./plan.js";
import type { PlanReport } from "./report.js";

/** What the checkbox says; without one, what its status says, or its criteria. */
export function stateOf(draft: TaskDraft, { tilde }: Dialect, report: PlanReport): TaskState {
  const { checkbox, status, criteria } = draft;
  if (checkbox === undefined) {
    if (status !== undefined && /^\W*(?:complete|done|finished)/i.test(status)) return "done";
    if (status !== undefined && /^\W*(?:in[ -]progress|started|wip)/i.test(status)) return "in_progress";
    if (status !== undefined && /^\W*blocked/i.test(status)) return "blocked";
    return criteria.length > 0 && criteria.every(({ checked }) => checked) ? "done" : "pending";
  }
  const { mark, position } = checkbox;
  if (mark === "") return "pending";
  if (isTicked(mark)) return "done";
  if (mark === "-" || mark === "/") return "in_progress";
  if (mark === "~") return tilde;
  report.warn(
    "STATE_UNKNOWN",
    position,
    `'[${mark}]' says nothing; the task counts as open`,
    "Write [ ], [x], [-] or [~].",
  );
  return "pending";
}
