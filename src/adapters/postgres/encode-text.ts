/**
 * Texts as PostgreSQL can hold them. Its `text` has no place for U+0000 and for lone surrogates: each of those becomes
 * U+001A ("substitute") and its four hexadecimal digits, and so does U+001A itself, so that it can be told what was
 * written. Any other text, and with it every JSON text that `JSON.stringify` makes, is stored as it is.
 */

const MARK = "\u001a";
// With the `u` flag a surrogate in brackets is one that has no partner.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what can't be stored
const UNSTORABLE = /[\u0000\u001a\ud800-\udfff]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the mark
const ENCODED = /\u001a([0-9a-f]{4})/g;

/** A text as it is stored. Most are stored as they are, which is seen without a regular expression over all of a body. */
export function encodeText(text: string): string {
  if (text.isWellFormed() && !text.includes("\0") && !text.includes(MARK)) return text;
  return text.replace(UNSTORABLE, (character) => MARK + character.charCodeAt(0).toString(16).padStart(4, "0"));
}

/** The text that was stored. */
export function decodeText(stored: string): string {
  if (!stored.includes(MARK)) return stored;
  return stored.replace(ENCODED, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
}
