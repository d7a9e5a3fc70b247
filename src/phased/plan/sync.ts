/** Compares a session's plan with the pinned one and, unless it is a preview, binds the session to it. */
import { keyedRequest } from "../../log/machine.js";
import { speakerOf } from "../../runtime/access.js";
import type { SessionId } from "../../workflow/names.js";
import { notAccepted } from "../approval/ledger.js";
import type { Attributed } from "../commands.js";
import { checkWorkflow, execute, loadSession, sessionNotFound, sessionNow } from "../context.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import { invalidTransition } from "../state/commands.js";
import type { PlanChanges } from "../state/events.js";
import type { PhasedSession } from "../state/machine.js";
import { factsOf, type SessionFacts } from "../views.js";
import { changesByKind } from "./compare.js";
import { hostWanted, needsHost, type Rebuilt, rereadPlan } from "./rebuild.js";

/** Syncs a session's plan. */
export interface SyncRequest extends Attributed {
  /** Only reports what would change. Default: false. */
  readonly preview?: boolean;
  /** The caller. Default: `host`; `agent` for an actor who is no operator. */
  readonly as?: "agent" | "host";
}

/** The differences between a session and its current plan. */
export interface SyncResult extends SessionFacts {
  /** The plan's path, relative to the project root. */
  readonly path: string;
  /** True if nothing was changed on request. */
  readonly preview: boolean;
  /** True if the session's phases have changed; for a preview, if they would. */
  readonly changed: boolean;
  /** All differences of a preview; for a sync, those in the session's log, and the number of all. */
  readonly changes: PlanChanges;
  /** For a preview: true if only the host may sync, since less would be required. */
  readonly needsHost: boolean;
  /** The number that is added to the plan's own phase numbers. */
  readonly shift: number;
  /** What was written into the plan. */
  readonly ticks?: TickReport;
  /** True if an earlier call with the same key did it; the session's state is the current one. */
  readonly replayed: boolean;
}

/** Compares the plan with the pinned one and, unless it is a preview, binds the session to it; completed phases stay. */
export async function syncPlan(context: EngineContext, sessionId: SessionId, asked: SyncRequest): Promise<SyncResult> {
  const { preview = false, as: given, by: operator, note, idempotencyKey } = asked;
  const called = context.caller && (await context.kernel.find(sessionId));
  const by = speakerOf(context.caller, "syncPlan", called?.summary, given);
  if (preview) {
    const { session, ticks, unapproved } = await loadSession(context, sessionId);
    if (unapproved !== undefined) throw notAccepted(unapproved);
    const rebuilt = await reread(context, session);
    return { ...foundOf(context, session, rebuilt, preview), needsHost: needsHost(context, by, rebuilt), ticks };
  }
  const request = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, ["syncPlan", by]);
  const prepare = async (session: PhasedSession | undefined) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, sessionId);
    checkWorkflow(context, session);
    const rebuilt = await reread(context, session);
    if (!rebuilt.matters) return { answer: foundOf(context, session, rebuilt, preview) };
    if (needsHost(context, by, rebuilt)) throw hostWanted(session, rebuilt);
    const command = {
      type: "syncPlan",
      structure: rebuilt.structure,
      by,
      changes: changesByKind(rebuilt.changes, rebuilt.takenAway),
      places: rebuilt.places,
      tasks: rebuilt.tasks,
      operator,
      note,
    } as const;
    const structure = await context.pinned.structure(session);
    return { command: { command, structure, limits: context.options.limits } };
  };
  const outcome = await execute<SyncResult>(context, sessionId, prepare, request);
  if ("answer" in outcome) return outcome.answer;
  const event = outcome.events.find(({ type }) => type === "plan_synced");
  if (event?.type !== "plan_synced" || event.structure.plan === undefined) throw new Error("a sync without a plan");
  const { plan } = event.structure;
  const { ticks, replayed } = outcome;
  return {
    ...{ ...factsOf(context, await sessionNow(context, outcome)), replayed },
    ...{ path: plan.path, preview, changed: true, changes: event.changes, shift: plan.shift, needsHost: false },
    ticks,
  };
}

async function reread(context: EngineContext, session: PhasedSession): Promise<Rebuilt> {
  const pinned = await context.pinned.structure(session);
  if (session.head.status === "completed") throw invalidTransition(session.head, pinned, "syncPlan");
  return rereadPlan(context, session, pinned, pinned, "syncPlan");
}

/** Returns the answer if nothing was written: for a preview, or because nothing ahead has changed. */
function foundOf(
  context: EngineContext,
  session: PhasedSession,
  { structure, arrangement, changes, matters, takenAway }: Rebuilt,
  preview: boolean,
): SyncResult {
  return {
    ...factsOf(context, session),
    path: structure.plan?.path ?? "",
    preview,
    changed: matters,
    changes: changesByKind(changes, takenAway, Number.POSITIVE_INFINITY),
    shift: arrangement.shift,
    needsHost: false,
    replayed: false,
  };
}
