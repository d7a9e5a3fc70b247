/** The operations that move an instance without a decision: suspend, cancel, retry and delete. */

import { keyedRequest } from "../log/machine.js";
import { parseSessionId } from "../workflow/names.js";
import { executeOn, requireInstance } from "./believed.js";
import { beginStep } from "./judge.js";
import type { RoutedContext } from "./options.js";
import type { RoutedCommit, RoutedSession } from "./session.js";
import { answerAfter, settle } from "./settle.js";
import type { RoutedCommand } from "./state/commands.js";
import type { RoutedKeyed, RoutedResult, RoutedView } from "./types.js";
import { resultOf, viewInstance } from "./views.js";

/** A move with its reason. */
export interface RoutedMove extends RoutedKeyed {
  /** Recorded with the move. */
  readonly reason?: string;
}

/** Suspends an instance until it is resumed. */
export async function suspend(
  context: RoutedContext,
  id: string,
  { reason, ...keyed }: RoutedMove,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "suspend", ...reasonOf(reason) }, keyed));
}

/** Ends an instance permanently. */
export async function cancel(
  context: RoutedContext,
  id: string,
  { reason, ...keyed }: RoutedMove,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "cancel", ...reasonOf(reason) }, keyed));
}

/** Retries a failed instance: an undecided report is asked about again. */
export async function retry(context: RoutedContext, id: string, keyed: RoutedKeyed): Promise<RoutedResult> {
  const { maxAttemptsTotal } = context.options.limits;
  const moved = await move(context, id, { type: "retry", maxAttemptsTotal }, keyed);
  const answered = moved.replayed ? await answerAfter(context, moved.sessionId, moved.version) : moved;
  const { pending, status } = answered.head;
  if (status !== "RUNNING" || pending === undefined || pending.awaiting !== undefined) {
    return resultOf(context, answered, moved.replayed);
  }
  return resultOf(context, await settle(context, answered, pending), moved.replayed);
}

/** Deletes an instance with a tombstone that records the reason. */
export async function remove(context: RoutedContext, id: string, reason: string | undefined): Promise<RoutedCommit> {
  const sessionId = parseSessionId(id);
  // Finishes a deletion that was interrupted between tombstone and removal.
  if (await context.kernel.isTombstone(sessionId)) {
    const last = await lastOf(context, sessionId);
    await context.kernel.remove(sessionId);
    return last;
  }
  const deleted = await move(context, id, { type: "delete", ...reasonOf(reason) }, {});
  await context.kernel.remove(sessionId);
  return deleted;
}

/** Returns the state after a move; the current state, if an earlier call with the same key made the move. */
async function viewNow(
  context: RoutedContext,
  moved: RoutedCommit & { readonly replayed: boolean },
): Promise<RoutedView> {
  if (!moved.replayed) return viewInstance(context, moved);
  return { ...(await viewInstance(context, await requireInstance(context, moved.sessionId))), replayed: true };
}

type Move = Extract<RoutedCommand, { type: "suspend" | "cancel" | "retry" | "delete" }>;

function move(context: RoutedContext, instanceId: string, command: Move, { idempotencyKey }: RoutedKeyed) {
  const id = parseSessionId(instanceId);
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, command);
  const prepare = (session: RoutedSession) =>
    command.type === "retry" ? withBeginning(context, session, command) : { command };
  return executeOn(context, id, prepare, keyed, () => command.type === "delete");
}

/** Takes snapshots again where they failed before. */
async function withBeginning(
  context: RoutedContext,
  session: RoutedSession,
  command: Extract<Move, { type: "retry" }>,
) {
  const { step, baseline } = session.head;
  if (step === undefined || baseline === undefined) return { command };
  const { events } = await context.kernel.at(session.sessionId, baseline);
  const known = events.flatMap((event) => ("snapshots" in event ? (event.snapshots ?? []) : []));
  if (known.every(({ value }) => value !== undefined)) return { command };
  const structure = await context.pinned.structure(session);
  const { payloads, ...begun } = await beginStep(context, session, structure, step);
  return { command: { ...command, ...begun }, payloads };
}

function reasonOf(reason: string | undefined) {
  return reason === undefined ? {} : { reason };
}

async function lastOf({ kernel }: RoutedContext, id: RoutedCommit["sessionId"]): Promise<RoutedCommit> {
  let last: RoutedCommit | undefined;
  for await (const commit of kernel.log(id)) last = commit;
  if (last === undefined) throw new Error("a tombstone is a commit");
  return last;
}
