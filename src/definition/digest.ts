import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/** SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Synchronous, without `node:`. */
export function digest(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** HMAC-SHA-256 of a text under a key, in 64 hexadecimal digits. */
export function keyedDigest(key: Uint8Array, text: string): string {
  return bytesToHex(hmac(sha256, key, utf8ToBytes(text)));
}

/** The short form of a digest that names a revision of a text: 12 hexadecimal digits. */
export function revisionOf(text: string): string {
  return digest(text).slice(0, 12);
}
