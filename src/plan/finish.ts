/**
 * Turns drafts into a plan: numbers of phases, ids of tasks, durations from overviews, dependencies, and a report of
 * every checkbox that has no place in the plan.
 */
import { withoutLeadingMarks } from "../workflow/from-markdown.js";
import { checkboxAt, checkboxesIn, isTicked, SYMBOL } from "./boxes.js";
import { type Named, readDependencies, type Waves } from "./dependency-text.js";
import { descriptionOf, isLegend, type PhaseDraft, statesOf, type TaskDraft, UniqueIds } from "./drafts.js";
import { EDGES_MAX, type LinkedPhase, linkTasks } from "./order.js";
import type { Plan, PlanPhase, PlanPosition, PlanReport, PlanTask, TaskState } from "./plan.js";
import type { PlanReader } from "./reader.js";
import { type Place, relationsIn } from "./relations.js";
import { ancestorsOf, cellsOf, holdersOf, isWithin, type Row } from "./rows.js";
import type { Region } from "./source.js";
import { durationIn, readTaskLine } from "./task-line.js";
import { type Field, fieldOf, isGateTitle, namedPhaseNumber, phaseTitle } from "./titles.js";
import type { Vocabulary } from "./words.js";

/** Durations by the key of a phase. */
type Durations = ReadonlyMap<string, string>;

/** A text, and the row that it is from. */
interface Said {
  readonly text: string;
  readonly row: Row;
}

/** The durations and waves of overviews and graphs. */
interface Overviews {
  readonly durations: Durations;
  readonly waves: Waves;
  /** The lines about dependencies. */
  readonly dependencies: readonly Said[];
  readonly rows: readonly Row[];
}

/** Returns the plan of the drafts. */
export function finishPlan(state: PlanReader, overviews: Overviews, report: PlanReport): Plan {
  const phases = numberTasks(numberPhases(state.phases, report), state.outline.identified, report);
  const edges = readEdges(phases, overviews, state, report);
  const linked = phases.map((phase) => linkedPhase(phase, overviews.waves, edges, state));
  const links = linkTasks(linked, report);
  const drafts = phases.flatMap(({ tasks }) => tasks.map(({ draft }) => draft));
  const stateOf = statesOf(drafts, state.marks, report);
  reportPhaseDependencies(phases, state, report);
  reportLabels(phases, state.words, report);
  return {
    dialect: state.dialect.name,
    phases: phases.map(({ draft, number, tasks }): PlanPhase => {
      const duration = draft.duration ?? draft.timeInTitle ?? overviews.durations.get(draft.key ?? `${number}`);
      return {
        number,
        ...(draft.key === undefined || draft.key === `${number}`
          ? {}
          : { written: draft.key.length === 1 ? draft.key.toUpperCase() : draft.key }),
        name: draft.name === "" ? `Phase ${draft.key ?? number}` : draft.name,
        ...(draft.goal === undefined ? {} : { goal: draft.goal }),
        ...(duration === undefined ? {} : { estimatedDuration: duration }),
        tasks: tasks.map((task) => finishTask(task, stateOf(task.draft), links.get(task.id) ?? [], state)),
        validationGate: draft.gate,
        position: draft.position,
      };
    }),
  };
}

/** Reports a task that gets another id than it has in the source. */
export function reportSecondId(given: string, id: string, position: PlanPosition, report: PlanReport): void {
  if (id === given) return;
  const message = `an earlier task has the id ${given}; this task is ${id} here`;
  report.warn("TASK_ID_REPEATED", position, message, "Give each task its own id.");
}

const LISTED = /^\*\*Phase\s+(\d+)(?!\d)[^*]*\*\*(.*)/is;

