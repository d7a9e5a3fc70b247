/** The requests and results of routed engines. */
import type { ApprovalPass, Unapproved } from "../approval/guard.js";
import type { ApprovalRequested } from "../approval/message.js";
import type { Problem } from "../gate/verdict.js";
import type { Keyed } from "../phased/state/commands.js";
import type { Verification } from "../phased/state/events.js";
import type { Followed } from "../phased/verify/verify.js";
import type { JsonObject } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { FieldGate } from "../workflow/structure.js";
import type { RoutedStatus, StepReport } from "./decision/request.js";
import type { RoutedOperation } from "./state/transition.js";

/** Lets a caller follow a call that may wait for the decider, and end it. */
export interface FollowedDecision {
  /**
   * Ends the call with `CANCELLED`. Until something is written, its verifiers are stopped, and nothing is. After that it waits for
   * the decider no longer, who is stopped if no other call waits: the report stays recorded, and the next call continues with
   * it. No effect once the decision is written.
   */
  readonly signal?: AbortSignal;
  /** Called when the call begins to wait for the decider. Must not throw. */
  readonly onAsk?: () => void;
}

/** Lets a caller follow a call with a report, and end it. */
export interface FollowedReport extends FollowedDecision, Pick<Followed, "onCheck"> {}

/** Starts an instance of a routed workflow. */
export interface StartRoutedRequest extends Keyed, FollowedDecision {
  /** The name of the workflow. */
  readonly workflow: string;
  /** The initial context. Default: empty. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A client's report on its step. */
export interface AdvanceRequest extends Keyed, FollowedReport {
  /** `status` is required; `step_id`, if present, must name the current step; all other keys are stored. */
  readonly report: StepReport;
  /** Merged into the context before the decider is asked. */
  readonly contextUpdates?: Readonly<Record<string, unknown>>;
}

/** A report of a client that comes back. */
export interface ResumeRequest extends AdvanceRequest {
  /** The step that the client thinks it is on, or has just done. */
  readonly assumedStep: string;
}

/** A step as a client gets it. */
export interface StepView {
  /** `FINISH` once the work is done. */
  readonly name: string;
  /** What to do in this step. */
  readonly instructions: string;
  /** What the report's `details` must contain before the next step is decided. */
  readonly gate?: FieldGate;
}

/** A gate's answer to an insufficient report. */
export interface GateRefusal {
  /** The number of this attempt. */
  readonly attempt: number;
  /** The failures in a row after which the instance fails. */
  readonly maxAttempts: number;
  /** What is wrong with the details. */
  readonly problems: readonly Problem[];
  /** The results of the gate's verifiers. */
  readonly verification: readonly Verification[];
}

/**
 * An approval that an instance waits for: the input of `signApproval`. Steps count as phases by their position, from 1.
 */
export interface RoutedQuestion extends ApprovalRequested {
  readonly step: string;
  /** The details of the report, to be approved. */
  readonly evidence: JsonObject;
  /** The results of the gate's verifiers. */
  readonly verification: readonly Verification[];
  /** True if this engine accepts an unsigned answer. */
  readonly unsignedAllowed: boolean;
}

/** A step's gate that passed with an approval, and whether this host accepts it. */
export interface RoutedPass extends ApprovalPass {
  readonly step: string;
}

/** A step that was left, or is about to be, with an approval that this host does not accept. */
export type UnapprovedStep = Unapproved<RoutedPass>;

/** The state of an instance. */
export interface RoutedView {
  /** The instance's id. */
  readonly sessionId: SessionId;
  /** The name of its workflow. */
  readonly workflow: string;
  /** The revision of the workflow when the instance was started. */
  readonly revision: string;
  /** The instance's status. */
  readonly status: RoutedStatus;
  /** Missing until the decider has chosen the first one. */
  readonly currentStep?: string;
  /** The values that reports and decisions have collected. */
  readonly context: JsonObject;
  /** The version of the last commit. */
  readonly version: number;
  /** The time of its first commit: ISO 8601, UTC. */
  readonly createdAt: string;
  /** The time of its last commit: ISO 8601, UTC. */
  readonly updatedAt: string;
  /** The time at which it was completed: ISO 8601, UTC; missing if it is not. */
  readonly completedAt?: string;
  /** The reason why it waits or has failed. */
  readonly reason?: string;
  /** An undecided report: the next call continues with it. */
  readonly pending?: { readonly operation: "start" | "advance" | "resume" };
  /** The approval that the instance waits for, if it does. */
  readonly awaiting?: RoutedQuestion;
  /**
   * The step that the log shows as passed with an approval that this host does not accept. Everything else here is the
   * instance before that: what follows it in the log does not count. Missing at hosts without approvers.
   */
  readonly unapproved?: UnapprovedStep;
  /** The operations that are possible now. */
  readonly allowed: readonly RoutedOperation[];
  /** True if an earlier call with the same key did what was asked; this is the instance's current state. */
  readonly replayed?: boolean;
}

/** The result of a call that moves an instance. */
export interface RoutedResult extends RoutedView {
  /** The step to do next. */
  readonly nextStep: StepView;
  /** True if an earlier call with the same key did it: everything else is that call's answer. */
  readonly replayed: boolean;
  /** For a replayed answer: the current state, if the instance has moved on since. */
  readonly now?: RoutedView & { readonly nextStep: StepView };
  /** The report did not pass the step's gate: fix the problems and report again. */
  readonly gate?: GateRefusal;
  /** The decider's reasons, if it gave any. */
  readonly reasoning?: string;
}
