/**
 * Finds the headings that begin a phase, and the rows that name a task. Plans name their phases more than once, in
 * overviews, summaries and lists of risks; the heading that counts is the one above the tasks.
 */
import type { Dialect } from "./drafts.js";
import type { Row } from "./rows.js";
import {
  fieldOf,
  isGateTitle,
  loosePhaseTitle,
  NO_TASKS_HEADING,
  numberedTitle,
  type PhaseTitle,
  phaseTitle,
  type TaskIds,
  taskTitle,
} from "./titles.js";

/** The ids of tasks in a plan. */
interface TaskRows {
  readonly idOf: ReadonlyMap<Row, string>;
  /** Number of rows with a checkbox, and of headings, that begin with each id. */
  readonly mentions: ReadonlyMap<string, number>;
}

/** The title of a phase. */
export interface PhaseStart {
  /** The number or letter as it is written; undefined if there is none. */
  readonly key: string | undefined;
  readonly name: string;
  readonly level: number;
}

/** The phases and task ids of a plan. */
export interface Outline extends TaskRows {
  /** The titles of phases by the index of their row. */
  readonly starts: ReadonlyMap<number, PhaseStart>;
  /** True if no heading names a phase, and the tasks `2`, `2.1`, `2.2` are phase 2. */
  readonly grouped: boolean;
  /** True if tasks have ids, so that a checkbox without one is usually not a task. */
  readonly identified: boolean;
  /** The index of the first task, if the plan has no phase. */
  readonly untitled?: number;
}

/** Returns the id of a row that is a task of its section; in a plan without ids, its line. */
type Weight = (index: number) => string | undefined;

/** Finds the phases of a plan. */
export function outlineOf(rows: readonly Row[], dialect: Dialect): Outline {
  const { idOf, mentions } = taskRowsOf(rows, dialect);
  const ids = rows.map((row) => idOf.get(row));
  const shared = { identified: idOf.size > 0, idOf, mentions };
  const weight: Weight = (index) => ids[index] ?? (shared.identified ? undefined : plainTask(rows[index]));
  const headings = new Set(rows.flatMap(({ kind, text }) => (kind === "heading" && phaseTitle(text)?.key) || []));
  const bold = headings.size === 0;
  const keys = bold ? boldKeys(rows, weight) : headings;
  const named = candidates(rows, weight, (row) => namedPhase(row, keys, bold));
  const phases = named.length > 0 ? chosen(named) : listedPhases(rows, ids, shared.identified);
  const numberedTasks = () => countTasks(candidates(rows, weight, (row) => numberedSection(anySection(row, dialect))));
  const tooFew = keys.size === 0 && named.length > 0 && countTasks(named) < numberedTasks();
  if (phases.length > 0 && !tooFew) return { starts: startsOf(phases), grouped: false, ...shared };
  const sections = sectionsOf(rows, ids, weight, dialect);
  const numbered = sections.some(({ key }) => key !== undefined);
  const grouped = !numbered && sections.length < 2 && dialect.nested === "tasks" && ids.some((id) => id?.includes("."));
  const starts = startsOf(grouped ? sections : sections.map(withKey));
  // A task without an id is below no heading only if it is above all of them.
  const ends = ({ kind }: Row) => kind === "heading" && !shared.identified;
  const first = rows.findIndex((row, index) => weight(index) !== undefined || ends(row));
  const untitled = starts.size === 0 && weight(first) !== undefined ? { untitled: first } : {};
  return { starts, grouped, ...shared, ...untitled };
}

/**
 * Finds the ids of tasks. A heading or an item with a checkbox and an id is a task. Of other rows with an id, one is a
 * task if no heading or checkbox has the id, or if those are further down with nothing below them, as in a checklist.
 */
