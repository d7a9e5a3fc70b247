import type { Executed } from "../log/commit.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import type { PhasedGuard, UnapprovedPass } from "./approval/ledger.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import type { ArtifactNames, PhasedKernel, PhasedSession, Pinned } from "./pinned.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import type { VerifyContext } from "./verify/verify-context.js";
import type { WorkflowList } from "./workflow-list.js";
/** What the parts of an engine share. */
export interface EngineContext {
  readonly options: ResolvedOptions;
  readonly kernel: PhasedKernel;
  readonly workflows: WorkflowList;
  readonly pinned: Pinned;
  readonly artifactNames: ArtifactNames;
  readonly beginnings: VerifyContext["beginnings"];
  /** Asked before anything is shown of a session, or done in it, that lies behind a gate which asks a person. */
  readonly approvalGuard: PhasedGuard;
  readonly notifications: Notifications;
  /** The workflow that sessions must be on, where the host has said so. */
  readonly workflowType?: string;
}

/** What came of writing ticks into the source of a plan. */
export interface TickReport {
  /** Tasks that were ticked, by their ids in the source. */
  readonly ticked: readonly string[];
  /** Tasks whose ticks were taken back. */
  readonly unticked: readonly string[];
  /** Tasks that the source doesn't have any more. */
  readonly missing: readonly string[];
  /** Tasks that have nothing in the source that could be ticked: a heading without criteria, say. */
  readonly unwritable: readonly string[];
  /** Why something could not be written yet; it is tried again at the next call on the session. */
  readonly pending?: string;
}

/** What an operation led to. */
export interface PhasedOutcome extends Executed<SessionEvent, SessionHead> {
  /** What was written into the session's plan after it. */
  readonly ticks?: TickReport;
}

/**
 * A session with the structure that it is bound to, as far as this host believes its log: where it was let past a gate on
 * an approval that this host does not believe, it is the session before that, and `unapproved` says which gate it was.
 */
export interface LoadedSession {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly unapproved?: UnapprovedPass;
  /** What was written into its plan before it was loaded. */
  readonly ticks?: TickReport;
}
