/** Lines up to this length are left alone. */
const SHORT = 48;
/** How much of a longer one is left: containers, marks and the first word. */
const LEFT = 32;
/** A line of words: nothing before its first letter but containers, a number and marks that begin no fence and no HTML. */
const OF_WORDS = /^[\s\d>*+.)(_"'[\]-]{0,24}\p{L}/u;

/**
 * A text with its long lines of words cut short. Which blocks Markdown has is decided by how lines begin, and
 * a parser's time goes into how they go on; lines keep their numbers, and blocks their lines. What may end a
 * block of HTML (`>`) or make a table (`|`) is left as it is, and so are headings.
 */
export function lineBeginnings(text: string): string {
  return text.replace(/[^\r\n]+/g, (line) => {
    if (line.length <= SHORT || !OF_WORDS.test(line)) return line;
    return /[>|]/.test(line.slice(LEFT)) ? line : line.slice(0, LEFT);
  });
}
