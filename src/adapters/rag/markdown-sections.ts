import type { Heading, Nodes, RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { plainText } from "../../definition/markdown/inline-text.js";
import { blocksOf } from "../../definition/markdown/markdown-blocks.js";
import { lineBeginnings } from "./line-beginnings.js";

/** A heading with what stands below it up to the next heading of any depth, in lines of its text from 1. */
export interface SectionLines {
  /** 0 for what stands before the first heading. */
  readonly depth: number;
  readonly heading: string;
  readonly first: number;
  readonly last: number;
  /**
   * Lines at which it may be cut: each begins a block of prose behind the last table, fence or checklist,
   * so that none of those is ever parted from its heading.
   */
  readonly cuts: readonly number[];
}

/** `| --- | :-: |`, the line that makes a table of a paragraph. */
const DELIMITER = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
const CHECKBOX = /^\[[ xX]\](?:\s|$)/;

/** The sections of a text, given as its lines. Together they are the whole text; there is at least one. */
export function sectionLines(lines: readonly string[]): readonly SectionLines[] {
  const found: { depth: number; heading: string; first: number; blocks: RootContent[] }[] = [
    { depth: 0, heading: "", first: 1, blocks: [] },
  ];
  for (const block of blocksOf(lineBeginnings(lines.join(""))) ?? []) {
    if (block.type === "heading") {
      found.push({ depth: block.depth, heading: headingOf(block, lines), first: lineOf(block), blocks: [] });
    } else found.at(-1)?.blocks.push(block);
  }
  // What stands before the first heading is no section of its own if it is empty.
  const [preface, second] = found;
  if (preface?.blocks.length === 0 && second !== undefined) found.splice(0, 2, { ...second, first: 1 });
  return found.map(({ blocks, ...section }, index) => ({
    ...section,
    last: (found[index + 1]?.first ?? lines.length + 1) - 1,
    cuts: cutsOf(blocks),
  }));
}

/** What a heading says, out of its own lines. One that is underlined has the line below it. */
function headingOf({ position }: Heading, lines: readonly string[]): string {
  const [first = 1, last = first] = [position?.start.line, position?.end.line];
  const own = lines.slice(first - 1, last === first ? last : last - 1).join(" ");
  const text = last === first ? own.replace(/^[ \t]{0,3}#{1,6}/, "").replace(/[ \t]#+\s*$/, "") : own;
  return plainText(text.replace(/\s+/g, " ").trim());
}

function cutsOf(blocks: readonly RootContent[]): number[] {
  const kept = blocks.findLastIndex(staysWithHeading);
  // The first block stays below its heading, too.
  return blocks.slice(Math.max(kept, 0) + 1).map(lineOf);
}

/** Whether a block is, or holds, something that says nothing without its heading. */
function staysWithHeading(node: Nodes): boolean {
  if (node.type === "code" || node.type === "html") return true;
  if (node.type === "paragraph") {
    const lines = textOf(node).split(/\r\n?|\n/);
    return CHECKBOX.test(lines[0] ?? "") || lines.some((line) => line.includes("|") && DELIMITER.test(line.trim()));
  }
  return "children" in node && node.children.some(staysWithHeading);
}

function lineOf({ position }: RootContent): number {
  return position?.start.line ?? 1;
}
