/**
 * Ed25519 by Web Crypto, which every runtime that phasegate runs in has: the native code is checked by
 * more people than any package, and nothing is to be loaded. Only approvals need it.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import { PhasegateError } from "../errors.js";

const ED25519 = "Ed25519";
const PREFIX = "ed25519:";

/** An approver's pair of keys as texts. */
export interface ApproverKeys {
  /** 32 bytes as `ed25519:` and base64url: what a host is given. */
  readonly publicKey: string;
  /** PKCS #8 as PEM, as OpenSSL has it too: what only the approver has. */
  readonly privateKey: string;
}

/** A private key, ready to sign, with the public one that belongs to it. */
export interface Signer {
  readonly publicKey: string;
  sign(message: string): Promise<string>;
}

/** Makes a pair of keys. */
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

/** Reads a private key. Throws `INVALID_INPUT` for a text that is none, without quoting it. */
export async function readPrivateKey(pem: string): Promise<Signer> {
  const base64 = /^-----BEGIN PRIVATE KEY-----\s([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/.exec(pem.trim())?.[1];
  if (base64 === undefined) throw noPrivateKey();
  try {
    const bytes = fromBase64Url(base64.replace(/\s/g, "").replace(/[+]/g, "-").replace(/[/]/g, "_"));
    const key = await crypto.subtle.importKey("pkcs8", bytes, ED25519, true, ["sign"]);
    const { x = "" } = await crypto.subtle.exportKey("jwk", key);
    return {
      publicKey: PREFIX + x,
      sign: async (message) => {
        const signature = await crypto.subtle.sign(ED25519, key, new TextEncoder().encode(message));
        return toBase64Url(new Uint8Array(signature));
      },
    };
  } catch (cause) {
    throw noPrivateKey(cause);
  }
}

/** Whether a signature over a message is that key's. What can't be a signature is none of its. */
export async function isSignedBy(publicKey: string, message: string, signature: string): Promise<boolean> {
  if (!/^[A-Za-z0-9_-]{86}$/.test(signature)) return false;
  const raw = fromBase64Url(publicKey.slice(PREFIX.length));
  const key = await crypto.subtle.importKey("raw", raw, ED25519, false, ["verify"]);
  return crypto.subtle.verify(ED25519, key, fromBase64Url(signature), new TextEncoder().encode(message));
}

/** A short name of a public key, for logs: the first half of its SHA-256. */
export function keyIdOf(publicKey: string): string {
  return bytesToHex(sha256(fromBase64Url(publicKey.slice(PREFIX.length)))).slice(0, 32);
}

function noPrivateKey(cause?: unknown): PhasegateError<"INVALID_INPUT"> {
  return new PhasegateError("INVALID_INPUT", "that is no Ed25519 private key in PEM (PKCS #8)", {
    remedy: "Use the file that `phasegate keygen` has written.",
    details: { field: "key", expected: "-----BEGIN PRIVATE KEY-----" },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Bytes as base64url, without padding. */
function toBase64Url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replace(/[+]/g, "-").replace(/[/]/g, "_").replaceAll("=", "");
}

/** The bytes of a base64url text. Throws what `atob` throws for another one. */
function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
