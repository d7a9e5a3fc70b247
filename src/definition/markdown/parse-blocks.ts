/**
 * The blocks of a Markdown text as mdast has them: CommonMark without what stands within lines, which nothing
 * here needs. It goes over the lines once, so its time grows with the text. A parser that resolves events takes
 * time that grows with the square of the text over underlined headings, quotations and lists.
 */
import type { Blockquote, List, ListItem } from "mdast";
import { endsHtml, type HtmlEnd, htmlAt } from "./block-html.js";
import {
  type BlockLine,
  Cursor,
  closesFence,
  fenceAt,
  headingAt,
  isBlank,
  isRule,
  type ListMarker,
  linesOf,
  markerAt,
  type OpenFence,
  underlineAt,
} from "./block-lines.js";
import {
  type Block,
  codeNode,
  endOf,
  headingNode,
  htmlNode,
  itemNode,
  listNode,
  type Point,
  pointAt,
  quoteNode,
  ruleNode,
  textNode,
} from "./block-nodes.js";

/** Which constructs are read. */
export interface BlockRules {
  /** Without it, everything may be indented as far as its author likes. Default true. */
  readonly indentedCode?: boolean;
  /** Default true. */
  readonly html?: boolean;
  /** Headings that are underlined. Default true. */
  readonly underlined?: boolean;
}

/** A quotation or a list item that is open. */
interface Container {
  readonly node: Blockquote | ListItem;
  /** The list that an item is part of. */
  readonly list?: List;
  /** The columns that the lines of an item are indented by. */
  readonly size?: number;
  /** Whether its first line is blank, and nothing has come since. */
  empty: boolean;
  /** Whether another blank line has come after that: nothing is part of it any more. */
  over: boolean;
}

/** A block without blocks in it that is open. */
type Leaf = { readonly start: Point; readonly lines: string[] } & (
  | { readonly kind: "paragraph" }
  | { readonly kind: "indented"; blanks: string[] }
  | { readonly kind: "fence"; readonly fence: OpenFence; readonly indent: number }
  | { readonly kind: "html"; readonly ends: HtmlEnd }
);

/** What stands further in is code, where that is read. */
const INDENT_MAX = 3;

/** Parses the blocks of a text. */
export function parseBlocks(text: string, rules: BlockRules = {}): readonly Block[] {
  const parser = new BlockParser(rules);
  for (const line of linesOf(text.replaceAll("\0", "\uFFFD"))) parser.add(line);
  return parser.end();
}

class BlockParser {
  readonly #blocks: Block[] = [];
  readonly #rules: BlockRules;
  readonly #indentMax: number;
  readonly #stack: Container[] = [];
  /** What the markers of lists end with: items of one list have the same. */
  readonly #markers = new WeakMap<object, string>();
  #leaf: Leaf | undefined;
  /** Where the last line ends that is part of an open block. */
  #last: Point = { line: 1, column: 1, offset: 0 };

  constructor(rules: BlockRules) {
    this.#rules = rules;
    this.#indentMax = rules.indentedCode === false ? Number.POSITIVE_INFINITY : INDENT_MAX;
  }

