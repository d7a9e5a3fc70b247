/**
 * Walks the rows of a plan and puts each where it belongs. A label or a gate's heading opens a block, and the
 * list that follows is its own; everything else follows from how deep a row is nested.
 */
import type { Dialect } from "./dialects.js";
import type { PhaseDraft, TaskDraft } from "./drafts.js";
import { isGateTitle, mentionedPhase, type TaskIds } from "./identify.js";
import { fieldOf, labelOf } from "./labels.js";
import type { Outline, PhaseStart } from "./outline.js";
import { openGateOf, openOther, readLabel } from "./read-label.js";
import { type Block, ReaderState } from "./reader-state.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source-text.js";
import { readTaskLine, splitTime } from "./task-line.js";

/** How deep a line in bold is that stands for a heading. */
const LINE = 7;

/** Reads the rows of a plan into drafts of phases. */
export function readPhases(rows: readonly Row[], source: SourceText, dialect: Dialect, outline: Outline): ReaderState {
  const state = new ReaderState(source, dialect, outline);
  for (const [index, row] of rows.entries()) {
    const start = outline.starts.get(index);
    if (index === outline.untitled) startPhase(state, { name: "Tasks", level: 0 }, row);
    if (start !== undefined) startPhase(state, start, row);
    else if (row.kind === "heading") readHeading(state, row);
    else if (row.kind === "rule") state.close();
    else if (row.kind === "item") readItem(state, row);
    else readText(state, row);
  }
  state.close();
  return state;
}

function startPhase(state: ReaderState, { key, name, level }: PhaseStart, row: Row): void {
  state.close();
  state.endPhase(row.line);
  state.gates = undefined;
  state.aside = false;
  const { name: bareName, time } = splitTime(name);
  const phase: PhaseDraft = {
    ...(key === undefined ? {} : { key }),
    name: bareName,
    level,
    position: state.source.position(row.line, row.column),
    ...(time === undefined ? {} : { timeInTitle: time }),
    tasks: [],
    gate: [],
  };
  state.phases.push(phase);
  state.phase = phase;
}

function readHeading(state: ReaderState, row: Row): void {
  state.close();
  const { task, phase, outline } = state;
  const inTask = task !== undefined && "heading" in task.place && row.depth > task.place.heading;
  if (state.gates !== undefined && row.depth <= state.gates) state.gates = undefined;
  if (isTaskHeading(state, row)) return startTask(state, row, { heading: row.depth });
  const mentioned = mentionedPhase(row.text);
  if (isGateTitle(row.text) || (state.gates !== undefined && mentioned !== undefined)) {
    return startGate(state, row, mentioned);
  }
  const field = fieldOf(row.text);
  if (inTask || (task !== undefined && field === "criteria" && phase !== undefined && row.depth > phase.level)) {
    return readLabel(state, { field, name: row.text, text: "" }, { ...row, depth: -1 });
  }
  if (phase !== undefined && row.depth <= phase.level) state.endPhase(row.line);
  state.endTask(row.line);
  state.aside = outline.identified;
  if (field === "success" || field === "criteria")
    openOther(state, { field, name: row.text, text: "" }, { ...row, depth: -1 });
}

/** The section of a gate: of the phase that its title names, else of the last one that was begun. */
function startGate(state: ReaderState, row: Row, mentioned: string | undefined): void {
  state.endTask(row.line);
  const phase = mentioned === undefined ? state.lastPhase : state.phaseOf(mentioned);
  if (mentioned === undefined && /\bgates\b/i.test(row.text)) {
    state.gates = row.depth;
    state.endPhase(row.line);
  } else if (phase !== undefined) {
    openGateOf(state, phase, row.text, -1, true);
  }
}

/** A heading of a task: with the word, with a `T012`, or `1.2` in phase 1, and deeper than the phase's own. */
function isTaskHeading({ phase, outline }: ReaderState, row: Row): boolean {
  const id = outline.idOf.get(row);
  if (phase === undefined || id === undefined) return false;
  const named = /^\W*(?:task|T\d)/i.test(row.text);
  return named || (row.depth > phase.level && phase.key !== undefined && id.startsWith(`${phase.key}.`));
}

function readItem(state: ReaderState, row: Row): void {
  const { block } = state;
  if (block !== undefined) {
    if ((block.section || isInside(block, row)) && !beginsTask(state, block, row)) return state.collect(block, row);
    state.close();
  }
  if (isTask(state, row)) return startTask(state, row, { item: row.depth });
  if (row.checkbox === undefined) {
    const label = labelOf(row.text);
    if (label !== undefined && (state.task !== undefined || state.phase !== undefined)) readLabel(state, label, row);
    return;
  }
  const { task } = state;
  if (task === undefined || state.phase === undefined) return;
  if ("heading" in task.place || row.depth > task.place.item) {
    task.criteria.push(state.item(row));
    state.tell(row);
  }
}

/** Whether an item is one of the list below a label: the first decides how deep the others are at least. */
function isInside({ depth, first }: Block, row: Row): boolean {
  const bold = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? labelOf(row.text) : undefined;
  if (bold !== undefined && bold.field !== "other" && row.depth <= (first ?? depth)) return false;
  if (first !== undefined) return row.depth >= Math.min(first, depth + 1);
  return row.depth > depth || row.checkbox !== undefined || labelOf(row.text) === undefined;
}

