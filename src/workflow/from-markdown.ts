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
