/**
 * Reads a tasks.md as a plan, without I/O: tree, rows, outline, drafts and plan, in this order.
 * This is the entry file of the folder.
 *
 * What is decided where:
 * - words.ts: the words of plans, by language
 * - source.ts: which lines are code or comments
 * - tree.ts: how Markdown is parsed
 * - tree-text.ts: the lines of a tree that a remark pipeline hands over
 * - boxes.ts: which brackets are checkboxes
 * - rows.ts: headings, list items, table rows and lines of text, each with its parent
 * - titles.ts: titles of phases and gates, and labels
 * - ids.ts: the ids of tasks
 * - task-line.ts: the parts of a task's line
 * - outline.ts: which headings begin a phase, which rows name a task, and which only repeat one
 * - drafts.ts: what differs between dialects, and the state of a task
 * - reader.ts: the task, gate or list to which a row belongs
 * - finish.ts: numbers, ids, durations, and titles and checkboxes without a place in the plan
 * - relations.ts: dependencies in running text
 * - dependency-text.ts: the tasks and phases that a dependency names, and graphs of waves
 * - order.ts: which tasks are linked, cycles and waves
 * - task-master.ts: tasks.json
 * - tick.ts: writing ticks
 * - roles.ts: what became of each checkbox
 * - plan.ts: the types of plans, and their report
 */
import type { Root } from "mdast";
import { readWaves } from "./dependency-text.js";
import { chooseDialect, DIALECT_NAMES, legendOf, legendRows, marksOf } from "./drafts.js";
import {
  dependencyLines,
  finishPlan,
  readDurations,
  reportCells,
  reportListed,
  reportMarked,
  reportOfOthers,
  reportOfPlan,
  reportRepeated,
  reportUnplaced,
  reportUnread,
} from "./finish.js";
import { outlineOf } from "./outline.js";
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
import { PlanReader } from "./reader.js";
import { type Row, readRows } from "./rows.js";
import { findRegions, type Region, SourceText } from "./source.js";
import { taskMasterParser } from "./task-master.js";
import { tickTasks } from "./tick.js";
import { parseTree } from "./tree.js";
import { type PlanWords, vocabularyOf } from "./words.js";

/** The options of `parsePlan`. */
export interface ParsePlanOptions {
  /** `praxis-os`, `spec-kit`, `openspec`, `kiro`, `spec-workflow`, `bmad` or `plain`. Default: recognised. */
  readonly dialect?: string;
  /** The name of the source in diagnostics and errors. Default `tasks.md`. */
  readonly file?: string;
  /** More words with a meaning, beside the built-in ones: `{ phase: ["vaihe"] }`. */
  readonly words?: PlanWords;
}

/**
 * Reads Markdown as a plan: phases, tasks, criteria, gates and dependencies, with their positions. Every checkbox
 * outside of code is in the plan or in a diagnostic.
 *
 * @throws {PhasegateError} `PLAN_PARSE` when the text can't be a plan: it has no phase and no task, or is too long or nested too deep.
 * @throws {PhasegateError} `INVALID_INPUT` when there is no such dialect.
 */
export function parsePlan(markdown: string, options: ParsePlanOptions = {}): PlanReading {
  const { file = "tasks.md" } = options;
  checkLength(markdown, file);
  const source = new SourceText(markdown);
  const regions = findRegions(source);
  return readTree(parseTree(source, regions, file), markdown, source, regions, options);
}

/** Reads the tree of a source as a plan. `regions` are the lines that are not part of the tree. */
export function readTree(
  tree: Root,
  markdown: string,
  source: SourceText,
  regions: readonly Region[],
  { file = "tasks.md", dialect: name, words: extra }: ParsePlanOptions,
): PlanReading {
  const dialect = chooseDialect(markdown, name);
  const words = vocabularyOf(extra);
  const rows = readRows(source, tree, words);
  const legend = legendRows(rows, words);
  const outline = outlineOf(
    rows.filter((row) => !legend.has(row)),
    dialect,
    words,
  );
  if (outline.starts.size === 0 && outline.untitled === undefined) throw noPhase(rows, source, file);
  const reader = new PlanReader(
    source,
    dialect,
    outline,
    words,
    legend,
    marksOf(dialect, legendOf(source, legend, words), words),
  );
  reader.read(rows);
  const report = new PlanReport(file);
  const overviews = {
    durations: readDurations(rows, words),
    waves: readWaves(source, regions),
    dependencies: dependencyLines(rows, words),
    rows,
  };
  const plan = finishPlan(reader, overviews, report);
  reportRegions(regions, source, report);
  reportUnread(rows, reader, report);
  reportMarked(rows, reader, report);
  reportCells(rows, reader, report);
  reportListed(reader, plan, report);
  reportRepeated(reader, plan, report);
  reportOfOthers(reader, report);
  reportOfPlan(reader, report);
  reportUnplaced(reader, regions, rows, report);
  return { plan, diagnostics: report.sorted() };
}

function noPhase(rows: readonly Row[], source: SourceText, file: string) {
  const box = rows.find(({ checkbox }) => checkbox !== undefined);
  if (box === undefined) {
    const hint = "Write '## Phase 1: Name' and below it '- [ ] **Task 1.1**: Name'.";
    return planError({ file, line: 1 }, "it has no phase and no task", hint);
  }
  const hint = "Write '## Phase 1: Name' above the tasks of each phase.";
  return planError(
    { file, line: source.position(box.line, 0).line },
    "it has checkboxes, but no heading above them is a phase",
    hint,
  );
}

function reportRegions(regions: readonly Region[], source: SourceText, report: PlanReport): void {
  for (const { kind, start, strictEnd, unclosed } of regions) {
    const { line } = source.position(start, 0);
    const place = { line };
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
