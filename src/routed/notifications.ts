/** The notifications of a routed engine. They come at most once, and those of a commit after it; the log is the record. */
import type { Problem } from "../gate/verdict.js";
import type { EngineNotifications, SessionNotification } from "../phased/notifications.js";
import { ownedBy } from "../ports/actor.js";
import { ENGINE_LEVELS, type Levels, linkTo, Notifier } from "../runtime/notifier.js";
import type { RoutedEvent } from "./state/events.js";
import type { RoutedCommit } from "./state/machine.js";

/** The instance of a notification. */
export type InstanceNotification = Omit<SessionNotification, "target">;

/** The notifications by name, with their payloads. */
export interface RoutedNotificationMap
  extends Pick<EngineNotifications, "verifying" | "replayed" | "conflict" | "refused" | "security" | "internalError"> {
  /** An instance was started; `step` is its first step, if the decider does not choose it. */
  started: InstanceNotification & { readonly step?: string };
  /** An instance was handed over to the owner that the notification names. */
  assigned: InstanceNotification & { readonly by: string };
  /** A report on a step was stored. */
  reported: InstanceNotification & { readonly step: string; readonly status: string };
  /** A report did not pass its step's gate. */
  gateRefused: InstanceNotification & {
    readonly step: string;
    readonly attempt: number;
    readonly problems: readonly Problem[];
  };
  /** The evidence for a step's gate is complete and waits for a person's approval. */
  approvalRequested: InstanceNotification & {
    readonly step: string;
    readonly prompt: string;
    readonly evidenceHash: string;
    readonly approvers?: readonly string[] | undefined;
    /** Where the person answers, if the engine has an `inspectorUrl`. */
    readonly link?: string;
  };
  /** A person has approved what a step's gate waits for. */
  approved: InstanceNotification & { readonly step: string; readonly by: string; readonly authenticated: boolean };
  /** A person has denied what a step's gate waits for. */
  denied: RoutedNotificationMap["approved"];
  /** The next step was chosen; `milliseconds` is the time that the decider took. */
  decided: InstanceNotification & { readonly from?: string; readonly next: string; readonly milliseconds: number };
  /** An instance was suspended by the host. */
  suspended: InstanceNotification & { readonly reason?: string };
  /** A failed instance runs again. */
  retried: InstanceNotification;
  /** An instance was ended without being done. */
  cancelled: InstanceNotification & { readonly reason?: string };
  /** An instance has reached its end, `milliseconds` after its start. */
  completed: InstanceNotification & { readonly milliseconds: number };
  /** An instance has failed, with the code and the reason. */
  failed: InstanceNotification & { readonly code: string; readonly reason: string };
  /** An instance was deleted. */
  deleted: InstanceNotification & { readonly reason?: string };
}

/** All notifications of a routed engine, each with the level at which it is logged. */
export const ROUTED_LEVELS: Levels<keyof RoutedNotificationMap> = {
  started: "info",
  assigned: "info",
  reported: "info",
  gateRefused: "info",
  approvalRequested: "info",
  approved: "info",
  denied: "info",
  decided: "info",
  suspended: "info",
  retried: "info",
  cancelled: "info",
  completed: "info",
  failed: "warn",
  deleted: "info",
  ...ENGINE_LEVELS,
};

export class RoutedNotifications extends Notifier<RoutedNotificationMap> {
  constructor() {
    super(ROUTED_LEVELS);
  }
}

export function announceRouted(
  notifications: RoutedNotifications,
  commit: RoutedCommit,
  inspectorUrl: string | undefined,
): void {
  const { sessionId, at, head, hash } = commit;
  const about = { sessionId, workflowType: head.workflow, ...(head.owner && ownedBy(head.owner)), at };
  const announce = (event: RoutedEvent): void => {
    switch (event.type) {
      case "started":
        return notifications.notify("started", { ...about, step: event.firstStep });
      case "continued":
        return;
      case "reported":
        return notifications.notify("reported", { ...about, step: event.step, status: String(event.report.status) });
      case "gate_refused": {
        const { step, attempt, problems } = event;
        return notifications.notify("gateRefused", { ...about, step, attempt, problems });
      }
      case "approval_requested": {
        const { step, prompt, evidenceHash, approvers } = event;
        const link = linkTo(inspectorUrl, { sessionId, hash });
        return notifications.notify("approvalRequested", { ...about, step, prompt, evidenceHash, approvers, ...link });
      }
      case "approved":
      case "denied": {
        const { step, by, authenticated } = event;
        return notifications.notify(event.type, { ...about, step, by, authenticated });
      }
      case "decided": {
        const { from, next, milliseconds } = event;
        notifications.notify("decided", { ...about, from, next, milliseconds });
        const sinceStart = Date.parse(at) - Date.parse(head.createdAt);
        if (head.status === "completed") notifications.notify("completed", { ...about, milliseconds: sinceStart });
        if (head.status !== "failed") return;
        return notifications.notify("failed", { ...about, code: head.code, reason: head.reason });
      }
      case "failed":
        return notifications.notify("failed", { ...about, code: event.code, reason: event.reason });
      case "suspended":
      case "cancelled":
      case "deleted":
        return notifications.notify(event.type, { ...about, reason: event.reason });
      case "assigned":
        return notifications.notify("assigned", { ...about, by: event.by });
      case "retried":
      case "released":
        return notifications.notify("retried", about);
    }
  };
  for (const event of commit.events) announce(event);
}
