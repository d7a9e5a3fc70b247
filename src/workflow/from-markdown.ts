/**
 * Parses Markdown in linear time with `mdast-util-from-markdown`, and strips inline marks. micromark 4.0.3 takes
 * quadratic time in two places, which this file works around. Only blocks are parsed (sections, paragraphs and list
 * items); inline marks are stripped with regular expressions, because the inline parser takes quadratic time.
 */
import type { List, Nodes, Paragraph, Root, RootContent } from "mdast";
import { type Extension as MdastExtension, fromMarkdown as parse } from "mdast-util-from-markdown";
import { toString as textOf } from "mdast-util-to-string";
import { EditMap } from "micromark-util-edit-map";
import type { Extension, TokenizeContext, Tokenizer } from "micromark-util-types";

/**
 * Returns the blocks of a text. `disabled` switches off constructs by their names in micromark.
 *
 * The parser searches a whole paragraph for each of its lazy lines, which lack the `>` or the indentation of their
 * container. So a lazy line ends a paragraph of more than `PARAGRAPH_MAX` lines and begins the next one.
 */
export function fromMarkdown(text: string, { disabled = [], syntax = [], tree = [] }: MarkdownOptions = {}): Root {
  const extensions = [...syntax, { disable: { null: [...disabled] } }, LONG_PARAGRAPHS];
  return parse(text, { extensions, mdastExtensions: [...tree] });
}

interface MarkdownOptions {
  readonly disabled?: readonly string[];
  /** Extensions of micromark, and of mdast for their tokens. */
  readonly syntax?: readonly Extension[];
  readonly tree?: readonly MdastExtension[];
}

const PARAGRAPH_MAX = 500;

/** Maximum number of lines, plus one for every `LINE_MIN` characters: each costs about 0.1 ms, also an empty one. */
const LINES = 5000;
const LINE_MIN = 30;

/** The cost of a blank line, as a fraction of a line. */
const BLANK = 0.2;

/** Indentation, and the markers of quotes and lists. */
const OPENING = /^(?:[\s>*+-]|\d+[.)]\s){0,100}/;
/** A line between sections, which opens nothing. */
const RULE = /^\s*([-*_])\1{2,}\s*$/;
/** The cost of each of their characters, as a fraction of a line: each level of a list is looked at in each of its lines. */
const OPENED = 0.08;

/** Checks whether a text has too many lines for its length. Lines in deep lists and quotes cost more. */
function hasTooManyLines(lines: readonly string[]): boolean {
  let [count, length] = [0, 0];
  for (const line of lines) {
    const isBlank = line.trim() === "";
    const [opening = ""] = RULE.test(line) ? [] : (OPENING.exec(line) ?? []);
    count += isBlank ? BLANK : 1 + opening.length * OPENED;
    length += isBlank ? 0 : line.length - opening.length;
  }
  return count > LINES + length / LINE_MIN;
}

/** The line on which the last paragraph may have begun, for each parser run. */
const began = new WeakMap<TokenizeContext["parser"], number>();

/** Makes the parser try another construct on a lazy line of a long paragraph, which ends the paragraph. */
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

/** Returns a line without its inline marks. Code between backticks is left as it is. */
export function plainText(line: string): string {
  return withoutBackticks(line, unmarked).trim();
}

