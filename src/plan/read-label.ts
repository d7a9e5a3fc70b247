/** What a label does: it says something of the task or the phase, or opens the list that follows. */

import type { PhaseDraft, TaskDraft } from "./drafts.js";
import { mentionedPhase } from "./identify.js";
import { type Field, type Label, NO_TASKS } from "./labels.js";
import { addText, openGateOf, staysInGate } from "./read-gate.js";
import type { Block, ReaderState } from "./reader-state.js";
import { readReferences } from "./references.js";
import type { Row } from "./rows.js";
import { bare, filesIn } from "./task-line.js";

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

/** A label that stands where the first criterion would be names a group of them, and so do those after it. */
function groups(block: Block): boolean {
  if (block.items.length + block.bullets.length === 0) block.grouped = true;
  return block.grouped === true;
}

/** The task that a label belongs to: one that it stands in, or, for what only tasks have, the last one. */
function taskOf({ task }: ReaderState, { field, name }: Label, row: Row): TaskDraft | undefined {
  if (task === undefined || (field === "success" && /\bphase\b/i.test(name))) return undefined;
  if ("heading" in task.place || OF_TASKS.has(field)) return task;
  const inside = row.kind === "item" ? row.depth > task.place.item : row.depth >= task.place.item;
  return inside ? task : undefined;
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

/** A gate of the phase that it names, else of the one that it stands in. Outside of all it must name one. */
function openGate(state: ReaderState, label: Label, row: Row): void {
  const mentioned = mentionedPhase(label.name);
  const phase = (mentioned === undefined ? undefined : state.phaseOf(mentioned)) ?? state.phase;
  if (phase === undefined) return openOther(state, label, row);
  state.tell(row);
  openGateOf(state, phase, label.name, row.depth, false);
  addText(state, label, row);
}

/** A label that means nothing to a plan: the checkboxes below it are no tasks, and no criteria. */
export function openOther(state: ReaderState, { field, name }: Label, row: Row): void {
  if (!state.outline.identified && field === "other" && !NO_TASKS.test(name)) return;
  state.open({ kind: "other", depth: row.depth, section: false, name, done: () => {} });
}

function filesOf(text: string): readonly string[] {
  const paths = filesIn(text);
  return paths.length > 0 ? paths : [bare(text)];
}
