/** Which of a person's keys has signed: Ed25519 keys and passkeys. Loaded by the first signature that is checked. */

import type { ApproverKey } from "./approvers.js";
import { fromBase64Url, isSignedBy, keyIdOf } from "./keys.js";
import { type ApprovalSignature, signatureSchema } from "./message.js";

/** The key of a signature that this host has checked. */
export interface UsedKey {
  /** The kind of the key. */
  readonly kind: "ed25519" | "passkey";
  /** The first half of the SHA-256 of the public key, in hexadecimal. */
  readonly id: string;
  /** How often the passkey says that it has signed; 0 if it does not count. Missing for an Ed25519 key. */
  readonly counter?: number;
}

/**
 * Returns the id of the key that signed, and the signature without members that none has; or why it is not by any of the
 * keys. Signatures with the data of an assertion are checked with passkeys alone, others with Ed25519 keys alone.
 */
export async function findKey(
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

/** The counter follows the 32 bytes of the relying party's hash and one of flags. */
const COUNTER_AT = 33;

/** Returns what is known of the key of a signature that was checked. */
export function usedKey(id: string, { authenticatorData }: ApprovalSignature): UsedKey {
  if (authenticatorData === undefined) return { kind: "ed25519", id };
  const counter = new DataView(fromBase64Url(authenticatorData).buffer).getUint32(COUNTER_AT);
  return { kind: "passkey", id, counter };
}
