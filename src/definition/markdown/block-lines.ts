/** The lines of a Markdown text, and how each of them can begin: every look goes over a line once. */

/** One line without its line end. */
export interface BlockLine {
  readonly text: string;
  /** From 1. */
  readonly number: number;
  /** Where it begins, in characters of the whole text. */
  readonly offset: number;
}

const TAB = 4;

/** The lines of a text, whatever their ends are. */
export function* linesOf(text: string): Generator<BlockLine> {
  const ends = /\r\n?|\n/g;
  let number = 1;
  let offset = text.startsWith("\uFEFF") ? 1 : 0;
  for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
    yield { text: text.slice(offset, end.index), number, offset };
    offset = end.index + end[0].length;
    number += 1;
  }
  yield { text: text.slice(offset), number, offset };
}

/** A place in a line that moves to the right, by columns over blanks: a tab may be taken in part. */
export class Cursor {
  readonly line: BlockLine;
  pos = 0;
  /** Columns of a tab that is passed, but not used up. */
  left = 0;
  #column = 0;

  constructor(line: BlockLine) {
    this.line = line;
  }

  /** Goes over blanks, over so many columns at most. Returns how many it went. */
  skip(columns: number): number {
    let gone = 0;
    for (; gone < columns; gone += 1, this.#column += 1) {
      const char = this.line.text.charAt(this.pos);
      if (this.left > 0) this.left -= 1;
      else if (char === " ") this.pos += 1;
      else if (char === "\t") {
        this.pos += 1;
        this.left = TAB - (this.#column % TAB) - 1;
      } else break;
    }
    return gone;
  }

  /** Goes over characters that are no blanks. */
  take(length: number): void {
    this.pos += length;
    this.#column += length;
  }

  /** How many columns of blanks follow, and where they end. */
  indent(): { readonly columns: number; readonly end: number } {
    const { text } = this.line;
    let end = this.pos;
    let column = this.#column + this.left;
    for (let char = text.charAt(end); char === " " || char === "\t"; char = text.charAt(end)) {
      column += char === "\t" ? TAB - (column % TAB) : 1;
      end += 1;
    }
    return { columns: column - this.#column, end };
  }

  /** What follows, with blanks for what is left of a tab. */
  rest(): string {
    return " ".repeat(this.left) + this.line.text.slice(this.pos);
  }
}

/** Whether nothing but blanks follows. */
export function isBlank(text: string, from = 0): boolean {
  for (let at = from; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char !== " " && char !== "\t") return false;
  }
  return true;
}

/** A text without the blanks at its end. */
export function withoutBlanksAtEnd(text: string): string {
  let end = text.length;
  while (end > 0 && (text.charAt(end - 1) === " " || text.charAt(end - 1) === "\t")) end -= 1;
  return text.slice(0, end);
}

/** The marker of a list item. */
export interface ListMarker {
  readonly ordered: boolean;
  /** The bullet, or what stands behind the number: items of one list have the same. */
  readonly char: string;
  readonly start?: number;
  readonly length: number;
}

const MARKER = /(?:[-*+]|(\d{1,9})[.)])(?=[ \t]|$)/y;
const RULE = /(?:\*[ \t]*){3,}$|(?:-[ \t]*){3,}$|(?:_[ \t]*){3,}$/y;
const ATX = /(#{1,6})(?=[ \t]|$)/y;
const UNDERLINE = /(?:=+|-+)[ \t]*$/y;
const FENCE = /`{3,}|~{3,}/y;

/** The marker of a list item at a place, unless it begins a rule. */
export function markerAt(text: string, pos: number): ListMarker | undefined {
  const [whole, number] = matchAt(MARKER, text, pos) ?? [];
  if (whole === undefined) return undefined;
  const char = whole.slice(-1);
  if (number !== undefined) return { ordered: true, char, start: Number(number), length: whole.length };
  return isRule(text, pos) ? undefined : { ordered: false, char, length: 1 };
}

/** Whether a thematic break stands at a place. */
export function isRule(text: string, pos: number): boolean {
  return matchAt(RULE, text, pos) !== undefined;
}

/** The depth of a heading at a place, and what it says. */
export function headingAt(text: string, pos: number): { readonly depth: number; readonly text: string } | undefined {
  const marks = matchAt(ATX, text, pos)?.[1];
  if (marks === undefined) return undefined;
  const inside = withoutBlanksAtEnd(text.slice(pos + marks.length)).replace(/^[ \t]+/, "");
  let end = inside.length;
  while (inside.charAt(end - 1) === "#") end -= 1;
  const closed = end === 0 || isBlank(inside.charAt(end - 1));
  return { depth: marks.length, text: closed ? withoutBlanksAtEnd(inside.slice(0, end)) : inside };
}

/** The depth of the heading that a line of `=` or `-` makes of the paragraph above it. */
export function underlineAt(text: string, pos: number): 1 | 2 | undefined {
  const [line] = matchAt(UNDERLINE, text, pos) ?? [];
  if (line === undefined) return undefined;
  return line.startsWith("=") ? 1 : 2;
}

/** A fence that begins code. */
export interface OpenFence {
  readonly marks: string;
  readonly info: string;
}

/** The fence that begins code at a place. */
export function fenceAt(text: string, pos: number): OpenFence | undefined {
  const marks = matchAt(FENCE, text, pos)?.[0];
  if (marks === undefined) return undefined;
  const info = text.slice(pos + marks.length);
  return marks.startsWith("`") && info.includes("`") ? undefined : { marks, info };
}

/** Whether a line ends the code that a fence began. */
export function closesFence(text: string, pos: number, { marks }: OpenFence): boolean {
  const found = matchAt(FENCE, text, pos)?.[0];
  return found?.startsWith(marks) === true && isBlank(text, pos + found.length);
}

function matchAt(pattern: RegExp, text: string, pos: number): RegExpExecArray | undefined {
  pattern.lastIndex = pos;
  return pattern.exec(text) ?? undefined;
}
