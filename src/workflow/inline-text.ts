/**
 * What a reader sees of Markdown's inline marks: code, strong and links without their signs. By regular
 * expressions whose parts can't overlap: parsers take quadratic time over unclosed marks.
 */

/** A line without its inline marks. What stands between backticks is left as it is. */
export function plainText(line: string): string {
  const parts = line.split(/`+/);
  return parts
    .map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? part : unmarked(part)))
    .join("")
    .trim();
}

function unmarked(text: string): string {
  return text.replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1").replace(/\*\*|(?<![\p{L}\p{N}])__|__(?![\p{L}\p{N}])/gu, "");
}

const LEADING = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D|\s|\[[ xX]\])+/u;
const MARK = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D)$/u;

/** A text without the symbols before it: `✅ Done` and `[x] Done` are `Done`. */
export function withoutLeadingMarks(text: string): string {
  return text.replace(LEADING, "");
}

/** A text without the answers that are to be chosen from behind it: `Done ✅/❌` is `Done`. */
export function withoutTrailingMarks(text: string): string {
  const characters = [...text.trimEnd()];
  // A slash at the end is part of a path, unless there is a mark behind it.
  if (!MARK.test(characters.at(-1) ?? "")) return characters.join("");
  while (/^[\s/]$/.test(characters.at(-1) ?? "") || MARK.test(characters.at(-1) ?? "")) characters.pop();
  return characters.join("");
}

/** The name of a heading as it is looked up: without symbols before it, in lower case, without a colon after it. */
export function headingName(text: string): string {
  return withoutAtEnd(text.replace(/^[^\p{L}\p{N}]+/u, ""), ":").toLowerCase();
}

/** A text without some characters at its end, and blanks among them. From its end: a pattern would try each place. */
export function withoutAtEnd(text: string, characters: string): string {
  let end = text.trimEnd().length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end = text.slice(0, end - 1).trimEnd().length;
  return text.slice(0, end);
}

/** A part of a text: what is code, with the backticks around it, or what stands between. */
export interface TextPart {
  readonly code: boolean;
  readonly text: string;
}

/** A text cut at its code spans: each ends at the next run of as many backticks, or is none. */
export function codeParts(text: string): TextPart[] {
  const ends = codeSpans(text);
  const parts: TextPart[] = [];
  let from = 0;
  for (const [start, end] of ends) {
    if (start < from) continue;
    parts.push({ code: false, text: text.slice(from, start) }, { code: true, text: text.slice(start, end) });
    from = end;
  }
  parts.push({ code: false, text: text.slice(from) });
  return parts.filter((part) => part.text !== "");
}

/** Where the code spans of a text end, by where they may begin, in order. */
export function codeSpans(text: string): ReadonlyMap<number, number> {
  const next = new Map<number, number>();
  const spans: (readonly [number, number])[] = [];
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    const close = next.get(run.length);
    if (close !== undefined) spans.push([index, close + run.length]);
    next.set(run.length, index);
  }
  return new Map(spans.reverse());
}
