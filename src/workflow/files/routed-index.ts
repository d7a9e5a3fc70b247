/** Reads the goal and the steps of an index.md. A step is a list item whose first link leads to `steps/`. */
import type { RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import type { SourcePosition } from "../../errors.js";
import { blocksOf, headingName, withoutBackticks } from "../from-markdown.js";
import type { Report } from "../report.js";
import { fileOf, linksIn, referenceName, type Targets } from "./links.js";
import type { ExpandedText } from "./routed-includes.js";

export interface IndexEntry {
  readonly name: string;
  /** The target of its link, as written. */
  readonly target: string;
  readonly place: SourcePosition;
}

type EntriesIn = (blocks: readonly RootContent[]) => IndexEntry[];

const INDEX_MAX = 256 * 1024;
/** Maximum number of steps: each is compared with all others, and a decider is told all of them. */
const STEPS_MAX = 500;

export function readIndex(
  index: ExpandedText,
  report: Report,
): { readonly goal?: string; readonly entries: readonly IndexEntry[] } {
  const blocks = index.text.length > INDEX_MAX ? undefined : blocksOf(index.text);
  if (blocks === undefined) {
    const message = "the index is too large, nested too deeply or has too many lines";
    const hint = "Keep the index to a goal and a list of steps.";
    report.error("INDEX_UNREADABLE", index.place(1), message, hint);
    return { entries: [] };
  }
  const targets = targetsIn(blocks, index);
  const entriesIn: EntriesIn = (some) => entriesOf(some, index, targets);
  const planned = entriesIn(underPlan(blocks));
  const entries = planned.length > 0 ? planned : entriesIn(blocks);
  const goal = goalOf(blocks, index, entriesIn);
  const extra = entries[STEPS_MAX];
  if (extra !== undefined) {
    const message = `the index lists ${entries.length} steps, and ${STEPS_MAX} are read`;
    report.error("INDEX_UNREADABLE", extra.place, message, "Split the workflow.");
    entries.length = STEPS_MAX;
  }
  return { entries, goal };
}

/** Returns the targets of references. The first of two with the same label counts. */
function targetsIn(blocks: readonly RootContent[], index: ExpandedText): Targets {
  const found = blocks.flatMap((block) => (block.type === "paragraph" ? linksIn(sourceOf(block, index)) : []));
  const definitions = found.filter(({ isDefinition }) => isDefinition).reverse();
  return new Map(definitions.map(({ label, target }) => [referenceName(label), target]));
}

function sourceOf({ position }: RootContent, index: ExpandedText): string {
  return index.text.slice(position?.start.offset, position?.end.offset);
}

function entriesOf(blocks: readonly RootContent[], index: ExpandedText, targets: Targets): IndexEntry[] {
  return blocks.flatMap((block): IndexEntry[] => {
    if (block.type === "blockquote") return entriesOf(block.children, index, targets);
    if (block.type !== "list") return [];
    return block.children.flatMap(({ children }) => [
      ...entryOf(children[0], index, targets),
      ...entriesOf(children, index, targets),
    ]);
  });
}

function entryOf(block: RootContent | undefined, index: ExpandedText, targets: Targets): IndexEntry[] {
  if (block?.type !== "paragraph" || block.position === undefined) return [];
  const { start } = block.position;
  const source = sourceOf(block, index);
  const links = source.length > ITEM_MAX ? [] : linksIn(source, targets).filter(({ isDefinition }) => !isDefinition);
  const link = links.find(({ target }) => /^(?:\.\/)?steps\//.test(fileOf(target)));
  if (link === undefined) return [];
  return [{ name: shownText(link.label), target: fileOf(link.target), place: index.place(start.line) }];
}

/** A longer list item is not a link with a few words. */
const ITEM_MAX = 2048;

/** Returns the visible text of a label on one line, without marks of code and emphasis. */
function shownText(label: string): string {
  return withoutBackticks(label, withoutEmphasis).replace(/\s+/g, " ").trim();
}

/** Removes marks of emphasis. Marks between two letters or between two spaces are not emphasis. */
function withoutEmphasis(text: string): string {
  return text.replace(/\\(.)|[*_]+/gs, (run: string, escaped: string | undefined, at: number) => {
    if (escaped !== undefined) return /[\w\s]/.test(escaped) ? run : escaped;
    const around = `${text.charAt(at - 1) || " "}${text.charAt(at + run.length) || " "}`;
    return /^(?:[\p{L}\p{N}]{2}|\s\s)$/u.test(around) ? run : "";
  });
}

/** Returns the blocks below the heading of the plan, up to the next heading of its level. */
function underPlan(blocks: readonly RootContent[]): readonly RootContent[] {
  const at = blocks.findIndex((block) => block.type === "heading" && headingName(textOf(block)) === "high-level plan");
  const heading = blocks[at];
  if (heading?.type !== "heading") return [];
  const rest = blocks.slice(at + 1);
  const end = rest.findIndex((block) => block.type === "heading" && block.depth <= heading.depth);
  return end === -1 ? rest : rest.slice(0, end);
}

const GOALS = new Set(["overall goal", "goal"]);

function goalOf(blocks: readonly RootContent[], index: ExpandedText, entriesIn: EntriesIn) {
  const isSteps = (block: RootContent) => entriesIn([block]).length > 0;
  const named = blocks.findIndex((block) => block.type === "heading" && GOALS.has(headingName(textOf(block))));
  // The steps may follow the goal without a heading of their own.
  if (named !== -1) return textBetween(blocks, named, (block) => isHeading(block) || isSteps(block), index);
  return textBetween(blocks, blocks.findIndex(isHeading), isSteps, index);
}

/** Returns the source after a block, up to the first block that ends it, without headings and comments. */
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
    parts.push(sourceOf(block, index));
  }
  return parts.join("\n\n").trim() || undefined;
}

function isHeading(block: RootContent): boolean {
  return block.type === "heading";
}
