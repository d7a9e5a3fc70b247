import { digest } from "../definition/digest.js";
import { isJsonObject, type JsonValue } from "../definition/json.js";

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
