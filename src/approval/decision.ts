/**
 * Checks a person's decision: the gate must allow the person, and the signature must be by a key that the host has
 * for that name.
 */
import type { ErrorDetails } from "../errors.js";
import type { ApproverKey, KnownApprovers, Passkey } from "./approvers.js";
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

export interface ApprovalOptions {
  /** Public keys by name, as they are now: a host may add approvers while it runs. */
  readonly approvers: KnownApprovers;
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

/** A decision that counts: whether it was signed, and with which key. Without keys, a signature is kept for hosts that have some. */
export type Authentication =
  | { readonly authenticated: false; readonly signature?: ApprovalSignature | undefined }
  | { readonly authenticated: true; readonly signature: ApprovalSignature; readonly keyId: string };

/** The reason why an approval does not count. */
export type Distrust = ErrorDetails["APPROVAL_REFUSED"]["reason"];

/**
 * Checks a decision on a question, and throws `APPROVAL_REFUSED` if it does not count. An invalid signature is refused even
 * where none is required: its sender expects it to count.
 */
export async function requireDecision(
  { approvers, unsigned }: ApprovalOptions,
  question: AskedApproval,
  { decision, by, note, signature }: GivenDecision,
): Promise<Authentication> {
  const { phase } = question;
  const allowed = question.approvers;
  const refused = (reason: Distrust, message: string, remedy: string, cause?: Error) =>
    approvalRefused(message, remedy, { phase, reason }, cause);
  if (allowed !== undefined && !allowed.includes(by)) {
    const remedy = `Ask an approver that the gate names: ${allowed.join(", ")}.`;
    throw refused("not_an_approver", `${by} is not an approver of phase ${phase}`, remedy);
  }
  // A waiver without approvers, in the gate and at the host, is a decision of the host like an override.
  const isHosts = isWaiver(question) && allowed === undefined && approvers.size === 0;
  const keys = approvers.get(by);
  if (isHosts) return { authenticated: false, signature: signatureSchema.safeParse(signature).data };
  if (signature === undefined && unsigned) return { authenticated: false };
  if (signature === undefined) {
    const [what, command] = isWaiver(question) ? ["a waiver in", "waive"] : ["an approval of", "approve"];
    const remedy = `Sign it with an approver's key (\`phasegate ${command} --key\`); only the host can allow unsigned ones.`;
    throw refused("unsigned", `${what} phase ${phase} must be signed`, remedy);
  }
  if (keys === undefined) {
    const remedy = "The host must be given that approver's public key, under exactly that name.";
    throw refused("unknown_approver", `there is no key for an approver called ${by}`, remedy);
  }
  const message = approvalMessage(question, { decision, by, note, signedAt: signature.signedAt });
  const found = await findKey(by, keys, message, signature);
  if (!(found instanceof Error)) return { authenticated: true, ...found };
  const remedy = "Sign the current request with that approver's own key: a signature is valid for one request only.";
  throw refused("signature", `the signature is not by ${by}, or not for the request of phase ${phase}`, remedy, found);
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
): Promise<{ readonly keyId: string; readonly signature: ApprovalSignature } | Error> {
  const { data: signature } = signatureSchema.safeParse(given);
  if (signature === undefined) return new Error("a member of the signature is missing, or too long");
  const isAssertion = signature.authenticatorData !== undefined || signature.clientData !== undefined;
  let problem = new Error(
    isAssertion ? "this approver has no passkey" : "no Ed25519 key of this approver has signed it",
  );
  for (const key of keys) {
    if (isAssertion !== (typeof key !== "string")) continue;
    const found =
      typeof key === "string" ? await isSignedBy(key, message, signature.value) : await byPasskey(key, signature);
    if (found === true) return { keyId: keyIdOf(key), signature };
    if (found instanceof Error) problem = found;
  }
  return problem;

  async function byPasskey(key: Passkey, signature: ApprovalSignature): Promise<true | Error> {
    const { checkAssertion, requirePasskey } = await import("./passkey.js");
    requirePasskey(by, key);
    return (await checkAssertion(key, message, signature)) ?? true;
  }
}
