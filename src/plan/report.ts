/** Reports what of a source is not in its plan: titles, tasks and checkboxes without a place, and code that is not closed. */
import { withoutLeadingMarks } from "../workflow/from-markdown.js";
import { checkboxAt, checkboxesIn, isTicked, SYMBOL } from "./boxes.js";
import { readDependencies } from "./dependencies.js";
import { isLegend } from "./dialects.js";
import type { IdOf } from "./links.js";
import type { Context, ReadPlan } from "./reader.js";
import { ancestorsOf, cellsOf, holdersOf, isBare, isWithin, type Row } from "./rows.js";
import type { Region } from "./source.js";
import { readTaskLine } from "./task-line.js";
import { isGateTitle, namedPhaseNumber } from "./titles.js";
import { stateBySign } from "./words.js";

/** Reports all that has no place in the plan. Tasks have their ids and states. */
export function reportUnplaced(read: ReadPlan, idOf: IdOf): void {
  reportRegions(read.context);
  reportTitles(read);
  reportMarked(read, idOf);
  reportCells(read.context);
  reportListed(read, idOf);
  reportRepeated(read);
  reportBoxes(read);
}

function reportRegions({ regions, source, report }: Context): void {
  for (const { kind, start, strictEnd, unclosed } of regions) {
    const place = { line: source.position(start, 0).line };
    if (unclosed) {
      const what = kind === "comment" ? "this comment" : "this code";
      report.warn("FENCE_UNCLOSED", place, `${what} is never closed: everything after it is part of it`);
    } else if (strictEnd !== undefined) {
      const message = `this sample contains another one; strict Markdown would end it in line ${strictEnd}`;
      report.warn("FENCE_NESTED", place, message);
    }
  }
}

/** Reports titles with checkboxes below that name a phase, but are not read as one. The plan has no such phase. */
function reportTitles({ phases, context: { rows, outline, source, report } }: ReadPlan): void {
  const keys = new Set(phases.map(({ key }) => key));
  let title: { readonly row: Row; readonly key: string; readonly level: number } | undefined;
  for (const row of rows) {
    const level = levelOf(row);
    if (level !== undefined) {
      const isPhase = outline.starts.has(row);
      const isOther = isPhase || outline.idOf.has(row) || isGateTitle(row.text);
      const key = isOther ? undefined : namedPhaseNumber(row.text);
      if (key !== undefined && !keys.has(key)) title = { row, key, level };
      else if (isPhase || level <= (title?.level ?? 0)) title = undefined;
    } else if (title !== undefined && row.checkbox !== undefined) {
      const { key, row: at } = title;
      if (at.kind === "item" && !isWithin(row, at)) continue;
      const message = `'${at.text}' is not read as a phase, and the plan has no phase ${key}`;
      const hint = `If it is one, write it like the others: '## Phase ${key}: Name'.`;
      report.warn("PHASE_UNREAD", source.position(at.line, at.column), message, hint);
      title = undefined;
    }
  }
}

/** Returns the level of a heading, or of a phase in bold below all headings: a line, or an item of a list. */
function levelOf({ kind, depth, text, checkbox }: Row): number | undefined {
  if (kind === "heading") return depth;
  const isAlone = depth === (kind === "text" ? -1 : 0) && checkbox === undefined;
  return isAlone && /^\*\*phase\b/i.test(text) ? 7 : undefined;
}

/** A task as plans write it: `Task 1.1: Name`, `T012 Name`. A sentence that names one, or a number alone, may be anything. */
const NAMED_TASK = /^(?:\*\*|__)?(?:Task[ \t][^\s:]{1,20}[ \t]*[:–—-]|T\d{3})/;

/** Reports items with a symbol in place of a checkbox, `- ✅ Task 1.1: Name`, whose task the plan has nowhere else. */
function reportMarked({ phases, tasks, told, context }: ReadPlan, idOf: IdOf): void {
  const { rows, dialect, outline, source, words, report } = context;
  const checklists = new Set([...tasks.keys()].filter(({ kind }) => kind === "item").map(({ parent }) => parent));
  const empty = new Set(phases.flatMap((phase) => (phase.tasks.length === 0 ? [phase.position.line] : [])));
  const isChecklist = (parent: Row | undefined) =>
    checklists.has(parent) || (parent !== undefined && empty.has(source.position(parent.line, 0).line));
  const holders = holdersOf(rows);
  for (const row of rows) {
    const { kind, checkbox, text, line, column, parent } = row;
    if (kind !== "item" || checkbox !== undefined || told.has(line)) continue;
    const rest = withoutLeadingMarks(text);
    const waits = holders.has(row) && readTaskLine(text, dialect.ids, outline.ids, words).dependencies !== undefined;
    const isSymbol = SYMBOL.test(text);
    if (rest === text && !isSymbol && !waits) continue;
    const named = outline.ids.read(rest, dialect.ids)?.id;
    if (named !== undefined && idOf(named) !== undefined) continue;
    const isNamed = named !== undefined && NAMED_TASK.test(rest);
    const isListed = waits || (isSymbol && isChecklist(parent));
    if (!isNamed && (!isListed || ancestorsOf(row).some((above) => tasks.has(above)))) continue;
    const message = `'${rest}' is not read as a task: it has no checkbox`;
    const hint = "If it is one, write '- [ ]' or '- [x]' in place of the symbol.";
    report.warn("TASK_UNREAD", source.position(line, column), message, hint);
  }
}

/**
 * Reports the rows of tables without a checkbox that may be tasks: beside others that have one, or with a state and an id that the
 * plan does not have.
 */