/** Whether an item of a list is a task of its own. Those of a gate may name tasks that are elsewhere. */
function beginsTask(state: ReaderState, { kind }: Block, row: Row): boolean {
  if (state.phase === undefined || isBelowTask(state, row) || !isTask(state, row)) return false;
  const id = state.outline.idOf.get(row);
  if (id === undefined) return false;
  return kind !== "gate" || (row.depth === 0 && state.outline.mentions.get(id) === 1);
}

/** Whether an item is deeper than the task that is open. */
function isBelowTask({ task }: ReaderState, row: Row): boolean {
  return task !== undefined && "item" in task.place && row.depth > task.place.item;
}

/** Whether an item is a task: by its id, or, where ids say nothing, by its checkbox. */
function isTask(state: ReaderState, row: Row): boolean {
  const { phase, task, dialect, outline } = state;
  if (phase === undefined) return false;
  const below = isBelowTask(state, row);
  if (below && dialect.nested === "criteria") return false;
  if (outline.idOf.has(row)) return true;
  if (row.checkbox === undefined || below) return false;
  // In a plan with ids a checkbox without one is a task only beside tasks.
  return !state.aside && !(outline.identified && task !== undefined && "heading" in task.place);
}

function startTask(state: ReaderState, row: Row, place: TaskDraft["place"]): void {
  state.endTask(row.line);
  state.aside = false;
  const forms: readonly TaskIds[] = state.outline.identified ? [...state.dialect.ids, "number"] : state.dialect.ids;
  const line = readTaskLine(row.text, forms);
  const phase = state.outline.grouped ? groupOf(state, line.id, line.name, row) : state.phase;
  if (phase === undefined) return;
  const checkbox = state.checkbox(row);
  state.task = {
    ...(line.id === undefined ? {} : { id: line.id }),
    name: line.name,
    position: state.source.position(row.line, row.column),
    ...(checkbox === undefined ? {} : { checkbox }),
    optional: line.optional,
    parallel: line.parallel,
    ...(line.story === undefined ? {} : { story: line.story }),
    place,
    ...(line.time === undefined ? {} : { time: line.time }),
    dependencies: line.dependencies === undefined ? [] : [line.dependencies],
    criteria: [],
    requirements: [...line.requirements],
    files: [...line.files],
    firstLine: row.line,
    endLine: state.source.lines.length,
  };
  phase.tasks.push(state.task);
}

/** Where phases have no headings, the first part of a task's id is the number of its phase. */
function groupOf(state: ReaderState, id: string | undefined, name: string, row: Row): PhaseDraft | undefined {
  const key = id?.split(".")[0];
  const { phase } = state;
  if (key === undefined || phase === undefined || phase.key === key) return phase;
  const title = id === key ? name : phase.key === undefined ? phase.name : "";
  const replaced = phase.key === undefined && phase.tasks.length === 0;
  if (replaced) state.phases.pop();
  startPhase(state, { key, name: title, level: phase.level }, row);
  if (replaced) state.phase?.gate.push(...phase.gate);
  return state.phase;
}

function readText(state: ReaderState, row: Row): void {
  if (state.phase !== undefined && state.outline.idOf.has(row)) {
    state.close();
    return startTask(state, row, { heading: LINE });
  }
  const label = labelOf(row.text);
  const { phase, task, field } = state;
  if (label !== undefined) {
    if (phase !== undefined || state.gates !== undefined || label.field === "gate") return readGroupedLabel(state, row);
    return;
  }
  if (field !== undefined) field(row.text);
  else if (state.block?.kind === "gate" && itemless(state.block)) addSentence(state, state.block, row);
  else if (phase !== undefined && task === undefined && phase.tasks.length === 0 && state.block === undefined) {
    if (phase.goal === undefined && /^[\p{L}\p{N}`"'*_]/u.test(row.text)) phase.goal = row.text;
  }
}

/** Below a heading of all gates a line in bold may name the phase whose items follow. */
function readGroupedLabel(state: ReaderState, row: Row): void {
  const label = labelOf(row.text);
  if (label === undefined) return;
  const mentioned = state.gates === undefined || !isBold(row.text) ? undefined : mentionedPhase(label.name);
  const phase = mentioned === undefined ? undefined : state.phaseOf(mentioned);
  if (phase !== undefined && label.field === "other" && !/^before\b/i.test(label.name)) {
    openGateOf(state, phase, label.name, row.depth, true);
  } else {
    readLabel(state, label, row);
  }
}

/** Whether a line is in bold from its beginning to its end. */
function isBold(text: string): boolean {
  return /^(\*\*|__)[^*]+\1:?$/.test(text);
}

function itemless({ items, bullets }: Block): boolean {
  return items.length + bullets.length === 0;
}

/** What stands in a gate's section in words, where it has no list. */
function addSentence(state: ReaderState, block: Block, row: Row): void {
  if (!block.section || block.text !== undefined || /:\s*\**$/.test(row.text)) return;
  state.block = { ...block, text: state.item(row) };
}
