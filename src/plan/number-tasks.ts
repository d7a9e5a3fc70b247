/** Gives phases their numbers and tasks their ids: each once, and as they are written where that can be. */
import type { PhaseDraft, TaskDraft } from "./drafts.js";
import type { PlanPosition } from "./plan.js";
import type { PlanReport } from "./report.js";
import { UniqueIds } from "./unique-ids.js";

/** A phase with its number, and its tasks with their ids. */
export interface NumberedPhase {
  readonly draft: PhaseDraft;
  readonly number: number;
  readonly tasks: readonly { readonly draft: TaskDraft; readonly id: string }[];
}

/** Numbers that are given count as long as they ascend; whatever doesn't fit is counted on. */
export function numberPhases(drafts: readonly PhaseDraft[], report: PlanReport) {
  let before = -1;
  return drafts.map((draft) => {
    const given = /^\d{1,6}$/.test(draft.key ?? "") ? Number(draft.key) : undefined;
    const number = given !== undefined && given > before ? given : Math.max(before + 1, 1);
    before = number;
    if (draft.key !== undefined && number !== given) {
      const message = `'Phase ${draft.key}' is phase ${number} here: numbers must be whole, and ascend`;
      report.warn("PHASE_RENUMBERED", draft.position, message, `Write Phase ${number}.`);
    }
    if (draft.tasks.length === 0) {
      report.warn(
        "PHASE_EMPTY",
        draft.position,
        `phase ${number} has no tasks`,
        "Add its tasks, or take the heading out.",
      );
    }
    return { draft, number };
  });
}

/** `identified`: tasks have ids in this plan, so that one without is worth a word. */
export function numberTasks(
  phases: readonly { readonly draft: PhaseDraft; readonly number: number }[],
  identified: boolean,
  report: PlanReport,
): NumberedPhase[] {
  const ids = new UniqueIds(phases.flatMap(({ draft }) => draft.tasks.flatMap(({ id }) => id ?? [])));
  return phases.map(({ draft, number }) => ({
    draft,
    number,
    tasks: draft.tasks.map((task, index) => {
      const id = task.id === undefined ? ids.make(`${number}.${index + 1}`) : ids.take(task.id);
      if (task.id !== undefined) reportRepeated(task.id, id, task.position, report);
      else if (identified) {
        const message = `this task has no id; it is ${id} here`;
        report.warn("TASK_WITHOUT_ID", task.position, message, "Give it an id of its own.");
      }
      return { draft: task, id };
    }),
  }));
}

/** Says so where a task had to get another id than it has in the source. */
export function reportRepeated(given: string, id: string, position: PlanPosition, report: PlanReport): void {
  if (id === given) return;
  const message = `the id ${given} is there already; this task is ${id} here`;
  report.warn("TASK_ID_REPEATED", position, message, "Give each task an id of its own.");
}
