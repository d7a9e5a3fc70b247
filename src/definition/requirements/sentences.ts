/** A paragraph as sentences, each with the line and column of its own first character. */
import type { Paragraph } from "mdast";
import { type MarkedText, partOf, readMarks, withoutCode } from "./inline-marks.js";
import type { Place } from "./requirement.js";

/** A line of a text, with its number from 1. */
export interface NumberedLine {
  readonly text: string;
  readonly line: number;
  readonly column: number;
}

/** A sentence, or a label with what stands behind it. */
export interface Sentence extends MarkedText, Place {}

/** A paragraph's lines as they are written, without what marks the quotations and lists that they stand in. */
export function linesOf({ position }: Paragraph, text: string): NumberedLine[] {
  if (position === undefined) return [];
  const { start, end } = position;
  const lines = text.slice(start.offset, end.offset).split(/\r\n?|\n/);
  return lines.map((written, index) => {
    const inner = index === 0 ? written : written.replace(/^(?:[ \t]*>)*[ \t]*/, "");
    const indent = index === 0 ? start.column - 1 : written.length - inner.length;
    return { text: inner, line: start.line + index, column: indent + 1 };
  });
}

/** A new line that begins with a label, a number or a box says something of its own. */
const LABELLED = /^(?:(?:\*\*|__)[^*_]+(?:\*\*|__)|[A-Z][\w -]{0,40}:|\[[ xX]\]\s)/;

/** How long a paragraph or an item may be to be read, in characters: what names are looked for in grows with its square. */
const READ_MAX = 4000;

/** Whether lines are too long to be read as sentences. */
export function isTooLong(lines: readonly NumberedLine[]): boolean {
  return lines.reduce((sum, { text }) => sum + text.length + 1, 0) > READ_MAX;
}

/** The sentences of lines; none if they are too long. Lines of one sentence are joined; hard breaks and labels end one. */
export function sentencesOf(lines: readonly NumberedLine[]): Sentence[] {
  if (isTooLong(lines)) return [];
  const blocks: NumberedLine[][] = [];
  let isBroken = true;
  for (const line of lines) {
    if (isBroken || LABELLED.test(line.text)) blocks.push([line]);
    else blocks.at(-1)?.push(line);
    isBroken = line.text.endsWith("  ") || line.text.endsWith("\\");
  }
  return blocks.flatMap(splitSentences);
}

/** Not an end: `e.g. this`, `1. that`. */
const ABBREVIATION = /(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no)|(?:^|\s)\d+)\.$/i;

/** Longer than any of them. */
const ABBREVIATION_MAX = 24;

function splitSentences(lines: readonly NumberedLine[]): Sentence[] {
  const whole = readMarks(lines.map(({ text }) => text.replace(/\\$/, "").trimEnd()).join("\n"));
  const searched = withoutCode(whole);
  const ends: number[] = [];
  for (const { index, 0: sign } of searched.matchAll(/[.!?]["')\]]*(?=\s)|;(?=\s)/g)) {
    const end = index + sign.length;
    if (
      sign === ";"
        ? isOwn(searched.slice(end))
        : !ABBREVIATION.test(searched.slice(Math.max(0, end - ABBREVIATION_MAX), end)) && starts(searched, end)
    )
      ends.push(end);
  }
  return [...ends, whole.plain.length].flatMap((end, index) => {
    const from = index === 0 ? 0 : (ends[index - 1] ?? 0);
    const start = from + (/^\s*/.exec(whole.plain.slice(from, end))?.[0].length ?? 0);
    if (start >= end) return [];
    const line = whole.plain.slice(0, start).split("\n").length - 1;
    const { line: number = 1, column = 1 } = lines[line] ?? {};
    return [{ ...partOf(whole, start, end), line: number, column }];
  });
}

/** A sentence begins with no small letter, unless it is a name. */
function starts(text: string, at: number): boolean {
  return !/^\s+\p{Ll}/u.test(text.slice(at, at + 40)) || /^\s+\p{Ll}\w*_/u.test(text.slice(at, at + 80));
}

/** A part behind a semicolon that asks, or says that it doesn't, by itself. */
function isOwn(rest: string): boolean {
  return /^\s+(?:(?:not |also )?(?:required|optional)(?: \w+)?\s*:|(?:\w+\s+)?must\s+(?:\w+\s+)?provide|no\b)/i.test(
    rest,
  );
}
