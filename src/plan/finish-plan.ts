/** Drafts as a plan: phases get their numbers, tasks their ids, and dependencies become edges. */

import { isTicked } from "./checkboxes.js";
import { readDependencies } from "./dependencies.js";
import { descriptionOf } from "./description.js";
import type { Dialect } from "./dialects.js";
import type { PhaseDraft, TaskDraft } from "./drafts.js";
import type { Durations } from "./durations.js";
import { type LinkedPhase, linkTasks } from "./link-tasks.js";
import type { Plan, PlanPhase, PlanTask, TaskState } from "./plan.js";
import type { ReaderState } from "./reader-state.js";
import type { PlanReport } from "./report.js";
import type { Waves } from "./waves.js";

/** A phase with its number, and its tasks with their ids. */
interface NumberedPhase {
  readonly draft: PhaseDraft;
  readonly number: number;
  readonly tasks: readonly { readonly draft: TaskDraft; readonly id: string }[];
}

/** What overviews and graphs say of phases and tasks. */
export interface SaidElsewhere {
  readonly durations: Durations;
  readonly waves: Waves;
}

/** Makes the plan. */
export function finishPlan(state: ReaderState, said: SaidElsewhere, report: PlanReport): Plan {
  const phases = numberTasks(numberPhases(state.phases, report), state, report);
  const linked = phases.map((phase) => linkedPhase(phase, said.waves));
  const links = linkTasks(linked, report);
  return {
    dialect: state.dialect.name,
    phases: phases.map(({ draft, number, tasks }): PlanPhase => {
      const duration = draft.duration ?? draft.timeInTitle ?? said.durations.get(draft.key ?? `${number}`);
      return {
        number,
        name: draft.name === "" ? `Phase ${number}` : draft.name,
        ...(draft.goal === undefined ? {} : { goal: draft.goal }),
        ...(duration === undefined ? {} : { estimatedDuration: duration }),
        tasks: tasks.map((task) => finishTask(task.draft, task.id, links.get(task.id) ?? [], state, report)),
        validationGate: draft.gate,
        position: draft.position,
      };
    }),
  };
}

function linkedPhase({ draft, number, tasks }: NumberedPhase, waves: Waves): LinkedPhase {
  const linked = tasks.map(({ id, draft: { position, dependencies } }) => ({
    id,
    position,
    named: () => [...dependencies.map(readDependencies), { tasks: waves.get(id) ?? [], phases: [] }],
  }));
  return { key: draft.key ?? `${number}`, tasks: linked };
}

/** Numbers that are given count as long as they ascend; whatever doesn't fit is counted on. */
function numberPhases(drafts: readonly PhaseDraft[], report: PlanReport) {
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

function numberTasks(
  phases: readonly { readonly draft: PhaseDraft; readonly number: number }[],
  { outline }: ReaderState,
  report: PlanReport,
): NumberedPhase[] {
  const taken = new Set<string>(phases.flatMap(({ draft }) => draft.tasks.flatMap(({ id }) => id ?? [])));
  const used = new Set<string>();
  return phases.map(({ draft, number }) => ({
    draft,
    number,
    tasks: draft.tasks.map((task, index) => {
      const wanted = task.id ?? `${number}.${index + 1}`;
      const free = task.id === undefined ? !taken.has(wanted) && !used.has(wanted) : !used.has(wanted);
      const id = free ? wanted : another(wanted, (name) => taken.has(name) || used.has(name));
      used.add(id);
      if (task.id === undefined && outline.identified) {
        report.warn(
          "TASK_WITHOUT_ID",
          task.position,
          `this task has no id; it is ${id} here`,
          "Give it an id of its own.",
        );
      } else if (task.id !== undefined && id !== task.id) {
        const message = `the id ${task.id} is there already; this task is ${id} here`;
        report.warn("TASK_ID_REPEATED", task.position, message, "Give each task an id of its own.");
      }
      return { draft: task, id };
    }),
  }));
}

function another(id: string, taken: (name: string) => boolean): string {
  let copy = 2;
  while (taken(`${id}-${copy}`)) copy += 1;
  return `${id}-${copy}`;
}

function finishTask(
  draft: TaskDraft,
  id: string,
  dependencies: readonly string[],
  { source, told, dialect }: ReaderState,
  report: PlanReport,
): PlanTask {
  const description = descriptionOf(draft, source, told);
  const { time, checkbox, story } = draft;
  return {
    id,
    name: draft.name,
    ...(description === "" ? {} : { description }),
    ...(time === undefined ? {} : { estimatedTime: time }),
    dependencies,
    acceptanceCriteria: draft.criteria,
    state: stateOf(draft, dialect, report),
    ...(checkbox === undefined ? {} : { checkbox }),
    optional: draft.optional,
    parallel: draft.marked ?? draft.parallel,
    ...(story === undefined ? {} : { story }),
    requirements: draft.requirements,
    files: [...new Set(draft.files)],
    position: draft.position,
  };
}

/** What the checkbox says; without one, what its status says, or its criteria. */
function stateOf(draft: TaskDraft, { tilde }: Dialect, report: PlanReport): TaskState {
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
