import type { JsonValue } from "./json.js";

/**
 * Characters that nobody sees, or that change how the text around them is shown: format and control characters, halves
 * of characters, code points that no character has, or none that everybody knows (`\p{C}`, bidi controls and tags are
 * among them); separators of lines and paragraphs; everything that Unicode lets a screen ignore; and blanks that Unicode
 * counts as letters and symbols: the braille pattern without dots, a musical notehead, fillers of old scripts. Every
 * place that cleans or refuses a text uses this class.
 */
const HIDDEN = String.raw`[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{16fe4}\u{13441}\u{13442}]`;

const UNSEEN = new RegExp(`(?!\\s)${HIDDEN}`, "gu");
const ESCAPED = new RegExp(`(?![\\t\\n])${HIDDEN}`, "gu");

/** Returns what a reader sees of a text: without blanks around it, and without characters that nobody sees. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, "").trim();
}

/**
 * Returns a text in which each hidden character is shown as `\uXXXX`; tabs and line feeds stay. Characters beyond U+FFFF
 * become two escapes, as in JSON, so that JSON stays the same JSON.
 */
export function escapeHidden(text: string): string {
  return text.replace(ESCAPED, (character) =>
    Array.from({ length: character.length }, (_, at) => unit(character, at)).join(""),
  );
}

/** Returns a text as one line: line feeds and tabs become a space, hidden characters become escapes. */
export function singleLine(text: string): string {
  return escapeHidden(text.replace(/(?:\r?\n|\t)+/g, " "));
}

/** Returns one UTF-16 unit of a text as an escape, as JSON writes it. */
function unit(text: string, at: number): string {
  return `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`;
}

/** Whether a value says nothing: no text that is seen, no number and no flag, however deep. */
export function saysNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === "string") return visibleText(value) === "";
  return typeof value === "object" && Object.values(value).every(saysNothing);
}
