/**
 * Approvals and waivers by persons: makes an approver's key pair or registers a passkey, builds the message of a decision
 * or the challenge for a passkey, and signs it; and the types of approvals and waivers. For programs that people approve
 * with; needs no engine, and nothing of Node's.
 *
 * @packageDocumentation
 */

export type { ApproverKey, Approvers, InvitationState, Invitations, Passkey } from "./approval/approvers.js";
export type { Distrust } from "./approval/decision.js";
export type { ApprovalAudit, ApprovalPass, CounterWarning, Unapproved, UsedKey } from "./approval/guard.js";
export type { ApproverKeys } from "./approval/keys.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalRequested,
  type ApprovalSignature,
  approvalMessage,
  createApproverKeys,
  type SignRequest,
  signApproval,
  type WaiverQuestion,
} from "./approval/message.js";
export {
  type ExpectedRegistration,
  type PasskeyPlace,
  passkeyChallenge,
  type RegistrationOptions,
  type RegistrationRequest,
  readRegistration,
  registrationOptions,
} from "./approval/passkey.js";
export type { Proof } from "./gate/backed-claims.js";
export type { ApprovedPass, AwaitedWaiver, Denial, UnapprovedPass } from "./phased/approval/ledger.js";
export type {
  DenyWaiverRequest,
  RequestWaiver,
  WaiveRequest,
  WaiverDenial,
  WaiverRequest,
  WaiverRequested,
  WaiverResult,
  WaiversView,
} from "./phased/approval/waivers.js";
export type { PersonsDecision } from "./phased/notifications.js";
export type { Waived, WaiverAnswer } from "./phased/state/events.js";
export type { UnapprovedView } from "./phased/views.js";
export type { PersonsAnswer } from "./tools/dispatch.js";
export type { ApprovalInput } from "./workflow/workflow-input.js";
