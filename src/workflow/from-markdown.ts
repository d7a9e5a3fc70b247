/**
 * Parses Markdown in time that grows with the length of the text, with `mdast-util-from-markdown`. Its parser,
 * micromark 4.0.3, takes time that grows with the square of the text in two places.
 */
import type { Root } from "mdast";
import { fromMarkdown as parse } from "mdast-util-from-markdown";
import { EditMap } from "micromark-util-edit-map";
import type { Extension, TokenizeContext, Tokenizer } from "micromark-util-types";
/**
 * The blocks of a text. Constructs can be switched off by micromark's names.
 *
 * The parser looks through a whole paragraph for each of its lazy lines, which lack the `>` or the indentation
 * of their container. So a lazy line ends a paragraph that has more than `PARAGRAPH_MAX` lines, and begins the next one.
 */
export function fromMarkdown(text: string, { disabled = [] }: { disabled?: readonly string[] } = {}): Root {
  return parse(text, { extensions: [{ disable: { null: [...disabled] } }, LONG_PARAGRAPHS] });
}

const PARAGRAPH_MAX = 500;

/** So many lines are parsed, and one more for every `LINE_MIN` characters: each costs about 0.1 ms, whatever it holds. */
const LINES = 5000;
const LINE_MIN = 30;

/** A blank line costs so much of that. */
const BLANK = 0.2;

/** Whether a text has more lines than are parsed of its length. */
export function hasTooManyLines(lines: readonly string[]): boolean {
  let [count, length] = [0, 0];
  for (const line of lines) {
    count += line.trim() === "" ? BLANK : 1;
    length += line.length;
  }
  return count > LINES + length / LINE_MIN;
}

/** The line on which the last paragraph may have begun, by the reading of a text. */
const began = new WeakMap<TokenizeContext["parser"], number>();

/** Lets the parser think that something else begins on a lazy line of a long paragraph, and then finds nothing. */
const endLongParagraph: Tokenizer = function tokenize(_effects, ok, nok) {
  const { line } = this.now();
  if (this.interrupt !== true) began.set(this.parser, line);
  else if (this.parser.lazy[line] === true && line - (began.get(this.parser) ?? line) > PARAGRAPH_MAX) return ok;
  return nok;
};

const LONG_PARAGRAPHS: Extension = { flow: { null: { name: "longParagraph", tokenize: endLongParagraph } } };

/**
 * The parser applies each edit of its list of events by copying the whole list. Every heading that is underlined and
 * every quotation or nested list that ends is such an edit: `a\n===\n` took 46 s for 96 kB. Edits concern the end of
 * the list. So `consume` is given only the part that begins at the first edit; the parser's own code does the rest.
 * The result is the same for everybody who uses the parser in this process.
 */
const consumeAll = EditMap.prototype.consume;

EditMap.prototype.consume = function consumeEnd(events) {
  const first = this.map.reduce((least, [at]) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const end = events.splice(first);
  for (const edit of this.map) edit[0] -= first;
  consumeAll.call(this, end);
  for (const event of end) events.push(event);
};

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
interface TextPart {
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
