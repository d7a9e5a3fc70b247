import type { RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import type { Report } from "../../definition/folder/report.js";
import { headingName } from "../../definition/markdown/inline-text.js";
import { blocksOf } from "../../definition/markdown/markdown-blocks.js";
import type { SourcePosition } from "../../errors.js";
import type { ExpandedText } from "./expanded-text.js";
import { linkInItem } from "./link-in-item.js";

/** A step as the index names it. */
export interface IndexEntry {
  /** The text of its link. */
  readonly name: string;
  /** Where its link leads, as it stands there. */
  readonly target: string;
  readonly place: SourcePosition;
}

/** What the index of a routed workflow says. */
export interface WorkflowIndex {
  readonly goal?: string;
  readonly entries: readonly IndexEntry[];
}

/** As much of an index as a parser of Markdown takes in reasonable time, whatever stands in it. */
const INDEX_MAX = 256 * 1024;
const PLAN = "high-level plan";
const GOALS = new Set(["overall goal", "goal"]);

/** Reads the ordered list of steps and the goal out of the Markdown tree. */
export function readIndex(index: ExpandedText, report: Report): WorkflowIndex {
  const blocks = index.text.length > INDEX_MAX ? undefined : blocksOf(index.text);
  if (blocks === undefined) {
    const hint = "Keep the index to a goal and a list of steps.";
    report.error("INDEX_UNREADABLE", index.place(1), "the index is too large or nested too deeply", hint);
    return { entries: [] };
  }
  const planned = entriesOf(underPlan(blocks), index);
  const entries = planned.length > 0 ? planned : entriesOf(blocks, index);
  const goal = goalOf(blocks, entries, index);
  return { entries, ...(goal === undefined ? {} : { goal }) };
}

function entriesOf(blocks: readonly RootContent[], index: ExpandedText): IndexEntry[] {
  return blocks.flatMap((block): IndexEntry[] => {
    if (block.type === "blockquote") return entriesOf(block.children, index);
    if (block.type !== "list") return [];
    return block.children.flatMap(({ children }) => [...entryOf(children[0], index), ...entriesOf(children, index)]);
  });
}

function entryOf(block: RootContent | undefined, index: ExpandedText): IndexEntry[] {
  if (block?.type !== "paragraph" || block.position === undefined) return [];
  const { start, end } = block.position;
  const link = linkInItem(index.text.slice(start.offset, end.offset));
  return link === undefined ? [] : [{ ...link, place: index.place(start.line) }];
}

/** What stands below the heading of the plan, up to the next one that is as high. */
function underPlan(blocks: readonly RootContent[]): readonly RootContent[] {
  const at = blocks.findIndex((block) => block.type === "heading" && headingName(textOf(block)) === PLAN);
  const heading = blocks[at];
  if (heading?.type !== "heading") return [];
  const rest = blocks.slice(at + 1);
  const end = rest.findIndex((block) => block.type === "heading" && block.depth <= heading.depth);
  return end === -1 ? rest : rest.slice(0, end);
}

function goalOf(blocks: readonly RootContent[], entries: readonly IndexEntry[], index: ExpandedText) {
  const named = blocks.findIndex((block) => block.type === "heading" && GOALS.has(headingName(textOf(block))));
  if (named !== -1) return textBetween(blocks, named, isHeading, index);
  const first = blocks.findIndex(isHeading);
  return textBetween(blocks, first, (block) => entriesOf([block], index).length > 0 && entries.length > 0, index);
}

/** What stands behind a block up to the first one that ends it, without headings and comments. */
function textBetween(
  blocks: readonly RootContent[],
  after: number,
  ends: (block: RootContent) => boolean,
  index: ExpandedText,
): string | undefined {
  const parts: string[] = [];
  for (const block of blocks.slice(after + 1)) {
    if (ends(block)) break;
    if (isHeading(block) || (block.type === "html" && block.value.startsWith("<!--"))) continue;
    parts.push(index.text.slice(block.position?.start.offset, block.position?.end.offset));
  }
  return parts.join("\n\n").trim() || undefined;
}

function isHeading(block: RootContent): boolean {
  return block.type === "heading";
}
