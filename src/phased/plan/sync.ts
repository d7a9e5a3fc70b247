import { keyedRequest } from "../../log/machine.js";
import { parseSessionId } from "../../workflow/names.js";
import { notBelieved } from "../approval/ledger.js";
import { checkWorkflow, execute, loadSession, sessionNotFound, sessionNow } from "../context.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import type { PhasedSession } from "../pinned.js";
import { type Actor, invalidTransition } from "../state/commands.js";
import type { PlanChanges } from "../state/events.js";
import { type Standing, standingOf } from "../views.js";
import { changesByKind } from "./compare.js";
import { hostWanted, needsHost, type Rebuilt, rereadPlan } from "./rebuild.js";
/** How a session's plan is to be synced. */
export interface SyncRequest {
  /** Only says what would change. */
  readonly preview?: boolean;
  /** `host` if not given. */
  readonly by?: Actor;
  /** The same key gives the same answer, however often the call is repeated. */
  readonly idempotencyKey?: string;
}

/** What a plan, as it is now, means for a session. */
export interface SyncResult extends Standing {
  /** Where the plan lies. */
  readonly path: string;
  readonly preview: boolean;
  /** Whether the session's phases are others now; of a preview, whether they would be. */
  readonly changed: boolean;
  /** All differences of a preview; of a sync, those that the session's log keeps, and how many there were. */
  readonly changes: PlanChanges;
  /** Of a preview: whether who asks may not sync, since less would be asked for, and the host may. */
  readonly needsHost: boolean;
  /** What is added to the plan's own phase numbers. */
  readonly shift: number;
  /** What was written into the plan. */
  readonly ticks?: TickReport;
  /** Whether an earlier call with the same key did it; where the session stands is told as of now. */
  readonly replayed: boolean;
}

/**
 * Lays the plan as it is now beside the pinned one and, unless it is a preview, binds the session to it:
 * what was completed stays, the current phase and those ahead are the plan's.
 */
export async function syncPlan(
  context: EngineContext,
  id: string,
  { preview = false, by = "host", idempotencyKey }: SyncRequest,
): Promise<SyncResult> {
  if (preview) {
    const { session, ticks, unapproved } = await loadSession(context, id);
    if (unapproved !== undefined) throw notBelieved(unapproved);
    const rebuilt = await reread(context, session);
    const found = { ...foundOf(context, session, rebuilt, preview), needsHost: needsHost(context, by, rebuilt) };
    return { ...found, ...(ticks === undefined ? {} : { ticks }) };
  }
  const sessionId = parseSessionId(id);
  const request = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, ["syncPlan", by]);
  const prepare = async (session: PhasedSession | undefined) => {
    if (session === undefined || session.head.status === "deleted") throw await sessionNotFound(context, sessionId);
    checkWorkflow(context, session);
    const rebuilt = await reread(context, session);
    if (!rebuilt.matters) throw new UnchangedError(session, rebuilt);
    if (needsHost(context, by, rebuilt)) throw hostWanted(session, rebuilt);
    const command = {
      type: "syncPlan",
      structure: rebuilt.structure,
      by,
      changes: changesByKind(rebuilt.changes, rebuilt.takenAway),
      places: rebuilt.places,
    } as const;
    const structure = await context.pinned.structure(session);
    return { command: { command, structure, limits: context.options.limits } };
  };
  try {
    const outcome = await execute(context, sessionId, prepare, request);
    const event = outcome.events.find(({ type }) => type === "plan_synced");
    if (event?.type !== "plan_synced" || event.structure.plan === undefined) throw new Error("a sync without a plan");
    const { plan } = event.structure;
    const { ticks, replayed } = outcome;
    return {
      ...{ ...standingOf(context, await sessionNow(context, outcome)), replayed },
      ...{ path: plan.path, preview, changed: true, changes: event.changes, shift: plan.shift, needsHost: false },
      ...(ticks === undefined ? {} : { ticks }),
    };
  } catch (error) {
    if (!(error instanceof UnchangedError)) throw error;
    return foundOf(context, error.session, error.rebuilt, preview);
  }
}

async function reread(context: EngineContext, session: PhasedSession): Promise<Rebuilt> {
  const pinned = await context.pinned.structure(session);
  if (session.head.status === "completed") throw invalidTransition(session.head, pinned, "syncPlan");
  return rereadPlan(context, session, pinned, pinned, "syncPlan");
}

/** The answer where nothing was written: for a preview, or since nothing ahead has changed. */
function foundOf(
  context: EngineContext,
  session: PhasedSession,
  { structure, arrangement, changes, matters, takenAway }: Rebuilt,
  preview: boolean,
): SyncResult {
  return {
    ...standingOf(context, session),
    path: structure.plan?.path ?? "",
    preview,
    changed: matters,
    changes: changesByKind(changes, takenAway, Number.POSITIVE_INFINITY),
    shift: arrangement.shift,
    needsHost: false,
    replayed: false,
  };
}

/** The plan says nothing new of what lies ahead. */
class UnchangedError extends Error {
  readonly session: PhasedSession;
  readonly rebuilt: Rebuilt;

  constructor(session: PhasedSession, rebuilt: Rebuilt) {
    super("unchanged");
    this.session = session;
    this.rebuilt = rebuilt;
  }
}
