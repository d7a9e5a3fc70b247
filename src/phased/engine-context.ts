/** What the operations of an engine share. */
import type { Executed } from "../log/commit.js";
import type { Caller } from "../ports/actor.js";
import type { Content } from "../ports/content-provider.js";
import type { FilledText, OwnText } from "../template/template.js";
import type { WorkflowList } from "../workflow/files/workflow-list.js";
import type { MarkdownFacts } from "../workflow/markdown-facts.js";
import type { WorkflowStructure } from "../workflow/structure.js";
import type { PhasedGuard, UnapprovedPass } from "./approval/ledger.js";
import type { Notifications } from "./notifications.js";
import type { ResolvedOptions } from "./options.js";
import type { ArtifactNames, Pinned } from "./pinned.js";
import type { SessionEvent } from "./state/events.js";
import type { SessionHead } from "./state/head.js";
import type { PhasedKernel, PhasedSession } from "./state/machine.js";
import type { VerifyContext } from "./verify/run-verifiers.js";

/** What the operations of an engine share. */
export interface EngineContext extends Pick<VerifyContext, "beginnings" | "onChecks"> {
  readonly options: ResolvedOptions;
  readonly kernel: PhasedKernel;
  /** The same for all sessions, also those that the caller may not see: a session's own children. */
  readonly wholeKernel: PhasedKernel;
  readonly workflows: WorkflowList;
  readonly pinned: Pinned;
  readonly artifactNames: ArtifactNames;
  /** Asked before anything is shown or done behind a gate that requires an approval. */
  readonly approvalGuard: PhasedGuard;
  readonly notifications: Notifications;
  /** The workflow that sessions must be on, if the host has set one. */
  readonly workflowType?: string;
  /** For whom it is done; for the host itself if missing. The kernel finds no session that they may not see. */
  readonly caller?: Caller;
}

/** The result of writing ticks into the source of a plan. */
export interface TickReport {
  /** Tasks that were ticked, by their ids in the source. */
  readonly ticked: readonly string[];
  /** Tasks whose ticks were removed. */
  readonly unticked: readonly string[];
  /** Tasks that the source no longer has. */
  readonly missing: readonly string[];
  /** Tasks without a checkbox in the source, such as a heading without criteria. */
  readonly unwritable: readonly string[];
  /** Why something could not be written yet; the next call on the session tries again. */
  readonly pending?: string;
}

/** The outcome of an operation. */
export interface PhasedOutcome extends Executed<SessionEvent, SessionHead> {
  /** What was written into the session's plan afterwards. */
  readonly ticks?: TickReport;
}

/**
 * A session with its pinned structure. If its log contains an approval that this host does not accept, it
 * is the session before that gate, and `unapproved` names the gate.
 */
export interface LoadedSession {
  readonly session: PhasedSession;
  readonly structure: WorkflowStructure;
  readonly unapproved?: UnapprovedPass;
  /** What was written into its plan before it was loaded. */
  readonly ticks?: TickReport;
}

/** A text with the facts that were read from it. */
export interface TextView {
  /** The text with its revision. */
  readonly content: Content;
  /** Title, duration, steps and the like, as far as the Markdown has them. */
  readonly facts: MarkdownFacts;
  /** The placeholders of its template that nothing fills, as written: they are left out of the text. */
  readonly leftOut: readonly string[];
  /** True if the text has changed since the session was started. */
  readonly contentChanged: boolean;
  /**
   * For a task from a plan: its text without what the phase's other tasks share. For a phase: its text without what it
   * shares with the plan's first phase. Missing where little is shared.
   */
  readonly own?: OwnText;
  /**
   * For a phase from a plan: what the texts of its tasks share, with placeholders for what is a task's own. In a later
   * phase without what the plan's first phase has, too.
   */
  readonly shared?: FilledText;
}
