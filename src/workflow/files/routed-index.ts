/**
 * Reads the goal and the ordered list of steps from the index.md of a routed workflow. A step is a list item whose
 * first link leads to `steps/`. Links are found in one pass: a parser that also pairs marks of emphasis takes quadratic
 * time.
 */
import type { RootContent } from "mdast";
import { toString as textOf } from "mdast-util-to-string";
import { decodeString } from "micromark-util-decode-string";
import type { SourcePosition } from "../../errors.js";
import { blocksOf, codeSpans, headingName } from "../from-markdown.js";
import type { Report } from "../report.js";
import type { ExpandedText } from "./routed-includes.js";

/** A step in the index. */
export interface IndexEntry {
  /** The text of its link. */
  readonly name: string;
  /** The target of its link, as written. */
  readonly target: string;
  readonly place: SourcePosition;
}

/** The content of an index. */
interface WorkflowIndex {
  readonly goal?: string;
  readonly entries: readonly IndexEntry[];
}

type EntriesIn = (blocks: readonly RootContent[]) => IndexEntry[];

/** Maximum length of an index, in characters. */
const INDEX_MAX = 256 * 1024;
/** Maximum number of steps: each is compared with all others, and a decider is told all of them. */
const STEPS_MAX = 500;

/** Reads the goal and the steps. */
export function readIndex(index: ExpandedText, report: Report): WorkflowIndex {
  const blocks = index.text.length > INDEX_MAX ? undefined : blocksOf(index.text);
  if (blocks === undefined) {
    const hint = "Keep the index to a goal and a list of steps.";
    report.error(
      "INDEX_UNREADABLE",
      index.place(1),
      "the index is too large, nested too deeply or has too many lines",
      hint,
    );
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

/** Returns the file that a link leads to, decoded and without a fragment or query. */
export function fileOf(url: string): string {
  const [file = ""] = decoded(url).split(/[#?]/, 1);
  return file;
}

/** Returns the targets of references. The first of two with the same label counts. */
function targetsIn(blocks: readonly RootContent[], index: ExpandedText): Targets {
  const found = blocks.flatMap((block) => (block.type === "paragraph" ? definitionsIn(sourceOf(block, index)) : []));
  return new Map(found.reverse().map(({ label, target }) => [referenceName(label), target]));
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
  const link = linkInItem(sourceOf(block, index), targets);
  return link === undefined ? [] : [{ ...link, place: index.place(start.line) }];
}

/** The name of a step and the target of its link. */
interface StepLink {
  readonly name: string;
  readonly target: string;
}

/** A longer list item is not a link with a few words. */
const ITEM_MAX = 2048;

/**
 * Returns the first link to `steps/` in the first paragraph of a list item; undefined if there is none. `targets`
 * resolves references such as `[Dig][1]`.
 */
function linkInItem(source: string, targets: Targets): StepLink | undefined {
  if (source.length > ITEM_MAX) return undefined;
  for (const link of linksIn(source, targets)) {
    const target = fileOf(link.target);
    if (/^(?:\.\/)?steps\//.test(target)) return { name: shownText(link.label), target };
  }
  return undefined;
}

/** Returns the visible text of a label on one line, without marks of code and emphasis. */
function shownText(label: string): string {
  const parts = label.split(/`+/);
  return parts
    .map((part, index) => (index % 2 === 1 && index < parts.length - 1 ? part : withoutEmphasis(part)))
    .join("")
    .replace(/\s+/g, " ")
    .trim();
}

/** Removes marks of emphasis. Marks between two letters or between two spaces are not emphasis. */
function withoutEmphasis(text: string): string {
  return text.replace(/\\(.)|[*_]+/gs, (run: string, escaped: string | undefined, at: number) => {
    if (escaped !== undefined) return /[\w\s]/.test(escaped) ? run : escaped;
    const around = `${text.charAt(at - 1) || " "}${text.charAt(at + run.length) || " "}`;
    return /^(?:[\p{L}\p{N}]{2}|\s\s)$/u.test(around) ? run : "";
  });
}

const PLAN = "high-level plan";

/** Returns the blocks below the heading of the plan, up to the next heading of its level. */
function underPlan(blocks: readonly RootContent[]): readonly RootContent[] {
  const at = blocks.findIndex((block) => block.type === "heading" && headingName(textOf(block)) === PLAN);
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

function decoded(url: string): string {
  try {
    return decodeURIComponent(url);
  } catch {
    // The `%` belongs to the name.
    return url;
  }
}

/** A link in a text. */
export interface Link {
  /** The text of the link, as written. */
  readonly label: string;
  readonly target: string;
  /** The position of the link in the text, in characters. */
  readonly offset: number;
}

/** The targets of references, by label in lower case. */
export type Targets = ReadonlyMap<string, string>;

const DEFINITION = /^ {0,3}\[([^[\]]{1,200})\]:[ \t]*(?:<([^<>]*)>|([^ \t<]\S*))/;

/** Returns the reference definitions at the beginning of a paragraph: `[1]: steps/dig.md`. */
export function definitionsIn(paragraph: string): Link[] {
  const found: Link[] = [];
  let offset = 0;
  for (const line of paragraph.split("\n")) {
    const [whole, label, angled, bare] = DEFINITION.exec(line) ?? [];
    if (whole === undefined || label === undefined) break;
    found.push({ label, target: decodeString(angled ?? bare ?? ""), offset });
    offset += line.length + 1;
  }
  return found;
}

/** Returns the label of a reference for lookup. */
function referenceName(label: string): string {
  return label.replace(/\s+/g, " ").trim().toLowerCase();
}

/** An address or a tag, in which brackets are not links. */
const ANGLED = /<[A-Za-z/!?][^<>]*>/y;

/** Returns the links of a paragraph in order, including references. Code spans are skipped. */
export function linksIn(text: string, targets: Targets = new Map()): Link[] {
  const links: Link[] = [];
  const codeEnd = codeSpans(text);
  let open: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === "\\") at += 1;
    else if (char === "`") at = (codeEnd.get(at) ?? at + runLength(text, at)) - 1;
    else if (char === "<") at = (after(ANGLED, text, at) ?? at + 1) - 1;
    else if (char === "[") open.push(at);
    else if (char === "]") {
      const start = open.pop();
      if (start === undefined) continue;
      const label = text.slice(start + 1, at);
      const found = inlineTarget(text, at + 1) ?? referenced(text, at + 1, label, targets);
      if (found === undefined) continue;
      at = found.end - 1;
      if (text.charAt(start - 1) === "!") continue;
      links.push({ label, target: decodeString(found.target), offset: start });
      // Links can't be nested.
      open = [];
    }
  }
  return links;
}

interface Target {
  readonly target: string;
  readonly end: number;
}

function angled(part: string, start: number): Target | undefined {
  const [whole, target = ""] = /^<([^<>\n]*)>/.exec(part.slice(start)) ?? [];
  return whole === undefined ? undefined : { target, end: start + whole.length };
}

/** Returns a target without spaces, with balanced parentheses. */
function bare(part: string, start: number): Target | undefined {
  let depth = 0;
  let end = start;
  for (; end < part.length; end += 1) {
    const char = part.charAt(end);
    if (char === "\\") end += 1;
    else if (char === "(") depth += 1;
    else if (char === ")" && depth === 0) break;
    else if (char === ")") depth -= 1;
    else if (char <= " ") break;
  }
  return depth === 0 ? { target: part.slice(start, end), end } : undefined;
}

function runLength(text: string, at: number): number {
  let end = at;
  while (text.charAt(end) === "`") end += 1;
  return end - at;
}

function after(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** Maximum length of a target, title or reference: longer ones are not links, so each bracket costs bounded time. */
const PART_MAX = 512;

/** Returns the target of `(target "title")` at a position. */
function inlineTarget(text: string, at: number): Target | undefined {
  if (text.charAt(at) !== "(") return undefined;
  const part = text.slice(at + 1, at + PART_MAX);
  const start = blanks(part, 0);
  const target = part.charAt(start) === "<" ? angled(part, start) : bare(part, start);
  if (target === undefined) return undefined;
  const behind = blanks(part, target.end);
  const end = behind === target.end ? behind : blanks(part, afterTitle(part, behind));
  return part.charAt(end) === ")" ? { target: target.target, end: at + 1 + end + 1 } : undefined;
}

function blanks(part: string, at: number): number {
  let end = at;
  while (end < part.length && part.charAt(end) <= " ") end += 1;
  return end;
}

function afterTitle(part: string, at: number): number {
  const [title = ""] = /^(?:"[^"]*"|'[^']*'|\([^()]*\))/.exec(part.slice(at)) ?? [];
  return at + title.length;
}

/** Returns the target of `[label]` after a text in brackets, or of the text itself as label. */
function referenced(text: string, at: number, label: string, targets: Targets): Target | undefined {
  const [whole, name = ""] = /^\[([^[\]]*)\]/.exec(text.slice(at, at + PART_MAX)) ?? [];
  const wanted = name.trim() === "" ? label : name;
  const target = wanted.length > PART_MAX ? undefined : targets.get(referenceName(wanted));
  return target === undefined ? undefined : { target, end: at + (whole?.length ?? 0) };
}
