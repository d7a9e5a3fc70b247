/**
 * Invitations to register a passkey: a random secret that counts once, until it expires. Only its SHA-256 is stored. Where
 * invitations and approvers are stored is the host's choice; the command line keeps them in files.
 */

import { PhasegateError } from "../errors.js";
import { digest } from "../workflow/json.js";
import type { KnownApprovers, Passkey } from "./approvers.js";

/** An invitation as it is stored. */
export interface Invitation {
  /** The name of the approver whose passkey it registers. */
  readonly name: string;
  /** The SHA-256 of the secret, in hexadecimal. */
  readonly secretHash: string;
  /** ISO 8601, UTC. */
  readonly expiresAt: string;
}

/** What became of an invitation. */
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

/** Returns what became of an invitation. A passkey names the one that it was registered with, which is then used. */
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
  const isKnown = passkeysOf(approvers).some(
    (known) => known.credentialId === credentialId || known.publicKey === publicKey,
  );
  if (isKnown) throw refused("passkey", "this passkey is an approver's already", "a new passkey");
  return { name: found.name, key: { ...passkey, invitation: digest(secret) } };
}

function passkeysOf(approvers: KnownApprovers): Passkey[] {
  return [...approvers.values()].flat().filter((key) => typeof key !== "string");
}

function refused(field: string, message: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: "Ask the person who runs this for a new invitation: phasegate approvers invite NAME.",
    details: { field, expected },
  });
}
