/** Decides to which task, criterion, gate or list an item, a label or a line of text belongs. */
import type { PhaseDraft, TaskDraft } from "./drafts.js";
import { type Block, type ReaderState, startTask } from "./reader-state.js";
import type { Row } from "./rows.js";
import { bare, filesIn, readReferences } from "./task-line.js";
import { type Field, type Label, labelOf, mentionedPhase, NO_TASKS } from "./titles.js";

/** Reads an item of a list. */
export function readItem(state: ReaderState, row: Row): void {
  const { block } = state;
  state.field = undefined;
  if (block !== undefined) {
    if ((block.section || isInside(block, row)) && !beginsTask(state, block, row)) return state.collect(block, row);
    state.close();
  }
  if (isTask(state, row)) return startTask(state, row, { item: row.depth });
  if (row.checkbox === undefined) {
    const label = labelOf(row.text);
    if (label !== undefined && state.phase !== undefined) readLabel(state, label, row);
    return;
  }
  if (state.task === undefined) return;
  state.task.criteria.push(state.item(row));
  state.tell(row);
}

/** Reads a label. */
export function readLabel(state: ReaderState, label: Label, row: Row): void {
  const { block } = state;
  if (block?.kind === "gate" && staysInGate(block.section || itemless(block), label)) {
    if (label.field === "gate") addText(state, label, row);
    return;
  }
  if (block?.kind === "criteria" && label.field === "other" && label.text === "" && groups(block)) return;
  state.close();
  const task = taskOf(state, label, row);
  if (label.field === "gate") return openGate(state, label, row);
  if (task !== undefined) return ofTask(state, task, label, row);
  if (state.phase !== undefined) ofPhase(state, state.phase, label, row);
}

/**
 * Opens the list of a label without a meaning: its checkboxes are neither tasks nor criteria. In a plan without ids, a
 * label with its text on the same line has no list: `Depends on Phase 1` may be above the tasks of a phase.
 */
export function openOther(state: ReaderState, { field, name, text }: Label, row: Row): void {
  if (!state.outline.identified && (field === "other" || text !== "") && !NO_TASKS.test(name)) return;
  state.open({ kind: "other", depth: row.depth, section: false, name, done: () => {} });
}

/** The level of a line in bold that is used as a heading. */
const BOLD_LEVEL = 7;