function reportCells({ rows, source, report, outline, dialect, words }: Context): void {
  const known = new Set(outline.idOf.values());
  const isState = (cell: string) => {
    const said = words.stateIn(cell);
    if (said === undefined) return stateBySign(cell) !== undefined;
    return !/\p{L}/u.test(cell.slice(said.index + said.word.length));
  };
  const isUnread = ([first = "", ...others]: readonly string[]) => {
    const id = outline.ids.read(first, [...dialect.ids, "number"])?.id;
    return id !== undefined && !known.has(id) && others.some(isState);
  };
  for (const [index, { kind, text, line, column }] of rows.entries()) {
    if (kind !== "cells") continue;
    const beside = [rows[index - 1], rows[index + 1]];
    const isTask = beside.some((one) => one?.cells !== undefined) || isUnread(cellsOf(text));
    // The line below the header has only `-`.
    if (!isTask || /^[\s|:-]+$/.test(source.text(line + 1))) continue;
    const message = `the row '${text}' is not read as a task: it has no checkbox`;
    const hint = "If it is one, write '[ ]' or '[x]' in a cell of its own.";
    report.warn("TASK_UNREAD", source.position(line, column), message, hint);
  }
}

/** Reports ids in a list of subtasks that the plan has nowhere else. */
function reportListed({ listed, context: { words, source, report } }: ReadPlan, idOf: IdOf): void {
  const isId = (id: string) => idOf(id) !== undefined;
  for (const { row, text } of listed) {
    const missing = readDependencies(text, words, isId).tasks.filter((id) => !isId(id));
    if (missing.length === 0) continue;
    const message = `the subtasks ${missing.join(", ")} are no tasks of the plan: they have no line of their own`;
    const hint = "Write '- [ ]' and the id for each.";
    report.warn("TASK_UNREAD", source.position(row.line, row.column), message, hint);
  }
}

/** Reports the checkboxes of lists that repeat tasks, with the state of the task. */
function reportRepeated({ repeated, tasks, placed, context: { source, report } }: ReadPlan): void {
  for (const { row, task: own } of repeated) {
    const task = tasks.get(own);
    if (task === undefined || row.checkbox === undefined) continue;
    const place = source.position(row.line, row.checkbox.column);
    if (placed.has(place.offset)) continue;
    placed.add(place.offset);
    const differs = isTicked(row.checkbox.mark) !== (task.state === "done");
    const message = `this checkbox repeats task ${task.id}, which is ${task.state.replace("_", " ")}`;
    report.warn("CHECKBOX_REPEATED", place, `${message}${differs ? ": they differ" : ""}`);
  }
}

/** Words before a sign that a text is about: `set this task to [-]`. */
const ABOUT_SIGN =
  /\b(?:to|as|with|marks?|marked|use|uses|using|from|an?|it|them|first|change|means?|becomes?|signs?|box(?:es)?)\s+["'“‘(]?$/i;

/** Reports the checkboxes outside of code without a place: at the start of a line, in a table, or in a sentence that is not about such signs. */
function reportBoxes({ placed, context: { source, words, legend, regions, rows, report } }: ReadPlan): void {
  const hidden = hiddenLines(regions);
  const signs = new Set([...legend].map(({ line }) => line));
  const states = new Set(rows.flatMap(({ label, line }) => (label?.field === "status" ? [line] : [])));
  const headings = new Map(rows.flatMap((row) => (row.kind === "heading" ? [[row.line, row.text] as const] : [])));
  let section = "before the first heading";
  for (const [line, { text }] of source.lines.entries()) {
    const title = headings.get(line);
    if (title) section = `below '${title}'`;
    const where = hidden.get(line);
    if (where === "code") continue;
    const begin = firstBox(text);
    const isAlone = begin !== undefined && isBare(text.slice(begin.end));
    const boxes = new Map([...checkboxesIn(text), ...(begin ? [begin] : [])].map((box) => [box.column, box]));
    if (signs.has(line) || (isLegend(text, words) && !states.has(line))) continue;
    for (const { column, start, end } of boxes.values()) {
      const place = source.position(line, column);
      if (placed.has(place.offset)) continue;
      const isStart = column === begin?.column;
      // The end is enough: a line may be long, and have many boxes.
      if (!isStart && ABOUT_SIGN.test(text.slice(Math.max(0, start - 40), start))) continue;
      const reason = where ?? (isStart ? section : "in the middle of a line");
      const what = isAlone && end === begin.end ? "a checkbox without a text, which" : "a checkbox that";
      report.warn("CHECKBOX_UNPLACED", place, `${what} belongs to no task and no gate, ${reason}`);
    }
  }
}

/** Returns the lines that are not read, with the reason. Checkboxes in `code` are not reported. */
function hiddenLines(regions: readonly Region[]): ReadonlyMap<number, string> {
  const hidden = new Map<number, string>();
  for (const { kind, start, end, strictEnd = end, unclosed } of regions) {
    for (let line = start; line < end; line += 1) {
      if (kind === "comment") hidden.set(line, "in a comment");
      else if (unclosed) hidden.set(line, "in code that is never closed");
      else hidden.set(line, line >= strictEnd ? "in a sample in a sample" : "code");
    }
  }
  return hidden;
}

/** Returns the checkbox at the start of a line, an item or a heading. */
function firstBox(text: string) {
  const before = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t[]))*[ \t]*(?:#{1,6}[ \t])?/.exec(text)?.[0] ?? "";
  return checkboxAt(text, before.length, /[-*+.)]/.test(before));
}
