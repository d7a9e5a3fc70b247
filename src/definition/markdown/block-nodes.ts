/** The nodes that blocks of Markdown are, as mdast has them, with the text that stands in them. */
import type { Blockquote, Code, Heading, Html, List, ListItem, Paragraph, PhrasingContent, ThematicBreak } from "mdast";
import { decodeString } from "micromark-util-decode-string";
import { type BlockLine, type ListMarker, type OpenFence, withoutBlanksAtEnd } from "./block-lines.js";

/** Every block that a text is parsed into. */
export type Block = Heading | Paragraph | List | Blockquote | Code | Html | ThematicBreak;

/** A place in the text: line and column from 1. */
export interface Point {
  readonly line: number;
  readonly column: number;
  readonly offset: number;
}

/** Returns the place of a character of a line. */
export function pointAt({ number, offset }: BlockLine, pos: number): Point {
  return { line: number, column: pos + 1, offset: offset + pos };
}

/** Returns the place of the end of a line. */
export function endOf(line: BlockLine): Point {
  return pointAt(line, line.text.length);
}

/** Returns a list that holds nothing yet. */
export function listNode({ ordered, start }: ListMarker, from: Point): List {
  return { type: "list", ordered, start: start ?? null, spread: false, children: [], position: span(from, from) };
}

/** Returns a list item that holds nothing yet. */
export function itemNode(from: Point): ListItem {
  return { type: "listItem", spread: false, checked: null, children: [], position: span(from, from) };
}

/** Returns a quotation that holds nothing yet. */
export function quoteNode(from: Point): Blockquote {
  return { type: "blockquote", children: [], position: span(from, from) };
}

/** Returns a heading in one line. */
export function headingNode(depth: number, text: string, from: Point, to: Point): Heading {
  return { type: "heading", depth: depthOf(depth), children: phrasing([text]), position: span(from, to) };
}

/** Returns the paragraph of some lines, or the heading that a line below them makes of it. */
export function textNode(lines: readonly string[], from: Point, to: Point, depth?: 1 | 2): Paragraph | Heading {
  const parts = { children: phrasing(lines), position: span(from, to) };
  return depth === undefined ? { type: "paragraph", ...parts } : { type: "heading", depth, ...parts };
}

/** Returns a thematic break. */
export function ruleNode(from: Point, to: Point): ThematicBreak {
  return { type: "thematicBreak", position: span(from, to) };
}

/** Returns code, between fences or indented. */
export function codeNode(lines: readonly string[], fence: OpenFence | undefined, from: Point, to: Point): Code {
  const info = (fence?.info ?? "").replace(/^[ \t]+/, "");
  const [lang = ""] = /^[^ \t]*/.exec(info) ?? [];
  const meta = info.slice(lang.length).replace(/^[ \t]+/, "");
  return {
    type: "code",
    lang: lang === "" ? null : decodeString(lang),
    meta: meta === "" ? null : decodeString(meta),
    // The line end before the last fence, or at the end of the text, is none of the code's.
    value: (fence !== undefined && lines.at(-1) === "" ? lines.slice(0, -1) : lines).join("\n"),
    position: span(from, to),
  };
}

/** Returns a block of HTML. */
export function htmlNode(lines: readonly string[], from: Point, to: Point): Html {
  return { type: "html", value: lines.join("\n"), position: span(from, to) };
}

function span(start: Point, end: Point) {
  return { start: { ...start }, end: { ...end } };
}

function depthOf(depth: number): Heading["depth"] {
  const depths = [1, 2, 3, 4, 5, 6] as const;
  return depths[depth - 1] ?? 6;
}

/** The text of lines, without the blanks around each; two blanks at the end of one, or a backslash, make a break. */
function phrasing(lines: readonly string[]): PhrasingContent[] {
  const parts: PhrasingContent[] = [];
  let open: string[] = [];
  const take = () => {
    const value = decodeString(open.join("\n"));
    if (value !== "") parts.push({ type: "text", value });
    open = [];
  };
  for (const [index, line] of lines.entries()) {
    const bare = withoutBlanksAtEnd(line).replace(/^[ \t]+/, "");
    const mark = index === lines.length - 1 ? undefined : breakAtEnd(line);
    open.push(mark === "\\" ? bare.slice(0, -1) : bare);
    if (mark === undefined) continue;
    take();
    parts.push({ type: "break" });
  }
  take();
  return parts;
}

function breakAtEnd(line: string): "\\" | "  " | undefined {
  const bare = withoutBlanksAtEnd(line);
  const blanks = line.slice(bare.length);
  if (blanks.length > 1 && !blanks.includes("\t")) return "  ";
  let slashes = 0;
  while (bare.charAt(bare.length - 1 - slashes) === "\\") slashes += 1;
  return blanks === "" && slashes % 2 === 1 ? "\\" : undefined;
}
