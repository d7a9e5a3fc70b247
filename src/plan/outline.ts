/**
 * Finds the headings that begin a phase, and the rows that name a task. Plans name their phases more than once, in
 * overviews, summaries and lists of risks; the heading that counts is the one above the tasks.
 */
import { idsNamed } from "./dependencies.js";
import type { Dialect } from "./dialects.js";
import { codePrefixes, IdReader, type TaskIds } from "./ids.js";
import { ancestorsOf, holdersOf, isWithin, type Row, titleOf } from "./rows.js";
import {
  fieldOf,
  isGateTitle,
  loosePhaseTitle,
  NO_TASKS_HEADING,
  numberedTitle,
  type PhaseTitle,
  wordAndNumber,
} from "./titles.js";
import type { Vocabulary } from "./words.js";

/** The rows that name a task. */
interface TaskRows {
  /** The reader of ids, with the codes of this plan. */
  readonly ids: IdReader;
  /** The ids of the tasks, by the row of each. */
  readonly idOf: ReadonlyMap<Row, string>;
  /** The names of these tasks. */
  readonly nameOf: ReadonlyMap<Row, string>;
  /** Number of headings and of rows with a checkbox that begin with each id. */
  readonly mentions: ReadonlyMap<string, number>;
  /** Rows without anything below them that name a task which has its row elsewhere, as in a checklist: the task's row. */
  readonly repeats: ReadonlyMap<Row, Row>;
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
  /** The titles of phases by their row. */
  readonly starts: ReadonlyMap<Row, PhaseStart>;
  /** True if no heading names a phase, and the tasks `2`, `2.1`, `2.2` are phase 2. */
  readonly grouped: boolean;
  /** True if tasks have ids, so that a checkbox without one is usually not a task. */
  readonly identified: boolean;
  /** The first task, if the plan has no phase. */
  readonly untitled?: Row;
}

/** Returns the id of a row that is a task of its section; in a plan without ids, its line. */
type Weight = (row: Row) => string | undefined;

/** Finds the phases of a plan. */
export function outlineOf(rows: readonly Row[], dialect: Dialect, words: Vocabulary): Outline {
  const tasks = taskRowsOf(rows, dialect, words);
  const { idOf, nameOf } = tasks;
  const shared = { identified: idOf.size > 0, ...tasks };
  const weight: Weight = (row) =>
    idOf.get(row) ?? (shared.identified || tasks.repeats.has(row) ? undefined : plainTask(row));
  const headings = new Set(rows.flatMap(({ kind, phase }) => (kind === "heading" && phase?.key) || []));
  const bold = headings.size === 0;
  const keys = bold ? boldKeys(rows, weight) : headings;
  const named = candidates(rows, weight, (row) => namedPhase(row, keys, bold));
  const phases = named.length > 0 ? chosen(named, nameOf) : listedPhases(rows, tasks, shared.identified);
  const numberedTasks = () =>
    countTasks(candidates(rows, weight, (row) => numberedSection(anySection(row, dialect, words))));
  const tooFew = keys.size === 0 && named.length > 0 && countTasks(named) < numberedTasks();
  const chosenPhases = phases.length > 0 && !tooFew ? phases : wordedPhases(rows, weight, words);
  if (chosenPhases.length > 0) {
    return { starts: withSections(rows, idOf, startsOf(chosenPhases)), grouped: false, ...shared };
  }
  const start = (row: Row) => anySection(row, dialect, words);
  const sections = sectionsOf(rows, idOf, weight, start);
  const numbered = sections.some(({ key }) => key !== undefined);
  const dotted = () => [...idOf.values()].some((id) => id.includes("."));
  const grouped = !numbered && sections.length < 2 && dialect.nested === "tasks" && dotted();
  const starts = startsOf([
    ...(grouped ? sections : sections.map(withKey)),
    ...(shared.identified ? plainSections(rows, idOf, sections, start) : []),
  ]);
  // A task without an id is below no heading only if it is above all of them.
  const ends = ({ kind }: Row) => kind === "heading" && !shared.identified;
  const first = rows.find((row) => weight(row) !== undefined || ends(row));
  const untitled = starts.size === 0 && first !== undefined && weight(first) !== undefined ? { untitled: first } : {};
  return { starts, grouped, ...shared, ...untitled };
}

