/** An answer of the tool: always `status` and `action`, the rest as the action has it. */
export type WireObject = { [key: string]: unknown };

/** A text from a definition, short enough for a brief answer. */
export function brief(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** An object without the keys that have no value. */
export function compact(entries: WireObject): WireObject {
  const object: WireObject = {};
  for (const key in entries) if (entries[key] !== undefined) object[key] = entries[key];
  return object;
}
