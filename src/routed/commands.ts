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
  readonly reason?: string;
}

/** Sets an instance aside until somebody resumes it. */
export async function suspend(
  context: RoutedContext,
  id: string,
  { reason, ...keyed }: RoutedMove,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "suspend", ...reasonOf(reason) }, keyed));
}

/** Ends an instance for good. */
export async function cancel(
  context: RoutedContext,
  id: string,
  { reason, ...keyed }: RoutedMove,
): Promise<RoutedView> {
  return viewNow(context, await move(context, id, { type: "cancel", ...reasonOf(reason) }, keyed));
}

/** Where an instance is after a move; where it is now, if an earlier call with the same key had made the move. */
async function viewNow(
  context: RoutedContext,
  moved: RoutedCommit & { readonly replayed: boolean },
): Promise<RoutedView> {
  if (!moved.replayed) return viewInstance(context, moved);
  return { ...(await viewInstance(context, await requireInstance(context, moved.sessionId))), replayed: true };
}

/** Takes a failed instance up again: a report that was not decided is asked about anew. */
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

/** Deletes an instance, with a tombstone that says why. */
export async function remove(context: RoutedContext, id: string, reason: string | undefined): Promise<RoutedCommit> {
  const sessionId = parseSessionId(id);
  // A deletion that was cut off between tombstone and removal is finished.
  if (await context.kernel.isTombstone(sessionId)) {
    const last = await lastOf(context, sessionId);
    await context.kernel.remove(sessionId);
    return last;
  }
  const deleted = await move(context, id, { type: "delete", ...reasonOf(reason) }, {});
  await context.kernel.remove(sessionId);
  return deleted;
}

async function lastOf({ kernel }: RoutedContext, id: RoutedCommit["sessionId"]): Promise<RoutedCommit> {
  let last: RoutedCommit | undefined;
  for await (const commit of kernel.log(id)) last = commit;
  if (last === undefined) throw new Error("a tombstone is a commit");
  return last;
}

type Move = Extract<RoutedCommand, { type: "suspend" | "cancel" | "retry" | "delete" }>;

function move(context: RoutedContext, instanceId: string, command: Move, { idempotencyKey }: RoutedKeyed) {
  const id = parseSessionId(instanceId);
  const keyed = idempotencyKey === undefined ? undefined : keyedRequest(idempotencyKey, command);
  const prepare = (session: RoutedSession) =>
    command.type === "retry" ? withBeginning(context, session, command) : { command };
  return executeOn(context, id, prepare, keyed, () => command.type === "delete");
}

/** What a check begins with is looked at anew where that failed before. */
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