function taskRowsOf(rows: readonly Row[], dialect: Dialect): TaskRows {
  const idOf = new Map<Row, string>();
  const mentions = new Map<string, number>();
  for (const [id, { marked, bare }] of byId(mentionsIn(rows, dialect))) {
    const first = marked[0]?.row.line ?? Number.POSITIVE_INFINITY;
    const hasMore = bare !== undefined && (marked.length === 0 || (bare.below > 0 && bare.row.line < first));
    if (bare !== undefined && hasMore && marked.every((mention) => mention.below === 0)) {
      idOf.set(bare.row, id);
    } else {
      for (const { row } of marked) idOf.set(row, id);
      mentions.set(id, marked.length);
    }
  }
  return { idOf, mentions };
}

/** A row that begins with the id of a task. */
interface Mention {
  readonly id: string;
  readonly row: Row;
  /** True if the row is a heading or has a checkbox. */
  readonly marked: boolean;
  /** Number of rows below it. */
  below: number;
}

/** Returns the mentions of each id; of those without a mark, the one with the most rows below it. */
function byId(mentions: readonly Mention[]) {
  const found = new Map<string, { readonly marked: Mention[]; bare?: Mention }>();
  for (const mention of mentions) {
    const entry = found.get(mention.id) ?? { marked: [] };
    found.set(mention.id, entry);
    if (mention.marked) entry.marked.push(mention);
    else if (mention.below > (entry.bare?.below ?? -1)) entry.bare = mention;
  }
  return found;
}

function mentionsIn(rows: readonly Row[], dialect: Dialect): Mention[] {
  const found: Mention[] = [];
  const forms = headingForms(rows, dialect);
  let open: Mention | undefined;
  for (const row of rows) {
    const marked = row.kind === "heading" ? headingId(row, forms) : checkedId(row, dialect);
    const id = marked ?? bareId(row, dialect);
    if (id !== undefined) {
      open = { id, row, marked: marked !== undefined, below: 0 };
      found.push(open);
    } else if (open !== undefined && isBelow(row, open.row)) {
      open.below += 1;
    } else {
      open = undefined;
    }
  }
  return found;
}

/** Returns the forms of ids in headings. `1.2 Name` is a task if no item has an id, else a section with tasks. */
function headingForms(rows: readonly Row[], { ids }: Dialect): readonly TaskIds[] {
  const named = ids.filter((form) => form !== "number");
  const phased = rows.some(({ kind, text }) => kind === "heading" && phaseTitle(text) !== undefined);
  const items = rows.some((row) => row.kind === "item" && row.checkbox !== undefined && hasNumber(row.text));
  return phased && !items ? [...named, "number"] : named;
}

function hasNumber(text: string): boolean {
  return taskTitle(text, ["number"])?.id.includes(".") ?? false;
}

const PLAIN_TASK = /^(?:\*\*|__)?Task[ \t]/i;

function headingId({ text }: Row, forms: readonly TaskIds[]): string | undefined {
  const id = taskTitle(text, forms)?.id;
  // `2. Setup` is a section, even if `2.1 Tables` is a task.
  return id === undefined || (/^\d+$/.test(id) && !PLAIN_TASK.test(text)) ? undefined : id;
}

function checkedId({ kind, checkbox, text }: Row, { ids }: Dialect): string | undefined {
  return kind === "item" && checkbox !== undefined ? taskTitle(text, ids)?.id : undefined;
}

/** A line that begins with `**Task 1.1**`: it may be a task, or mention one. */
const BOLD_TASK = /^(?:\*\*|__)Task\b/i;

function bareId({ kind, depth, text }: Row, { ids }: Dialect): string | undefined {
  const item = kind === "item" && PLAIN_TASK.test(text);
  const line = kind === "text" && depth === -1 && BOLD_TASK.test(text);
  return item || line ? taskTitle(text, ids)?.id : undefined;
}

/** Checks whether a row belongs to the one above: deeper in its list, or a line of text. */
function isBelow({ kind, depth }: Row, above: Row): boolean {
  return kind === "text" || (kind === "item" && (above.kind !== "item" || depth > above.depth));
}

function plainTask(row: Row | undefined, depth = 0): string | undefined {
  return row?.checkbox !== undefined && row.kind === "item" && row.depth === depth ? `${row.line}` : undefined;
}

