/** The notifications of an engine. They come at most once, and those of a commit after it; the log is the record. */
import type { ErrorCode } from "../errors.js";
import type { Problem } from "../gate/verdict.js";
import { ENGINE_LEVELS, type Levels, Notifier } from "../runtime/notifier.js";
import type { SessionId } from "../workflow/names.js";
import type { AcceptedDifference, PlanChanges } from "./state/events.js";
import type { StepRefused } from "./state/task-notes.js";
import type { RunningChecks } from "./verify/run-verifiers.js";

/** The session of a notification. */
export interface SessionNotification {
  /** The session that was changed. */
  readonly sessionId: SessionId;
  /** The type of its workflow. */
  readonly workflowType: string;
  /** What it is about. */
  readonly target: string;
  /** Who it belongs to; missing if nobody was recorded. */
  readonly owner?: string;
  /** The owner's team, if they have one. */
  readonly team?: string;
  /** The time of the event: ISO 8601, UTC. */
  readonly at: string;
}

/** A person's decision at a gate. */
export interface PersonsDecision {
  /** The phase's number. */
  readonly phase: number;
  /** The name of the person. */
  readonly by: string;
  /** The person's comment; for a denial, what to fix. */
  readonly note?: string | undefined;
  /** True if it was signed with that approver's key. */
  readonly authenticated: boolean;
}

