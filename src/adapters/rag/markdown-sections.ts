import type { Nodes, RootContent } from "mdast";
import { plainText } from "../../definition/markdown/inline-text.js";
import { blocksOf, linesOfParagraph } from "../../definition/markdown/markdown-blocks.js";

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
  /** Whether there is nothing but the heading. */
  readonly bare: boolean;
}

/** `| --- | :-: |`, the line that makes a table of a paragraph. */
const DELIMITER = /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/;
const CHECKBOX = /^\[[ xX]\](?:\s|$)/;

/** The sections of a text, given as its lines. Together they are the whole text; there is at least one. */
export function sectionLines(lines: readonly string[]): readonly SectionLines[] {
  const found: { depth: number; heading: string; first: number; blocks: RootContent[] }[] = [
    { depth: 0, heading: "", first: 1, blocks: [] },
  ];
  const lineOf = ({ position }: RootContent) => position?.start.line ?? 1;
  for (const block of blocksOf(lines.join("")) ?? []) {
    if (block.type !== "heading") found.at(-1)?.blocks.push(block);
    else {
      const first = lineOf(block);
      const last = block.position?.end.line ?? first;
      found.push({ depth: block.depth, heading: headingOf(lines.slice(first - 1, last)), first, blocks: [] });
    }
  }
  // What stands before the first heading is no section of its own if it is empty.
  const [preface, second] = found;
  if (preface?.blocks.length === 0 && second !== undefined) found.splice(0, 2, { ...second, first: 1 });
  return found.map(({ blocks, ...section }, index) => ({
    ...section,
    last: (found[index + 1]?.first ?? lines.length + 1) - 1,
    cuts: proseAfter(blocks).map(lineOf),
    bare: blocks.length === 0,
  }));
}

/** What a heading says, out of its own lines: of one that is underlined, those above the last. */
function headingOf(lines: readonly string[]): string {
  const [only = "", ...more] = lines;
  const text =
    more.length > 0 ? lines.slice(0, -1).join(" ") : only.replace(/^ {0,3}#{1,6}/, "").replace(/\s#+\s*$/, "");
  return plainText(text.replace(/\s+/g, " ").trim());
}

/** The blocks at which a section may be cut. The first stays below its heading, too. */
function proseAfter(blocks: readonly RootContent[]): readonly RootContent[] {
  return blocks.slice(Math.max(blocks.findLastIndex(staysWithHeading), 0) + 1);
}

/** Whether a block is, or holds, something that says nothing without its heading. */
function staysWithHeading(node: Nodes): boolean {
  if (node.type === "code" || node.type === "html") return true;
  if (node.type === "paragraph") {
    const lines = linesOfParagraph(node);
    return CHECKBOX.test(lines[0] ?? "") || lines.some((line) => line.includes("|") && DELIMITER.test(line));
  }
  return "children" in node && node.children.some(staysWithHeading);
}