/** A heading, or a line or item in place of one, that may begin a phase. */
interface Candidate extends PhaseStart {
  readonly index: number;
  readonly parent: number;
  /** Ids of the tasks below it; in plans without ids, one for each checkbox. */
  readonly tasks: readonly string[];
}

/**
 * Returns headings with the tasks below them: up to the next candidate, or to a heading that isn't deeper and belongs to
 * no task and no gate; with `direct`, up to any heading.
 */
function candidates(
  rows: readonly Row[],
  weight: Weight,
  startAt: (row: Row) => PhaseStart | undefined,
  direct = false,
): Candidate[] {
  const found: (Candidate & { readonly tasks: string[] })[] = [];
  const parents: { readonly level: number; readonly index: number }[] = [];
  let open: (Candidate & { readonly tasks: string[] }) | undefined;
  for (const [index, row] of rows.entries()) {
    const start = startAt(row);
    if (row.kind === "heading") {
      while ((parents.at(-1)?.level ?? 0) >= row.depth) parents.pop();
      const task = weight(index) !== undefined;
      if (!task && (direct || (open !== undefined && row.depth <= open.level && !isGateTitle(row.text))))
        open = undefined;
    }
    if (start !== undefined && weight(index) === undefined) {
      open = { ...start, index, parent: parents.at(-1)?.index ?? -1, tasks: [] };
      found.push(open);
    }
    if (row.kind === "heading") parents.push({ level: row.depth, index });
    const task = weight(index);
    if (task !== undefined) open?.tasks.push(task);
  }
  return found;
}

/** Returns the numbers of the phases with tasks whose regular title is a line in bold. */
function boldKeys(rows: readonly Row[], weight: Weight): ReadonlySet<string> {
  const regular = candidates(rows, weight, (row) => {
    const title = isBoldLine(row) && !isGateTitle(row.text) ? phaseTitle(row.text) : undefined;
    return title && { ...title, level: BELOW_HEADINGS };
  });
  return new Set(full(regular).flatMap(({ key }) => key ?? []));
}

function isBoldLine({ kind, depth, text }: Row): boolean {
  return kind === "text" && depth === -1 && BOLD_LINE.test(text);
}

function countTasks(all: readonly Candidate[]): number {
  return all.reduce((sum, { tasks }) => sum + tasks.length, 0);
}

/**
 * Returns the phase of a heading or, with `bold`, of a line in bold. `keys` are the phases with a regular title.
 */
function namedPhase(row: Row, keys: ReadonlySet<string>, bold: boolean): PhaseStart | undefined {
  if (row.kind !== "heading" && !(bold && isBoldLine(row))) return undefined;
  const title =
    isGateTitle(row.text) && !/^[^\p{L}]*phase\s+\w+\s*[:.)]/iu.test(row.text)
      ? undefined
      : (phaseTitle(row.text) ?? otherPhase(row.text, keys));
  return title && { ...title, level: row.kind === "heading" ? row.depth : BELOW_HEADINGS };
}

/** A line in bold, also with `(2 days)` after it. */
const BOLD_LINE = /^\*\*[^*]+\*\*:?(?:[ \t]*\([^()]*\))?:?$/;

/** The level of a phase that is no heading: every heading ends it. */
const BELOW_HEADINGS = 7;

/** Returns the items of a list that are phases with tasks nested in them; none if the list has other items among them. */
function listedPhases(rows: readonly Row[], ids: Ids, identified: boolean): Candidate[] {
  const top = rows.filter(({ kind, depth }) => kind === "item" && depth === 0);
  const first = top.findIndex(({ checkbox, text }) => checkbox !== undefined || phaseTitle(text) !== undefined);
  if (top.slice(first).some(({ text }) => phaseTitle(text) === undefined)) return [];
  const nested: Weight = (index) => {
    const row = rows[index];
    if (row?.kind !== "item" || row.depth === 0) return undefined;
    return ids[index] ?? (identified ? undefined : plainTask(row, 1));
  };
  const listed = candidates(rows, nested, (row) => {
    const title = row.kind === "item" && row.depth === 0 ? phaseTitle(row.text) : undefined;
    return title && { ...title, level: BELOW_HEADINGS };
  });
  // A checkbox with nothing nested in it is a task, also if its name is `Phase 2: api`.
  const isLeaf = ({ index, tasks }: Candidate) => tasks.length === 0 && rows[index]?.checkbox !== undefined;
  return full(listed).length > 0 && !listed.some(isLeaf) ? chosen(listed) : [];
}

