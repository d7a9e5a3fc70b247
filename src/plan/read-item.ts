/** Puts list items where they belong: tasks, criteria, and what the list of a label or a gate holds. */
import { labelOf } from "./labels.js";
import { readLabel } from "./read-label.js";
import type { Block, ReaderState } from "./reader-state.js";
import type { Row } from "./rows.js";
import { startTask } from "./start-draft.js";

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
