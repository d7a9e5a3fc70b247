/**
 * Parses a source into a tree, and reads the tree as rows: one record for each heading, item, table row and line of text,
 * with its parent.
 */
import type { BlockContent, DefinitionContent, List, ListItem, Root, RootContent, Table } from "mdast";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTaskListItemFromMarkdown } from "mdast-util-gfm-task-list-item";
import { gfmTable } from "micromark-extension-gfm-table";
import { gfmTaskListItem } from "micromark-extension-gfm-task-list-item";
import { fromMarkdown, withoutLeadingMarks } from "../workflow/from-markdown.js";
import { BOX_BEGIN, checkboxAt, checkboxesIn, type FoundCheckbox } from "./boxes.js";
import { planError } from "./plan.js";
import { columnsOf, type Region, type SourceText, type Span } from "./source.js";
import { withoutComments } from "./task-line.js";
import { type Field, type Label, label, labelOf, type PhaseTitle, phaseTitle } from "./titles.js";
import type { Vocabulary } from "./words.js";

/** Constructs inside a line: they don't matter for headings, lists and tables, and take quadratic time where they are not closed. */
const INLINE =
  "attention autolink htmlText labelStartImage labelStartLink labelEnd codeText characterReference characterEscape hardBreakEscape";

/** Constructs that plans don't need: a list that is indented too far, or in `<details>`, is still one; below a label, `---` is a rule. */
const NOT_IN_PLANS = "codeIndented definition htmlFlow setextUnderline";

/** Maximum nesting depth of lists and quotes: the parser looks at each level in each line, also in an empty one. */
const DEPTH_MAX = 25;

/** A marker of a list or quote, after its indentation. */
const NESTED = /([ \t]*)(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))/y;

/** Parses a source, with blank lines in place of its regions. Throws `PLAN_PARSE` if it is nested too deep. */
export function parseTree(source: SourceText, regions: readonly Region[], file: string): Root {
  const lines = source.lines.map(({ text }) => text);
  for (const { start, end } of regions) lines.fill("", start, end);
  checkDepth(lines, file);
  return fromMarkdown(lines.join("\n"), {
    disabled: `${INLINE} ${NOT_IN_PLANS}`.split(" "),
    syntax: [gfmTable(), gfmTaskListItem()],
    tree: [gfmTableFromMarkdown(), gfmTaskListItemFromMarkdown()],
  });
}

function checkDepth(lines: readonly string[], file: string): void {
  const nested = lines.findIndex((line) => depthOf(line) > DEPTH_MAX);
  if (nested === -1) return;
  const message = `lists and quotes are nested more than ${DEPTH_MAX} levels deep`;
  throw planError({ file, line: nested + 1 }, message, "Nest them less, or put a drawing into a fence.");
}

/** Returns the deepest level that a line can begin: one for each of its markers, and for every two columns before one. */
function depthOf(line: string): number {
  let depth = 0;
  NESTED.lastIndex = 0;
  for (let found = NESTED.exec(line); found !== null; found = NESTED.exec(line)) {
    depth += 1 + Math.floor(columnsOf(found[1] ?? "") / 2);
  }
  return depth;
}

/** One line of a plan that may have a meaning. */
export interface Row {
  /** A `rule` is a line that separates sections; `cells` are a row of a table. */
  readonly kind: "heading" | "item" | "text" | "cells" | "rule";
  /** The level of a heading; the nesting depth of an item, from 0; for text and cells, that of their item, or -1. */
  readonly depth: number;
  /** The item around it, else the heading above it. A heading's parent is the next higher heading above it. */
  readonly parent: Row | undefined;
  /** The line, from 0. */
  readonly line: number;
  /** The column of the text, from 0: after markers, before a checkbox. */
  readonly column: number;
  /** The text after markers and checkbox, as it is written. */
  readonly text: string;
  readonly checkbox?: FoundCheckbox;
  /** The line of the text, if it is not that of the checkbox. */
  readonly nameLine?: number;
  /** The label that the text begins with. */
  readonly label: Label | undefined;
  /** Of an item that is a row of a table: the cells below a header with a meaning, such as `Depends on`. */
  readonly cells?: readonly Label[];
  /** The text as the title of a phase. */
  readonly phase: PhaseTitle | undefined;
}

