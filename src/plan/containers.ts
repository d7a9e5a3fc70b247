/** In which list items or quotes a line stands: code in them ends where they do, whether it is closed or not. */

const MARKER = /^([ \t]*)((?:[-*+]|\d{1,9}[.)])[ \t]+|(?:[-*+]|\d{1,9}[.)])$)/;
const LATER = /^[ \t]*(?!1[.)])\d/;
/** Headings, fences, comments and rules end a text; what begins an item or a quote is no part of the text before. */
const NO_TEXT = /^(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*(?:#{1,6}(?:[ \t]|$)|`{3}[^`]*$|~{3}|<)/;
const RULE = /^[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,})$/;
const BEGINS = /^[ \t]*(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))/;
const QUOTED = /^[ \t]*>/;
const TAB = 4;

/** Where a fence stands. */
export interface Container {
  /** How many columns its text must be moved to the right to be still in it. */
  readonly column: number;
  readonly quoted: boolean;
}

/** Follows the lines of a source, and knows which list items are open. */
export class Containers {
  /** The columns at which the text of the items that are open begins. */
  #open: number[] = [];
  /** Whether the line before is text that the next one may go on with. */
  #text = false;

  /** Takes in the next line outside of code. */
  follow(text: string): void {
    const goesOn = this.#text;
    this.#text = text.trim() !== "" && !NO_TEXT.test(text) && !RULE.test(text);
    // A text goes on in lines that aren't indented as it is.
    if (text.trim() === "" || (goesOn && this.#text && !BEGINS.test(text))) return;
    const outside = this.#open.length === 0;
    this.#close(text);
    // A list that interrupts a text must begin with 1.
    if (goesOn && outside && LATER.test(text)) return;
    let rest = text;
    let column = 0;
    for (let match = MARKER.exec(rest); match !== null; match = MARKER.exec(rest)) {
      column += columnsOf(match[0], column);
      this.#open.push(column);
      rest = rest.slice(match[0].length);
    }
  }

  /** What a line stands in that begins code. */
  around(text: string): Container {
    this.#close(text);
    const column = this.#open.at(-1) ?? 0;
    const marked = MARKER.exec(text)?.[0].length ?? 0;
    return { column: marked > 0 ? columnsOf(text.slice(0, marked)) : column, quoted: QUOTED.test(text) };
  }

  #close(text: string): void {
    const indent = indentOf(text);
    while ((this.#open.at(-1) ?? 0) > indent) this.#open.pop();
  }
}

/** Whether a line stands outside of a container, which ends there. */
export function leaves(text: string, { column, quoted }: Container): boolean {
  if (quoted && (!QUOTED.test(text) || indentOf(text) > column + 3)) return true;
  return column > 0 && text.trim() !== "" && indentOf(text) < column;
}

/** By how many columns a line is indented. */
export function indentOf(text: string): number {
  return columnsOf(/^[ \t]*/.exec(text)?.[0] ?? "");
}

function columnsOf(text: string, from = 0): number {
  let column = from;
  for (const char of text) column += char === "\t" ? TAB - (column % TAB) : 1;
  return column - from;
}
