import type { JsonValue } from "./json.js";

/**
 * Characters that nobody sees: format and control characters, halves of characters, code points that no
 * character has, or none that everybody knows (`\p{C}`); fillers; and blanks that Unicode counts as letters
 * and symbols: the braille pattern without dots, a musical notehead, fillers and blanks of old scripts.
 */
const UNSEEN = /(?!\s)[\p{C}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}\u{13441}\u{13442}]/gu;

/** What a reader sees of a text: without blanks around it, and without characters that nobody sees. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, "").trim();
}

/** Whether a value says nothing: no text that is seen, no number and no flag, however deep. */
export function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === "string") return visibleText(value) === "";
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
