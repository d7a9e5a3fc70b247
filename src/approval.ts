/**
 * Approvals by persons: makes an approver's key pair, builds the message that an approval signs, and signs it; and the
 * types of approvals in gates and sessions. For programs that people approve with; no engine is needed, and nothing of
 * Node's.
 *
 * @packageDocumentation
 */

export type { Distrust } from "./approval/decision.js";
export type { ApprovalPass, Unapproved } from "./approval/guard.js";
export type { ApproverKeys } from "./approval/keys.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalRequested,
  type ApprovalSignature,
  approvalMessage,
} from "./approval/message.js";
export { createApproverKeys, type SignRequest, signApproval } from "./approval/sign.js";
export type { ApprovedPass, Denial, UnapprovedPass } from "./phased/approval/ledger.js";
export type { PersonsDecision } from "./phased/notifications.js";
export type { UnapprovedView } from "./phased/views.js";
export type { PersonsAnswer } from "./tools/dispatch.js";
export type { ApprovalInput } from "./workflow/workflow-input.js";
