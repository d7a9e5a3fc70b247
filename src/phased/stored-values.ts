import { digest, isJsonObject, type JsonValue } from "../workflow/json.js";
/** A value that JSON gives back as it is; undefined for any other. */
export function asJson(value: unknown): JsonValue | undefined {
  const through = throughJson(value);
  return through !== undefined && isSame(value, through) ? through : undefined;
}

/** A value as JSON gives it back; undefined if JSON can't hold it at all. */
function throughJson(value: unknown): JsonValue | undefined {
  try {
    const text: string | undefined = JSON.stringify(value);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value came through JSON as it was. Keys with undefined are as good as left out. */
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

/** Values with more characters of JSON than this are stored by their content, beside the log. */
const INLINE_MAX = 64 * 1024;
/** How many names of such evidence stand in the log. */
const NAMES_MAX = 100;

/** A value as the log holds it: there as it is, or by its digest where it is long. */
export function storeValue<T extends JsonValue>(value: T, characters = JSON.stringify(value).length) {
  if (characters <= INLINE_MAX) return { ref: { inline: value }, payloads: [] };
  const body = JSON.stringify(value);
  const hash = digest(body);
  const names = isJsonObject(value) ? Object.keys(value).slice(0, NAMES_MAX) : [];
  return { ref: { payload: hash, characters: body.length, names }, payloads: [{ hash, body }] };
}
