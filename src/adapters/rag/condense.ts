/**
 * How a line of words begins: containers, a number, marks that begin no fence and no HTML, the box of a
 * checklist's item; then its first letter and one character more.
 */
const OF_WORDS = /^([\s\d>*+.)(_"'-]{0,24}?(?:\[[ xX]\] )?)\p{L}./u;
/** So far in that a line may be code. */
const AS_CODE = /^(?: {4}| {0,3}\t)/;

/** A text with the same blocks as another one, as far as sections go, and much less to parse. */
export interface Condensed {
  readonly text: string;
  /** Which line of the whole text each of its lines is, from 1. */
  readonly numbers: readonly number[];
}

/**
 * Leaves out what doesn't decide where the blocks of a Markdown text begin: how lines of words go on, and
 * lines that begin just as the line before, which only make the same paragraph, list or code longer. A
 * parser's time goes into those. Lines that may end a block of HTML (`>`) or belong to a table (`|`) stay,
 * and so do headings, and what is indented as code is: where that ends a quote or a list, the
 * parser makes a block of each line.
 */
export function condense(lines: readonly string[]): Condensed {
  const kept: string[] = [];
  const numbers: number[] = [];
  let before: string | undefined;
  for (const [index, line] of lines.entries()) {
    const found = OF_WORDS.exec(line);
    const isWords = found !== null && !/[>|]/.test(line.slice(found[0].length));
    const beginning = isWords ? found[1] : undefined;
    if (beginning === undefined || beginning !== before || AS_CODE.test(beginning)) {
      kept.push(isWords ? found[0] : line.replace(/[\r\n]+$/, ""));
      numbers.push(index + 1);
    }
    before = beginning;
  }
  return { text: kept.join("\n"), numbers };
}
