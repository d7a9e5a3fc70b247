/**
 * The lines of a tree that a pipeline hands over, in its order. Transforms may have removed, moved and changed nodes: a
 * block has the lines of the file if it is as the parser has read it, else those that its nodes say.
 */
import type { Blockquote, Heading, List, ListItem, Nodes, Paragraph, Root, Table, TableRow } from "mdast";
import { checkboxAt } from "./boxes.js";
import { FENCE, RAW, type Region, type SourceLine, SourceText, type Span } from "./source.js";

type TextBlock = Paragraph | Heading | TableRow;

/** Lines between blocks that belong to none: blank ones, and those between the rows of a table. */
const BETWEEN = /^[\s>|:-]*$/;
const AFTER_INDENT = /[^ \t>].*/;

/** The lines of a tree as a source. Its positions are those of the file. */
export class TreeText extends SourceText {
  override readonly lines: SourceLine[] = [];
  readonly regions: Region[] = [];
  /** Number of nodes without a position in the file, which are not read. */
  unread = 0;
  readonly #file: SourceText;
  readonly #spans = new Map<Nodes, Span>();
  /** The text of each block before all transforms, by its place. */
  readonly #written = new Map<string, string>();
  /** The line of the file after the last block. */
  #next = 0;

  /** `parsed` is the tree before all transforms; without it, all text is that of the nodes. */
  constructor(tree: Root, file: SourceText, parsed: Root | undefined) {
    super([]);
    this.#file = file;
    const visit = (node: Nodes): void => {
      if (isText(node)) this.#written.set(placeOf(node), markdownOf(node));
      else if ("children" in node) for (const child of node.children) visit(child);
    };
    if (parsed !== undefined) visit(parsed);
    this.#add(tree, false);
  }

  override span(node: Nodes): Span | undefined {
    return this.#spans.get(node);
  }

  /** Adds a node. `hasBox` means that it begins behind a checkbox, which is no part of its text. */
  #add(node: Nodes, hasBox: boolean): void {
    if (isContainer(node)) {
      const isTask = node.type === "listItem" && typeof node.checked === "boolean";
      for (const [index, child] of node.children.entries()) this.#add(child, isTask && index === 0);
      return;
    }
    const span = this.#file.span(node);
    if (span === undefined) {
      this.unread += 1;
      return;
    }
    const [first, last] = span;
    this.#addBetween(first);
    const start = this.lines.length;
    if (isText(node) && this.#written.get(placeOf(node)) !== markdownOf(node)) {
      this.#addChanged(node, span, hasBox);
    } else {
      for (let line = first; line <= last; line += 1) this.#push(line, this.#file.text(line));
    }
    this.#next = last + 1;
    const end = this.lines.length;
    this.#spans.set(node, [start, end - 1]);
    const kind = kindOf(node);
    if (kind !== undefined) this.regions.push({ kind, start, end, unclosed: this.#isUnclosed(kind, span) });
  }

  /** Adds the lines before a block that belong to no other one; before a block that was moved up, a blank line. */
  #addBetween(first: number): void {
    if (first < this.#next) return this.#push(first, "");
    let from = first;
    while (from > this.#next && BETWEEN.test(this.#file.text(from - 1))) from -= 1;
    for (let line = from; line < first; line += 1) this.#push(line, this.#file.text(line));
  }

  /** Adds a changed block: markers and indentation as in the file, and the text of its nodes. */
  #addChanged(node: TextBlock, [first, last]: Span, hasBox: boolean): void {
    const start = (node.position?.start.column ?? 1) - 1;
    const box = hasBox ? checkboxAt(this.#file.text(first), start) : undefined;
    const before = `${this.#file.text(first).slice(0, box?.end ?? start)}${box === undefined ? "" : " "}`;
    const sign = node.type === "heading" ? `${"#".repeat(node.depth)} ` : "";
    for (const [index, part] of markdownOf(node).split("\n").entries()) {
      const line = Math.min(first + index, last);
      const indent = this.#file.text(line).replace(AFTER_INDENT, "");
      this.#push(line, `${index === 0 ? `${before}${sign}` : indent}${part}`);
    }
  }

  #push(line: number, text: string): void {
    this.lines.push({ text, line, offset: this.#file.position(line, 0).offset });
  }

  /** Checks for code or a comment that ends with the file, in place of a closing line. */
  #isUnclosed(kind: Region["kind"], [first, last]: Span): boolean {
    const own = this.#file.lines.slice(first, last + 1);
    if (kind === "comment") return !own.some(({ text }) => text.includes("-->"));
    if (first < last && /(?:`{3}|~{3})[ \t]*$/.test(this.#file.text(last))) return false;
    const after = this.#file.lines.slice(last + 1, last + 3);
    return FENCE.test(this.#file.text(first)) && after.every(({ text }) => text.trim() === "");
  }
}

const CONTAINERS: ReadonlySet<string> = new Set(["root", "list", "listItem", "blockquote", "table"]);

/** Checks whether the text of a node is that of the blocks in it. */
export function isContainer(node: Nodes): node is Root | List | ListItem | Blockquote | Table {
  return CONTAINERS.has(node.type);
}

function isText(node: Nodes): node is TextBlock {
  return node.type === "paragraph" || node.type === "heading" || node.type === "tableRow";
}

/** Returns what a block is if it is not read: code or a comment. Other HTML is neither; the checkboxes in it are reported. */
function kindOf(node: Nodes): Region["kind"] | undefined {
  if (node.type === "code") return "code";
  if (node.type !== "html") return undefined;
  if (node.value.startsWith("<!--")) return "comment";
  return RAW.test(node.value) ? "code" : undefined;
}

function placeOf({ type, position }: Nodes): string {
  return `${type} ${JSON.stringify(position)}`;
}

/** The marks around the text of a node. */
const MARKS: ReadonlyMap<string, string> = new Map([
  ["strong", "**"],
  ["emphasis", "*"],
  ["delete", "~~"],
  ["inlineCode", "`"],
]);

function markdownOf(node: Nodes): string {
  if (node.type === "break") return "\n";
  if (node.type === "tableRow") return `| ${node.children.map(markdownOf).join(" | ")} |`;
  const mark = MARKS.get(node.type) ?? "";
  const text = "value" in node ? node.value : "children" in node ? node.children.map(markdownOf).join("") : "";
  return node.type === "link" ? `[${text}](${node.url})` : mark + text + mark;
}