/** Returns the lines and items below headings about dependencies, and the rows of tables with such a column as sentences. */
export function dependencyLines(rows: readonly Row[], words: Vocabulary): Said[] {
  const isAbout = ({ kind, text }: Row) =>
    kind === "heading" && (/\bdependenc/i.test(text) || fieldOf(text, words) === "dependencies");
  const headings = new Set(rows.filter(isAbout));
  let header: readonly string[] | undefined;
  return rows.flatMap((row) => {
    const { kind, text, checkbox } = row;
    const cells = kind === "cells" ? cellsOf(text) : undefined;
    const column = header?.findIndex((cell) => /^(?:dependencies|blocks)$/.test(fieldOf(cell, words))) ?? -1;
    const value = cells?.[column] ?? "";
    const title = header?.[column];
    header = cells && (header ?? cells);
    if (column > 0 && /\d/.test(value)) return [{ text: `${cells?.[0]} ${title}: ${value}`, row }];
    const isLine = (kind === "item" || kind === "text") && checkbox === undefined;
    return isLine && ancestorsOf(row).some((above) => headings.has(above)) ? [{ text, row }] : [];
  });
}

/**
 * Returns what tasks wait for, by their ids: as it is said in their lines and descriptions, and in the lines about
 * dependencies. Reports what names tasks beside a word for a dependency, and is not read.
 */
function readEdges(
  phases: readonly NumberedPhase[],
  { dependencies, rows }: Overviews,
  { words, source, told }: PlanReader,
  report: PlanReport,
): ReadonlyMap<string, readonly Named[]> {
  const tasks = phases.flatMap((phase) => phase.tasks);
  const known = new Map(tasks.map(({ id }) => [id.toLowerCase(), id]));
  const taskOf = new Map(tasks.map(({ id, draft }) => [draft.row, id]));
  const isId = (word: string) => known.has(word.toLowerCase());
  const named = (text: string) => readDependencies(text, words, isId);
  // `US2` is no task where tasks are T001 and T002.
  const letters = (id: string) => /^\D*/.exec(id.toLowerCase())?.[0];
  const prefixes = new Set(tasks.map(({ id }) => letters(id)));
  const found = new Map<string, Named[]>();
  let edges = 0;
  const read = (text: string, { line, column }: Row, place: Place, own?: string) => {
    const position = source.position(line, column);
    const { relations, unread } = relationsIn(text, words, isId, place);
    const self: Named = { tasks: own === undefined ? [] : [own], phases: [] };
    for (const { later, needs } of relations) {
      const needed = needs === undefined ? self : named(needs);
      const ids = later === undefined ? self.tasks : named(later).tasks;
      // A sentence may repeat the task that it is about.
      if (later === undefined && needed.tasks.join() === own) continue;
      edges += ids.length * needed.tasks.length;
      for (const said of edges > EDGES_MAX ? [] : ids) {
        const id = known.get(said.toLowerCase());
        if (id !== undefined) {
          if (found.get(id)?.push(needed) === undefined) found.set(id, [needed]);
        } else if (prefixes.has(letters(said))) {
          const message = `the line '${text}' names task ${said}, which is not in the plan`;
          report.warn("DEPENDENCY_UNKNOWN", position, message, "Name a task of this plan, or remove the line.");
        }
      }
    }
    if (edges > EDGES_MAX || (unread !== undefined && !PARALLEL.test(text))) {
      const message = `'${unread ?? text}' names a task beside a word for a dependency, and is not read as one`;
      report.warn("DEPENDENCY_UNREAD", position, message, "If it is one, write 'Depends on:' in the task that waits.");
    }
  };
  for (const { id, draft } of tasks) {
    for (const said of [draft.name, ...draft.blocks.map((text) => `blocks ${text}`)]) read(said, draft.row, "line", id);
  }
  for (const row of rows) {
    const own = ancestorsOf(row).find((above) => taskOf.has(above));
    const isValue = row.label === undefined ? told.has(row.line) : VALUES.has(row.label.field);
    if (own === undefined || row.checkbox !== undefined || row.kind === "heading" || isValue) continue;
    read(row.text, row, "description", taskOf.get(own));
  }
  for (const { text, row } of dependencies) if (!told.has(row.line)) read(text, row, "about");
  return found;
}

/** A sentence about tasks that do not wait for each other. */
const PARALLEL = /\b(?:parallel|independent|simultaneous)/i;

/** Labels whose text is read by itself. */
const VALUES: ReadonlySet<Field> = new Set(["dependencies", "blocks", "criteria", "requirements"] as const);