  add(line: BlockLine): void {
    const cursor = new Cursor(line);
    const left = this.#stack.findIndex((container) => !this.#goesOn(container, cursor));
    const matched = left === -1 ? this.#stack.length : left;
    if (matched === this.#stack.length && this.#takeRaw(cursor)) return;
    const opened = this.#openContainers(cursor, matched);
    const lazy = !opened && matched < this.#stack.length;
    if (isBlank(line.text, cursor.pos)) {
      if (lazy) this.#close(matched);
      this.#closeLeaf();
    } else this.#addToLeaf(cursor, lazy, opened ? this.#stack.length : matched);
  }

  end(): readonly Block[] {
    this.#close(0);
    this.#closeLeaf();
    return this.#blocks;
  }

  #goesOn(container: Container, cursor: Cursor): boolean {
    const { text } = cursor.line;
    const { columns, end } = cursor.indent();
    if (container.size === undefined) {
      if (columns > this.#indentMax || text.charAt(end) !== ">") return false;
      cursor.skip(columns);
      cursor.take(1);
      cursor.skip(1);
      return true;
    }
    if (end === text.length) {
      container.over ||= container.empty;
      cursor.skip(container.size);
      return true;
    }
    const inside = columns >= container.size && !container.over;
    container.empty = false;
    container.over = false;
    if (inside) cursor.skip(container.size);
    return inside;
  }

  /** Takes a line that is code or HTML, whatever stands in it. */
  #takeRaw(cursor: Cursor): boolean {
    const leaf = this.#leaf;
    if (leaf === undefined || leaf.kind === "paragraph") return false;
    const { line } = cursor;
    const { columns, end } = cursor.indent();
    const blank = end === line.text.length;
    if (leaf.kind === "indented") {
      if (columns <= INDENT_MAX && !blank) return false;
      cursor.skip(INDENT_MAX + 1);
      leaf.blanks.push(cursor.rest());
      if (!blank) {
        for (const rest of leaf.blanks) leaf.lines.push(rest);
        leaf.blanks = [];
        this.#last = endOf(line);
      }
      return true;
    }
    if (leaf.kind === "html" && blank && leaf.ends === "blank line") return false;
    this.#last = endOf(line);
    const closes = leaf.kind === "fence" && columns <= this.#indentMax && closesFence(line.text, end, leaf.fence);
    if (leaf.kind === "fence") cursor.skip(leaf.indent);
    leaf.lines.push(closes ? "" : cursor.rest());
    if (closes || (leaf.kind === "html" && endsHtml(line.text.slice(cursor.pos), leaf.ends))) this.#closeLeaf();
    return true;
  }

  /** Opens the quotations and list items that a line begins. */
  #openContainers(cursor: Cursor, matched: number): boolean {
    const { line } = cursor;
    // What goes on where this line stands is interrupted by some markers only.
    const within = matched === this.#stack.length && this.#leaf !== undefined;
    for (let opened = false; ; opened = true) {
      const { columns, end } = cursor.indent();
      if (columns > this.#indentMax) return opened;
      const marker = line.text.charAt(end) === ">" ? "quote" : markerAt(line.text, end);
      if (marker === undefined) return opened;
      if (within && marker !== "quote" && !mayInterrupt(marker, line.text, end)) return opened;
      if (!opened) this.#close(matched);
      this.#closeLeaf();
      cursor.skip(columns);
      if (marker === "quote") this.#openQuote(cursor);
      else this.#openItem(marker, columns, cursor);
      this.#last = pointAt(line, cursor.pos);
    }
  }

