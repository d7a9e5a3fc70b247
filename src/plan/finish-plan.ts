/** Drafts as a plan: phases get their numbers, tasks their ids, and dependencies become edges. */

import { readDependencies } from "./dependencies.js";
import { descriptionOf } from "./description.js";
import type { TaskDraft } from "./drafts.js";
import type { Durations } from "./durations.js";
import { type LinkedPhase, linkTasks } from "./link-tasks.js";
import { type NumberedPhase, numberPhases, numberTasks } from "./number-tasks.js";
import type { Plan, PlanPhase, PlanTask } from "./plan.js";
import type { ReaderState } from "./reader-state.js";
import type { PlanReport } from "./report.js";
import { stateOf } from "./task-state.js";
import type { Waves } from "./waves.js";

/** What overviews and graphs say of phases and tasks. */
export interface SaidElsewhere {
  readonly durations: Durations;
  readonly waves: Waves;
}

/** Makes the plan. */
export function finishPlan(state: ReaderState, said: SaidElsewhere, report: PlanReport): Plan {
  const phases = numberTasks(numberPhases(state.phases, report), state.outline.identified, report);
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
    requirements: [...new Set(draft.requirements)],
    files: [...new Set(draft.files)],
    position: draft.position,
  };
}
