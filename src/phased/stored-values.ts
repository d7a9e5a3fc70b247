/**
 * Values as the log stores them: inline, or by digest as a payload when they are large. A value that JSON
 * would change can't be stored.
 */

import { digest, isJsonObject, type JsonValue } from "../workflow/json.js";

/** Returns a value that JSON preserves; undefined for any other. */
export function asJson(value: unknown): JsonValue | undefined {
  const through = throughJson(value);
  return through !== undefined && isSame(value, through) ? through : undefined;
}

/** Returns true if a value survived JSON unchanged. Keys with undefined count as missing. */
export function isSame(before: unknown, after: unknown): boolean {
  if (typeof before !== "object" || before === null) return Object.is(before, after);
  if (Array.isArray(before)) {
    return Array.isArray(after) && before.length === after.length && before.every((v, i) => isSame(v, after[i]));
  }
  if (!isJsonObject(after)) return false;
  const prototype: unknown = Object.getPrototypeOf(before);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const keys = Object.keys(before).filter((key) => Reflect.get(before, key) !== undefined);
  if (keys.length !== Object.keys(after).length) return false;
  return keys.every((key) => isSame(Reflect.get(before, key), after[key]));
}

/** Values with more characters of JSON are stored as payloads. */
const INLINE_MAX = 64 * 1024;
/** Limits how many keys of a payload are stored in the log. */
const NAMES_MAX = 100;

/** Returns a reference to a value for the log, and the payloads that it needs. */
export function storeValue<T extends JsonValue>(value: T, characters = JSON.stringify(value).length) {
  if (characters <= INLINE_MAX) return { ref: { inline: value }, payloads: [] };
  const body = JSON.stringify(value);
  const hash = digest(body);
  const names = isJsonObject(value) ? Object.keys(value).slice(0, NAMES_MAX) : [];
  return { ref: { payload: hash, characters: body.length, names }, payloads: [{ hash, body }] };
}

/** Returns a value after a round trip through JSON; undefined if JSON can't represent it. */
function throughJson(value: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
