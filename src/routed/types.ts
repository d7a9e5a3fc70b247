import type { ApprovalQuestion } from "../approval/message.js";
import type { ErrorDetails } from "../errors.js";
import type { Problem } from "../gate/verdict.js";
import type { Verification } from "../phased/state/events.js";
import type { JsonObject } from "../workflow/json.js";
import type { SessionId } from "../workflow/names.js";
import type { FieldGate } from "../workflow/structure.js";
import type { RoutedStatus, StepReport } from "./decision/request.js";
import type { RoutedOperation } from "./state/transition.js";
/** Something that may be repeated: the same key gives the first answer. */
export interface RoutedKeyed {
  readonly idempotencyKey?: string;
}

/** A new instance of a routed workflow. */
export interface StartRoutedRequest extends RoutedKeyed {
  readonly workflow: string;
  /** What the context begins with. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A client's word on the step that it was on. */
export interface AdvanceRequest extends RoutedKeyed {
  /** `status` must be there; `step_id`, where it is, must name the current step; all other keys are kept. */
  readonly report: StepReport;
  /** Merged into the context before the decider is asked. */
  readonly contextUpdates?: Readonly<Record<string, unknown>>;
}

/** The word of a client that comes back. */
export interface ResumeRequest extends AdvanceRequest {
  /** The step that the client thinks it is on, or has just done. */
  readonly assumedStep: string;
}

/** A step as a client gets it. */
export interface StepView {
  /** `FINISH` once the work is done. */
  readonly name: string;
  readonly instructions: string;
  /** What the report's `details` must show before anybody is asked what comes next. */
  readonly gate?: FieldGate;
}

/** What a gate says to a report, where it isn't enough yet. */
export interface GateRefusal {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly problems: readonly Problem[];
  readonly verification: readonly Verification[];
}

/** What a person is waited for: what `signApproval` signs, steps counting as phases by their place, from 1. */
export interface RoutedQuestion extends ApprovalQuestion {
  readonly step: string;
  readonly prompt: string;
  /** Who may answer, by the names that the host knows them by; any approver if not given. */
  readonly approvers?: readonly string[];
  /** What is to be approved: the details of the report. */
  readonly evidence: JsonObject;
  /** What the gate's verifiers have found. */
  readonly verification: readonly Verification[];
  readonly attempt: number;
  /** Whether this engine would take an answer that nobody has signed. */
  readonly unsignedAllowed: boolean;
  /** ISO 8601, UTC. */
  readonly askedAt: string;
}

/** A step's gate that passed on a person's yes, and whether this host believes that it was one. */
export interface RoutedPass {
  readonly step: string;
  /** The version of the commit that the yes stands in; of the decision, where the log has none. */
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Whose yes it was; missing where the log has none. */
  readonly by?: string;
  /** Whether the log says that it was signed. */
  readonly authenticated: boolean;
  /** Why this host does not believe it; missing where it does. */
  readonly distrust?: ErrorDetails["APPROVAL_REFUSED"]["reason"];
}

/** A step that was left, or is about to be, on an approval that this host does not believe. */
export interface UnapprovedStep extends RoutedPass {
  /** Why it is not believed. */
  readonly distrust: NonNullable<RoutedPass["distrust"]>;
}

/** Where an instance stands. */
export interface RoutedView {
  readonly instanceId: SessionId;
  readonly workflow: string;
  readonly revision: string;
  readonly status: RoutedStatus;
  /** Missing until the decider has picked the first one. */
  readonly currentStep?: string;
  readonly context: JsonObject;
  readonly version: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly completedAt?: string;
  /** Why it waits or has failed. */
  readonly reason?: string;
  /** A report that no decider has answered yet: the next call goes on with it. */
  readonly pending?: { readonly operation: "start" | "advance" | "resume" };
  /** A person is waited for. */
  readonly awaiting?: RoutedQuestion;
  /**
   * The step that the log has as passed on an approval that this host does not believe. All else here is the instance
   * before that: what comes after it in the log does not count. Missing at hosts that know no approvers.
   */
  readonly unapproved?: UnapprovedStep;
  /** What may be called now. */
  readonly allowed: readonly RoutedOperation[];
  /** An earlier call with the same key had suspended or cancelled it: this is where it is now. */
  readonly replayed?: boolean;
}

/** What a call that moves an instance answers. */
export interface RoutedResult extends RoutedView {
  readonly nextStep: StepView;
  /** Whether an earlier call with the same key did it: all else is that call's answer. */
  readonly replayed: boolean;
  /** Of a replayed answer: where the instance is, if it has gone on since. */
  readonly now?: RoutedView & { readonly nextStep: StepView };
  /** The report was not enough for the step's gate: mend what it names, and report again. */
  readonly gate?: GateRefusal;
  readonly reasoning?: string;
}