/**
 * Finds the ids of tasks. A heading or an item with a checkbox and an id is a task. Of other rows with an id, one is a
 * task if no heading or checkbox has the id, or if those have nothing below them, as in a checklist.
 */
function taskRowsOf(rows: readonly Row[], dialect: Dialect, words: Vocabulary): TaskRows {
  const marked = rows.filter(({ kind, checkbox }) => kind === "heading" || checkbox !== undefined);
  const ids = new IdReader(
    words.taskWord,
    codePrefixes(marked.map(titleOf), (isId) => idsNamed(rows, words, isId)),
  );
  const idOf = new Map<Row, string>();
  const repeats = new Map<Row, Row>();
  const counts = new Map<string, number>();
  const found = withoutSections(mentionsIn(rows, dialect, ids), ids);
  const nameOf = new Map(found.map(({ row, name }) => [row, name]));
  for (const [id, { marked: all, bare }] of byId(found)) {
    const first = all[0]?.row.line ?? Number.POSITIVE_INFINITY;
    const isBare = bare !== undefined && (all.length === 0 || (bare.below > 0 && bare.row.line < first));
    const main = isBare && all.every(({ below }) => below === 0) ? bare : heaviest(all);
    if (main === undefined) continue;
    idOf.set(main.row, id);
    for (const other of all) {
      if (other === main) continue;
      if (isRepeat(other, main, words)) repeats.set(other.row, main.row);
      else idOf.set(other.row, id);
    }
    counts.set(id, all.length);
  }
  return { ids, idOf, nameOf, repeats: idOf.size > 0 ? repeats : repeatedNames(rows), mentions: counts };
}

/** Returns the rows of checklists and overviews, in a plan without ids, that have the name of a task elsewhere. */
function repeatedNames(rows: readonly Row[]): ReadonlyMap<Row, Row> {
  const plain = rows.filter((row) => plainTask(row) !== undefined);
  const isListed = (row: Row) => LISTS_TASKS.test(sectionOf(row)?.text ?? "");
  const named = new Map(plain.filter((row) => !isListed(row)).map((row) => [row.text.toLowerCase(), row]));
  return new Map(
    plain.flatMap((row) => {
      const own = isListed(row) ? named.get(row.text.toLowerCase()) : undefined;
      return own === undefined ? [] : [[row, own]];
    }),
  );
}

/** A row that begins with the id of a task. */
interface Mention {
  readonly id: string;
  readonly name: string;
  readonly row: Row;
  /** True if the row is a heading or has a checkbox. */
  readonly marked: boolean;
  /** Number of rows below it. */
  below: number;
}

/** Returns the mention with the most rows below it; of equals, the first. */
function heaviest(mentions: readonly Mention[]): Mention | undefined {
  return mentions.reduce<Mention | undefined>((best, one) => (one.below > (best?.below ?? -1) ? one : best), undefined);
}

/** Sections that list the tasks of other sections. */
const LISTS_TASKS = /\b(?:checklist|summary|overview|progress|status|completion|tracking|index|quick reference)\b/i;

/** Checks whether a mention only repeats a task: it has nothing below it, is elsewhere, and has its name or is in a list of tasks. */
function isRepeat({ row, name, below }: Mention, main: Mention, words: Vocabulary): boolean {
  if (below > 0 || row.kind === "heading" || sectionOf(row) === sectionOf(main.row)) return false;
  const section = sectionOf(row)?.text ?? "";
  if (LISTS_TASKS.test(section) || fieldOf(section, words) === "criteria") return true;
  // Whole numbers may begin anew in each section.
  return (main.below > 0 || main.row.kind === "heading") && !/^\d+$/.test(main.id) && sameName(name, main.name);
}