/** Reads a line of text. */
export function readText(state: ReaderState, row: Row): void {
  if (state.phase !== undefined && state.outline.idOf.has(row)) {
    state.close();
    return startTask(state, row, { heading: BOLD_LEVEL });
  }
  const label = labelOf(row.text);
  const { phase, field } = state;
  if (label !== undefined) {
    if (phase !== undefined || state.gates !== undefined || label.field === "gate") readGroupedLabel(state, label, row);
    return;
  }
  if (field !== undefined) field(row.text);
  else if (state.block?.kind === "gate" && itemless(state.block)) addSentence(state, state.block, row);
  else if (phase !== undefined && phase.tasks.length === 0 && state.block === undefined) {
    if (phase.goal === undefined && /^[\p{L}\p{N}`"'*_]/u.test(row.text)) phase.goal = row.text;
  }
}

/** Opens the gate of a phase for the list that follows. */
export function openGateOf(state: ReaderState, phase: PhaseDraft, name: string, depth: number, section: boolean): void {
  state.open({ kind: "gate", depth, section, name, done: (items) => phase.gate.push(...items) });
}

/** Checks whether an item belongs to the list below a label. The first item sets the minimum depth of the others. */
function isInside({ depth, first }: Block, row: Row): boolean {
  const bold = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? labelOf(row.text) : undefined;
  if (bold !== undefined && bold.field !== "other" && row.depth <= (first ?? depth)) return false;
  if (first !== undefined) return row.depth >= Math.min(first, depth + 1);
  return row.depth > depth || row.checkbox !== undefined || labelOf(row.text) === undefined;
}

/** Checks whether an item of a list is a task. Items of a gate may mention tasks that are elsewhere. */
function beginsTask(state: ReaderState, { kind }: Block, row: Row): boolean {
  if (isBelowTask(state, row) || !isTask(state, row)) return false;
  const id = state.outline.idOf.get(row);
  if (id === undefined) return false;
  return kind !== "gate" || (row.depth === 0 && state.outline.mentions.get(id) === 1);
}

/** Checks whether an item is deeper than the open task. */
function isBelowTask({ task }: ReaderState, row: Row): boolean {
  return task !== undefined && "item" in task.place && row.depth > task.place.item;
}

/** Checks whether an item is a task, by its id or, in a plan without ids, by its checkbox. */
function isTask(state: ReaderState, row: Row): boolean {
  const { phase, task, dialect, outline } = state;
  if (phase === undefined) return false;
  const below = isBelowTask(state, row);
  if (below && dialect.nested === "criteria") return false;
  if (outline.idOf.has(row)) return true;
  if (row.checkbox === undefined || below) return false;
  // In a plan with ids, a checkbox without one is a task only among tasks.
  return !state.aside && !(outline.identified && task !== undefined && "heading" in task.place);
}

/** Checks whether a label belongs to the open gate: it groups its items, or precedes them. */
function staysInGate(open: boolean, { field }: Label): boolean {
  return open && (field === "other" || field === "gate" || field === "success" || field === "criteria");
}

/** Adds the sentence of `**Checkpoint**: …`, which is the item of the gate if no list follows. */
function addText(state: ReaderState, { name, text }: Label, row: Row): void {
  const { block } = state;
  if (block === undefined || text === "" || /quality|exit/i.test(name)) return;
  state.block = { ...block, text: block.text ?? state.item({ ...row, text }) };
}

/** Checks whether a label names a group of criteria: before the first criterion, or after such a label. */
function groups(block: Block): boolean {
  if (itemless(block)) block.grouped = true;
  return block.grouped === true;
}

/** Labels that belong to the last task even if they are not indented. */
const OF_TASKS: ReadonlySet<Field> = new Set([
  "criteria",
  "dependencies",
  "time",
  "files",
  "requirements",
  "description",
  "parallel",
  "status",
]);

/** Returns the task of a label: the one around it or, for a field that only tasks have, the last one. */
function taskOf({ task }: ReaderState, { field, name }: Label, row: Row): TaskDraft | undefined {
  if (task === undefined || (field === "success" && /\bphase\b/i.test(name))) return undefined;
  if ("heading" in task.place || OF_TASKS.has(field)) return task;
  const inside = row.kind === "item" ? row.depth > task.place.item : row.depth >= task.place.item;
  return inside ? task : undefined;
}

/** Opens the gate of the phase that a label names, else of the open phase. */
function openGate(state: ReaderState, label: Label, row: Row): void {
  const mentioned = mentionedPhase(label.name);
  const phase = (mentioned === undefined ? undefined : state.phaseOf(mentioned)) ?? state.phase;
  if (phase === undefined) return openOther(state, label, row);
  state.tell(row);
  openGateOf(state, phase, label.name, row.depth, false);
  addText(state, label, row);
}

function ofTask(state: ReaderState, task: TaskDraft, label: Label, row: Row): void {
  const { field, text } = label;
  switch (field) {
    case "time":
      if (text !== "") task.time ??= bare(text);
      return state.tell(row);
    case "status":
      task.status = text;
      return state.tell(row);
    case "parallel":
      task.marked = /^(?:y|true)/i.test(text);
      return state.tell(row);
    case "dependencies":
      return readValue(state, label, row, (said) => task.dependencies.push(said));
    case "files":
      return readValue(state, label, row, (said) => task.files.push(...filesOf(said)));
    case "requirements":
      return readValue(state, label, row, (said) => task.requirements.push(...readReferences(bare(said))));
    case "criteria":
    case "success":
      return openCriteria(state, task, label, row);
    default:
      return openOther(state, label, row);
  }
}

/** Reads the value of a label: the text after it, or the items of the list below it. */
function readValue(state: ReaderState, label: Label, row: Row, said: (text: string) => void): void {
  state.tell(row);
  if (label.text !== "") return said(label.text);
  const { name } = label;
  state.open({
    kind: "list",
    depth: row.depth,
    section: false,
    name,
    done: (items) => {
      for (const { text } of items) said(text);
    },
  });
}

function filesOf(text: string): readonly string[] {
  const paths = filesIn(text);
  return paths.length > 0 ? paths : [bare(text)];
}

function openCriteria(state: ReaderState, task: TaskDraft, { name, text }: Label, row: Row): void {
  state.tell(row);
  state.open({
    kind: "criteria",
    depth: row.depth,
    section: false,
    name,
    ...(text === "" ? {} : { text: state.item({ ...row, text }) }),
    done: (items) => task.criteria.push(...items),
  });
}

function ofPhase(state: ReaderState, phase: PhaseDraft, label: Label, row: Row): void {
  const { field, text } = label;
  if (field === "time") {
    if (text !== "") phase.duration ??= bare(text);
  } else if ((field === "goal" || field === "description") && phase.tasks.length === 0) {
    if (text !== "") phase.goal ??= text;
    if (field === "goal" && text !== "") phase.goal = text;
    else if (text === "")
      state.field = (said) => (phase.goal = phase.goal === undefined ? said : `${phase.goal} ${said}`);
  } else if (field !== "tasks") {
    openOther(state, label, row);
  }
}

/** Reads a label. Below a heading for all gates, a line in bold may name the phase of the items after it. */
function readGroupedLabel(state: ReaderState, label: Label, row: Row): void {
  const mentioned = state.gates === undefined || !isBold(row.text) ? undefined : mentionedPhase(label.name);
  const phase = mentioned === undefined ? undefined : state.phaseOf(mentioned);
  if (phase !== undefined && label.field === "other" && !/^before\b/i.test(label.name)) {
    openGateOf(state, phase, label.name, row.depth, true);
  } else {
    readLabel(state, label, row);
  }
}

/** Checks whether a whole line is in bold. */
function isBold(text: string): boolean {
  return /^(\*\*|__)[^*]+\1:?$/.test(text);
}

function itemless({ items }: Block): boolean {
  return items.length === 0;
}

/** Adds the sentence in the section of a gate without a list. */
function addSentence(state: ReaderState, block: Block, row: Row): void {
  if (!block.section || block.text !== undefined || /:\s*\**$/.test(row.text)) return;
  state.block = { ...block, text: state.item(row) };
}
