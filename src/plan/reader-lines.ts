/** Puts list items where they belong: tasks, criteria, and what the list of a label or a gate holds. */

import type { PhaseDraft, TaskDraft } from "./drafts.js";
import { type Block, type ReaderState, startTask } from "./reader-state.js";
import type { Row } from "./rows.js";
import { bare, filesIn, readReferences } from "./task-line.js";
import { type Field, type Label, labelOf, mentionedPhase, NO_TASKS } from "./titles.js";

/** Takes in an item. */
export function readItem(state: ReaderState, row: Row): void {
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

/** Takes a label in. Returns whether it was one that means anything here. */
export function readLabel(state: ReaderState, label: Label, row: Row): void {
  const { block } = state;
  if (block?.kind === "gate" && staysInGate(block.section || block.items.length + block.bullets.length === 0, label)) {
    if (label.field === "gate") addText(state, label, row);
    return;
  }
  if (block?.kind === "criteria" && label.field === "other" && label.text === "" && groups(block)) return;
  state.close();
  const task = taskOf(state, label, row);
  if (label.field === "gate") return openGate(state, label, row);
  if (task !== undefined) return ofTask(state, task, label, row);
  if (state.phase !== undefined) return ofPhase(state, state.phase, label, row);
  openOther(state, label, row);
}

/** A label that means nothing to a plan: the checkboxes below it are no tasks, and no criteria. */
export function openOther(state: ReaderState, { field, name }: Label, row: Row): void {
  if (!state.outline.identified && field === "other" && !NO_TASKS.test(name)) return;
  state.open({ kind: "other", depth: row.depth, section: false, name, done: () => {} });
}

/** How deep a line in bold is that stands for a heading. */
const LINE = 7;

/** Takes in a line. */
export function readText(state: ReaderState, row: Row): void {
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

/** The list that follows is the gate of a phase. */
export function openGateOf(state: ReaderState, phase: PhaseDraft, name: string, depth: number, section: boolean): void {
  state.open({ kind: "gate", depth, section, name, done: (items) => phase.gate.push(...items) });
}

/** Checks whether an item is one of the list below a label: the first decides how deep the others are at least. */
function isInside({ depth, first }: Block, row: Row): boolean {
  const bold = row.checkbox === undefined && /^(?:\*\*|__)/.test(row.text) ? labelOf(row.text) : undefined;
  if (bold !== undefined && bold.field !== "other" && row.depth <= (first ?? depth)) return false;
  if (first !== undefined) return row.depth >= Math.min(first, depth + 1);
  return row.depth > depth || row.checkbox !== undefined || labelOf(row.text) === undefined;
}

/** Checks whether an item of a list is a task of its own. Those of a gate may name tasks that are elsewhere. */
function beginsTask(state: ReaderState, { kind }: Block, row: Row): boolean {
  if (state.phase === undefined || isBelowTask(state, row) || !isTask(state, row)) return false;
  const id = state.outline.idOf.get(row);
  if (id === undefined) return false;
  return kind !== "gate" || (row.depth === 0 && state.outline.mentions.get(id) === 1);
}

/** Checks whether an item is deeper than the task that is open. */
function isBelowTask({ task }: ReaderState, row: Row): boolean {
  return task !== undefined && "item" in task.place && row.depth > task.place.item;
}

/** Checks whether an item is a task: by its id, or, where ids say nothing, by its checkbox. */
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

/** In the section of a gate other labels group its items, or lead up to them. */
function staysInGate(open: boolean, { field }: Label): boolean {
  return open && (field === "other" || field === "gate" || field === "success" || field === "criteria");
}

/** `**Checkpoint**: …`: where no list follows, the sentence is what must hold. */
function addText(state: ReaderState, { name, text }: Label, row: Row): void {
  const { block } = state;
  if (block === undefined || text === "" || /quality|exit/i.test(name)) return;
  state.block = { ...block, text: block.text ?? state.item({ ...row, text }) };
}

/** Checks whether a label names a group of criteria: it is where the first criterion would be, or follows such a label. */
function groups(block: Block): boolean {
  if (block.items.length + block.bullets.length === 0) block.grouped = true;
  return block.grouped === true;
}

/** Labels that a task has also where they are not indented as the task is. */
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

/** Returns the task that a label belongs to: one that it stands in, or, for what only tasks have, the last one. */
function taskOf({ task }: ReaderState, { field, name }: Label, row: Row): TaskDraft | undefined {
  if (task === undefined || (field === "success" && /\bphase\b/i.test(name))) return undefined;
  if ("heading" in task.place || OF_TASKS.has(field)) return task;
  const inside = row.kind === "item" ? row.depth > task.place.item : row.depth >= task.place.item;
  return inside ? task : undefined;
}

/** A gate of the phase that it names, else of the one that it stands in. Outside of all it must name one. */
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
      return take(state, label, row, (said) => task.dependencies.push(said));
    case "files":
      return take(state, label, row, (said) => task.files.push(...filesOf(said)));
    case "requirements":
      return take(state, label, row, (said) => task.requirements.push(...readReferences(bare(said))));
    case "criteria":
    case "success":
      return openCriteria(state, task, label, row);
    default:
      return openOther(state, label, row);
  }
}

/** A label whose value stands beside it, or in the list or the text below. */
function take(state: ReaderState, label: Label, row: Row, said: (text: string) => void): void {
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

/** Checks whether a line is in bold from its beginning to its end. */
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
