/** What an instance shows: its state, the next step, and what it asks a person. */

import { FINISH } from "../workflow/routed-definition.js";
import { questionIn } from "./approvals.js";
import { believed, isStillThere, requireInstance } from "./believed.js";
import type { RoutedStatus } from "./decision/request.js";
import type { RoutedContext } from "./options.js";
import type { RoutedSession } from "./session.js";
import { instructionsOf, loadTexts } from "./settle.js";
import { type RoutedHead, stepOf } from "./state/events.js";
import { allowedOperations, type RoutedOperation } from "./state/transition.js";
import type { RoutedQuestion, RoutedResult, RoutedView, StepView } from "./types.js";

/** Returns the state of an instance, up to the first approval that this host does not accept. */
export async function viewInstance(context: RoutedContext, session: RoutedSession): Promise<RoutedView> {
  const found = await believed(context, session);
  if (found.unapproved === undefined) return viewBelieved(context, session);
  const { awaiting: _, ...view } = await viewBelieved(context, found.session);
  const allowed: RoutedOperation[] = isStillThere(found.unapproved, session) ? ["resume", "delete"] : ["delete"];
  return { ...view, allowed, unapproved: found.unapproved };
}

/** Returns the result of a call that moves an instance. */
export async function resultOf(
  context: RoutedContext,
  session: RoutedSession,
  replayed: boolean,
): Promise<RoutedResult> {
  const answer = { ...(await viewInstance(context, session)), nextStep: await stepView(context, session), replayed };
  if (!replayed) return answer;
  const latest = await requireInstance(context, session.sessionId);
  if (latest.version === session.version) return answer;
  return {
    ...answer,
    now: { ...(await viewInstance(context, latest)), nextStep: await stepView(context, latest) },
  };
}

/** Returns the current step with its instructions. Throws `DEFINITION_UNAVAILABLE`. */
export async function stepView(context: RoutedContext, at: RoutedSession): Promise<StepView> {
  const { session } = await believed(context, at);
  const { step = "", workflow } = session.head;
  // The end is the same in every workflow, also in one that no longer exists.
  if (step === FINISH) return { name: FINISH, instructions: "Workflow complete." };
  if (step === "") return { name: step, instructions: "The first step is not decided yet: call resume." };
  const instructions = instructionsOf(await loadTexts(context, workflow), step);
  const gate = stepOf(await context.pinned.structure(session), step)?.gate;
  return { name: step, instructions, ...(gate === undefined ? {} : { gate }) };
}

/** Returns what an instance asks a person; undefined if it waits for none. */
export async function questionOf(
  { kernel, pinned, options }: RoutedContext,
  session: RoutedSession,
): Promise<RoutedQuestion | undefined> {
  const { sessionId, head } = session;
  const { awaiting } = head.pending ?? {};
  if (awaiting === undefined || head.status !== "RUNNING") return undefined;
  const { steps } = await pinned.structure(session);
  const phase = steps.findIndex(({ name }) => name === head.step) + 1;
  const asked = questionIn(await kernel.at(sessionId, awaiting.version), phase);
  return asked && { ...asked, unsignedAllowed: options.approvals.unsigned };
}

async function viewBelieved(context: RoutedContext, session: RoutedSession): Promise<RoutedView> {
  const { sessionId, version, at, head } = session;
  const { workflow, revision, step, context: values, pending, createdAt } = head;
  const awaiting = await questionOf(context, session);
  return {
    instanceId: sessionId,
    workflow,
    revision,
    status: statusOf(head),
    ...(step === undefined ? {} : { currentStep: step }),
    context: values,
    version,
    createdAt,
    updatedAt: at,
    ...("completedAt" in head ? { completedAt: head.completedAt } : {}),
    ...("reason" in head && head.reason !== undefined ? { reason: head.reason } : {}),
    ...(pending === undefined || awaiting !== undefined ? {} : { pending: { operation: pending.operation } }),
    ...(awaiting === undefined ? {} : { awaiting }),
    allowed: allowedOperations(head),
  };
}

function statusOf({ status }: RoutedHead): RoutedStatus {
  if (status === "DELETED") throw new Error("a deleted instance is not shown");
  return status;
}
