/** Begins phases and tasks: drafts that the rows after them add to. */
import type { PhaseStart } from "./candidates.js";
import type { PhaseDraft, TaskDraft } from "./drafts.js";
import type { TaskIds } from "./identify.js";
import type { ReaderState } from "./reader-state.js";
import type { Row } from "./rows.js";
import { readTaskLine, splitTime } from "./task-line.js";

/** Begins a phase; what was open ends. */
export function startPhase(state: ReaderState, { key, name, level }: PhaseStart, row: Row): void {
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

/** Begins a task of the phase that is open; the task before ends. */
export function startTask(state: ReaderState, row: Row, place: TaskDraft["place"]): void {
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