/** The notifications by name, with their payloads. */
export interface EngineNotifications {
  /** A session was started. */
  started: SessionNotification & { readonly phase: number };
  /** A session was handed over to the owner that the notification names. */
  assigned: SessionNotification & { readonly by: string };
  /** A session has entered a phase. */
  phaseEntered: SessionNotification & { readonly phase: number };
  /** A gate was passed with evidence. */
  gatePassed: SessionNotification & { readonly phase: number; readonly attempt: number };
  /** Evidence was refused at a gate, or denied by a person. */
  gateFailed: SessionNotification & {
    readonly phase: number;
    readonly attempt: number;
    readonly problems: readonly Problem[];
  };
  /** A gate's evidence is complete and waits for a person's approval. */
  approvalRequested: SessionNotification & {
    readonly phase: number;
    readonly attempt: number;
    readonly evidenceHash: string;
    readonly prompt: string;
    readonly approvers?: readonly string[] | undefined;
    /** Where the person answers, if the engine has an `inspectorUrl`. */
    readonly link?: string;
  };
  /** A person has approved what a gate waits for. */
  approved: SessionNotification & PersonsDecision;
  /** A person has denied what a gate waits for. */
  denied: SessionNotification & PersonsDecision;
  /** An agent can't meet some of what its gate asks for, and waits for a person's waiver. */
  waiverRequested: SessionNotification & {
    readonly phase: number;
    readonly fields: readonly string[];
    readonly reason: string;
    readonly approvers?: readonly string[] | undefined;
    /** Where the person answers, if the engine has an `inspectorUrl`. */
    readonly link?: string;
  };
  /** A person has granted the waiver that a session waits for. */
  waiverGranted: SessionNotification & PersonsDecision;
  /** A person has denied the waiver that a session waits for. */
  waiverDenied: SessionNotification & PersonsDecision;
  /**
   * A step ahead was refused: a phase or task that is locked, or evidence for a phase that is not the current one. Comes
   * with every such call; the log has each distinct one of a visit to a phase, at most ten.
   */
  stepRefused: SessionNotification & StepRefused & { readonly message: string };
  /** A task of the current phase was noted as done. */
  taskCompleted: SessionNotification & {
    readonly phase: number;
    readonly task: number;
    readonly note?: string | undefined;
  };
  /** A task of the current phase was noted as given up: it could not be done. The note says why. */
  taskGivenUp: SessionNotification & {
    readonly phase: number;
    readonly task: number;
    readonly note?: string | undefined;
  };
  /** The host has passed a gate without evidence. */
  gateOverridden: SessionNotification & { readonly phase: number; readonly by: string; readonly reason: string };
  /** The host, or a rule of the workflow (`by` is `skip_when`), has skipped a phase. */
  phaseSkipped: SessionNotification & { readonly phase: number; readonly by: string; readonly reason: string };
  /** A session was paused. */
  paused: SessionNotification & { readonly note?: string | undefined };
  /** A session was resumed. */
  resumed: SessionNotification;
  /** The failed attempts at a phase were reset. */
  retried: SessionNotification & { readonly phase: number; readonly by: "agent" | "host" };
  /** A session has returned to an earlier phase. */
  rolledBack: SessionNotification & { readonly from: number; readonly to: number; readonly by: "agent" | "host" };
  /** A session was moved to the newest definition of its workflow; `accepted` are the differences that were accepted. */
  migrated: SessionNotification & {
    readonly revision: string;
    readonly by: string;
    readonly accepted: readonly AcceptedDifference[];
  };
  /** A session has adopted its current plan; `differences.takenAway` is what is no longer required. */
  planSynced: SessionNotification & {
    readonly changes: number;
    readonly differences: PlanChanges;
    readonly by: "agent" | "host";
  };
  /** Tasks were ticked or unticked in the plan; `missing` are those that it no longer has. */
  planTicked: SessionNotification & {
    readonly ticked: readonly string[];
    readonly unticked: readonly string[];
    readonly missing: readonly string[];
    /** Tasks without a checkbox in the plan. */
    readonly unwritable: readonly string[];
  };
  /** The plan could not be written; the next call on the session tries again. */
  planTicksPending: SessionNotification & { readonly path: string; readonly reason: string; readonly error: unknown };
  /** Snapshots were taken that nobody took when the phase was entered: what has changed since then is in them. */
  snapshotsTaken: SessionNotification & {
    readonly phase: number;
    /** The verifiers of all snapshots of the phase, also of those that were there. */
    readonly verifiers: readonly string[];
  };
  /** A session has passed its last phase, `milliseconds` after its start. */
  completed: SessionNotification & { readonly milliseconds: number };
  /** A session has failed: the attempts at a phase are used up. */
  failed: SessionNotification & { readonly phase: number; readonly attempts: number };
  /** A session was deleted. */
  deleted: SessionNotification & { readonly reason?: string | undefined };
  /** A check of a gate has begun or ended. Comes before the commit; a call that is cancelled leads to none. */
  verifying: { readonly sessionId: SessionId } & RunningChecks;
  /**
   * A submission that was answered with `verifying` has ended with an error: no result of it is recorded, for example since the
   * session was paused meanwhile.
   */
  submissionLost: {
    readonly sessionId: string;
    readonly phase: number;
    readonly idempotencyKey: string;
    readonly code: ErrorCode;
    /** Why no result is recorded. */
    readonly message: string;
  };
  /** A repeated call was answered with the commit of this version, which the first one led to. */
  replayed: { readonly sessionId: SessionId; readonly version: number };
  /** Another writer's commit came first, since this engine last saw the session; the command was decided again. */
  conflict: { readonly sessionId: SessionId; readonly version: number };
  /** A call of a tool was refused, also because it was not valid. */
  refused: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    /** The session that the call names; missing if it names none. */
    readonly sessionId?: string;
  };
  /** A refusal with security relevance: a path out of the root, a tampered log, unsafe evidence, a forged approval. */
  security: {
    readonly operation: string;
    readonly code: ErrorCode;
    readonly message: string;
    /** The session whose log was changed; missing for any other refusal. */
    readonly sessionId?: string;
  };
  /**
   * A failure that no caller can fix: of the storage, the workflows' files, a port or a listener of the
   * host, too many operations at once, or an unexpected one. The caller may have received it as well.
   */
  internalError: { readonly operation: string; readonly error: unknown };
}

/** All notifications of an engine, each with the level at which it is logged. */
export const PHASED_LEVELS: Levels<keyof EngineNotifications> = {
  started: "info",
  assigned: "info",
  // Each one comes with `started`, `gatePassed` or another notification.
  phaseEntered: "debug",
  gatePassed: "info",
  gateFailed: "info",
  approvalRequested: "info",
  approved: "info",
  denied: "info",
  waiverRequested: "info",
  waiverGranted: "info",
  waiverDenied: "info",
  stepRefused: "warn",
  taskCompleted: "debug",
  taskGivenUp: "info",
  gateOverridden: "info",
  phaseSkipped: "info",
  paused: "info",
  resumed: "info",
  retried: "info",
  rolledBack: "info",
  migrated: "info",
  planSynced: "info",
  planTicked: "info",
  planTicksPending: "warn",
  snapshotsTaken: "warn",
  submissionLost: "warn",
  completed: "info",
  failed: "info",
  deleted: "info",
  ...ENGINE_LEVELS,
};

/** Notifies an engine's host. */
export class Notifications extends Notifier<EngineNotifications> {
  constructor() {
    super(PHASED_LEVELS);
  }
}