/** Reads the durations in overviews. The first one of a phase counts. */
export function readDurations(rows: readonly Row[], words: Vocabulary): Durations {
  const found = new Map<string, string>();
  let columns: { readonly phase: number; readonly time: number } | undefined;
  for (const { kind, text } of rows) {
    const cells = kind === "cells" || (kind === "text" && text.startsWith("|")) ? cellsOf(text) : undefined;
    if (cells === undefined) {
      columns = undefined;
      const [, key, said = ""] = LISTED.exec(text) ?? [];
      const [time = ""] = said.replace(/^:?\s*(?:[-–—:]\s*)?/, "").split("(", 1);
      if (kind === "item") keep(found, key, time);
    } else if (columns === undefined) {
      columns = columnsOf(cells);
    } else {
      const cell = cells[columns.phase] ?? "";
      keep(found, /^\d+$/.test(cell) ? cell : phaseTitle(cell, words)?.key, cells[columns.time] ?? "");
    }
  }
  return found;
}

/** Reports titles with checkboxes below that name a phase, but are not read as one. The plan has no such phase. */
export function reportUnread(rows: readonly Row[], { phases, outline, source }: PlanReader, report: PlanReport): void {
  const keys = new Set(phases.map(({ key }) => key));
  let title: { readonly row: Row; readonly key: string; readonly level: number } | undefined;
  for (const row of rows) {
    const level = levelOf(row);
    if (level !== undefined) {
      const isPhase = outline.starts.has(row);
      const isOther = isPhase || outline.idOf.has(row) || isGateTitle(row.text);
      const key = isOther ? undefined : namedPhaseNumber(row.text);
      if (key !== undefined && !keys.has(key)) title = { row, key, level };
      else if (isPhase || level <= (title?.level ?? 0)) title = undefined;
    } else if (title !== undefined && row.checkbox !== undefined) {
      const { key, row: at } = title;
      if (at.kind === "item" && !isWithin(row, at)) continue;
      const message = `'${at.text}' is not read as a phase, and the plan has no phase ${key}`;
      report.warn(
        "PHASE_UNREAD",
        source.position(at.line, at.column),
        message,
        `If it is one, write it like the others: '## Phase ${key}: Name'.`,
      );
      title = undefined;
    }
  }
}

/** A task as plans write it: `Task 1.1: Name`, `T012 Name`. A sentence that names one, or a number alone, may be anything. */
const NAMED_TASK = /^(?:\*\*|__)?(?:Task[ \t][^\s:]{1,20}[ \t]*[:–—-]|T\d{3})/;

/** Reports items with a symbol in place of a checkbox, `- ✅ Task 1.1: Name`, whose task the plan has nowhere else. */
export function reportMarked(
  rows: readonly Row[],
  { phases, dialect, outline, source, told, words }: PlanReader,
  report: PlanReport,
): void {
  const known = new Set(phases.flatMap(({ tasks }) => tasks.map(({ id }) => id)));
  const lines = new Set(phases.flatMap(({ tasks }) => tasks.map(({ row }) => row)));
  const checklists = new Set([...lines].flatMap(({ kind, parent }) => (kind === "item" ? [parent] : [])));
  const empty = new Set(phases.flatMap(({ tasks, position }) => (tasks.length === 0 ? [position.line] : [])));
  const isChecklist = (parent: Row | undefined) =>
    checklists.has(parent) || (parent !== undefined && empty.has(source.position(parent.line, 0).line));
  const holders = holdersOf(rows);
  for (const row of rows) {
    const { kind, depth, checkbox, text, line, column, parent } = row;
    const rest = withoutLeadingMarks(text);
    if (kind !== "item" || checkbox !== undefined || told.has(line)) continue;
    const waits = holders.has(row) && readTaskLine(text, dialect.ids, outline.ids, words).dependencies !== undefined;
    // A box that markup hides, as in `- [x]: Name`, is reported with those that have no place.
    const isSymbol = SYMBOL.test(text) && checkboxesIn(text)[0]?.start !== 0;
    if (rest === text && !isSymbol && !waits) continue;
    const named = outline.ids.read(rest, dialect.ids)?.id;
    if (named !== undefined && known.has(named)) continue;
    const id = depth === 0 && NAMED_TASK.test(rest) ? named : undefined;
    const isMarked =
      (waits || (isSymbol && isChecklist(parent))) && !ancestorsOf(row).some((above) => lines.has(above));
    if (id === undefined && !isMarked) continue;
    const place = source.position(line, column);
    report.warn(
      "TASK_UNREAD",
      place,
      `'${rest}' is not read as a task: it has no checkbox`,
      "If it is one, write '- [ ]' or '- [x]' in place of the symbol.",
    );
  }
}

