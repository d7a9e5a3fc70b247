import type { PhaseDefinition, WorkflowStructure } from "../../definition/structure.js";
import type { EngineContext } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { matchTasks } from "./match-tasks.js";
import { readSource } from "./read-source.js";
import { showsDone } from "./tick-text.js";

/**
 * The tasks of a phase that stand as done in the plan before the session has ticked them, by their pinned ids: a person
 * did, or another session. Undefined where nobody can say: then all ticks count as the session's own.
 */
export async function standingTicks(
  { options }: EngineContext,
  { head }: PhasedSession,
  structure: WorkflowStructure,
  phase: PhaseDefinition,
): Promise<readonly string[] | undefined> {
  const { dynamic, plan: pin, phases } = structure;
  if (dynamic === undefined || pin?.ticked !== true || phase.plan === undefined) return undefined;
  // What stands may be what the session itself has not taken back yet.
  if (head.due !== undefined) return undefined;
  try {
    const { reading } = await readSource(options, structure, dynamic, pin.path, true);
    const now = matchTasks(phases, reading.plan.phases);
    return phase.tasks.flatMap((task) => (showsDone(now.get(task)) && task.plan !== undefined ? [task.plan.id] : []));
  } catch {
    // Whoever writes the ticks says why the plan can't be read.
    return undefined;
  }
}
