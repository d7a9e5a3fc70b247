import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod/mini";

/** A value that survives `JSON.stringify` and `JSON.parse` unchanged. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** An object of JSON values: what evidence, options and artifacts are. */
export type JsonObject = { [key: string]: JsonValue };

/**
 * An object whose values were JSON when they were read: for parts of stored bodies, which come out
 * of `JSON.parse` and need no second walk.
 */
export const storedObjectSchema = z.custom<JsonObject>(isJsonObject, "expected an object");

/** Any value out of `JSON.parse`; see {@link storedObjectSchema}. */
export const storedValueSchema = z.custom<JsonValue>((value) => value !== undefined, "expected a value");

/** Whether a value is an object and neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => (isJsonObject(inner) ? sorted(inner) : inner));
}

/** What makes digests of bytes, in hexadecimal digits. */
interface Hashes {
  readonly sha256: (bytes: Uint8Array) => string;
  readonly hmac: (key: Uint8Array, bytes: Uint8Array) => string;
}

/** Runs anywhere. */
export const PORTABLE: Hashes = {
  sha256: (bytes) => bytesToHex(sha256(bytes)),
  hmac: (key, bytes) => bytesToHex(hmac(sha256, key, bytes)),
};

/**
 * What the runtime has of its own (Node, Bun, Deno), seven times as fast. Asked for and not imported, since browsers and
 * bundlers know no such module.
 */
export function nativeHashes(runtime: Partial<typeof process> | undefined = globalThis.process): Hashes | undefined {
  const crypto = runtime?.getBuiltinModule?.("crypto");
  if (typeof crypto?.hash !== "function" || typeof crypto.createHmac !== "function") return undefined;
  const { hash, createHmac } = crypto;
  return {
    sha256: (bytes) => hash("sha256", bytes, "hex"),
    hmac: (key, bytes) => createHmac("sha256", key).update(bytes).digest("hex"),
  };
}

const hashes = nativeHashes() ?? PORTABLE;

/** SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Synchronous, on any runtime. */
export function digest(text: string, by = hashes): string {
  return by.sha256(bytesOf(text));
}

/** HMAC-SHA-256 of a text under a key, in 64 hexadecimal digits. */
export function keyedDigest(key: Uint8Array, text: string, by = hashes): string {
  return by.hmac(key, bytesOf(text));
}

/** The short form of a digest that names a revision of a text: 12 hexadecimal digits. */
export function revisionOf(text: string): string {
  return digest(text).slice(0, 12);
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Texts of up to so many characters are encoded into one piece of memory, used again for each. */
const SHORT = 4096;

const encoder = new TextEncoder();

/** A character is at most three bytes of UTF-8. */
const short = new Uint8Array(SHORT * 3);

/** A text as UTF-8, to be used up at once: memory of its own for each costs a fifth of hashing it. */
function bytesOf(text: string): Uint8Array {
  if (text.length > SHORT) return encoder.encode(text);
  return short.subarray(0, encoder.encodeInto(text, short).written);
}
