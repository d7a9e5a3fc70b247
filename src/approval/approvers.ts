/**
 * The people who may approve. First their keys: Ed25519 keys and passkeys, as a host gives them. Then invitations to
 * register a passkey: a random secret that counts once, until it expires. Only its SHA-256 is stored; where, is the host's
 * choice: the command line keeps approvers and invitations in files.
 */
import { PhasegateError } from "../errors.js";
import { digest, isJsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";

/** A passkey (WebAuthn): a phone, a laptop's sensor or a hardware key. It signs only after it has verified its user. */
export interface Passkey {
  /** Tells it from an Ed25519 key, which is a text. */
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

/** Returns the keys of an approver. */
export function keysOf(approvers: Approvers, name: string): readonly ApproverKey[] {
  const keys = Object.hasOwn(approvers, name) ? approvers[name] : undefined;
  if (keys === undefined) return [];
  return typeof keys === "string" || "kind" in keys ? [keys] : keys;
}

/** Returns the person who has a public key, of all approvers or of some; undefined if it is nobody's. */
export function personWith(
  publicKey: ApproverKey,
  approvers: Approvers,
  names: readonly string[] = Object.keys(approvers),
): string | undefined {
  return names.find((name) => keysOf(approvers, name).includes(publicKey));
}

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
    const right = keys.filter(isKey);
    if (name.trim() === "") throw wrongKey(name, "has a name that is blank");
    if (right.length < keys.length) throw wrongKey(name, "is no Ed25519 public key, and no passkey");
    if (keys.length === 0 || keys.length > KEYS_MAX) throw wrongKey(name, `has ${keys.length} keys`);
    known.set(name, right);
  }
  return known;
}

function isKey(key: unknown): key is ApproverKey {
  return typeof key === "string"
    ? /^ed25519:[A-Za-z0-9_-]{43}$/.test(key)
    : isJsonObject(key) && key.kind === "passkey";
}

function wrongKey(name: string, fault: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", `approvers.${shown(name)} ${fault}`, {
    remedy: `Give the person's name, and the key as \`phasegate keygen\` has printed it, ed25519: and 43 characters of base64url; or a list of 1 to ${KEYS_MAX} keys.`,
    details: { field: `approvers.${name}`, expected: "ed25519:<base64url of 32 bytes>" },
  });
}

/**
 * Returns a function that gives the approvers as they are now. The host's function is called each time, and its answer is
 * checked again when it is another object.
 * @throws {PhasegateError} `INVALID_INPUT` at once when a key is wrong; later when a new one is.
 */
export function currentApprovers(approvers: () => Approvers): () => KnownApprovers {
  let given = approvers();
  let known = checkApprovers(given);
  return () => {
    const now = approvers();
    if (now !== given) [known, given] = [checkApprovers(now), now];
    return known;
  };
}

export interface Invitation {
  /** The name of the approver whose passkey it registers. */
  readonly name: string;
  /** The SHA-256 of the secret, in hexadecimal. */
  readonly secretHash: string;
  /** ISO 8601, UTC. */
  readonly expiresAt: string;
}

export type InvitationState =
  | { readonly state: "open"; readonly name: string; readonly expiresAt: string }
  | { readonly state: "unknown" | "expired" | "used" };

/** The invitations of a host: what a page needs that registers passkeys. */
export interface Invitations {
  /** Looks up an invitation by its secret, without using it. */
  find(secret: string): Promise<InvitationState>;
  /**
   * Uses an invitation: stores the passkey as a key of the approver. Either both is done or nothing, also if the process
   * ends, and only one of several concurrent calls succeeds. Returns the approver's name.
   * @throws {PhasegateError} `INVALID_INPUT` when the invitation is not open, or the passkey is an approver's already.
   */
  accept(secret: string, passkey: Passkey): Promise<{ readonly name: string }>;
}

/** Returns the invitation to store for a secret. Make the secret of 32 random bytes. */
export function invitationFor(secret: string, name: string, expiresAt: string): Invitation {
  return { name, secretHash: digest(secret), expiresAt };
}

/** Returns the state of an invitation. A passkey names the one that it was registered with, which is then used. */
export function stateOf(
  secret: string,
  invitations: readonly Invitation[],
  approvers: KnownApprovers,
  now: number,
): InvitationState {
  const hash = digest(secret);
  if (isUsed(hash, approvers)) return { state: "used" };
  const found = invitations.find(({ secretHash }) => secretHash === hash);
  if (found === undefined) return { state: "unknown" };
  if (Date.parse(found.expiresAt) <= now) return { state: "expired" };
  return { state: "open", name: found.name, expiresAt: found.expiresAt };
}

/** Returns true if a passkey was registered with this invitation. */
export function isUsed(secretHash: string, approvers: KnownApprovers): boolean {
  return passkeysOf(approvers).some(({ invitation }) => invitation === secretHash);
}

/**
 * Returns the name and the key to store for an invitation.
 * @throws {PhasegateError} `INVALID_INPUT` when the invitation is not open, or the passkey is an approver's already.
 */
export function acceptInvitation(
  secret: string,
  passkey: Passkey,
  invitations: readonly Invitation[],
  approvers: KnownApprovers,
  now: number,
): { readonly name: string; readonly key: Passkey } {
  const found = stateOf(secret, invitations, approvers, now);
  if (found.state !== "open") {
    const what = { unknown: "does not exist", expired: "has expired", used: "has been used" }[found.state];
    throw refused("invitation", `the invitation ${what}`, "an invitation that is open");
  }
  const { credentialId, publicKey } = passkey;
  const known = passkeysOf(approvers);
  const isKnown = known.some((key) => key.credentialId === credentialId || key.publicKey === publicKey);
  if (isKnown) throw refused("passkey", "this passkey is an approver's already", "a new passkey", OTHER_PASSKEY);
  return { name: found.name, key: { ...passkey, invitation: digest(secret) } };
}

function passkeysOf(approvers: KnownApprovers): Passkey[] {
  return [...approvers.values()].flat().filter((key) => typeof key !== "string");
}

const NEW_INVITATION = "Ask the person who runs this for a new invitation: phasegate approvers invite NAME.";
const OTHER_PASSKEY = "Open the same link again, and register another passkey.";

function refused(
  field: string,
  message: string,
  expected: string,
  remedy = NEW_INVITATION,
): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, { remedy, details: { field, expected } });
}
