/**
 * Reads a tasks.md as a plan, without I/O: tree, rows, outline, drafts and plan, in this order.
 * This is the entry file of the folder.
 *
 * What is decided where:
 * - words.ts: the words of plans, by language
 * - source.ts: which lines are code or comments
 * - tree-text.ts: the lines of a tree that a remark pipeline hands over
 * - boxes.ts: which brackets are checkboxes
 * - rows.ts: how Markdown is parsed; headings, list items, table rows and lines of text, each with its parent
 * - titles.ts: titles of phases and gates, and labels
 * - ids.ts: the ids of tasks
 * - task-line.ts: the parts of a task's line
 * - dialects.ts: what differs between dialects, and what marks mean
 * - outline.ts: which headings begin a phase, which rows name a task, and which only repeat one
 * - reader.ts: the task, gate or list to which a row belongs
 * - finish.ts: numbers, ids, states, durations and descriptions
 * - dependencies.ts: the tasks and phases that a text about dependencies names, and graphs of waves
 * - links.ts: which tasks are linked, and cycles
 * - report.ts: titles and checkboxes without a place in the plan
 * - order.ts: the order of tasks in waves, and the plan as a drawing
 * - task-master.ts: tasks.json
 * - tick.ts: writing ticks
 * - roles.ts: what became of each checkbox
 * - plan.ts: the types of plans, and their report
 */
import type { Root } from "mdast";
import { chooseDialect, DIALECT_NAMES, legendRows, marksOf } from "./dialects.js";
import { finishPlan, numberDrafts } from "./finish.js";
import { outlineOf } from "./outline.js";
import { checkLength, type PlanReading, PlanReport, planError, type SourceParser } from "./plan.js";
import { type Context, readRoles } from "./reader.js";
import { reportUnplaced } from "./report.js";
import { parseTree, type Row, readRows } from "./rows.js";
import { findRegions, type Region, SourceText } from "./source.js";
import { taskMasterParser } from "./task-master.js";
import { tickTasks } from "./tick.js";
import { type PlanWords, vocabularyOf } from "./words.js";

/** The options of `parsePlan`. */
export interface ParsePlanOptions {
  /** `praxis-os`, `spec-kit`, `openspec`, `kiro`, `spec-workflow`, `bmad`, `epics` or `plain`. Default: recognised. */
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
  return readTree(parseTree(source, regions, file), markdown, source, regions, { ...options, file });
}

/** Reads the tree of a source as a plan. `regions` are the lines that are not part of the tree. */
export function readTree(
  tree: Root,
  markdown: string,
  source: SourceText,
  regions: readonly Region[],
  { file, dialect: name, words: extra }: ParsePlanOptions & { readonly file: string },
): PlanReading {
  const dialect = chooseDialect(markdown, name);
  const words = vocabularyOf(dialect.words, extra);
  const rows = readRows(source, tree, words);
  const legend = legendRows(rows, words);
  const planned = rows.filter((row) => !legend.has(row));
  const marks = marksOf(source, legend, dialect, words);
  const readWith = (numbered: boolean): Reading | undefined => {
    const outline = outlineOf(planned, dialect, words, numbered);
    const hasPhase = outline.starts.size > 0 || outline.untitled !== undefined;
    if (!hasPhase || (!numbered && outline.identified)) return undefined;
    const readOnce = (empty: ReadonlySet<Row>) => {
      const report = new PlanReport(file);
      return readPlan({ source, regions, rows, dialect, words, outline, legend, marks, report, empty });
    };
    const found = readOnce(new Set());
    const isDue = found.empty.size > 0 && found.diagnostics.some(({ code }) => code === "CHECKBOX_UNPLACED");
    // The checkboxes of phases without a task are tasks.
    const again = isDue ? readOnce(found.empty) : found;
    return again.tasks > found.tasks ? again : found;
  };
  const first = readWith(true);
  if (first === undefined) throw noPhase(rows, source, file);
  // With no task, numbered headings are chapters, and a checkbox needs no number to be a task.
  const other = first.tasks === 0 && rows.some(({ checkbox }) => checkbox !== undefined) ? readWith(false) : undefined;
  const { plan, diagnostics } = other !== undefined && other.tasks > 0 ? other : first;
  return { plan, diagnostics };
}

/** A reading, with the number of its tasks, and the titles of its phases that have none. */
interface Reading extends PlanReading {
  readonly tasks: number;
  readonly empty: ReadonlySet<Row>;
}

function readPlan(context: Context): Reading {
  const read = readRoles(context);
  const { phases } = read;
  const idOf = numberDrafts(read);
  const plan = finishPlan(read, idOf);
  reportUnplaced(read, idOf);
  return {
    plan,
    diagnostics: context.report.sorted(),
    tasks: phases.reduce((sum, { tasks }) => sum + tasks.length, 0),
    empty: new Set(phases.flatMap(({ tasks, row }) => (tasks.length === 0 ? [row] : []))),
  };
}

function noPhase(rows: readonly Row[], source: SourceText, file: string) {
  const box = rows.find(({ checkbox }) => checkbox !== undefined);
  if (box === undefined) {
    const hint = "Write '## Phase 1: Name' and below it '- [ ] **Task 1.1**: Name'.";
    return planError({ file, line: 1 }, "it has no phase and no task", hint);
  }
  const { line } = source.position(box.line, 0);
  const hint = "Write '## Phase 1: Name' above the tasks of each phase.";
  return planError({ file, line }, "it has checkboxes, but no heading above them is a phase", hint);
}

/** The parser of Markdown in one dialect, or in a dialect that it recognises. */
const markdownParser = (dialect?: string): Required<SourceParser> => ({
  parse: (text, file) => parsePlan(text, { file, ...(dialect !== undefined && { dialect }) }),
  tick(text, { phases }, request) {
    const wanted = new Set(request.tasks);
    const tasks = phases.flatMap((phase) => phase.tasks.filter(({ id }) => wanted.has(id)));
    const items = (request.items ?? []).flatMap(({ phase, places }) => {
      const gate = phases.find(({ number }) => number === phase)?.validationGate ?? [];
      return places.flatMap((place) => gate[place] ?? []);
    });
    return tickTasks(text, tasks, request, items);
  },
});

const anyMarkdown = markdownParser();

/**
 * Recognises the dialect. A file that ends with `.json` is task-master's, and so is a text that begins as JSON: a session reads
 * what it has ticked again without the name of the file.
 */
const anyDialect: SourceParser = {
  parse: (text, file) => {
    const isJson = /\.json$/i.test(file) || /^\uFEFF?\s*\{\s*["}]/.test(text);
    return (isJson ? taskMasterParser : anyMarkdown).parse(text, file);
  },
  tick: (text, plan, request) =>
    (plan.dialect === "task-master" ? taskMasterParser : anyMarkdown).tick(text, plan, request),
};

/**
 * The built-in parsers of plans, by name. `spec_tasks_parser`, `spec_tasks_md` and `markdown` recognise the dialect; the name of a dialect
 * reads only that one. `task-master` reads a tasks.json.
 */
export const builtInParsers: Readonly<Record<string, SourceParser>> = {
  spec_tasks_parser: anyDialect,
  spec_tasks_md: anyDialect,
  markdown: anyDialect,
  ...Object.fromEntries(DIALECT_NAMES.map((name) => [name, markdownParser(name)])),
  "task-master": taskMasterParser,
};