/** Reports the rows of tables without a checkbox beside others that have one. */
export function reportCells(rows: readonly Row[], { source }: PlanReader, report: PlanReport): void {
  for (const [index, { kind, text, line, column, parent }] of rows.entries()) {
    const beside = [rows[index - 1], rows[index + 1]];
    const isTasks = beside.some((one) => one?.cells !== undefined && one.parent === parent);
    // The line below the header has only `-`.
    if (kind !== "cells" || !isTasks || /^[\s|:-]+$/.test(source.text(line + 1))) continue;
    const message = `the row '${text}' is not read as a task: it has no checkbox`;
    const hint = "If it is one, write '[ ]' or '[x]' in the cell that the other rows have it in.";
    report.warn("TASK_UNREAD", source.position(line, column), message, hint);
  }
}

/** Reports ids in a list of subtasks that the plan has nowhere else. */
export function reportListed({ listed, words, source }: PlanReader, plan: Plan, report: PlanReport): void {
  const known = new Set(plan.phases.flatMap(({ tasks }) => tasks.map(({ id }) => id)));
  for (const { row, text } of listed) {
    const missing = readDependencies(text, words, () => false).tasks.filter((id) => !known.has(id));
    if (missing.length === 0) continue;
    const message = `the subtasks ${missing.join(", ")} are no tasks of the plan: they have no line of their own`;
    report.warn("TASK_UNREAD", source.position(row.line, row.column), message, "Write '- [ ]' and the id for each.");
  }
}

/**
 * Reports phases and tasks that the label below a title of a phase names, and that the plan does not have. Phases come in
 * order, so that these dependencies make no edges.
 */
function reportPhaseDependencies(phases: readonly NumberedPhase[], { words }: PlanReader, report: PlanReport): void {
  const known = new Set(
    phases.flatMap(({ draft, tasks }) => [draft.key, codeOf(draft.name), ...tasks.map(({ id }) => id)]),
  );
  for (const { draft } of phases) {
    for (const said of draft.dependencies) {
      const named = readDependencies(said, words, (id) => known.has(id));
      const missing = [...named.phases.map((key) => key.toLowerCase()), ...named.tasks].filter((id) => !known.has(id));
      if (missing.length === 0) continue;
      const message = `'${draft.name}' depends on ${missing.join(", ")}, which is not in the plan`;
      report.warn(
        "DEPENDENCY_UNKNOWN",
        draft.position,
        message,
        "Name a phase or task of this plan, or remove the dependency.",
      );
    }
  }
}

/** Labels that name tasks without waiting for them. */
const NO_EDGE =
  /\b(?:parallel|related|relates|see|next|followed|follow-up|enables|task|tasks|id|ids|covers|parent|group|replaces)\b/i;

/** Reports labels without a meaning that name only tasks: they may be dependencies. */
function reportLabels(phases: readonly NumberedPhase[], words: Vocabulary, report: PlanReport): void {
  const known = new Set(phases.flatMap(({ tasks }) => tasks.map(({ id }) => id)));
  for (const { id, draft } of phases.flatMap(({ tasks }) => tasks)) {
    for (const { name, text } of draft.unread) {
      const named = readDependencies(text.replace(/[[\]]/g, " "), words, (one) => known.has(one)).tasks;
      if (NO_EDGE.test(name) || named.length === 0 || !named.every((one) => one !== id && known.has(one))) continue;
      const message = `task ${id}: '${name}: ${text}' names tasks, and the label has no meaning here`;
      const hint =
        "If it names what must be done first, write 'Depends on:', or add the label to the words of the plan.";
      report.warn("DEPENDENCY_UNREAD", draft.position, message, hint);
    }
  }
}

