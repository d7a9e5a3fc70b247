/** JSON values, canonical JSON, and digests. Digests are synchronous and use the runtime's own crypto if it has one. */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import * as z from "zod/mini";

/** A value that survives `JSON.stringify` and `JSON.parse` unchanged. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** An object of JSON values: what evidence, options and artifacts are. */
export type JsonObject = { [key: string]: JsonValue };

/** An object that comes from `JSON.parse`: parts of stored bodies, whose values need no second check. */
export const storedObjectSchema = z.custom<JsonObject>(isJsonObject, "expected an object");

/** Any value that comes from `JSON.parse`; see {@link storedObjectSchema}. */
export const storedValueSchema = z.custom<JsonValue>((value) => value !== undefined, "expected a value");

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value of an own key of an object; undefined for other values. */
export function ownValue(object: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The type of an object whose members that may be undefined are optional instead. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns an object without the members that are undefined. */
export function defined<const T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>;
}

/** Returns JSON with sorted keys, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(value));
}

/** Returns a copy with sorted keys. A copy made first takes half of the time of one made while JSON is written. */
function inOrder(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  // A date, for example.
  if ("toJSON" in value && typeof value.toJSON === "function") return inOrder(value.toJSON());
  if (Array.isArray(value)) return value.map(inOrder);
  const copied: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) {
    const inner = inOrder(Reflect.get(value, key));
    // To assign this key would set the prototype.
    if (key === "__proto__") Object.defineProperty(copied, key, { value: inner, enumerable: true });
    else copied[key] = inner;
  }
  return copied;
}

/** Digest functions on texts as UTF-8, which return hexadecimal digits. */
interface Hashes {
  readonly sha256: (text: string) => string;
  readonly hmac: (key: Uint8Array, text: string) => string;
}

const encoder = new TextEncoder();

/** Digests that run on any runtime. */
export const PORTABLE: Hashes = {
  sha256: (text) => bytesToHex(sha256(encoder.encode(text))),
  hmac: (key, text) => bytesToHex(hmac(sha256, key, encoder.encode(text))),
};

/** Digests of the runtime, seven times as fast. They are looked up: bundlers don't know Node's module. */
export function nativeHashes(runtime: Partial<typeof process> | undefined = globalThis.process): Hashes | undefined {
  const crypto = runtime?.getBuiltinModule?.("crypto");
  if (typeof crypto?.hash !== "function" || typeof crypto.createHmac !== "function") return undefined;
  const { hash, createHmac } = crypto;
  return {
    sha256: (text) => hash("sha256", text, "hex"),
    hmac: (key, text) => createHmac("sha256", key).update(text).digest("hex"),
  };
}

const hashes = nativeHashes() ?? PORTABLE;

/** Returns the SHA-256 of a text as UTF-8, in 64 hexadecimal digits. Synchronous, on any runtime. */
export function digest(text: string, by = hashes): string {
  return by.sha256(text);
}

/** Returns the HMAC-SHA-256 of a text under a key, in 64 hexadecimal digits. */
export function keyedDigest(key: Uint8Array, text: string, by = hashes): string {
  return by.hmac(key, text);
}

/** Returns the short digest that identifies a revision of a text: 12 hexadecimal digits. */
export function revisionOf(text: string): string {
  return digest(text).slice(0, 12);
}
