import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

const encoder = new TextEncoder();
/** Texts of up to so many characters are encoded into one piece of memory, used again for each. */
const SHORT = 4096;
/** A character is at most three bytes of UTF-8. */
const short = new Uint8Array(SHORT * 3);

/** SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Synchronous, without `node:`. */
export function digest(text: string): string {
  return bytesToHex(sha256(bytesOf(text)));
}

/** HMAC-SHA-256 of a text under a key, in 64 hexadecimal digits. */
export function keyedDigest(key: Uint8Array, text: string): string {
  return bytesToHex(hmac(sha256, key, bytesOf(text)));
}

/** The short form of a digest that names a revision of a text: 12 hexadecimal digits. */
export function revisionOf(text: string): string {
  return digest(text).slice(0, 12);
}

/** A text as UTF-8, to be used up at once: memory of its own for each costs a fifth of hashing it. */
function bytesOf(text: string): Uint8Array {
  if (text.length > SHORT) return encoder.encode(text);
  return short.subarray(0, encoder.encodeInto(text, short).written);
}
