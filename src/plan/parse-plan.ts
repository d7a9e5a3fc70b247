/**
 * Reads a tasks.md as a plan, without I/O: source, rows, outline, drafts and plan, in this order.
 * This is the entry file of the folder.
 *
 * What is decided where:
 * - source.ts: which lines are code or comments
 * - rows.ts: headings, list items and lines of text
 * - titles.ts: titles of phases, tasks and gates, and labels
 * - task-line.ts: the parts of a task's line, and which brackets are checkboxes
 * - outline.ts: which headings begin a phase, and which rows name a task
 * - drafts.ts: what differs between dialects
 * - parse-plan.ts: the built-in parsers by name, and what a heading opens and ends
 * - reader-lines.ts, reader-state.ts: the task, gate or list to which an item or line belongs
 * - finish.ts: numbers, ids, durations, and titles and checkboxes without a place in the plan
 * - dependency-text.ts: dependencies as they are written, and graphs of waves
 * - order.ts: which tasks are linked, cycles and waves
 * - task-master.ts: tasks.json
 * - tick.ts: writing ticks
 * - plan.ts: the types of plans
 */
import { parseSections } from "./blocks.js";
import { readWaves } from "./dependency-text.js";
import { chooseDialect, DIALECT_NAMES, type Dialect } from "./drafts.js";
import { finishPlan, readDurations, reportMarked, reportUnplaced, reportUnread } from "./finish.js";
import { type Outline, outlineOf } from "./outline.js";
import {
  checkLength,
  type Plan,
  type PlanItem,
  type PlanReading,
  PlanReport,
  planError,
  type SourceParser,
  type TickRequest,
} from "./plan.js";
import { openGateOf, openOther, readItem, readLabel, readText } from "./reader-lines.js";
import { ReaderState, startPhase, startTask } from "./reader-state.js";
import { type Row, readRows } from "./rows.js";
import { findRegions, type Region, SourceText } from "./source.js";
import { taskMasterParser } from "./task-master.js";
import { tickTasks } from "./tick.js";
import { fieldOf, isGateTitle, mentionedPhase, NO_TASKS_HEADING } from "./titles.js";

/** The options of `parsePlan`. */
export interface ParsePlanOptions {
  /** `praxis-os`, `spec-kit`, `openspec`, `kiro`, `spec-workflow`, `bmad` or `plain`. Default: recognised. */
  readonly dialect?: string;
  /** The name of the source in diagnostics and errors. Default `tasks.md`. */
  readonly file?: string;
}

/**
 * Reads Markdown as a plan: phases, tasks, criteria, gates and dependencies, with their positions. Every checkbox
 * outside of code is in the plan or in a diagnostic.
 *
 * @throws {PhasegateError} `PLAN_PARSE` when the text can't be a plan: no phase and no task, over 5 MiB, or over 64 KiB
 * between two headings.
 * @throws {PhasegateError} `INVALID_INPUT` when there is no such dialect.
 */
export function parsePlan(markdown: string, options: ParsePlanOptions = {}): PlanReading {
  const { file = "tasks.md" } = options;
  checkLength(markdown, file);
  const dialect = chooseDialect(markdown, options.dialect);
  const source = new SourceText(markdown);
  const regions = findRegions(source);
  const rows = readRows(source, parseSections(source, regions, file));
  const outline = outlineOf(rows, dialect);
  if (outline.starts.size === 0 && outline.untitled === undefined) throw noPhase(rows, file);
  const state = readPhases(rows, source, dialect, outline);
  const report = new PlanReport(file);
  const overviews = { durations: readDurations(rows), waves: readWaves(source, regions) };
  const plan = finishPlan(state, overviews, report);
  reportRegions(regions, report);
  reportUnread(rows, state, report);
  reportMarked(rows, state, report);
  reportUnplaced(source, regions, rows, state.placed, report);
  return { plan, diagnostics: report.sorted() };
}

function noPhase(rows: readonly Row[], file: string) {
  const box = rows.find(({ checkbox }) => checkbox !== undefined);
  if (box === undefined) {
    const hint = "Write '## Phase 1: Name' and below it '- [ ] **Task 1.1**: Name'.";
    return planError({ file, line: 1 }, "it has no phase and no task", hint);
  }
  const hint = "Write '## Phase 1: Name' above the tasks of each phase.";
  return planError({ file, line: box.line + 1 }, "it has checkboxes, but no heading above them is a phase", hint);
}

function reportRegions(regions: readonly Region[], report: PlanReport): void {
  for (const { kind, start, strictEnd, unclosed } of regions) {
    const place = { line: start + 1 };
    if (unclosed) {
      const what = kind === "comment" ? "this comment" : "this code";
      report.warn("FENCE_UNCLOSED", place, `${what} is never closed: everything after it is part of it`, "Close it.");
    } else if (strictEnd !== undefined) {
      const message = `this sample contains another one; strict Markdown would end it in line ${strictEnd}`;
      report.warn("FENCE_NESTED", place, message, "Open and close the outer one with four backticks.");
    }
  }
}

/**
 * Reads the rows of a plan into drafts of phases and tasks. A label or the heading of a gate opens a block, which gets the
 * list after it; for everything else, the nesting of a row decides.
 */
function readPhases(rows: readonly Row[], source: SourceText, dialect: Dialect, outline: Outline): ReaderState {
  const state = new ReaderState(source, dialect, outline);
  for (const [index, row] of rows.entries()) {
    const start = outline.starts.get(index);
    if (index === outline.untitled) startPhase(state, { key: undefined, name: "Tasks", level: 0 }, row);
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
  state.aside = outline.identified || NO_TASKS_HEADING.test(row.text);
  if (field === "success" || field === "criteria")
    openOther(state, { field, name: row.text, text: "" }, { ...row, depth: -1 });
}

/** Checks whether a heading is a task: with the word "task", a `T012`, or `1.2` below the heading of phase 1. */
function isTaskHeading({ phase, outline }: ReaderState, row: Row): boolean {
  const id = outline.idOf.get(row);
  if (phase === undefined || id === undefined) return false;
  const named = /^[\W_]*(?:task|T\d)/i.test(row.text);
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

/**
 * The built-in parsers of plans, by name. `spec_tasks_parser`, `spec_tasks_md` and `markdown` recognise the dialect; the name of a dialect
 * reads only that one. `task-master` reads a tasks.json.
 */
export const builtInParsers: Readonly<Record<string, SourceParser>> = {
  spec_tasks_parser: markdownParser(),
  spec_tasks_md: markdownParser(),
  markdown: markdownParser(),
  ...Object.fromEntries(DIALECT_NAMES.map((name) => [name, markdownParser(name)])),
  "task-master": taskMasterParser,
};

/** Returns the parser of Markdown in one dialect, or in a dialect that it recognises. */
function markdownParser(dialect?: string): SourceParser {
  return {
    parse: (text, file) => parsePlan(text, { file, ...(dialect === undefined ? {} : { dialect }) }),
    tick: (text, plan, request) => tickTasks(text, tasksOf(plan, request), request, itemsOf(plan, request)),
  };
}

function itemsOf(plan: Plan, { items = [] }: TickRequest): PlanItem[] {
  return items.flatMap(({ phase, places }) => {
    const gate = plan.phases.find(({ number }) => number === phase)?.validationGate ?? [];
    return places.flatMap((place) => gate[place] ?? []);
  });
}

function tasksOf(plan: Plan, { tasks }: TickRequest) {
  const wanted = new Set(tasks);
  return plan.phases.flatMap((phase) => phase.tasks.filter(({ id }) => wanted.has(id)));
}
