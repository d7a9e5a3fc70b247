/** How the tasks of a plan's phase stand. Pure. */
import type { PhaseDefinition, TaskDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { Plan, TaskState } from "../../plan/plan.js";
import type { SessionHead } from "../../session/head.js";
import { inRanges } from "../../session/ranges.js";
import { matchTasks } from "./match-tasks.js";

/** A task out of a plan, as it stands. */
export interface TaskStanding {
  readonly number: number;
  /** The plan's own id. */
  readonly id: string;
  readonly name: string;
  /**
   * Done if its phase has passed, unless it may be left out; else what the source says now. A tick there is
   * no claim at the gate.
   */
  readonly state: TaskState;
  /** Ids of the tasks that must be done first. */
  readonly dependencies: readonly string[];
  /** Those of them that are not done. */
  readonly open: readonly string[];
  /** Whether it can be done now: it is not done, nor is its phase, and nothing that it needs is open. */
  readonly ready: boolean;
  readonly optional: boolean;
  /** What it is done for, where the plan says so. */
  readonly requirements?: readonly string[];
}

/** How the tasks of a phase stand: by the session, and by its plan as it is now. */
export function taskStandings(
  { phases }: WorkflowStructure,
  head: SessionHead,
  phase: PhaseDefinition,
  live: Plan | undefined,
): TaskStanding[] {
  const now = live === undefined ? undefined : matchTasks(phases, live.phases);
  const homes = new Map<string, { readonly done: boolean; readonly task: TaskDefinition }>();
  for (const [position, { tasks }] of phases.entries()) {
    const done = inRanges(head.completed, position) || inRanges(head.skipped, position);
    for (const task of tasks) if (task.plan !== undefined) homes.set(task.plan.id, { done, task });
  }
  const stateOf = (id: string): TaskState => {
    const home = homes.get(id);
    // Whether a task that may be left out was claimed shows in its tick alone.
    if (home?.done === true && home.task.plan?.optional !== true) return "done";
    const task = home === undefined ? undefined : now?.get(home.task);
    return task?.state ?? home?.task.plan?.state ?? "pending";
  };
  return phase.tasks.flatMap(({ number, name, plan }) => {
    if (plan === undefined) return [];
    const { id, dependencies, optional, requirements } = plan;
    const state = stateOf(id);
    // What was left out in a phase that is behind the session keeps nobody waiting.
    const isOver = (other: string) => homes.get(other)?.done === true;
    const open = dependencies.filter((needed) => !isOver(needed) && stateOf(needed) !== "done");
    const ready = state !== "done" && !isOver(id) && open.length === 0;
    const said = requirements === undefined ? {} : { requirements };
    return [{ number, id, name, state, dependencies, open, ready, optional, ...said }];
  });
}
