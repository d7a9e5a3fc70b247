/**
 * Reads the rows of a plan into drafts of phases and tasks. A label or the heading of a gate opens a block, which gets the
 * list after it; for everything else, the nesting of a row decides.
 */
import type { Dialect } from "./drafts.js";
import type { Outline } from "./outline.js";
import { openGateOf, openOther, readItem, readLabel, readText } from "./reader-lines.js";
import { ReaderState, startPhase, startTask } from "./reader-state.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source.js";
import { fieldOf, isGateTitle, mentionedPhase } from "./titles.js";

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

/** Checks whether a heading is a task: with the word "task", a `T012`, or `1.2` below the heading of phase 1. */
function isTaskHeading({ phase, outline }: ReaderState, row: Row): boolean {
  const id = outline.idOf.get(row);
  if (phase === undefined || id === undefined) return false;
  const named = /^\W*(?:task|T\d)/i.test(row.text);
  return named || (row.depth > phase.level && phase.key !== undefined && id.startsWith(`${phase.key}.`));
}

/** Opens the section of a gate: of the phase that its title names, else of the last phase. */
function startGate(state: ReaderState, row: Row, mentioned: string | undefined): void {
  state.endTask(row.line);
  const phase = mentioned === undefined ? state.lastPhase : (state.phaseOf(mentioned) ?? state.phase);
  if (mentioned === undefined && /\bgates\b/i.test(row.text)) {
    state.gates = row.depth;
    state.endPhase(row.line);
  } else if (phase !== undefined) {
    openGateOf(state, phase, row.text, -1, true);
  }
}
