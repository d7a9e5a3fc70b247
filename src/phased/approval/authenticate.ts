/**
 * Authenticates a person's answer: the gate must allow the person, and the signature must be by the key
 * that the host has for that name.
 */

import { isSignedBy, keyIdOf } from "../../approval/keys.js";
import { type ApprovalSignature, approvalMessage } from "../../approval/message.js";
import type { ErrorDetails, PhasegateError } from "../../errors.js";
import type { ApprovalOptions } from "../options.js";
import type { PersonsWord } from "../state/commands.js";
import { approvalRefused } from "../state/decide-gate.js";
import type { AwaitedApproval } from "./awaited.js";

/** A person's answer as it arrives. */
export interface Word {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string | undefined;
  readonly signature?: ApprovalSignature | undefined;
}

type Authentication = Pick<PersonsWord, "authenticated" | "signature" | "keyId">;

/**
 * Authenticates an answer. An invalid signature is refused even where none is required: its sender expects
 * it to count. Throws `APPROVAL_REFUSED`.
 */
export async function authenticate(
  { approvers, unsigned }: ApprovalOptions,
  question: AwaitedApproval,
  { decision, by, note, signature }: Word,
): Promise<Authentication> {
  const { phase } = question;
  const allowed = question.approvers;
  if (allowed !== undefined && !allowed.includes(by)) {
    const remedy = `Ask one of those that the gate names: ${allowed.join(", ")}.`;
    throw refusal("not_an_approver", phase, `${by} is none of those who may approve phase ${phase}`, remedy);
  }
  if (signature === undefined) {
    if (unsigned) return { authenticated: false };
    const remedy = "Sign it with an approver's key (`phasegate approve --key`); only the host can allow unsigned ones.";
    throw refusal("unsigned", phase, `an approval of phase ${phase} must be signed`, remedy);
  }
  const publicKey = approvers.get(by);
  if (publicKey === undefined) {
    const remedy = "The host must be given that approver's public key, under exactly that name.";
    throw refusal("unknown_approver", phase, `there is no key for an approver called ${by}`, remedy);
  }
  const message = approvalMessage(question, { decision, by, note, signedAt: signature.signedAt });
  if (await isSignedBy(publicKey, message, signature.value)) {
    return { authenticated: true, signature, keyId: keyIdOf(publicKey) };
  }
  const remedy = "Sign what waits now with that approver's own key: a signature holds for one request alone.";
  throw refusal("signature", phase, `the signature is not ${by}'s word on what phase ${phase} waits for`, remedy);
}

type Reason = ErrorDetails["APPROVAL_REFUSED"]["reason"];

function refusal(reason: Reason, phase: number, message: string, remedy: string): PhasegateError<"APPROVAL_REFUSED"> {
  return approvalRefused(message, remedy, { phase, reason });
}
