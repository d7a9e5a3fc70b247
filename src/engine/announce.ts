import type { SessionEvent } from "../session/events.js";
import type { Notifications } from "./notifications.js";
import type { PhasedCommit } from "./pinned.js";

/** Tells the host what a commit says, event by event. */
export function announce(notifications: Notifications, { sessionId, head, events, at }: PhasedCommit): void {
  const of = { sessionId, workflowType: head.workflowType, at };
  for (const event of events) announceEvent(notifications, of, event);
}

function announceEvent(
  notifications: Notifications,
  of: { readonly sessionId: PhasedCommit["sessionId"]; readonly workflowType: string; readonly at: string },
  event: SessionEvent,
): void {
  switch (event.type) {
    case "started":
      return notifications.notify("started", { ...of, target: event.target, phase: event.structure.startPhase });
    case "phase_entered":
      return notifications.notify("phaseEntered", { ...of, phase: event.phase });
    case "approval_requested": {
      const { phase, attempt, evidenceHash, prompt, approvers } = event;
      return notifications.notify("approvalRequested", { ...of, phase, attempt, evidenceHash, prompt, approvers });
    }
    case "approved":
    case "denied": {
      const { phase, by, note, authenticated } = event;
      return notifications.notify(event.type, { ...of, phase, by, note, authenticated });
    }
    case "gate_passed":
      return notifications.notify("gatePassed", { ...of, phase: event.phase, attempt: event.attempt });
    case "gate_failed": {
      const { phase, attempt, problems } = event;
      return notifications.notify("gateFailed", { ...of, phase, attempt, problems });
    }
    case "gate_overridden":
      return notifications.notify("gateOverridden", { ...of, phase: event.phase, by: event.by, reason: event.reason });
    case "phase_skipped":
      return notifications.notify("phaseSkipped", { ...of, phase: event.phase, by: event.by, reason: event.reason });
    case "paused":
      return notifications.notify("paused", { ...of, note: event.note });
    case "resumed":
      return notifications.notify("resumed", of);
    case "retried":
      return notifications.notify("retried", { ...of, phase: event.phase, by: event.by });
    case "rolled_back":
      return notifications.notify("rolledBack", { ...of, from: event.from, to: event.to, by: event.by });
    case "migrated":
      return notifications.notify("migrated", { ...of, revision: event.structure.revision, by: event.by });
    case "plan_synced":
      return notifications.notify("planSynced", { ...of, changes: event.changes.count, by: event.by });
    case "plan_ticked": {
      const { ticked, unticked, missing } = event;
      return notifications.notify("planTicked", { ...of, ticked, unticked, missing });
    }
    case "completed":
      return notifications.notify("completed", of);
    case "failed":
      return notifications.notify("failed", { ...of, phase: event.phase, attempts: event.attempts });
    case "deleted":
      return notifications.notify("deleted", { ...of, reason: event.reason });
  }
}
