import type { WorkflowStructure } from "../../definition/structure.js";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { dueAfterTicks } from "../../session/due-ticks.js";
import type { EventOf } from "../../session/events.js";
import type { DueTicks } from "../../session/head.js";
import type { EngineContext, TickReport } from "../engine-context.js";
import type { PhasedCommit, PhasedSession } from "../pinned.js";
import { hearerOf, reportFailure } from "../report-failure.js";
import { reasonOf } from "./read-source.js";
import { type Written, writeTicks } from "./write-ticks.js";

/** How often more may become due while something is written, before the next call is left to go on. */
const ROUNDS_MAX = 5;

/**
 * Writes what is due into the source of a session's plan, and records it. May be done any number of
 * times, and by several at once: what stands in the file already changes nothing. A source that can't
 * be written stops nobody: the report says why, and it is tried again at the next call on the session.
 */
export async function settleTicks(
  context: EngineContext,
  start: PhasedSession,
  recent?: PhasedCommit,
): Promise<{ readonly session: PhasedSession; readonly ticks: TickReport }> {
  let session = start;
  let ticks: TickReport = { ticked: [], unticked: [], missing: [], unwritable: [] };
  for (let round = 1; session.head.due !== undefined && round <= ROUNDS_MAX; round += 1) {
    const structure = await context.pinned.structure(session);
    // A tick would say that a person has approved the phase.
    if ((await context.approvalGuard.unapproved(session, structure)) !== undefined) return { session, ticks };
    try {
      const written = await writeTicks(context, session, structure, session.head.due, recent);
      session = await record(context, session, structure, session.head.due, written);
      ticks = inAll(ticks, written);
    } catch (error) {
      if (isPhasegateError(error, "TAMPERED")) throw error;
      return { session, ticks: { ...ticks, pending: pendingReason(context, session, structure, error) } };
    }
  }
  return { session, ticks };
}

/** What two rounds have done: what the second undid of the first is not told. */
function inAll(first: Written, second: Written): Written {
  const both = (one: readonly string[], other: readonly string[], undone: readonly string[]) => [
    ...new Set([...one.filter((id) => !undone.includes(id)), ...other]),
  ];
  return {
    ticked: both(first.ticked, second.ticked, second.unticked),
    unticked: both(first.unticked, second.unticked, second.ticked),
    missing: both(first.missing, second.missing, []),
    unwritable: both(first.unwritable, second.unwritable, []),
  };
}

/** Records what was written; somebody else may have done so before. */
async function record(
  { kernel, options }: EngineContext,
  { sessionId }: PhasedSession,
  structure: WorkflowStructure,
  due: DueTicks,
  written: Written,
): Promise<PhasedSession> {
  const ticked = { ticks: due.tick, unticks: due.untick, ...plainLists(written) };
  try {
    return await kernel.execute(sessionId, (current) => {
      if (current === undefined || current.head.status === "deleted") throw new SettledError();
      const { due: left } = dueAfterTicks(current.head, { type: "plan_ticked", ...ticked });
      if (JSON.stringify(left) === JSON.stringify(current.head.due)) throw new SettledError();
      return { command: { command: { type: "planTicked", ticked }, structure, limits: options.limits } };
    });
  } catch (error) {
    if (!(error instanceof SettledError)) throw error;
  }
  const newest = await kernel.find(sessionId);
  if (newest !== undefined) return newest;
  throw new PhasegateError("SESSION_NOT_FOUND", `there is no session ${sessionId} any more`, {
    remedy: "List the sessions, or start one.",
    details: { sessionId },
  });
}

/** Nothing is left to record. */
class SettledError extends Error {}

function plainLists({ ticked, unticked, missing, unwritable }: Written): Pick<EventOf<"plan_ticked">, keyof Written> {
  const rest = unwritable.length === 0 ? {} : { unwritable: [...unwritable] };
  return { ticked: [...ticked], unticked: [...unticked], missing: [...missing], ...rest };
}

/** Why it could not be written, for the answer; the host is told of the error itself. */
function pendingReason(
  { notifications, options }: EngineContext,
  { sessionId, head: { workflowType } }: PhasedSession,
  { plan }: WorkflowStructure,
  error: unknown,
): string {
  const at = new Date(options.clock.now()).toISOString();
  const reason = reasonOf(error);
  // All else is told as `planTicksPending`, with the error.
  if (isPhasegateError(error) && hearerOf(error) === "guard") reportFailure(notifications, "write plan", error);
  notifications.notify("planTicksPending", { sessionId, workflowType, at, path: plan?.path ?? "", reason, error });
  return reason;
}
