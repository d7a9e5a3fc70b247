/**
 * An approver's part of an approval: makes a key pair, builds the message that an approval signs, and signs it. For programs
 * that people approve with; no engine is needed, and nothing of Node's.
 *
 * @packageDocumentation
 */

export type { ApproverKeys } from "./approval/keys.js";
export {
  type ApprovalAnswer,
  type ApprovalQuestion,
  type ApprovalSignature,
  approvalMessage,
} from "./approval/message.js";
export { createApproverKeys, type SignRequest, signApproval } from "./approval/sign.js";
