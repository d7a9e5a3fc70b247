/** Characters that are invisible, or change how the text around them is displayed. */

/**
 * Every check and clean-up of text uses this class: format and control characters, lone surrogates, private and unassigned code
 * points (`\p{C}`, with bidi controls and tags); line and paragraph separators; everything that Unicode allows to ignore on display
 * (`\p{DI}`); and blanks that Unicode counts as letters or symbols. Tab and line feed are not included.
 */
export const HIDDEN = /(?![\t\n])[\p{C}\p{DI}\u2028\u2029\u2800\u{1d159}\u{16fe4}\u{13441}\u{13442}]/gu;

/** Returns a text with each hidden character, but tabs and line feeds, as `\uXXXX`; beyond U+FFFF as two, as in JSON. */
export function escapeHidden(text: string): string {
  // Without the flag u the pattern matches UTF-16 units, of which a character may have two.
  return text.replace(HIDDEN, (character) =>
    character.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`),
  );
}

/** Returns a text as one line: line feeds and tabs become spaces, hidden characters become escapes. */
export function singleLine(text: string): string {
  return escapeHidden(text.replace(/(?:\r?\n|\t)+/g, " "));
}
