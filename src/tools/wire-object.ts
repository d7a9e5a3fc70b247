/** Small helpers for answers on the wire. */

/** An answer of a tool, or a part of one. */
export type WireObject = { [key: string]: unknown };

/** Shortens a text from a definition for a brief answer. */
export function brief(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Returns an object without its undefined keys. */
export function compact(entries: WireObject): WireObject {
  const object: WireObject = {};
  for (const key in entries) if (entries[key] !== undefined) object[key] = entries[key];
  return object;
}
