import type { ErrorCode } from "../errors.js";
import type { Problem } from "../gate/verdict.js";
import { type Listener, Notifier } from "../runtime/notifier.js";
import type { SessionId } from "../workflow/names.js";
import type { PlanChanges } from "./state/events.js";
/** Whose notification it is. */
export interface SessionNotification {
  readonly sessionId: SessionId;
  readonly workflowType: string;
  /** When, in ISO 8601, UTC. */
  readonly at: string;
}

/** What a person has said at a gate. */
export interface PersonsDecision {
  readonly phase: number;
  readonly by: string;
  readonly note?: string | undefined;
  /** Whether it was signed with that approver's key. */
  readonly authenticated: boolean;
}

/** What an engine tells its host as things happen, each with what it carries. */
export interface EngineNotifications {
  started: SessionNotification & { readonly target: string; readonly phase: number };
  phaseEntered: SessionNotification & { readonly phase: number };
  gatePassed: SessionNotification & { readonly phase: number; readonly attempt: number };
  gateFailed: SessionNotification & {
    readonly phase: number;
    readonly attempt: number;
    readonly problems: readonly Problem[];
  };
  /** Nothing is missing at a gate but a person's word: the moment to tell one. */
  approvalRequested: SessionNotification & {
    readonly phase: number;
    readonly attempt: number;
    readonly evidenceHash: string;
    readonly prompt: string;
    readonly approvers?: readonly string[] | undefined;
  };
  approved: SessionNotification & PersonsDecision;
  denied: SessionNotification & PersonsDecision;
  gateOverridden: SessionNotification & { readonly phase: number; readonly by: string; readonly reason: string };
  phaseSkipped: SessionNotification & { readonly phase: number; readonly by: string; readonly reason: string };
  paused: SessionNotification & { readonly note?: string | undefined };
  resumed: SessionNotification;
  retried: SessionNotification & { readonly phase: number; readonly by: "agent" | "host" };
  rolledBack: SessionNotification & { readonly from: number; readonly to: number; readonly by: "agent" | "host" };
  migrated: SessionNotification & { readonly revision: string; readonly by: string };
  /** A session goes on with its plan as it is now; `differences.takenAway` is what is asked for no more. */
  planSynced: SessionNotification & {
    readonly changes: number;
    readonly differences: PlanChanges;
    readonly by: "agent" | "host";
  };
  /** Tasks were ticked in the plan, or their ticks taken back; `missing` are those that it doesn't have any more. */
  planTicked: SessionNotification & {
    readonly ticked: readonly string[];
    readonly unticked: readonly string[];
    readonly missing: readonly string[];
    /** Tasks that have nothing in the plan that could be ticked. */
    readonly unwritable: readonly string[];
  };
  /** The plan could not be written; it is tried again at the next call on the session. */
  planTicksPending: SessionNotification & { readonly path: string; readonly reason: string; readonly error: unknown };
  completed: SessionNotification;
  failed: SessionNotification & { readonly phase: number; readonly attempts: number };
  deleted: SessionNotification & { readonly reason?: string | undefined };
  /** Somebody else's commit came first; the command was decided again. */
  conflict: { readonly sessionId: SessionId; readonly version: number };
  /** A refusal that touches security: a path that leads out, a log that was changed, unsafe evidence, a forged approval. */
  security: { readonly operation: string; readonly code: ErrorCode; readonly message: string };
  /**
   * A failure of what the engine runs on, which no caller can mend: of the storage, of the workflows' files, of a port of the
   * host's or a listener, too many operations at once, or one that nobody expected. Its caller may have been told as well.
   */
  internalError: { readonly operation: string; readonly error: unknown };
}

/** The name of a notification. */
export type NotificationName = keyof EngineNotifications;
/** A listener; what it throws, or rejects with, stops neither the others nor the call. */
export type NotificationListener<N extends NotificationName> = Listener<EngineNotifications[N]>;

/** What an engine tells its host. */
export class Notifications extends Notifier<EngineNotifications> {}
