/**
 * Ed25519 keys and signatures by Web Crypto. Every supported runtime has it, its native code is better
 * reviewed than any package, and there is nothing to load.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { PhasegateError } from "../errors.js";
import type { ApproverKey } from "./approvers.js";

/** An approver's key pair as texts. */
export interface ApproverKeys {
  /** The public key, for the host: `ed25519:` and 32 bytes in base64url. */
  readonly publicKey: string;
  /** The private key, for the approver only: PKCS #8 as PEM, which OpenSSL can read. */
  readonly privateKey: string;
}

const ED25519 = "Ed25519";
const PREFIX = "ed25519:";

export async function createKeys(): Promise<ApproverKeys> {
  const pair = await crypto.subtle.generateKey(ED25519, true, ["sign", "verify"]);
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", pair.privateKey));
  const base64 = btoa(String.fromCharCode(...pkcs8));
  return {
    publicKey: PREFIX + toBase64Url(raw),
    privateKey: `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`,
  };
}

/** A private key that is ready to sign, with its public key. */
export interface Signer {
  readonly publicKey: string;
  sign(message: string): Promise<string>;
}

/**
 * Reads a private key.
 * @throws {PhasegateError} `INVALID_INPUT` when the text is not a key. The error does not quote it.
 */
export async function readPrivateKey(pem: string): Promise<Signer> {
  const base64 = /^-----BEGIN PRIVATE KEY-----\s([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----$/.exec(pem.trim())?.[1];
  if (base64 === undefined) throw noPrivateKey();
  try {
    const bytes = fromBase64Url(base64.replace(/\s/g, "").replace(/[+]/g, "-").replace(/[/]/g, "_"));
    const key = await crypto.subtle.importKey("pkcs8", bytes, ED25519, true, ["sign"]);
    const { x } = await crypto.subtle.exportKey("jwk", key);
    return {
      publicKey: `${PREFIX}${x}`,
      sign: async (message) => {
        const signature = await crypto.subtle.sign(ED25519, key, new TextEncoder().encode(message));
        return toBase64Url(new Uint8Array(signature));
      },
    };
  } catch (cause) {
    throw noPrivateKey(cause);
  }
}

/** Returns true if a message was signed with the private key of `publicKey`; false for what is not a signature. */
export async function isSignedBy(publicKey: string, message: string, signature: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{86}$/.test(signature)) return false;
  const raw = fromBase64Url(publicKey.slice(PREFIX.length));
  const key = await crypto.subtle.importKey("raw", raw, ED25519, false, ["verify"]);
  return crypto.subtle.verify(ED25519, key, fromBase64Url(signature), new TextEncoder().encode(message));
}

/** Returns a short name of a public key for logs: the first half of its SHA-256. */
export function keyIdOf(key: ApproverKey): string {
  const text = typeof key === "string" ? key.slice(PREFIX.length) : key.publicKey;
  return bytesToHex(sha256(fromBase64Url(text))).slice(0, 32);
}

/** Encodes bytes as base64url, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replace(/[+]/g, "-").replace(/[/]/g, "_").replaceAll("=", "");
}

function noPrivateKey(cause?: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "the text is not an Ed25519 private key in PEM (PKCS #8)", {
    remedy: "Use the file that `phasegate keygen` has written.",
    details: { field: "key", expected: "-----BEGIN PRIVATE KEY-----" },
    cause,
  });
}

/** Decodes base64url. Throws the error of `atob` for anything else. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
