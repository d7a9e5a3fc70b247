import type { DynamicDefinition, PhaseDefinition, TaskDefinition } from "../../definition/structure.js";
import { PhasegateError } from "../../errors.js";
import type { EngineContext, LoadedSession } from "../engine-context.js";
import { livePlan, type PlanView } from "./live-plan.js";
import { type TaskStanding, taskStandings } from "./task-standing.js";

/** A phase in a session with a plan. */
export interface PlannedPhaseView extends PlanView {
  /** The tasks of the phase, as they stand; none where it doesn't come out of the plan. */
  readonly tasks: readonly TaskStanding[];
}

/** A task out of a plan. */
export interface PlannedTaskView extends PlannedPhaseView {
  readonly task: TaskStanding;
}

/** What a plan says of a phase; undefined where the session has no plan. */
export async function viewPlannedPhase(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
): Promise<PlannedPhaseView | undefined> {
  const live = await livePlan(context, loaded);
  if (live === undefined) return undefined;
  return { ...live.view, tasks: taskStandings(loaded.structure, loaded.session.head, phase, live.plan) };
}

/**
 * What a plan says of a task; undefined where it comes out of none. Throws `TASK_LOCKED` for one that
 * can't be done yet, in a workflow that keeps the order.
 */
export async function viewPlannedTask(
  context: EngineContext,
  loaded: LoadedSession,
  phase: PhaseDefinition,
  task: TaskDefinition,
): Promise<PlannedTaskView | undefined> {
  const { structure, session } = loaded;
  const view = await viewPlannedPhase(context, loaded, phase);
  const standing = view?.tasks.find(({ number }) => number === task.number);
  if (view === undefined || standing === undefined) return undefined;
  const isCurrent = phase.number === session.head.phase && session.head.status !== "completed";
  if (isCurrent && standing.state !== "done") checkOrder(structure.dynamic, phase, standing, view);
  return { ...view, task: standing };
}

function checkOrder(
  dynamic: DynamicDefinition | undefined,
  { number: phase }: PhaseDefinition,
  { number: task, id, open }: TaskStanding,
  { tasks, path }: PlannedPhaseView,
): void {
  if (dynamic?.enforceDependencies !== true || open.length === 0) return;
  const ready = tasks.filter((other) => other.ready).map(({ number }) => number);
  const first = ready.length === 0 ? "" : ` Ready now: ${ready.join(", ")}.`;
  throw new PhasegateError("TASK_LOCKED", `task ${id} needs ${open.join(", ")}, which is not done`, {
    remedy: `Do ${open.join(", ")} first. It counts as done when its phase has passed, or once a person has ticked it in ${path}.${first}`,
    details: { phase, task, open, ready },
  });
}
