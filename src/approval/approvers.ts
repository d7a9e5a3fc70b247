/**
 * The keys of the people who may approve: Ed25519 keys and passkeys. What a host gives from outside is checked here, in
 * one place.
 */

import { PhasegateError } from "../errors.js";
import { isJsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";

/** A passkey (WebAuthn): a phone, a laptop's sensor or a hardware key. It signs only after it has verified its user. */
export interface Passkey {
  readonly kind: "passkey";
  /** The id of the credential, in base64url. */
  readonly credentialId: string;
  /** The public key as a COSE key, in base64url. */
  readonly publicKey: string;
  /** The algorithm of the key: ECDSA on P-256 with SHA-256, or Ed25519. */
  readonly algorithm: "ES256" | "Ed25519";
  /** The domain that the passkey belongs to (the relying party's id), such as `gates.example.com` or `localhost`. */
  readonly rpId: string;
  /** The origins of the pages whose approvals count, such as `https://gates.example.com`; 1 to 20. */
  readonly origins: readonly string[];
  /** The SHA-256 of the invitation that it was registered with, which counts once. */
  readonly invitation?: string | undefined;
}

/** An approver's public key: an Ed25519 key as `ed25519:` and 32 bytes in base64url, or a passkey. */
export type ApproverKey = string | Passkey;

/** The keys of the people who may approve, by name. A person may have several, such as a phone and a laptop; at most 20. */
export type Approvers = Readonly<Record<string, ApproverKey | readonly ApproverKey[]>>;

/** Approvers' keys that were checked. */
export type KnownApprovers = ReadonlyMap<string, readonly ApproverKey[]>;

/** The largest number of keys of one person. */
const KEYS_MAX = 20;

/**
 * Checks approvers' keys. Of a passkey it looks at the kind alone: `requirePasskey` checks it before it is used, so that
 * hosts without passkeys load nothing for them.
 * @throws {PhasegateError} `INVALID_INPUT` for a name that is blank, and for the first key that is wrong.
 */
export function checkApprovers(approvers: Readonly<Record<string, unknown>>): KnownApprovers {
  const known = new Map<string, readonly ApproverKey[]>();
  for (const [name, given] of Object.entries(approvers)) {
    const keys: readonly unknown[] = Array.isArray(given) ? given : [given];
    const right = name.trim() === "" ? [] : keys.filter(isKey);
    if (right.length < keys.length || keys.length === 0 || keys.length > KEYS_MAX) throw wrongKey(name);
    known.set(name, right);
  }
  return known;
}

function isKey(key: unknown): key is ApproverKey {
  return typeof key === "string"
    ? /^ed25519:[A-Za-z0-9_-]{43}$/.test(key)
    : isJsonObject(key) && key.kind === "passkey";
}

function wrongKey(name: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `approvers.${shown(name)} is no Ed25519 public key, and no passkey`, {
    remedy:
      "Give the key as `phasegate keygen` has printed it, ed25519: and 43 characters of base64url; or a list of 1 to 20 keys.",
    details: { field: `approvers.${name}`, expected: "ed25519:<base64url of 32 bytes>" },
  });
}

/**
 * Returns a function that gives the approvers as they are now. A host's function is called each time, and its answer is
 * checked again when it is another object.
 * @throws {PhasegateError} `INVALID_INPUT` at once when a key is wrong; later when a new one is.
 */
export function currentApprovers(approvers: Approvers | (() => Approvers)): () => KnownApprovers {
  if (typeof approvers !== "function") {
    const known = checkApprovers(approvers);
    return () => known;
  }
  let given = approvers();
  let known = checkApprovers(given);
  return () => {
    const now = approvers();
    if (now !== given) [known, given] = [checkApprovers(now), now];
    return known;
  };
}
