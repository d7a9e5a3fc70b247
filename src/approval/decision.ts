/**
 * Checks a person's decision: the gate must allow the person, and the signature must be by the key that the host
 * has for that name.
 */
import type { ErrorDetails, PhasegateError } from "../errors.js";
import { isSignedBy, keyIdOf } from "./keys.js";
import {
  type ApprovalQuestion,
  type ApprovalRequested,
  type ApprovalSignature,
  approvalMessage,
  approvalRefused,
  isWaiver,
  type WaiverQuestion,
} from "./message.js";

/** Which approvals count. */
export interface ApprovalOptions {
  /** Public keys by name. */
  readonly approvers: ReadonlyMap<string, string>;
  /** True if unsigned approvals count. */
  readonly unsigned: boolean;
}

/** A question with those who may answer it. */
export type AskedApproval = (ApprovalQuestion | WaiverQuestion) & Pick<ApprovalRequested, "approvers">;

/** A person's decision as it arrives. */
export interface GivenDecision {
  readonly decision: "approve" | "deny";
  readonly by: string;
  readonly note?: string | undefined;
  readonly signature?: ApprovalSignature | undefined;
}

/** A decision that counts: whether it was signed, and with which key. */
interface Authentication {
  readonly authenticated: boolean;
  readonly signature?: ApprovalSignature;
  readonly keyId?: string;
}

/** Why an approval does not count. */
export type Distrust = ErrorDetails["APPROVAL_REFUSED"]["reason"];

/** The outcome of checking a decision. */
type CheckedDecision = { readonly accepted: Authentication } | { readonly refusal: PhasegateError<"APPROVAL_REFUSED"> };

/**
 * Checks a decision on a question. An invalid signature is refused even where none is required: its sender expects
 * it to count.
 */
export async function checkDecision(
  { approvers, unsigned }: ApprovalOptions,
  question: AskedApproval,
  { decision, by, note, signature }: GivenDecision,
): Promise<CheckedDecision> {
  const { phase } = question;
  const allowed = question.approvers;
  const what = isWaiver(question) ? "a waiver in" : "an approval of";
  if (allowed !== undefined && !allowed.includes(by)) {
    const remedy = `Ask an approver that the gate names: ${allowed.join(", ")}.`;
    return refused("not_an_approver", phase, `${by} is not an approver of phase ${phase}`, remedy);
  }
  // A waiver without approvers, in the gate and at the host, is a decision of the host like an override.
  const isHosts = isWaiver(question) && allowed === undefined && approvers.size === 0;
  if (signature === undefined) {
    if (unsigned || isHosts) return { accepted: { authenticated: false } };
    const remedy = `Sign it with an approver's key (\`phasegate ${isWaiver(question) ? "waive" : "approve"} --key\`); only the host can allow unsigned ones.`;
    return refused("unsigned", phase, `${what} phase ${phase} must be signed`, remedy);
  }
  const publicKey = approvers.get(by);
  if (publicKey === undefined) {
    if (isHosts) return { accepted: { authenticated: false } };
    const remedy = "The host must be given that approver's public key, under exactly that name.";
    return refused("unknown_approver", phase, `there is no key for an approver called ${by}`, remedy);
  }
  const message = approvalMessage(question, { decision, by, note, signedAt: signature.signedAt });
  if (await isSignedBy(publicKey, message, signature.value)) {
    return { accepted: { authenticated: true, signature, keyId: keyIdOf(publicKey) } };
  }
  const remedy = "Sign the current request with that approver's own key: a signature is valid for one request only.";
  return refused("signature", phase, `the signature is not by ${by}, or not for the request of phase ${phase}`, remedy);
}

/** Checks a decision that is about to be recorded, and throws `APPROVAL_REFUSED` if it does not count. */
export async function requireDecision(
  options: ApprovalOptions,
  question: AskedApproval,
  given: GivenDecision,
): Promise<Authentication> {
  const checked = await checkDecision(options, question, given);
  if ("refusal" in checked) throw checked.refusal;
  return checked.accepted;
}

function refused(reason: Distrust, phase: number, message: string, remedy: string): CheckedDecision {
  return { refusal: approvalRefused(message, remedy, { phase, reason }) };
}