function sectionOf(row: Row): Row | undefined {
  let { parent } = row;
  while (parent !== undefined && parent.kind !== "heading") ({ parent } = parent);
  return parent;
}

/** Checks whether two names have at least half of their words in common, or one of them has none. */
export function sameName(one: string, other: string): boolean {
  const wordsOf = (name: string) => new Set(name.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const [first, second] = [wordsOf(one), wordsOf(other)];
  const common = [...first].filter((word) => second.has(word)).length;
  return common * 2 >= Math.min(first.size, second.size) && (common > 0 || first.size * second.size === 0);
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

/**
 * Leaves out headings above other tasks: `### 1.1 Types` above `- [ ] 1. Write the types` is a section. One with the word
 * for task is one only if it has nothing but its subtasks.
 */
function withoutSections(mentions: readonly Mention[], ids: IdReader): Mention[] {
  const sections = new Set<Row>();
  const open: Mention[] = [];
  for (const mention of mentions) {
    const { row, marked, id } = mention;
    while (open.length > 0 && !isWithin(row, open.at(-1)?.row)) open.pop();
    if (marked) {
      for (const above of open) {
        const isGroup = above.below === 0 && above.row.checkbox === undefined && id.startsWith(`${above.id}.`);
        if (isGroup || !ids.isNamed(titleOf(above.row))) sections.add(above.row);
      }
    }
    if (row.kind === "heading") open.push(mention);
  }
  return mentions.filter(({ row }) => !sections.has(row));
}

function mentionsIn(rows: readonly Row[], dialect: Dialect, ids: IdReader): Mention[] {
  const found: Mention[] = [];
  const forms = headingForms(rows, dialect, ids);
  let open: Mention | undefined;
  const holders = holdersOf(rows);
  const numbers = nextNumbers(rows, dialect, ids);
  for (const row of rows) {
    const checked = row.kind === "heading" ? headingId(row, forms, ids) : checkedId(row, dialect, ids);
    const marked = checked ?? numbers.get(row);
    const title = marked ?? bareId(row, dialect, ids, holders.has(row));
    if (title !== undefined) {
      open = { id: title.id, name: title.rest, row, marked: marked !== undefined, below: 0 };
      found.push(open);
    } else if (open !== undefined && isBelow(row, open.row)) {
      open.below += 1;
    } else {
      open = undefined;
    }
  }
  // In a dialect whose subtasks are criteria, the ids below a task are theirs.
  if (dialect.nested === "tasks") return found;
  const mentioned = new Set(found.map(({ row }) => row));
  return found.filter(({ row }) => row.kind !== "item" || !ancestorsOf(row).some((above) => mentioned.has(above)));
}

/** Returns the forms of ids in headings. `1.2 Name` is a task if no item has a number, else a section with tasks. */
function headingForms(rows: readonly Row[], { ids: forms }: Dialect, ids: IdReader): readonly TaskIds[] {
  const named = forms.filter((form) => form !== "number");
  const phased = rows.some(
    ({ kind, phase, text }) => kind === "heading" && (phase !== undefined || numberedTitle(text) !== undefined),
  );
  const items = rows.some(
    (row) => row.kind === "item" && row.checkbox !== undefined && ids.read(row.text, ["number"]) !== undefined,
  );
  return phased && !items ? [...named, "number"] : named;
}

function headingId(row: Row, forms: readonly TaskIds[], ids: IdReader) {
  const text = titleOf(row);
  const title = ids.read(text, forms);
  // `2. Setup` is a section, even if `2.1 Tables` is a task.
  return title === undefined || (/^\d+$/.test(title.id) && !ids.isNamed(text)) ? undefined : title;
}

function checkedId({ kind, checkbox, text }: Row, { ids: forms }: Dialect, ids: IdReader) {
  return kind === "item" && checkbox !== undefined ? ids.read(text, forms) : undefined;
}

/** Returns the numbers without a dot, `3 Name`, that follow the one of the item before or, as `1`, precede a `2`. */
function nextNumbers(rows: readonly Row[], { ids: forms }: Dialect, ids: IdReader) {
  const found = new Map<Row, { readonly id: string; readonly rest: string }>();
  const before = new Map<Row | undefined, { readonly row: Row; readonly number: number; readonly rest?: string }>();
  if (!forms.includes("number")) return found;
  const isDotted = ({ checkbox, text }: Row) => checkbox !== undefined && ids.read(text, ["number"]) !== undefined;
  const startsAt1 = !rows.some(isDotted);
  for (const row of rows) {
    if (row.kind !== "item" || row.checkbox === undefined) continue;
    const { text, parent } = row;
    const dotted = ids.read(text, ["number"])?.id;
    const [start = "", plain] = /^(\d{1,4})[ \t]+(?=\p{L})/u.exec(text) ?? [];
    const number = Number(dotted ?? plain);
    const rest = dotted === undefined ? text.slice(start.length) : undefined;
    const last = before.get(parent);
    before.set(parent, { row, number, ...(rest !== undefined && { rest }) });
    if (rest === undefined || last?.number !== number - 1) continue;
    if (startsAt1 && last.number === 1 && last.rest !== undefined) found.set(last.row, { id: "1", rest: last.rest });
    if (last.rest === undefined || found.has(last.row)) found.set(row, { id: `${number}`, rest });
  }
  return found;
}

/** A line that begins with `**Task 1.1**`: it may be a task, or mention one. */
const BOLD = /^(?:\*\*|__)/;
/** A word alone, not the name of a file such as `task-4-write.md`. */
const NAMED = /^(?:\*\*|__)?[\p{L}-]+[ \t]/u;

function bareId({ kind, depth, text, label }: Row, { ids: forms }: Dialect, ids: IdReader, holdsBoxes: boolean) {
  if (kind === "item" && holdsBoxes && (label === undefined || label.field === "other")) {
    const title = ids.read(text, forms);
    if (title !== undefined && !/^\d+$/.test(title.id)) return title;
  }
  const mentions = kind === "item" ? NAMED.test(text) : kind === "text" && depth === -1 && BOLD.test(text);
  return mentions && ids.isNamed(text) ? ids.read(text, forms) : undefined;
}

/** Checks whether a row belongs to the one above: deeper in its list, or a line of text. */
function isBelow({ kind, depth }: Row, above: Row): boolean {
  return kind === "text" || kind === "cells" || (kind === "item" && (above.kind !== "item" || depth > above.depth));
}

/** Returns a line as the id of a task without one: an item with a checkbox that is in no other such item. */
function plainTask(row: Row): string | undefined {
  if (row.checkbox === undefined || row.kind !== "item") return undefined;
  return ancestorsOf(row).some(({ checkbox, kind }) => kind === "item" && checkbox !== undefined)
    ? undefined
    : `${row.line}`;
}

/** A heading, or a line or item in place of one, that may begin a phase. */
interface Candidate extends PhaseStart {
  readonly row: Row;
  /** Ids of the tasks below it; in plans without ids, one for each checkbox. */
  readonly tasks: readonly string[];
  /** Their rows. */
  readonly rows: readonly Row[];
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
  const found: (Candidate & { readonly tasks: string[]; readonly rows: Row[] })[] = [];
  let open: (typeof found)[number] | undefined;
  for (const row of rows) {
    const task = weight(row);
    if (task !== undefined) {
      open?.tasks.push(task);
      open?.rows.push(row);
      continue;
    }
    if (row.kind === "heading" && (direct || (open !== undefined && row.depth <= open.level && !isGateTitle(row.text))))
      open = undefined;
    const start = startAt(row);
    if (start === undefined) continue;
    open = { ...start, row, tasks: [], rows: [] };
    found.push(open);
  }
  return found;
}

/** Returns the numbers of the phases with tasks whose regular title is a line in bold. */
function boldKeys(rows: readonly Row[], weight: Weight): ReadonlySet<string> {
  const regular = candidates(rows, weight, (row) => {
    const title = isBoldLine(row) && !isGateTitle(row.text) ? numbered(row.phase) : undefined;
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
      : ((row.kind === "heading" ? row.phase : numbered(row.phase)) ?? otherPhase(row.text, keys));
  return title && { ...title, level: row.kind === "heading" ? row.depth : BELOW_HEADINGS };
}

/** Only a heading is a phase without a number: `Phase: 2` may be a property of a task. */
function numbered(phase: PhaseTitle | undefined): PhaseTitle | undefined {
  return phase?.key === undefined ? undefined : phase;
}

/** Adds the sections beside phases that have tasks with ids: `## Hotfixes` between phase 5 and phase 6 is a phase without a number. */
function withSections(
  rows: readonly Row[],
  idOf: ReadonlyMap<Row, string>,
  starts: ReadonlyMap<Row, PhaseStart>,
): ReadonlyMap<Row, PhaseStart> {
  const all = new Map(starts);
  const [first] = starts.values();
  const covered = new Set<string>();
  let level: number | undefined;
  for (const row of rows) {
    const start = starts.get(row);
    if (start !== undefined) level = start.level;
    else if (row.kind === "heading" && !idOf.has(row) && row.depth <= (level ?? 0) && !isGateTitle(row.text))
      level = undefined;
    const id = idOf.get(row);
    if (id === undefined) continue;
    const isOwn = (row.kind === "heading" || row.checkbox !== undefined) && !covered.has(id);
    const section = level === undefined && isOwn ? sectionBeside(row, first?.level ?? 0, idOf) : undefined;
    if (level !== undefined) covered.add(id);
    if (section === undefined || isNoPhase(section)) continue;
    covered.add(id);
    level = section.depth;
    all.set(section, { key: undefined, name: section.text.replace(/\*\*|__/g, "").trim(), level });
  }
  return all;
}

function isNoPhase({ text, phase }: Row): boolean {
  return phase !== undefined || NO_TASKS_HEADING.test(text) || LISTS_TASKS.test(text);
}

/** Returns the heading above a row that is on the level of the phases, else the nearest one that is no task. */
function sectionBeside(row: Row, level: number, idOf: ReadonlyMap<Row, string>): Row | undefined {
  let nearest: Row | undefined;
  for (let { parent } = row; parent !== undefined; { parent } = parent) {
    if (parent.kind !== "heading" || idOf.has(parent)) continue;
    if (parent.depth === level) return parent;
    nearest ??= parent;
  }
  return nearest;
}

/** A plan has few words for its parts; each that is tried takes time for all rows. */
const WORDS_TRIED = 5;

/** Words before a number that name something else than a part of the work. */
const NO_PART = /^(?:option|example|appendix|figure|table|requirement|version|question|note)$/;

/**
 * Returns headings such as `Wave 1: Name` or `Vaihe 1: Name` as phases, if no heading has a known word for them, all
 * tasks are below them, and at least two have tasks.
 */
function wordedPhases(rows: readonly Row[], weight: Weight, words: Vocabulary): Candidate[] {
  const all = rows.filter(
    (row) => weight(row) !== undefined && !NO_TASKS_HEADING.test(sectionOf(row)?.text ?? ""),
  ).length;
  const counts = new Map<string, number>();
  for (const { kind, text } of rows) {
    const word = kind === "heading" ? wordAndNumber(text)?.word : undefined;
    if (word === undefined || NO_PART.test(word) || words.taskWord.test(`${word} 1`)) continue;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const frequent = [...counts].sort(([, one], [, other]) => other - one).slice(0, WORDS_TRIED);
  for (const [word] of frequent) {
    const found = candidates(rows, weight, ({ kind, depth, text }) => {
      const title = kind === "heading" ? wordAndNumber(text) : undefined;
      return title?.word === word
        ? { key: title.key, name: text.replace(/\*\*|__/g, "").trim(), level: depth }
        : undefined;
    });
    if (full(found).length > 1 && countTasks(found) >= all) return full(found);
  }
  return [];
}

/** A line in bold, also with `(2 days)` after it. */
const BOLD_LINE = /^\*\*[^*]+\*\*:?(?:[ \t]*\([^()]*\))?:?$/;

/** The level of a phase that is no heading: every heading ends it. */
const BELOW_HEADINGS = 7;

/** Returns the items of a list that are phases with tasks nested in them; none if the list has other items among them. */
function listedPhases(rows: readonly Row[], { idOf, nameOf }: TaskRows, identified: boolean): Candidate[] {
  const top = rows.filter(({ kind, depth }) => kind === "item" && depth === 0);
  const first = top.findIndex(({ checkbox, phase }) => checkbox !== undefined || numbered(phase) !== undefined);
  if (top.slice(first).some(({ phase }) => numbered(phase) === undefined)) return [];
  const nested: Weight = (row) => {
    if (row.kind !== "item" || row.depth === 0 || (!identified && row.checkbox === undefined)) return undefined;
    return idOf.get(row) ?? (identified || row.depth > 1 ? undefined : `${row.line}`);
  };
  const listed = candidates(rows, nested, (row) => {
    const title = row.kind === "item" && row.depth === 0 ? numbered(row.phase) : undefined;
    return title && { ...title, level: BELOW_HEADINGS };
  });
  // A checkbox with nothing nested in it is a task, also if its name is `Phase 2: api`.
  const isLeaf = ({ row, tasks }: Candidate) => tasks.length === 0 && row.checkbox !== undefined;
  return full(listed).length > 0 && !listed.some(isLeaf) ? chosen(listed, nameOf) : [];
}

function otherPhase(text: string, keys: ReadonlySet<string | undefined>): PhaseTitle | undefined {
  const title = loosePhaseTitle(text);
  return title === undefined || keys.has(title.key) ? undefined : title;
}

/**
 * Returns, for each number, the headings with tasks that no earlier one has, by id and name, else the first with tasks:
 * their numbers may begin anew in each phase. Adds empty ones beside these.
 */
function chosen(all: readonly Candidate[], nameOf: ReadonlyMap<Row, string>): Candidate[] {
  const seen = new Map<string, string>();
  const nameOfRow = (row: Row | undefined) => (row === undefined ? "" : (nameOf.get(row) ?? ""));
  const fresh = all.filter(({ tasks, rows }) => {
    const own = tasks.filter((id, index) => {
      const [before, name] = [seen.get(id), nameOfRow(rows[index])];
      seen.set(id, before ?? name);
      return before === undefined || !sameName(before, name);
    });
    return own.length > 0;
  });
  const keys = new Set(fresh.map(({ key }) => key));
  const firstOf = (candidates: readonly Candidate[]) =>
    candidates.filter(({ key }) => {
      const isFirst = key === undefined || !keys.has(key);
      keys.add(key);
      return isFirst;
    });
  const own = new Set(fresh);
  const taken = [...fresh, ...firstOf(full(all).filter((candidate) => !own.has(candidate)))];
  const places = new Map<Row | undefined, Set<number>>();
  for (const { level, row } of taken) places.set(row.parent, (places.get(row.parent) ?? new Set()).add(level));
  const beside = ({ level, row }: Candidate) => taken.length === 0 || places.get(row.parent)?.has(level) === true;
  return [...taken, ...firstOf(all.filter((one) => one.key !== undefined && beside(one)))];
}

function full(all: readonly Candidate[]): Candidate[] {
  return all.filter(({ tasks }) => tasks.length > 0);
}

function startsOf(phases: readonly Candidate[]): Map<Row, PhaseStart> {
  const isRoman = phases.some(({ key }) => /^[ivx]{2,}$/.test(key ?? ""));
  return new Map(
    phases.map(({ row, key, name, level }) => [row, { key: isRoman ? fromRoman(key) : key, name, level }]),
  );
}

const ROMAN = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"];

function fromRoman(key: string | undefined): string | undefined {
  const value = ROMAN.indexOf(key ?? "");
  return value > 0 ? `${value}` : key;
}

/**
 * Returns the sections with tasks, in a plan without phases. If sections are numbered, each includes its deeper headings,
 * and one without a number may have tasks without ids.
 */
function sectionsOf(
  rows: readonly Row[],
  idOf: ReadonlyMap<Row, string>,
  weight: Weight,
  start: (row: Row) => PhaseStart | undefined,
): Candidate[] {
  const levels = candidates(rows, weight, (row) => numberedSection(start(row))).flatMap(({ tasks, level }) =>
    tasks.length > 0 ? [level] : [],
  );
  if (levels.length === 0) {
    const found = namedByParents(full(candidates(rows, weight, start, true)));
    const named = found.filter(({ name }) => !NO_TASKS_HEADING.test(name));
    return named.length > 0 ? named : found;
  }
  const deepest = Math.min(...levels);
  const any: Weight = (row) => idOf.get(row) ?? plainTask(row);
  const shallow = (row: Row) => (row.depth <= deepest ? start(row) : undefined);
  return full(candidates(rows, any, shallow)).filter(
    ({ key, name }) => key !== undefined || !NO_TASKS_HEADING.test(name),
  );
}

/** Puts the heading above a section in its place if others have its name: `Subtasks` below each package. */
function namedByParents(sections: readonly Candidate[]): Candidate[] {
  const count = (keys: readonly unknown[]) => {
    const counts = new Map<unknown, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return counts;
  };
  const names = count(sections.map(({ name }) => name));
  const parents = count(sections.map(({ row }) => row.parent));
  const own = new Set(sections.map(({ row }) => row));
  return sections.map((section) => {
    const { parent } = section.row;
    const isShared = (names.get(section.name) ?? 0) > 1 && parents.get(parent) === 1;
    if (!isShared || parent === undefined || own.has(parent)) return section;
    return { ...section, row: parent, name: parent.text.replace(/\*\*|__/g, "").trim(), level: parent.depth };
  });
}

/** Returns the sections beside others that have only checkboxes without ids, and are no lists of notes or risks. */
function plainSections(
  rows: readonly Row[],
  idOf: ReadonlyMap<Row, string>,
  sections: readonly Candidate[],
  start: (row: Row) => PhaseStart | undefined,
): Candidate[] {
  const levels = new Set(sections.map(({ level }) => level));
  const known = new Set(sections.map(({ row }) => row));
  const any: Weight = (row) => idOf.get(row) ?? plainTask(row);
  const identified = new Set([...idOf.keys()].flatMap(ancestorsOf));
  return full(candidates(rows, any, start, true)).filter(
    ({ row, level, name, tasks }) =>
      levels.has(level) &&
      !known.has(row) &&
      !NO_TASKS_HEADING.test(name) &&
      tasks.every((id) => /^\d+$/.test(id)) &&
      !identified.has(row),
  );
}

/** Returns any heading as a phase: in a plan without phases, every section with tasks is one. */
function anySection(row: Row, { section }: Dialect, words: Vocabulary): PhaseStart | undefined {
  if (row.kind !== "heading") return undefined;
  if (section !== undefined && !section.test(row.text)) return undefined;
  const numbered = numberedTitle(row.text);
  if (numbered !== undefined) return { ...numbered, level: row.depth };
  const field = fieldOf(row.text, words);
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
