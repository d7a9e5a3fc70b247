/**
 * Approvals and waivers by persons: makes an approver's key pair or registers a passkey, builds the message of a decision
 * or the challenge for a passkey, and signs it; and the types of approvals and waivers. For programs that people approve
 * with; needs no engine, and nothing of Node's.
 *
 * @packageDocumentation
 */

export type { ApproverKey, Approvers, Passkey } from "./approval/approvers.js";
export type { ApproverKeys } from "./approval/keys.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalSignature,
  approvalMessage,
  createApproverKeys,
  type SignRequest,
  signApproval,
  type WaiverQuestion,
} from "./approval/message.js";
export { type PasskeyPlace, passkeyChallenge, readRegistration, registrationOptions } from "./approval/passkey.js";
export type { ApprovalRequest, ApprovedPass, AwaitedWaiver, SessionAudit } from "./phased/approval/ledger.js";
export type {
  ApproveRequest,
  DenyRequest,
  DenyWaiverRequest,
  RequestWaiver,
  WaiveRequest,
  WaiverRequest,
  WaiverResult,
} from "./phased/approval/requests.js";
export type { ApprovalInput } from "./workflow/workflow-input.js";
