import type { JsonValue } from "./json.js";
import { HIDDEN } from "./names.js";

/** Returns what a reader sees of a text: without blanks around it, and without characters that nobody sees. */
export function visibleText(text: string): string {
  // Hidden blanks stay: they part words, and only count where nothing is seen on one side of them.
  return text.replace(HIDDEN, (hidden) => (hidden.trim() ? "" : hidden)).trim();
}

/** Whether a value says nothing: no text that is seen, no number and no flag, however deep. */
export function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === "string") return visibleText(value) === "";
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
