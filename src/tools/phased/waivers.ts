/** The action `request_waiver`: an agent says what it can't meet, and a person who is present may be asked at once. */

import type { WaiverRequested } from "../../phased/approval/waivers.js";
import { keyed } from "../request.js";
import { compact, type WireObject } from "../wire.js";
import type { ParametersOf, ToolContext } from "./actions.js";
import { blockedBy, nextCall, phaseCall, replayNews } from "./next-call.js";
import { waiverNews } from "./shapes.js";

export async function requestWaiver(context: ToolContext, params: ParametersOf<"request_waiver">): Promise<WireObject> {
  const { session_id: sessionId, phase, fields, reason, idempotency_key: key } = params;
  const asked = await context.engine.requestWaiver(sessionId, { phase, fields, reason, ...keyed(key) });
  await askPerson(context, asked);
  const state = await context.engine.getState(sessionId);
  return compact({
    status: "success",
    action: "request_waiver",
    session_id: sessionId,
    ...replayNews(asked.replayed, state),
    phase: asked.phase,
    fields: asked.fields,
    ...waiverNews(state),
    blocked: blockedBy(state),
    next: nextCall(state, () => phaseCall(sessionId)),
  });
}

/** Asks the person who is present. Without one, or without an answer, the request stays open. */
async function askPerson({ engine, askWaiver }: ToolContext, { sessionId, request }: WaiverRequested): Promise<void> {
  if (askWaiver === undefined) return;
  const open = await engine.getWaiver(sessionId);
  // A repeated call may find its request answered.
  if (open?.request !== request) return;
  const answer = await askWaiver(open);
  if (answer === undefined) return;
  const { decision, note = "", ...given } = answer;
  if (decision === "deny") await engine.denyWaiver(sessionId, { ...given, request, note });
  else await engine.waive(sessionId, { ...given, request, ...(note === "" ? {} : { note }) });
}
