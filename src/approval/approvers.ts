/**
 * The keys of the people who may approve: Ed25519 keys and passkeys. What a host gives from outside is checked here, in
 * one place.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod/mini";
import { PhasegateError } from "../errors.js";
import { ENGLISH, isJsonObject } from "../workflow/json.js";
import { shown } from "../workflow/names.js";
import { fromBase64Url } from "./keys.js";

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
/** A credential's id has at most 1,023 bytes. */
const ID_MAX = 1364;
const ORIGINS_MAX = 20;
const DOMAIN_MAX = 253;
/** Authenticators encode keys in one form only (CTAP2's canonical CBOR), so each kind has one length and one beginning. */
const COSE = {
  ES256: /^a5010203262001215820[0-9a-f]{64}225820[0-9a-f]{64}$/,
  Ed25519: /^a4010103272006215820[0-9a-f]{64}$/,
};

const base64Url = (max: number) =>
  z.string().check(z.regex(/^[A-Za-z0-9_-]+$/, "it is not base64url"), z.maxLength(max));

const passkeySchema = z
  .strictObject({
    kind: z.literal("passkey"),
    credentialId: base64Url(ID_MAX),
    publicKey: base64Url(200),
    algorithm: z.enum(["ES256", "Ed25519"]),
    rpId: z
      .string()
      .check(z.maxLength(DOMAIN_MAX), z.regex(/^[a-z0-9-]+(?:\.[a-z0-9-]+)*$/, "it is not a domain in lower case")),
    origins: z
      .array(z.string())
      .check(
        z.minLength(1, "there must be at least one"),
        z.maxLength(ORIGINS_MAX, `there are more than ${ORIGINS_MAX}`),
      ),
    invitation: z.optional(z.string().check(z.regex(/^[0-9a-f]{64}$/, "it is not a SHA-256 in hexadecimal"))),
  })
  .check(
    z.refine(({ publicKey, algorithm }) => algorithmOf(fromBase64Url(publicKey)) === algorithm, {
      path: ["publicKey"],
      error: "it is not a COSE key of this algorithm",
    }),
    z.superRefine(({ rpId, origins }, { addIssue }) => {
      for (const [index, origin] of origins.entries()) {
        if (!isOriginOf(origin, rpId)) {
          addIssue({ code: "custom", path: ["origins", index], message: `it is not the origin of a page of ${rpId}` });
        }
      }
    }),
  );

/** Returns the algorithm of a COSE key; undefined for another algorithm, and for anything but a key. */
export function algorithmOf(publicKey: Uint8Array): Passkey["algorithm"] | undefined {
  const hex = bytesToHex(publicKey);
  if (COSE.ES256.test(hex)) return "ES256";
  return COSE.Ed25519.test(hex) ? "Ed25519" : undefined;
}

/** Returns true for the origin of a page on which a passkey of this domain works: HTTPS, or HTTP on this machine. */
function isOriginOf(origin: string, rpId: string): boolean {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url?.origin !== origin) return false;
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && /(?:^|\.)localhost$/.test(url.hostname));
  return isSecure && (url.hostname === rpId || url.hostname.endsWith(`.${rpId}`));
}

const ED25519_KEY = /^ed25519:[A-Za-z0-9_-]{43}$/;

/**
 * Checks approvers' keys.
 * @throws {PhasegateError} `INVALID_INPUT` for a name that is blank, and for the first key that is wrong.
 */
export function checkApprovers(approvers: Readonly<Record<string, unknown>>): KnownApprovers {
  const known = new Map<string, readonly ApproverKey[]>();
  for (const [name, given] of Object.entries(approvers)) {
    const keys: readonly unknown[] = Array.isArray(given) ? given : [given];
    if (name.trim() === "") throw wrongKey("a name of approvers is blank", "approvers", "a name");
    if (keys.length === 0 || keys.length > KEYS_MAX) {
      const expected = `1 to ${KEYS_MAX} keys`;
      throw wrongKey(`approvers.${shown(name)} has ${keys.length} keys: it must have ${expected}`, name, expected);
    }
    known.set(
      name,
      keys.map((key, index) => checkKey(key, name, keys.length === 1 ? "" : `[${index}]`)),
    );
  }
  return known;
}

/** Checks one key; `place` is its position among the keys of that name. */
function checkKey(key: unknown, name: string, place: string): ApproverKey {
  if (!isJsonObject(key)) {
    if (typeof key === "string" && ED25519_KEY.test(key)) return key;
    throw new PhasegateError(
      "INVALID_INPUT",
      `approvers.${shown(name)}${place} is no Ed25519 public key, and no passkey`,
      {
        remedy:
          "Give the key as `phasegate keygen` has printed it: ed25519: and 43 characters of base64url. For a passkey: phasegate approvers invite.",
        details: { field: `approvers.${name}${place}`, expected: "ed25519:<base64url of 32 bytes>, or a passkey" },
      },
    );
  }
  const parsed = passkeySchema.safeParse(key, ENGLISH);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const member = (issue?.path ?? [])
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("");
  const message = `the passkey approvers.${shown(name)}${place}${member} is wrong: ${shown(issue?.message)}`;
  throw wrongKey(message, `${name}${place}${member}`, "a passkey as it was registered");
}

function wrongKey(message: string, place: string, expected: string): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", message, {
    remedy: "Correct it, or take the approver out and invite the person again: phasegate approvers invite NAME.",
    details: { field: `approvers.${place}`, expected },
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

/** Returns a short name of a public key for logs: the first half of its SHA-256. */
export function keyIdOf(key: ApproverKey): string {
  const text = typeof key === "string" ? key.slice("ed25519:".length) : key.publicKey;
  return bytesToHex(sha256(fromBase64Url(text))).slice(0, 32);
}
