import type { WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError } from "../../errors.js";
import type { Plan } from "../../plan/plan.js";
import type { EngineContext, LoadedSession, TickReport } from "../engine-context.js";
import { reportFailure } from "../report-failure.js";
import { summaryOf } from "./change-lists.js";
import { changesAhead } from "./compare-plan.js";
import { readSource, reasonOf } from "./read-source.js";

/** The plan of a session, as far as every answer about the session says it. */
export interface PlanView {
  /** Where it lies, relative to the project root. */
  readonly path: string;
  /** What of it has changed for the session since it was pinned, in a line: `2 added, 1 renamed`. */
  readonly changed?: string;
  /** Why it can't be read now: then all is shown as it was pinned. */
  readonly unreadable?: string;
  /** What was written into it. */
  readonly ticks?: TickReport;
}

/** A plan as it is now, if it can be read, with what is to be said of it. */
export interface LivePlan {
  readonly plan?: Plan;
  readonly view: PlanView;
}

/** Reads the plan of a session as it is now. That it can't be read stops nobody: it is said. */
export async function livePlan(context: EngineContext, loaded: LoadedSession): Promise<LivePlan | undefined> {
  const { session, structure, ticks } = loaded;
  const { dynamic, plan: pin } = structure;
  if (dynamic === undefined || pin === undefined) return undefined;
  const view = { path: pin.path, ...(ticks === undefined ? {} : { ticks }) };
  try {
    const { source, reading } = await readSource(context.options, structure, dynamic, pin.path, true);
    const { plan } = reading;
    const isSame = source.hash === pin.hash || session.head.status === "completed";
    const changed = isSame ? undefined : changedSince(session, structure, plan);
    return { plan, view: { ...view, ...(changed === undefined ? {} : { changed }) } };
  } catch (error) {
    if (isPhasegateError(error)) reportFailure(context.notifications, "read plan", error);
    else context.notifications.notify("internalError", { operation: "read plan", error });
    return { view: { ...view, unreadable: reasonOf(error) } };
  }
}

function changedSince(
  { sessionId, head }: LoadedSession["session"],
  structure: WorkflowStructure,
  plan: Plan,
): string | undefined {
  const changes = changesAhead(structure, head.position, plan, `${sessionId} ${head.structureVersion}`);
  if (changes === "gone") return "the current phase is not in it any more";
  return changes.length === 0 ? undefined : summaryOf(changes);
}