/** Reports labels of dependencies and states in items that are no tasks, such as `1. **Forms**` without a checkbox. */
export function reportOfOthers({ ofOthers, source }: PlanReader, report: PlanReport): void {
  for (const { row, label } of ofOthers) {
    if (label.field !== "dependencies" && label.field !== "status" && label.field !== "blocks") continue;
    const message = `'${label.name}' stands in '${row.parent?.text ?? ""}', which is not read as a task: it has no checkbox and no id`;
    report.warn(
      "TASK_UNREAD",
      source.position(row.line, row.column),
      message,
      "Write '- [ ]' before the task, or give it an id.",
    );
  }
}

/** Returns the code in the title of a phase: `WP01` of `Work Package WP01: Setup`. */
function codeOf(name: string): string | undefined {
  return /(?<![\p{L}\p{N}])[A-Z]+-?\d+(?![\p{L}\p{N}])/u.exec(name)?.[0];
}

/** Returns the level of a heading, or of a phase in bold below all headings: a line, or an item of a list. */
function levelOf({ kind, depth, text, checkbox }: Row): number | undefined {
  if (kind === "heading") return depth;
  const alone = kind === "text" ? depth === -1 : kind === "item" && depth === 0 && checkbox === undefined;
  return alone && /^\*\*phase\b/i.test(text) ? 7 : undefined;
}

const HINT =
  "Make it a task, a criterion below 'Acceptance Criteria:' or an item of a 'Validation Gate:', or remove it.";

/** Reports the checkboxes of criteria of the whole plan: no phase and no task requires them. */
export function reportOfPlan({ ofPlan, source, placed }: PlanReader, report: PlanReport): void {
  for (const { checkbox, line } of ofPlan) {
    if (checkbox === undefined) continue;
    const place = source.position(line, checkbox.column);
    placed.add(place.offset);
    const message = "this is a criterion of the whole plan: no phase requires it";
    report.warn(
      "CHECKBOX_OF_PLAN",
      place,
      message,
      "To require it, write it below 'Validation Gate:' in the last phase.",
    );
  }
}

/** Reports the checkboxes of lists that repeat tasks, with the state of the task. */
export function reportRepeated(reader: PlanReader, plan: Plan, report: PlanReport): void {
  const tasks = new Map(plan.phases.flatMap((phase) => phase.tasks.map((task) => [task.position.line, task])));
  for (const { row, task: own } of reader.repeated) {
    const task = tasks.get(reader.source.position(own.line, 0).line);
    if (task === undefined || row.checkbox === undefined) continue;
    const place = reader.source.position(row.line, row.checkbox.column);
    if (reader.placed.has(place.offset)) continue;
    reader.placed.add(place.offset);
    const differs = isTicked(row.checkbox.mark) !== (task.state === "done");
    const state = task.state.replace("_", " ");
    const message = `this checkbox repeats task ${task.id}, which is ${state}${differs ? ": they differ" : ""}`;
    report.warn("CHECKBOX_REPEATED", place, message, "The task's own state counts; remove the checkbox here.");
  }
}

