/** Columns and paragraphs that fit a terminal. Widths are counted in its columns: a Chinese character or an emoji takes two. */
import type { Writable } from "node:stream";
import measure from "fast-string-truncated-width";
import { isTty, printLines, type Terminal } from "./terminal.js";

/** Of a terminal that does not tell. */
export const USUAL_COLUMNS = 80;

/** Returns how many columns a terminal has; undefined for a pipe or a file, in which nothing is cut. */
export function columnsOf(stream: Writable): number | undefined {
  if (!isTty(stream)) return undefined;
  return "columns" in stream && typeof stream.columns === "number" && stream.columns > 0
    ? stream.columns
    : USUAL_COLUMNS;
}

/** Each of these takes one column: most cells of a table have no others, and need no look at each character. */
const NARROW = /^[\x20-\x7e]*$/;

export function widthOf(text: string): number {
  return NARROW.test(text) ? text.length : measure(text).width;
}

const CUT = "…";

/** Returns a text that is at most so wide: its beginning, and `…`. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const { index, truncated } = measure(text, { limit: width, ellipsis: CUT });
  return truncated ? `${text.slice(0, index)}${CUT}` : text;
}

/** Returns a text that is at most so wide: its beginning, `…` and its end, which of a path tells more. */
export function cutMiddle(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  const beginning = text.slice(0, measure(text, { limit: Math.floor((width - 1) / 3) }).index);
  let left = width - 1 - widthOf(beginning);
  let end = "";
  for (const { segment } of [...new Intl.Segmenter().segment(text)].reverse()) {
    left -= widthOf(segment);
    if (left < 0) break;
    end = segment + end;
  }
  return `${beginning}${CUT}${end}`;
}

/** Stands before a text: the bar of what others have written, or the place of a dot. */
const LEAD = /^ *(?:│ ?|· )?/;
/** Stands before what follows of a broken line behind a bar. No key begins with it: nothing passes for another value. */
const FOLLOWS = "  ↳ ";
/** Fewer columns are not left for a text, even if the terminal has fewer. */
const LEAST_WRAPPED = 8;

/**
 * Returns a line as lines that are at most so wide, broken between words. All are indented as the line is; behind a bar, what
 * follows is indented deeper, and has a mark.
 */
export function wrapped(line: string, width = Number.POSITIVE_INFINITY): string[] {
  const [lead] = LEAD.exec(line) ?? [""];
  const text = line.slice(lead.length);
  const isBarred = lead.includes("│");
  const indent = isBarred ? Math.min(text.search(/\S|$/), Math.max(0, Math.floor(width / 4) - FOLLOWS.length)) : 0;
  const follows = isBarred ? `${lead}${" ".repeat(indent)}${FOLLOWS}` : lead.replace("·", " ");
  const lines: string[] = [];
  for (let [before, rest] = [lead, text]; ; before = follows) {
    const { index, truncated } = measure(rest, { limit: Math.max(width - before.length, LEAST_WRAPPED) });
    if (!truncated) return [...lines, before + rest];
    const blank = rest.lastIndexOf(" ", index);
    // Not within its indent.
    const end = blank > rest.search(/\S|$/) ? blank : index;
    lines.push((before + rest.slice(0, end)).trimEnd());
    rest = rest.slice(end).trimStart();
  }
}

/** Prints lines of texts, which a terminal would break within words. */
export function printWrapped(terminal: Terminal, lines: readonly string[]): void {
  const width = columnsOf(terminal.stdout);
  printLines(
    terminal,
    // A single word is an id: it is copied as a whole.
    lines.flatMap((line) => (/^\S+$/.test(line) ? line : wrapped(line, width))),
  );
}

/** Hebrew, Arabic and the like: without isolates, a terminal would reorder the columns beside them. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

function isolated(text: string): string {
  return RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text;
}

const BETWEEN = "  ";

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  return (rows[0] ?? []).map((_, column) =>
    rows.reduce((width, row) => Math.max(width, widthOf(row[column] ?? "")), 0),
  );
}

/** Returns rows as lines with aligned columns; those in `numbers` to the right. `style` gets cells of full width. */
export function aligned(
  rows: readonly (readonly string[])[],
  numbers: readonly number[] = [],
  style: (cell: string, row: number, column: number) => string = (cell) => cell,
): string[] {
  const widths = widthsOf(rows);
  return rows.map((row, index) => {
    const cells = row.map((cell, column) => {
      const space = " ".repeat((widths[column] ?? 0) - widthOf(cell));
      const text = isolated(cell);
      return style(numbers.includes(column) ? space + text : text + space, index, column);
    });
    return cells.join(BETWEEN).trimEnd();
  });
}

/** How a column gives way where a table is too wide. */
export interface Give {
  /** It is cut, but not below this width. */
  readonly least?: number;
  /** How it is cut; at its end if missing. */
  readonly cut?: typeof cut;
  /** It is left out before others are cut to less than so many times their least width; of several, the last one first. */
  readonly optional?: 1 | 2;
}

/**
 * Returns a table that fits a width: the numbers of the columns that are left, and their cells, cut. Of those that may be cut,
 * the widest is cut first.
 */
export function fitted(
  rows: readonly (readonly string[])[],
  gives: readonly Give[],
  width = Number.POSITIVE_INFINITY,
): { readonly columns: readonly number[]; readonly rows: readonly (readonly string[])[] } {
  const widths = widthsOf(rows);
  let columns = widths.map((_, column) => column);
  const roomFor = (column: number, times = 1) =>
    Math.min(widths[column] ?? 0, (gives[column]?.least ?? Number.POSITIVE_INFINITY) * times);
  const sumOf = (some: readonly number[]) => some.reduce((sum, one) => sum + one + BETWEEN.length, -BETWEEN.length);
  for (const times of [2, 1] as const) {
    while (sumOf(columns.map((column) => roomFor(column, times))) > width) {
      const gone = columns.findLast((column) => gives[column]?.optional === times);
      if (gone === undefined) break;
      columns = columns.filter((column) => column !== gone);
    }
  }
  const room = new Map(columns.map((column) => [column, widths[column] ?? 0]));
  for (let over = sumOf([...room.values()]) - width; over > 0; over -= 1) {
    const [widest] = [...room]
      .filter(([column, now]) => now > roomFor(column))
      .sort(([, one], [, other]) => other - one);
    if (widest === undefined) break;
    room.set(widest[0], widest[1] - 1);
  }
  const shorten = (cell: string, column: number) => (gives[column]?.cut ?? cut)(cell, room.get(column) ?? 0);
  return { columns, rows: rows.map((row) => columns.map((column) => shorten(row[column] ?? "", column))) };
}