/** Removes backticks, and changes the text that is not between them. */
export function withoutBackticks(text: string, change: (part: string) => string): string {
  const parts = text.split(/`+/);
  return parts.map((part, at) => (at % 2 === 1 && at < parts.length - 1 ? part : change(part))).join("");
}

function unmarked(text: string): string {
  return text.replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1").replace(/\*\*|(?<![\p{L}\p{N}])__|__(?![\p{L}\p{N}])/gu, "");
}

const LEADING = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D|\s|\[[ xX]\])+/u;
const MARK = /^(?:\p{Extended_Pictographic}|\p{So}|\uFE0F|\u200D)$/u;

/** Removes symbols and checkboxes before a text: `✅ Done` and `[x] Done` become `Done`. */
export function withoutLeadingMarks(text: string): string {
  return text.replace(LEADING, "");
}

/** Removes the symbols after a text that offer a choice: `Done ✅/❌` becomes `Done`. */
export function withoutTrailingMarks(text: string): string {
  const characters = [...text.trimEnd()];
  // A slash at the end is part of a path, unless a mark follows it.
  if (!MARK.test(characters.at(-1) ?? "")) return characters.join("");
  while (/^[\s/]$/.test(characters.at(-1) ?? "") || MARK.test(characters.at(-1) ?? "")) characters.pop();
  return characters.join("");
}

/** Returns the name of a heading for comparison: lower case, without symbols before it or a colon after it. */
export function headingName(text: string): string {
  return withoutAtEnd(text.replace(/^[^\p{L}\p{N}]+/u, ""), ":").toLowerCase();
}

/** Removes some characters, and whitespace among them, from the end of a text: a pattern would try each position. */
export function withoutAtEnd(text: string, characters: string): string {
  let end = text.trimEnd().length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end = text.slice(0, end - 1).trimEnd().length;
  return text.slice(0, end);
}

/** A part of a text: a code span with its backticks, or the text between two. */
interface TextPart {
  readonly code: boolean;
  readonly text: string;
}

/** Splits a text at its code spans. A span ends at the next run of as many backticks; without one it is no span. */
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

/** Returns the end of each code span by its start, in order. */
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

/** A heading and the blocks below it, up to the next heading of any depth. */
export interface Section {
  /** 0 for the blocks before the first heading. */
  readonly depth: number;
  readonly heading: string;
  /** The heading with its marks. */
  readonly written: string;
  readonly line: number;
  readonly blocks: readonly RootContent[];
}

/** Inline constructs, which are switched off: their parser takes quadratic time over unclosed marks. */
const INLINE = ["attention", "autolink", "codeText", "htmlText", "labelEnd", "labelStartImage", "labelStartLink"];

/** Returns the blocks of a text; undefined for one that is too deeply nested or has too many lines. */
export function blocksOf(text: string): readonly RootContent[] | undefined {
  if (!isParsed(text)) return undefined;
  return fromMarkdown(text, { disabled: [...INLINE, "definition"] }).children;
}

export interface ParagraphSource {
  readonly source: string;
  /** The line on which it begins, from 1. */
  readonly line: number;
}

/** Returns the paragraphs and headings of a text in order, also those in lists and quotations; none for a text that is not parsed. */
export function paragraphsIn(text: string): ParagraphSource[] {
  return (blocksOf(text) ?? []).flatMap((block) => paragraphsBelow(block, text));
}

function paragraphsBelow(node: Nodes, text: string): ParagraphSource[] {
  if (node.type !== "paragraph" && node.type !== "heading") {
    return "children" in node ? node.children.flatMap((child) => paragraphsBelow(child, text)) : [];
  }
  if (node.position === undefined) return [];
  const { start, end } = node.position;
  return [{ source: text.slice(start.offset, end.offset), line: start.line }];
}

/** Facts are near the beginning, and no answer shows an agent more text at once. */
const LOOKED_AT = 64 * 1024;

/** Returns how many characters of a text are parsed; 0 for a text that is not parsed at all. */
export function lookedAt(text: string): number {
  return isParsed(text.slice(0, LOOKED_AT)) ? Math.min(text.length, LOOKED_AT) : 0;
}

const NO_HEADING = { depth: 0, heading: "", written: "", line: 1 };

export function sectionsOf(text: string): Section[] {
  const blocks = blocksOf(text.slice(0, LOOKED_AT));
  if (blocks === undefined) return [];
  const sections = [{ ...NO_HEADING, blocks: [] as RootContent[] }];
  for (const block of blocks) {
    if (block.type === "heading") {
      const { depth, position } = block;
      const written = textOf(block);
      sections.push({ depth, written, heading: plainText(written), line: position?.start.line ?? 1, blocks: [] });
    } else sections.at(-1)?.blocks.push(block);
  }
  return sections;
}

/** Returns the index after the last heading that belongs to the section of the heading at `index`. */
export function endOfSection(headings: readonly { readonly depth: number }[], index: number): number {
  const depth = headings[index]?.depth ?? 0;
  let end = index + 1;
  while (end < headings.length && (headings[end]?.depth ?? 0) > depth) end += 1;
  return end;
}

/** Returns the lines of a paragraph, with their inline marks. */
export function linesOfParagraph(paragraph: Paragraph): string[] {
  const text = paragraph.children.map((child) => (child.type === "break" ? "\n" : textOf(child))).join("");
  return text.split("\n").map((line) => line.trim());
}

/** Returns a paragraph as one line, without inline marks. */
export function proseOf(paragraph: Paragraph): string {
  return plainText(linesOfParagraph(paragraph).join(" "));
}

/** Returns the first paragraph of each item of a list; empty ones left out. */
export function itemsOf(list: List): string[] {
  return list.children
    .map(({ children: [first] }) => (first?.type === "paragraph" ? proseOf(first) : ""))
    .filter((item) => item !== "");
}

/** Containers nested in each other: more than people write, and few enough for recursion. */
const NESTED = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]{0,3}){24}/m;

function isParsed(text: string): boolean {
  return !NESTED.test(text) && !hasTooManyLines(text.split("\n"));
}