/** Words before a sign that a text is about: `set this task to [-]`. */
const ABOUT_SIGN =
  /\b(?:to|as|with|marks?|marked|use|uses|using|from|an?|it|them|first|change|means?|becomes?|signs?|box(?:es)?)\s+["'“‘(]?$/i;

/**
 * Reports the checkboxes outside of code that have no place in the plan: at the start of a line or an item, in a table,
 * or in the middle of a sentence that is not about such signs.
 */
export function reportUnplaced(
  { source, placed, words, legend }: PlanReader,
  regions: readonly Region[],
  rows: readonly Row[],
  report: PlanReport,
): void {
  const hidden = hiddenLines(regions);
  const headings = rows.filter(({ kind }) => kind === "heading");
  const signs = new Set([...legend].map(({ line }) => line));
  const states = new Set(rows.flatMap(({ label, line }) => (label?.field === "status" ? [line] : [])));
  const starts = new Map(
    rows.flatMap(({ checkbox, line }) => (checkbox === undefined ? [] : [[line, checkbox] as const])),
  );
  let heading = 0;
  for (const [line, { text }] of source.lines.entries()) {
    while ((headings[heading + 1]?.line ?? Number.POSITIVE_INFINITY) <= line) heading += 1;
    const where = hidden.get(line);
    if (where === "code") continue;
    const begin = firstBox(text);
    const first = where === undefined ? starts.get(line) : begin;
    const boxes = new Map(
      [...checkboxesIn(text), ...(first === undefined ? [] : [first])].map((box) => [box.column, box]),
    );
    if (boxes.size === 0 || signs.has(line) || (isLegend(text, words) && !states.has(line))) continue;
    for (const { column, start } of boxes.values()) {
      const place = source.position(line, column);
      if (placed.has(place.offset)) continue;
      const isStart = column === first?.column || column === begin?.column;
      // The end is enough: a line may be long, and have many boxes.
      if (!isStart && ABOUT_SIGN.test(text.slice(Math.max(0, start - 40), start))) continue;
      const title = headings[heading];
      const section = title === undefined || title.line > line ? "before the first heading" : `below '${title.text}'`;
      const reason = where ?? (isStart ? section : "in the middle of a line");
      report.warn("CHECKBOX_UNPLACED", place, `a checkbox that belongs to no task and no gate, ${reason}`, HINT);
    }
  }
}

/** A phase with its number, and its tasks with their ids. */
interface NumberedPhase {
  readonly draft: PhaseDraft;
  readonly number: number;
  readonly tasks: readonly { readonly draft: TaskDraft; readonly id: string }[];
}

/** Gives each task its id. `identified` means that the plan has ids, so that a task without one is reported. */
function numberTasks(
  phases: readonly { readonly draft: PhaseDraft; readonly number: number }[],
  identified: boolean,
  report: PlanReport,
): NumberedPhase[] {
  const ids = new UniqueIds(phases.flatMap(({ draft }) => draft.tasks.flatMap(({ id }) => id ?? [])));
  const isNamed = ({ id }: TaskDraft) => id !== undefined;
  // In a phase whose tasks have no ids, they are not missing.
  const inPhase = ({ tasks }: PhaseDraft) => identified && tasks.filter(isNamed).length * 2 >= tasks.length;
  return phases.map(({ draft, number }) => ({
    draft,
    number,
    tasks: draft.tasks.map((task, index) => {
      const id = task.id === undefined ? ids.make(`${number}.${index + 1}`) : ids.take(task.id);
      if (task.id !== undefined) reportSecondId(task.id, id, task.position, report);
      else if (inPhase(draft)) {
        const message = `this task has no id; it is ${id} here`;
        report.warn("TASK_WITHOUT_ID", task.position, message, "Give it an id.");
      }
      return { draft: task, id };
    }),
  }));
}

/** Checks whether phases are lettered, in order. */
function isLetterAfter(key: string | undefined, before: string | undefined): boolean {
  if (key === undefined || !/^[a-z]$/.test(key)) return false;
  return before === undefined ? key === "a" : /^[a-z]$/.test(before) && before < key;
}

/** A phase that says itself that nothing is to be done in it. */
const SAYS_NO_TASKS =
  /\b(?:no (?:setup|tasks?|work|changes?|action)|n\/a|not (?:needed|required|applicable)|nothing to)\b/i;

/**
 * Gives each phase its number: the given one if it ascends, else the next one. A phase that is only moved on by an earlier
 * one is not reported.
 */
function numberPhases(drafts: readonly PhaseDraft[], report: PlanReport) {
  let before = -1;
  let written = -1;
  return drafts.map((draft, index) => {
    const given = /^\d{1,6}$/.test(draft.key ?? "") ? Number(draft.key) : undefined;
    const number = given !== undefined && given > before ? given : Math.max(before + 1, 1);
    const ascends = given !== undefined && given > written;
    before = number;
    written = given ?? Math.max(written, Math.floor(Number(draft.key)) || 0);
    const isLetter = isLetterAfter(draft.key, drafts[index - 1]?.key);
    const isPart = /^\d+\.\d+$/.test(draft.key ?? "") && /^\d+\.\d+$/.test(drafts[index - 1]?.key ?? "");
    if (draft.key !== undefined && number !== given && !ascends && !isLetter && !isPart) {
      // The number may be that of the ids of its tasks, and then the title doesn't have it.
      const title = draft.name === "" ? `'Phase ${draft.key}'` : `'${draft.name}' (${draft.key})`;
      const message = `${title} is phase ${number} here: numbers must be whole and ascending`;
      report.warn("PHASE_RENUMBERED", draft.position, message, `Write Phase ${number}, or move it.`);
    }
    if (draft.tasks.length === 0 && !SAYS_NO_TASKS.test(`${draft.name} ${draft.goal ?? ""}`)) {
      const message = `phase ${number} has no tasks`;
      report.warn("PHASE_EMPTY", draft.position, message, "Add its tasks, or remove the heading.");
    }
    return { draft, number };
  });
}

/** The number before an item of a list. */
const ORDINAL = /^\s*(\d{1,4})[.)]\s/;

