import type { JsonPlace } from "../../definition/folder/scan-json.js";
import { isJsonObject, type JsonValue } from "../../definition/json.js";
import { wrongParam } from "./parse-params.js";

/** The keys of a JSON pointer (RFC 6901); `""` is the whole. Throws `INVALID_INPUT` for what is none. */
export function parsePointer(verifier: string, pointer: string): readonly string[] {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) throw wrongParam(verifier, "pointer", "a JSON pointer begins with '/', or is empty");
  if (/~(?![01])/.test(pointer)) throw wrongParam(verifier, "pointer", "in a JSON pointer '~' is '~0' and '/' is '~1'");
  return pointer
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** What stands at the end of a pointer; undefined if nothing does. Only own keys, and plain indices. */
export function valueAt(value: JsonValue, keys: readonly string[]): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const key of keys) {
    if (Array.isArray(at)) at = /^(?:0|[1-9]\d{0,8})$/.test(key) ? at[Number(key)] : undefined;
    else at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

/** Where it stands in the text; see {@link valueAt}. */
export function placeAt(root: JsonPlace, keys: readonly string[]): JsonPlace | undefined {
  let at: JsonPlace | undefined = root;
  // The elements of a list stand there by number, the members of an object by name.
  for (const key of keys) at = at?.entries.get(key) ?? at?.entries.get(Number(key));
  return at;
}

/** Whether two values are the same JSON; the order of keys doesn't count. As deep as the second one goes. */
export function isEqualJson(value: JsonValue | undefined, wanted: JsonValue): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(value) && value.length === wanted.length && wanted.every((w, i) => isEqualJson(value[i], w));
  }
  if (!isJsonObject(wanted)) return value === wanted;
  if (!isJsonObject(value) || Object.keys(value).length !== Object.keys(wanted).length) return false;
  return Object.entries(wanted).every(([key, w]) => Object.hasOwn(value, key) && isEqualJson(value[key], w));
}