  #openQuote(cursor: Cursor): void {
    const node = quoteNode(pointAt(cursor.line, cursor.pos));
    cursor.take(1);
    cursor.skip(1);
    this.#place(node);
    this.#stack.push({ node, empty: false, over: false });
  }

  #openItem(marker: ListMarker, indent: number, cursor: Cursor): void {
    const start = pointAt(cursor.line, cursor.pos);
    cursor.take(marker.length);
    const { columns, end } = cursor.indent();
    const empty = end === cursor.line.text.length;
    // Further in, the item begins with code.
    const blanks = empty || columns > this.#indentMax + 1 ? 1 : columns;
    if (!empty) cursor.skip(blanks);
    const before = this.#siblings().at(-1);
    const goesOn = before?.type === "list" && this.#markers.get(before) === markerOf(marker);
    const list = goesOn ? before : listNode(marker, start);
    if (!goesOn) this.#place(list);
    this.#markers.set(list, markerOf(marker));
    const node = itemNode(start);
    list.children.push(node);
    this.#stack.push({ node, list, size: indent + marker.length + blanks, empty, over: false });
  }

  /** Goes on with the open paragraph, or begins a block. A lazy line stands outside of containers that are open. */
  #addToLeaf(cursor: Cursor, lazy: boolean, matched: number): void {
    const { line } = cursor;
    const { columns, end } = cursor.indent();
    const paragraph = this.#leaf?.kind === "paragraph" ? this.#leaf : undefined;
    const node = columns > this.#indentMax ? undefined : this.#oneLine(cursor, end, lazy);
    if (node !== undefined) {
      this.#closeTo(matched);
      this.#place(node);
    } else if (columns > this.#indentMax || !this.#startRaw(cursor, matched)) {
      if (paragraph !== undefined) paragraph.lines.push(cursor.rest());
      else {
        this.#closeTo(matched);
        const start = pointAt(line, columns > this.#indentMax ? cursor.pos : end);
        const isCode = columns > this.#indentMax;
        if (isCode) cursor.skip(INDENT_MAX + 1);
        const lines = [cursor.rest()];
        this.#leaf = isCode ? { kind: "indented", start, lines, blanks: [] } : { kind: "paragraph", start, lines };
      }
    }
    this.#last = endOf(line);
  }

  /** A block that is over with its line; an underline takes the open paragraph with it. */
  #oneLine({ line }: Cursor, pos: number, lazy: boolean): Block | undefined {
    const { text } = line;
    const from = pointAt(line, pos);
    const heading = headingAt(text, pos);
    if (heading !== undefined) return headingNode(heading.depth, heading.text, from, endOf(line));
    const leaf = this.#leaf;
    if (leaf?.kind === "paragraph" && !lazy && this.#rules.underlined !== false) {
      const depth = underlineAt(text, pos);
      if (depth !== undefined) {
        this.#leaf = undefined;
        return textNode(leaf.lines, leaf.start, endOf(line), depth);
      }
    }
    return isRule(text, pos) ? ruleNode(from, endOf(line)) : undefined;
  }

  /** Begins code between fences, or HTML. */
  #startRaw(cursor: Cursor, matched: number): boolean {
    const { line } = cursor;
    const { columns, end } = cursor.indent();
    const fence = fenceAt(line.text, end);
    if (fence !== undefined) {
      this.#closeTo(matched);
      this.#leaf = { kind: "fence", start: pointAt(line, end), lines: [], fence, indent: columns };
      return true;
    }
    const html = line.text.slice(end);
    const ends = this.#rules.html === false ? undefined : htmlAt(html, this.#leaf?.kind === "paragraph");
    if (ends === undefined) return false;
    this.#closeTo(matched);
    this.#leaf = { kind: "html", start: pointAt(line, cursor.pos), lines: [cursor.rest()], ends };
    this.#last = endOf(line);
    if (endsHtml(html, ends)) this.#closeLeaf();
    return true;
  }

  #siblings(): (Blockquote | ListItem)["children"] | Block[] {
    return this.#stack.at(-1)?.node.children ?? this.#blocks;
  }

  #place(node: Block): void {
    this.#siblings().push(node);
  }

  #closeTo(matched: number): void {
    this.#close(matched);
    this.#closeLeaf();
  }

  /** Ends the containers but the first, with the block that is open in them. */
  #close(matched: number): void {
    if (this.#stack.length > matched) this.#closeLeaf();
    while (this.#stack.length > matched) {
      const container = this.#stack.pop();
      for (const node of [container?.node, container?.list]) {
        if (node?.position !== undefined) node.position.end = { ...this.#last };
      }
    }
  }

  #closeLeaf(): void {
    const leaf = this.#leaf;
    this.#leaf = undefined;
    if (leaf === undefined) return;
    const { start, lines } = leaf;
    if (leaf.kind === "paragraph") this.#place(textNode(lines, start, this.#last));
    else if (leaf.kind === "html") this.#place(htmlNode(lines, start, this.#last));
    else this.#place(codeNode(lines, leaf.kind === "fence" ? leaf.fence : undefined, start, this.#last));
  }
}

/** A list that interrupts something begins with 1, and with an item that isn't empty. */
function mayInterrupt({ start = 1, length }: ListMarker, text: string, pos: number): boolean {
  return start === 1 && length <= 2 && !isBlank(text, pos + length);
}

function markerOf({ ordered, char }: ListMarker): string {
  return `${ordered} ${char}`;
}
