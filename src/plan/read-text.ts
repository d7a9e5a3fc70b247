/** Takes in lines of text: labels, tasks in bold, goals, and sentences that are a gate. */
import { mentionedPhase } from "./identify.js";
import { labelOf } from "./labels.js";
import { openGateOf } from "./read-gate.js";
import { readLabel } from "./read-label.js";
import type { Block, ReaderState } from "./reader-state.js";
import type { Row } from "./rows.js";
import { startTask } from "./start-draft.js";

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
