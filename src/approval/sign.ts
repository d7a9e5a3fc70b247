/** What an approver's side needs: a browser, a chat bot, a command. Loaded when it is used. */

import type { ApproverKeys } from "./keys.js";
import type { ApprovalAnswer, ApprovalQuestion, ApprovalSignature } from "./message.js";
/** What is signed: the answer, and the private key as {@link createApproverKeys} gave it. */
export interface SignRequest extends Omit<ApprovalAnswer, "signedAt"> {
  readonly privateKey: string;
  /** Now if not given; ISO 8601, UTC. */
  readonly signedAt?: string;
}

/**
 * Makes an approver's pair of Ed25519 keys. The host gets the public one (`EngineOptions.approvers`); the
 * private one belongs where no agent can read it.
 */
export async function createApproverKeys(): Promise<ApproverKeys> {
  const { createKeys } = await import("./keys.js");
  return createKeys();
}

/**
 * Signs a person's answer to what a session waits for, as `Engine.getApproval` has it. The same `by` and
 * `note` must then be given to `Engine.approve` or `Engine.deny`. Throws `INVALID_INPUT` for what is no key.
 */
export async function signApproval(question: ApprovalQuestion, request: SignRequest): Promise<ApprovalSignature> {
  const { privateKey, signedAt = new Date().toISOString(), ...answer } = request;
  const [{ readPrivateKey }, { approvalMessage }] = await Promise.all([import("./keys.js"), import("./message.js")]);
  const signer = await readPrivateKey(privateKey);
  return { signedAt, value: await signer.sign(approvalMessage(question, { ...answer, signedAt })) };
}
