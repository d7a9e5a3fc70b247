/**
 * Reads a tasks.md as a plan, without I/O: source, rows, outline, drafts and plan, in this order. This is the entry file
 * of the folder.
 *
 * Rules that are decided in this folder:
 * - source.ts: which lines are code or comments
 * - rows.ts: headings, list items and lines of text
 * - titles.ts: titles of phases, tasks and gates, and labels
 * - task-line.ts: the parts of a task's line, and which brackets are checkboxes
 * - outline.ts: which headings begin a phase, and which rows name a task
 * - drafts.ts: what differs between dialects
 * - reader.ts, reader-lines.ts, reader-state.ts: the task, gate or list to which an item or line belongs
 * - finish.ts: numbers, ids, durations, and checkboxes without a place in the plan
 * - order.ts: dependencies, cycles and waves
 * - task-master.ts: tasks.json
 * - tick.ts: writing ticks
 */
import { chooseDialect } from "./drafts.js";
import { finishPlan, readDurations, reportUnplaced } from "./finish.js";
import { readWaves } from "./order.js";
import { outlineOf } from "./outline.js";
import { checkLength, type PlanReading, PlanReport, planError } from "./plan.js";
import { readPhases } from "./reader.js";
import { parseSections, readRows } from "./rows.js";
import { findRegions, type Region, SourceText } from "./source.js";

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
  if (outline.starts.size === 0 && outline.untitled === undefined) throw noPhase(file);
  const state = readPhases(rows, source, dialect, outline);
  const report = new PlanReport(file);
  const overviews = { durations: readDurations(rows), waves: readWaves(source, regions) };
  const plan = finishPlan(state, overviews, report);
  reportRegions(regions, report);
  reportUnplaced(source, regions, rows, state.placed, report);
  return { plan, diagnostics: report.sorted() };
}

function noPhase(file: string) {
  const message = "it has no phase and no task";
  return planError({ file, line: 1 }, message, "Write '## Phase 1: Name' and below it '- [ ] **Task 1.1**: Name'.");
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