function linkedPhase(
  { draft, number, tasks }: NumberedPhase,
  waves: Waves,
  edges: ReadonlyMap<string, readonly Named[]>,
  { words, source }: PlanReader,
): LinkedPhase {
  const linked = tasks.map(({ id, draft: { position, dependencies, name, id: written, row } }) => ({
    id,
    position,
    name,
    ordinal: written === undefined ? ORDINAL.exec(source.text(row.line))?.[1] : undefined,
    named: (isId: (word: string) => boolean) => [
      ...dependencies.map((said) => readDependencies(said, words, isId)),
      ...(edges.get(id) ?? []),
      { tasks: waves.get(id) ?? [], phases: [] },
    ],
  }));
  return { key: draft.key ?? `${number}`, code: codeOf(draft.name), tasks: linked };
}

function finishTask(
  { draft, id }: NumberedPhase["tasks"][number],
  state: TaskState,
  dependencies: readonly string[],
  { source, told, untold, words }: PlanReader,
): PlanTask {
  const description = descriptionOf(draft, source, (line) => told.has(line) && !untold.has(line), words);
  const { time, checkbox, story, status: { word } = {} } = draft;
  return {
    id,
    name: draft.name,
    ...(description === "" ? {} : { description }),
    ...(time === undefined ? {} : { estimatedTime: time }),
    dependencies,
    acceptanceCriteria: [...draft.criteria].sort((one, other) => one.position.offset - other.position.offset),
    state,
    ...(checkbox && { checkbox }),
    ...(word !== undefined && (checkbox?.position ?? word.position).line === word.position.line && { status: word }),
    optional: draft.optional,
    parallel: draft.marked ?? draft.parallel,
    ...(story === undefined ? {} : { story }),
    requirements: [...new Set(draft.requirements)],
    files: [...new Set(draft.files)],
    position: draft.position,
  };
}

function keep(found: Map<string, string>, key: string | undefined, said: string): void {
  const text = said.trim().replace(/^(\d+(?:\s*-\s*\d+)?)$/, "$1 hours");
  if (key !== undefined && !found.has(key) && durationIn(text) !== undefined) found.set(key, text);
}

function columnsOf(cells: readonly string[]) {
  const phase = cells.findIndex((cell) => /^(?:phase|#)$/i.test(cell));
  const time = cells.findIndex((cell) => /duration|hours|time|effort|estimate/i.test(cell));
  return phase === -1 || time === -1 ? undefined : { phase, time };
}

/** Returns the lines that are not read, with the reason. Checkboxes in `code` are not reported. */
function hiddenLines(regions: readonly Region[]): Map<number, string> {
  const hidden = new Map<number, string>();
  for (const { kind, start, end, strictEnd, unclosed } of regions) {
    for (let line = start; line < end; line += 1) {
      if (kind === "comment") hidden.set(line, "in a comment");
      else if (unclosed) hidden.set(line, "in code that is never closed");
      else hidden.set(line, strictEnd !== undefined && line >= strictEnd ? "in a sample in a sample" : "code");
    }
  }
  return hidden;
}

/** Returns the checkbox at the start of a line, an item or a heading. */
function firstBox(text: string) {
  const before = /^(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)])(?=[ \t[]))*[ \t]*(?:#{1,6}[ \t])?/.exec(text)?.[0] ?? "";
  return checkboxAt(text, before.length, /[-*+.)]/.test(before));
}