function otherPhase(text: string, keys: ReadonlySet<string>): PhaseTitle | undefined {
  const title = loosePhaseTitle(text);
  return title === undefined || keys.has(title.key) ? undefined : title;
}

/**
 * Returns, for each number, the headings with tasks that no earlier one has, else the first with tasks: their numbers may
 * begin anew in each phase. Adds empty ones beside these.
 */
function chosen(all: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  const fresh = all.filter(({ tasks }) => {
    const own = tasks.filter((id) => !seen.has(id));
    for (const id of own) seen.add(id);
    return own.length > 0;
  });
  const keys = new Set(fresh.map(({ key }) => key));
  const firstOf = (candidates: readonly Candidate[]) =>
    candidates.filter(({ key }) => {
      const isFirst = !keys.has(key);
      keys.add(key);
      return isFirst;
    });
  const taken = [...fresh, ...firstOf(full(all))];
  const places = new Set(taken.map(placeOf));
  const empty = firstOf(all.filter((candidate) => taken.length === 0 || places.has(placeOf(candidate))));
  return [...taken, ...empty];
}

function full(all: readonly Candidate[]): Candidate[] {
  return all.filter(({ tasks }) => tasks.length > 0);
}

/** Returns the level of a heading and its parent, as a key. */
function placeOf({ level, parent }: Candidate): string {
  return `${level} ${parent}`;
}

function startsOf(phases: readonly Candidate[]): Map<number, PhaseStart> {
  return new Map(phases.map(({ index, key, name, level }) => [index, { key, name, level }]));
}

type Ids = readonly (string | undefined)[];

/**
 * Returns the sections with tasks, in a plan without phases. If sections are numbered, each includes its deeper headings,
 * and one without a number may have tasks without ids.
 */
function sectionsOf(rows: readonly Row[], ids: Ids, weight: Weight, dialect: Dialect): Candidate[] {
  const start = (row: Row) => anySection(row, dialect);
  const levels = candidates(rows, weight, (row) => numberedSection(start(row))).flatMap(({ tasks, level }) =>
    tasks.length > 0 ? [level] : [],
  );
  if (levels.length === 0) return full(candidates(rows, weight, start, true));
  const deepest = Math.min(...levels);
  const any: Weight = (index) => ids[index] ?? plainTask(rows[index]);
  const shallow = (row: Row) => (row.depth <= deepest ? start(row) : undefined);
  return full(candidates(rows, any, shallow)).filter(
    ({ key, name }) => key !== undefined || !NO_TASKS_HEADING.test(name),
  );
}

/** Returns any heading as a phase: in a plan without phases, every section with tasks is one. */
function anySection(row: Row, { section }: Dialect): PhaseStart | undefined {
  if (row.kind !== "heading") return undefined;
  if (section !== undefined && !section.test(row.text)) return undefined;
  const numbered = numberedTitle(row.text);
  if (numbered !== undefined) return { ...numbered, level: row.depth };
  const field = fieldOf(row.text);
  if (isGateTitle(row.text) || field === "success" || field === "criteria") return undefined;
  return { key: undefined, name: row.text.replace(/\*\*|__/g, "").trim(), level: row.depth };
}

function numberedSection(start: PhaseStart | undefined): PhaseStart | undefined {
  return start?.key === undefined ? undefined : start;
}

/** Gives a section without a number the one that all its tasks begin with. */
function withKey(section: Candidate): Candidate {
  const parts = new Set(section.tasks.map((id) => /^(\d+)\./.exec(id)?.[1]));
  const [key] = parts;
  return section.key !== undefined || parts.size !== 1 ? section : { ...section, key };
}