/** Returns the rows above a row in the tree, the nearest first. */
export function ancestorsOf(row: Row): Row[] {
  const above: Row[] = [];
  for (let { parent } = row; parent !== undefined; { parent } = parent) above.push(parent);
  return above;
}

/** Checks whether a row is below another one in the tree; all are below undefined. */
export function isWithin(row: Row, above: Row | undefined): boolean {
  return above === undefined || ancestorsOf(row).includes(above);
}

/** Returns the rows right above items with a checkbox. */
export function holdersOf(rows: readonly Row[]): ReadonlySet<Row> {
  return new Set(rows.flatMap(({ kind, checkbox, parent }) => (kind === "item" && checkbox && parent) || []));
}

type Block = RootContent | BlockContent | DefinitionContent;

/** Returns all rows of a tree, in order. `vocabulary` gives labels and titles their meaning. */
export function readRows(source: SourceText, tree: Root, vocabulary: Vocabulary): Row[] {
  const rows: Row[] = [];
  const headings: Row[] = [];
  // In a source with `#` headings, a line of `-` is a rule, and the words above it are no heading.
  const isMarked = tree.children.some(({ type }) => type === "heading");
  addBlocks(tree.children, -1, undefined);
  return rows;

  function addBlocks(blocks: readonly Block[], depth: number, item: Row | undefined): void {
    for (const block of blocks) {
      if (block.type === "list") addList(block, depth + 1, item);
      else if (block.type === "blockquote") addBlocks(block.children, depth, item);
      else if (block.type === "table") addTable(block, depth, item);
      else addBlock(block, depth, item);
    }
  }

  function addBlock(block: Block, depth: number, item: Row | undefined): void {
    const span = source.span(block);
    if (span === undefined) return;
    const [line, last] = span;
    const words = wordsOf(block);
    if (words !== undefined) addLines(words, depth, item, undefined);
    else if (block.type === "heading") addHeading(line, block.depth, depth, item);
    if (block.type === "thematicBreak" || last > (words?.[1] ?? last)) addRule(last, depth);
  }

  /** Returns the lines of a paragraph, also of words above a line of `-`, which a tree may have as a heading. */
  function wordsOf(block: Block): Span | undefined {
    const span = source.span(block);
    if (span === undefined || block.type === "paragraph") return span;
    const [first, last] = span;
    const underline = source.text(last);
    if (block.type !== "heading" || !RULE.test(underline)) return undefined;
    return [first, underline.includes("=") ? last : last - 1];
  }

  function heading(): Row | undefined {
    return headings.at(-1);
  }

  /** Adds a row, and one more for each further label in bold in its line: `**Priority:** High · **Status:** Done`. */
  function add(row: Omit<Row, "label" | "phase">): Row {
    const { kind, depth, line, column } = row;
    const text = row.text.trim();
    const isLabelled = kind !== "cells" && BEGINS_WITH_LABEL.test(text);
    const separators = isLabelled ? [...text.matchAll(NEXT_FIELD)] : [];
    const added = addOne({ ...row, text: text.slice(0, separators[0]?.index) });
    const parent = kind === "text" ? row.parent : added;
    for (const [index, separator] of separators.entries()) {
      const start = separator.index + separator[0].length;
      const part = text.slice(start, separators[index + 1]?.index);
      addOne({ kind: "text", depth, parent, line, column: column + start, text: part });
    }
    return added;
  }

  function addOne(row: Omit<Row, "label" | "phase">): Row {
    const added = { ...row, label: labelOf(row.text, vocabulary), phase: phaseTitle(row.text, vocabulary) };
    rows.push(added);
    return added;
  }

  /** Adds a line that separates sections; in a list it separates nothing. */
  function addRule(line: number, depth: number): void {
    if (depth === -1) add({ kind: "rule", depth, parent: heading(), line, column: 0, text: "" });
  }

  function addList(list: List, depth: number, parent: Row | undefined): void {
    for (const node of list.children) {
      const [first, ...others] = node.children;
      const words = first && wordsOf(first);
      let item: Row | undefined;
      // In an outliner everything is in bullets, headings too.
      if (first?.type === "heading" && !isMarked) {
        addBlocks(node.children, -1, undefined);
        continue;
      }
      if (words !== undefined) item = addLines(words, depth, parent, node);
      else if (first !== undefined) addBlocks([first], depth, parent);
      // What is nested in an item without a text stands in its place.
      if (item === undefined) addBlocks(others, depth - 1, parent);
      else addBlocks(others, depth, item);
    }
  }

  /** Adds a paragraph, line by line, and returns its first row. The first line of an item is the item. */
  function addLines(
    [first, last]: Span,
    depth: number,
    parent: Row | undefined,
    item: ListItem | undefined,
  ): Row | undefined {
    if (depth === -1 && isUnderlined(first, last)) {
      addHeading(first, levelOf(source.text(first + 1)), depth, parent);
      return undefined;
    }
    let around: Row | undefined;
    for (let line = first; line <= last; line += 1) {
      const text = source.text(line);
      const underline = source.text(line + 1);
      if (OWN_TITLE.test(text) && RULE.test(underline)) {
        addHeading(line, levelOf(underline), -1, undefined);
        line += 1;
      } else if (item !== undefined && line === first) {
        around = addItem(text, line, depth, parent, item, line < last);
        line = around?.nameLine ?? line;
      } else {
        const isOwn = OWN_PHASE.test(text) || isLazyLabel(text);
        addLine(text, line, isOwn ? -1 : depth, isOwn ? undefined : (around ?? parent));
      }
    }
    return around;
  }

  /** Adds an item; not one with nothing but a checkbox. In GFM its text may begin in the next line. */
  function addItem(
    text: string,
    line: number,
    depth: number,
    parent: Row | undefined,
    { checked }: ListItem,
    goesOn: boolean,
  ): Row | undefined {
    const indent = lengthOf(MARKERS, text);
    // A marker behind the marker, as in `- 1. [ ] Name`, is not a list in one line to people.
    const marked = indent + markerLength(text.slice(indent));
    const checkbox = withState(checkboxAt(text, marked, true), checked);
    const row = { kind: "item", depth, parent: parent ?? heading(), line } as const;
    if (checkbox === undefined) return add({ ...row, column: indent, text: text.slice(indent) });
    const boxed = { ...row, column: marked, checkbox };
    const name = afterBox(text, marked, checkbox);
    if (!isBare(name)) return add({ ...boxed, text: name });
    const below = source.text(line + 1).trim();
    const marker = markerLength(below);
    if (!goesOn || checkboxAt(below, marker, marker > 0) !== undefined) return undefined;
    return add({ ...boxed, text: below, nameLine: line + 1 });
  }

  /** Adds a line of text. In strict Markdown, a number other than 1 and a marker without a space begin no item; with a checkbox they do here. */
  function addLine(text: string, line: number, depth: number, parent: Row | undefined): void {
    const indent = lengthOf(INDENT, text);
    const marker = markerLength(text.slice(indent));
    const checkbox = checkboxAt(text, indent + marker, marker > 0);
    if (checkbox === undefined) {
      add({ kind: "text", depth, parent: parent ?? heading(), line, column: indent, text: text.slice(indent) });
      return;
    }
    const name = afterBox(text, indent + marker, checkbox);
    if (isBare(name)) return;
    // An item that is indented as much stands beside it.
    const indentOf = (row: Row) => lengthOf(INDENT, source.text(row.line));
    let above = parent;
    while (above?.kind === "item" && indentOf(above) >= indent) above = above.parent;
    const level = above?.kind === "item" ? above.depth + 1 : 0;
    const column = indent + marker;
    const row = { kind: "item", depth: level, parent: above ?? heading(), line, column, checkbox } as const;
    add({ ...row, text: name });
  }

  function addTable({ children }: Table, depth: number, item: Row | undefined): void {
    let header: string[] | undefined;
    for (const row of children) {
      const span = source.span(row);
      if (span === undefined) continue;
      const cells = cellsOf(source.text(span[0]));
      addCells(span[0], depth, item, cells, header);
      header ??= cells;
    }
  }

  /** Adds a row of a table. With one checkbox, which is a cell, it is an item, unless it is the header: the other cells are its text. */
  function addCells(
    line: number,
    depth: number,
    item: Row | undefined,
    cells: string[],
    header: string[] | undefined,
  ): void {
    const text = source.text(line);
    const column = lengthOf(/^[ \t>|]*/, text);
    const place = { parent: item ?? heading(), line, column } as const;
    const [box, second] = checkboxesIn(text);
    const labels = cells.map((cell, index) =>
      label(header?.[index] ?? "", cell.slice(checkboxAt(cell, 0)?.end ?? 0), vocabulary),
    );
    const filled = labels.filter((one) => /[\p{L}\p{N}]/u.test(one.text));
    const isName = ({ field }: Label) => !OF_COLUMNS.has(field);
    const names = filled.filter(isName).map((one) => one.text);
    if (header && box && second === undefined && beginsCell(text, box) && names.length > 0) {
      const name = [names.slice(0, 2).join(" "), ...names.slice(2)].join(" · ");
      const values = filled.filter((one) => !isName(one));
      add({ ...place, kind: "item", depth: depth + 1, text: name, checkbox: box, cells: values });
    } else {
      add({ ...place, kind: "cells", depth, text });
    }
  }

  /** Adds a heading. In a list it is a line like others. Its checkbox may be at its end. */
  function addHeading(line: number, level: number, depth: number, item: Row | undefined): void {
    const written = source.text(line).trimEnd();
    const text = written.replace(/[ \t]#+$/, "").trimEnd();
    const column = lengthOf(HEADING, text);
    const first = checkboxAt(text, column);
    const boxes = checkboxesIn(text);
    const behindId = boxes.find(({ start }) => BEFORE_BOX.test(text.slice(column, start)));
    const last = first ?? behindId ?? boxes.findLast(({ end }) => end === text.length);
    const before = first === undefined ? text.slice(column, last?.start) : "";
    const title = before + (last === undefined ? "" : text.slice(last.end));
    const row = { line, column, text: title, ...(last && { checkbox: last }) };
    if (depth !== -1) {
      add({ ...row, kind: "text", depth, parent: item ?? heading() });
    } else {
      while ((heading()?.depth ?? 0) >= level) headings.pop();
      headings.push(add({ ...row, kind: "heading", depth: level, parent: heading() }));
    }
  }

  /** Checks for an underlined heading; with `-`, a title of the plan or, in a source without `#`, words alone that are no sentence and no label. */
  function isUnderlined(first: number, last: number): boolean {
    const next = source.text(first + 1);
    if (!RULE.test(next)) return false;
    if (next.includes("=")) return last === first + 1;
    const text = source.text(first).trimEnd();
    if (TITLE.test(text)) return true;
    const isTitle = BEGIN_OF_TITLE.test(text) && END_OF_TITLE.test(text) && labelOf(text, vocabulary) === undefined;
    return !isMarked && source.text(first - 1).trim() === "" && isTitle;
  }

  /** Checks for a label in bold that is not indented: alone in its line, or that of a gate. */
  function isLazyLabel(text: string): boolean {
    if (LAZY_LABEL.test(text)) return true;
    const label = /^(?:\*\*|\p{L})/u.test(text) ? labelOf(text, vocabulary) : undefined;
    return label?.field === "gate" || (label?.field === "criteria" && label.text === "");
  }
}

/** The columns of a table that are no part of the name of its tasks. */
const OF_COLUMNS: ReadonlySet<Field> = new Set(["dependencies", "blocks", "time", "files", "requirements"] as const);

export function cellsOf(text: string): string[] {
  return text
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((cell) => cell.replace(/\*\*/g, "").trim());
}

const BEGINS_WITH_LABEL = /^[^\p{L}]{0,4}\*\*[^*]{1,60}(?::\*\*|\*\*:)/u;
/** What is between two labels in bold in a line, before the second one. */
const NEXT_FIELD = /[|·;,•][ \t]{0,9}(?=\*\*[^*]{1,60}(?::\*\*|\*\*:))/gu;

export function beginsCell(text: string, { start }: FoundCheckbox): boolean {
  return /(?:^|\|)\s*$/.test(text.slice(0, start));
}

/** Returns a checkbox with the state that the tree gives it, which a transform of the tree may have changed. */
function withState(box: FoundCheckbox | undefined, checked: boolean | null | undefined): FoundCheckbox | undefined {
  if (box === undefined || typeof checked !== "boolean" || /^[xX]$/.test(box.mark) === checked) return box;
  return { ...box, mark: checked ? "x" : "" };
}

/** Checks whether the text behind a checkbox says nothing: it is empty, a comment, or the star of an optional task. */
export function isBare(text: string): boolean {
  return /^\*?$/.test(withoutComments(text).trim());
}

function afterBox(text: string, column: number, { end }: FoundCheckbox): string {
  const emphasis = text.slice(column, column + lengthOf(/^[*_~]*/, text.slice(column)));
  const rest = text.slice(end);
  // The name has no emphasis that is around the box alone.
  return rest.startsWith(emphasis) ? rest.slice(emphasis.length) : emphasis + rest;
}

/** Lines that Markdown joins to those above them, and that stand alone here: underlined titles, phases in bold, labels in bold that are not indented. */
const OWN_TITLE = /^(?:phase|task)[ \t]+\d/i;
const LAZY_LABEL = /^\*\*[^*]+(?::\*\*|\*\*:)[ \t]*$/;
const OWN_PHASE = /^\*\*phase[ \t]+\w/i;

function levelOf(underline: string): number {
  return underline.includes("=") ? 1 : 2;
}

const RULE = /^[ \t]*(?:-{3,}|={3,})[ \t]*$/;
const TITLE = /^ {0,3}(?:phase|task)[ \t]+\d/i;
const BEGIN_OF_TITLE = /^ {0,3}[\p{L}\p{N}\p{Extended_Pictographic}]/u;
const END_OF_TITLE = /[^\p{P}]$|\)$/u;
/** The id of a task, with a box behind it. */
const BEFORE_BOX = /^[\p{L}\p{N}. #-]{1,20}[:–—-]\s*$/u;
const HEADING = /^[ \t>]*(?:[-*+][ \t]+)?#{1,6}[ \t]*/;
const MARKERS = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t]|$))*[ \t]*/;
const INDENT = /^[ \t>]*/;

/** GFM requires a space after a marker; before a checkbox people omit it. */
const BARE_MARKER = /^[-*+](?=\\?\[)/;
/** A marker before a checkbox, also one of a word processor or a letter. */
const MARKER = new RegExp(
  String.raw`^(?:[-*+•◦▪‣·]|\d{1,9}[.)]|[a-z][.)])[ \t]+(?=(?:\*\*|__|~~|[*_])?${BOX_BEGIN})`,
  "u",
);

function markerLength(text: string): number {
  return lengthOf(BARE_MARKER, text) || lengthOf(MARKER, text);
}

/** Returns the length of what a pattern finds in a text. */
function lengthOf(pattern: RegExp, text: string): number {
  return pattern.exec(text)?.[0].length ?? 0;
}

/** Returns a heading's text without the marks, emoji and boxes before its words. */
export function titleOf({ text }: Row): string {
  return withoutLeadingMarks(text.replace(/^(?:\*\*|__)/, ""));
}
