/**
 * Steps ahead that were refused: reading or working on a phase or task that is locked, and evidence for a phase that is
 * not the current one. The host is notified of each; the log keeps each distinct one of a visit to a phase, up to a limit,
 * so that a flood of refused calls does not make it grow.
 */
import { type AnyPhasegateError, isPhasegateError } from "../errors.js";
import { isStepAhead } from "../runtime/operations.js";
import type { SessionId } from "../workflow/names.js";
import { executeCommand, loadSession } from "./context.js";
import type { EngineContext } from "./engine-context.js";
import { notificationOf } from "./notifications.js";
import type { RecordedEvent } from "./state/history.js";
import { isRefusalKept, type StepRefused } from "./state/task-notes.js";

/** A step ahead that was refused. */
export interface RefusedStep extends StepRefused {
  /** The time of the first such call since the phase was entered: ISO 8601, UTC. */
  readonly at: string;
}

/**
 * Notifies the host of a refused step ahead, and records it; other errors are left alone. Never rejects: the caller gets
 * the refusal in any case.
 */
export async function noteRefusal(
  context: EngineContext,
  sessionId: SessionId,
  operation: string,
  error: unknown,
): Promise<void> {
  if (!isPhasegateError(error) || !isStepAhead(operation, error)) return;
  try {
    const { session, unapproved } = await loadSession(context, sessionId);
    const { head } = session;
    const refused = { phase: head.phase, operation, code: error.code, ...placeOf(error) };
    const at = new Date(context.options.clock.now()).toISOString();
    const of = notificationOf(sessionId, head, at);
    context.notifications.notify("stepRefused", { ...of, ...refused, message: error.message });
    // Such a session takes no commands.
    if (unapproved !== undefined) return;
    const command = { type: "refuseStep", refused } as const;
    await executeCommand(context, sessionId, command, undefined, (now) => isRefusalKept(now.head, refused));
  } catch (failure) {
    context.notifications.report("record refusal", failure);
  }
}

/** Returns the refused steps ahead of a session, oldest first. */
export function stepRefusals(events: Iterable<RecordedEvent>): RefusedStep[] {
  const found: RefusedStep[] = [];
  for (const { event, at } of events) {
    if (event.type !== "step_refused") continue;
    const { type: _, ...refused } = event;
    found.push({ ...refused, at });
  }
  return found;
}

function placeOf(error: AnyPhasegateError): Pick<StepRefused, "requested" | "task"> {
  switch (error.code) {
    case "PHASE_LOCKED":
    case "PHASE_ALREADY_COMPLETED":
      return { requested: error.details.requested };
    case "TASK_LOCKED":
      return { requested: error.details.phase, task: error.details.task };
    default:
      return {};
  }
}
