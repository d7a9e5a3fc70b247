/**
 * The approver's side of an approval: a browser, a chat bot, a command. The cryptography is loaded on first
 * use.
 */

import type { ApproverKeys } from "./keys.js";
import type { ApprovalAnswer, ApprovalQuestion, ApprovalSignature, WaiverQuestion } from "./message.js";

/**
 * Generates an Ed25519 key pair for an approver. The host gets the public key (`EngineOptions.approvers`);
 * keep the private key where no agent can read it.
 */
export async function createApproverKeys(): Promise<ApproverKeys> {
  const { createKeys } = await import("./keys.js");
  return createKeys();
}

/** The answer to sign. */
export interface SignRequest extends Omit<ApprovalAnswer, "signedAt"> {
  /** The approver's private key, from {@link createApproverKeys}. */
  readonly privateKey: string;
  /** ISO 8601, UTC. Default: now. */
  readonly signedAt?: string;
}

/**
 * Signs a person's answer to a question from `Engine.getApproval` or `Engine.getWaiver`. Pass the same `by` and `note`
 * to `Engine.approve` or `Engine.deny`, for a waiver to `Engine.waive` or `Engine.denyWaiver`.
 * @throws {PhasegateError} `INVALID_INPUT` when `privateKey` is not an Ed25519 private key.
 */
export async function signApproval(
  question: ApprovalQuestion | WaiverQuestion,
  request: SignRequest,
): Promise<ApprovalSignature> {
  const { privateKey, signedAt = new Date().toISOString(), ...answer } = request;
  const [{ readPrivateKey }, { approvalMessage }] = await Promise.all([import("./keys.js"), import("./message.js")]);
  const signer = await readPrivateKey(privateKey);
  return { signedAt, value: await signer.sign(approvalMessage(question, { ...answer, signedAt })) };
}
