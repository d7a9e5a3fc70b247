/**
 * Checks a person's decision: the gate must allow the person, and the signature must be by a key that the host has
 * for that name.
 */
import type { ErrorDetails, PhasegateError } from "../errors.js";
import type { ApproverKey, KnownApprovers } from "./approvers.js";
import { isSignedBy, keyIdOf } from "./keys.js";
import {
  type ApprovalQuestion,
  type ApprovalRequested,
  type ApprovalSignature,
  approvalMessage,
  approvalRefused,
  isWaiver,
  signatureSchema,
  type WaiverQuestion,
} from "./message.js";

/** Which approvals count. */
export interface ApprovalOptions {
  /** Public keys by name, as they are now: a host may add approvers while it runs. */
  readonly approvers: KnownApprovers;
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
type Authentication =
  | { readonly authenticated: false }
  | { readonly authenticated: true; readonly signature: ApprovalSignature; readonly keyId: string };

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
  const keys = approvers.get(by);
  if (keys === undefined) {
    if (isHosts) return { accepted: { authenticated: false } };
    const remedy = "The host must be given that approver's public key, under exactly that name.";
    return refused("unknown_approver", phase, `there is no key for an approver called ${by}`, remedy);
  }
  const message = approvalMessage(question, { decision, by, note, signedAt: signature.signedAt });
  const found = await findKey(by, keys, message, signature);
  if ("keyId" in found) return { accepted: { authenticated: true, ...found } };
  const remedy = "Sign the current request with that approver's own key: a signature is valid for one request only.";
  const refusal = `the signature is not by ${by}, or not for the request of phase ${phase}`;
  return refused("signature", phase, refusal, remedy, found.cause);
}

/**
 * Returns the id of the key that signed, and the signature without members that none has; or why it is not by any of the
 * keys. Signatures with the data of an assertion are checked with passkeys alone, others with Ed25519 keys alone.
 */
async function findKey(
  by: string,
  keys: readonly ApproverKey[],
  message: string,
  given: ApprovalSignature,
): Promise<{ readonly keyId: string; readonly signature: ApprovalSignature } | { readonly cause?: Error }> {
  const { data: signature } = signatureSchema.safeParse(given);
  if (signature === undefined) return { cause: new Error("a member of the signature is missing, or too long") };
  const { authenticatorData, clientData } = signature;
  if (authenticatorData === undefined && clientData === undefined) {
    for (const key of keys) {
      if (typeof key === "string" && (await isSignedBy(key, message, signature.value)))
        return { keyId: keyIdOf(key), signature };
    }
    return {};
  }
  const { checkAssertion, requirePasskey } = await import("./passkey.js");
  let cause = new Error("this approver has no passkey");
  for (const key of keys) {
    if (typeof key === "string") continue;
    requirePasskey(by, key);
    const problem = await checkAssertion(key, message, signature);
    if (problem === undefined) return { keyId: keyIdOf(key), signature };
    cause = problem;
  }
  return { cause };
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

function refused(reason: Distrust, phase: number, message: string, remedy: string, cause?: Error): CheckedDecision {
  return { refusal: approvalRefused(message, remedy, { phase, reason }, cause) };
}
