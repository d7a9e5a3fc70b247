/**
 * Finds the headings that begin a phase, and the rows that name a task. Plans name their phases more than once, in
 * overviews, summaries and lists of risks; the heading that counts is the one above the tasks.
 */
import { idsNamed } from "./dependencies.js";
import type { Dialect } from "./dialects.js";
import { codePrefixes, type IdReader, idReader, type TaskIds } from "./ids.js";
import { addTo } from "./plan.js";
import { ancestorsOf, holdersOf, isWithin, type Row, titleOf } from "./rows.js";
import {
  CHECKS_PHASE,
  fieldOf,
  isGateTitle,
  loosePhaseTitle,
  NO_TASKS_HEADING,
  numberedTitle,
  type PhaseTitle,
  wordAndNumber,
} from "./titles.js";
import type { Vocabulary } from "./words.js";

/** The title of a phase. */
export interface PhaseStart extends PhaseTitle {
  readonly level: number;
}

/** The phases and task ids of a plan. */
export interface Outline extends ReturnType<typeof taskRowsOf> {
  /** The titles of phases by their row. */
  readonly starts: ReadonlyMap<Row, PhaseStart>;
  /** True if no heading names a phase, and the tasks `2`, `2.1`, `2.2` are phase 2. */
  readonly grouped: boolean;
  /** The first task, if the plan has no phase. */
  readonly untitled?: Row | undefined;
}

/** Finds the phases and the tasks of a plan. With `numbered`, headings such as `1.2 Name` may be tasks; otherwise they are chapters. */
export function outlineOf(rows: readonly Row[], dialect: Dialect, words: Vocabulary, numbered: boolean): Outline {
  const tasks = taskRowsOf(rows, dialect, words, numbered);
  const { idOf, nameOf, identified, boxed, repeats } = tasks;
  const any: Weight = (row) => idOf.get(row) ?? plainTask(row);
  const weight: Weight = (row) => idOf.get(row) ?? (identified || repeats.has(row) ? undefined : plainTask(row));
  const named = namedPhases();
  // Chapters may be named like phases, too: the tasks are elsewhere.
  const isNamed = named.length > 0 && (numbered || full(named).length > 0);
  const found = isNamed ? named : wordedPhases();
  const sections = found.length > 0 ? [] : sectionsOf();
  const phases = found.length === 0 && sections.length === 0 ? named : found;
  if (phases.length > 0) return { starts: withSections(startsOf(phases)), grouped: false, ...tasks };
  const isGrouped = sections.length < 2 && sections.every(({ key }) => key === undefined);
  const grouped = isGrouped && dialect.nested === "tasks" && [...idOf.values()].some((id) => id.includes("."));
  const starts = startsOf([
    ...(grouped ? sections : sections.map(withKey)),
    ...(identified ? plainSections(sections) : []),
  ]);
  // A task without an id is below no heading only if it is above all of them.
  const first = rows.find((row) => weight(row) !== undefined || (row.kind === "heading" && !identified));
  const isUntitled = starts.size === 0 && first !== undefined && weight(first) !== undefined;
  return { starts, grouped, untitled: isUntitled ? first : undefined, ...tasks };

  /** Returns the headings that name a phase; without any, lines in bold or items of a list. */
  function namedPhases(): Candidate[] {
    const headings = new Set(rows.flatMap(({ kind, phase }) => (kind === "heading" && phase?.key) || []));
    const bold = headings.size === 0;
    const keys = bold ? boldKeys() : headings;
    const all = candidates((row) => namedPhase(row, keys, bold));
    if (all.length === 0) return listedPhases();
    const numbered = () => countTasks(candidates((row) => withNumber(section(row))));
    return keys.size === 0 && countTasks(all) < numbered() ? [] : chosen(all, nameOf);
  }

  /** Returns the numbers of the phases with tasks whose regular title is a line in bold. */
  function boldKeys(): ReadonlySet<string> {
    const regular = candidates((row) =>
      isBoldLine(row) && !isGateTitle(row.text)
        ? withNumber(row.phase && { ...row.phase, level: BELOW_HEADINGS })
        : undefined,
    );
    return new Set(full(regular).flatMap(({ key }) => key ?? []));
  }

  /** Returns headings such as `Vaihe 1: Name` as phases, if no word is known, all tasks are below them, and at least two have tasks. */
  function wordedPhases(): Candidate[] {
    const isTask = (row: Row) => weight(row) !== undefined && !isInSection(row, NO_TASKS_HEADING);
    const all = rows.filter(isTask).length;
    const titleIn = ({ kind, text }: Row) => (kind === "heading" ? wordAndNumber(text) : undefined);
    const known = [...count(rows.flatMap((row) => titleIn(row)?.word ?? []))].filter(
      ([word]) => !NO_PART.test(word) && !words.taskWord.test(`${word} 1`),
    );
    for (const [word] of known.sort(([, one], [, other]) => other - one).slice(0, WORDS_TRIED)) {
      const titled = candidates((row) => {
        const title = titleIn(row);
        return title?.word === word ? { key: title.key, name: nameOfTitle(row), level: row.depth } : undefined;
      });
      if (full(titled).length < 2 || countTasks(titled) < all) continue;
      return titled.filter(({ tasks, hasBox }) => tasks.length > 0 || hasBox);
    }
    return [];
  }

  /** Returns the items of a list that are phases with tasks nested in them; none if the list has other items among them. */
  function listedPhases(): Candidate[] {
    const top = rows.filter(({ kind, depth }) => kind === "item" && depth === 0);
    const begin = top.findIndex(({ checkbox, phase }) => checkbox !== undefined || phase?.key !== undefined);
    if (top.slice(begin).some(({ phase }) => phase?.key === undefined)) return [];
    const nested: Weight = (row) => {
      if (row.kind !== "item" || row.depth === 0) return undefined;
      return idOf.get(row) ?? (row.checkbox && `${row.line}`);
    };
    const start: StartAt = ({ kind, depth, phase }) =>
      kind === "item" && depth === 0 ? withNumber(phase && { ...phase, level: BELOW_HEADINGS }) : undefined;
    const listed = candidates(start, nested);
    // A checkbox with nothing nested in it is a task, also if its name is `Phase 2: api`.
    const isLeaf = ({ row, tasks }: Candidate) => tasks.length === 0 && row.checkbox !== undefined;
    return full(listed).length > 0 && !listed.some(isLeaf) ? chosen(listed, nameOf) : [];
  }

  /** Returns headings with the tasks below them, up to the next candidate, or to a heading beside or above it; with `direct`, up to any heading. */
  function candidates(startAt: StartAt, weigh = weight, direct = false): Candidate[] {
    const found: Candidate[] = [];
    let open: Candidate | undefined;
    for (const row of rows) {
      const id = weigh(row);
      if (open !== undefined && row.checkbox !== undefined) open.hasBox = true;
      if (id !== undefined) {
        open?.tasks.push({ id, row });
        continue;
      }
      // Headings inside a task are parts of it.
      if (direct && row.kind === "heading" && ancestorsOf(row).some((above) => idOf.has(above))) continue;
      const isEnd = direct || (open !== undefined && row.depth <= open.level && !isGateTitle(row.text));
      if (row.kind === "heading" && isEnd) open = undefined;
      const start = startAt(row);
      if (start === undefined) continue;
      open = { ...start, row, tasks: [], hasBox: false };
      found.push(open);
    }
    return found;
  }

  /** Adds the sections beside phases that have tasks with ids: `## Hotfixes` between phase 5 and phase 6 is a phase without a number. */
  function withSections(starts: ReadonlyMap<Row, PhaseStart>): ReadonlyMap<Row, PhaseStart> {
    const all = new Map(starts);
    const [first] = starts.values();
    const holders = holdersOf(rows);
    const covered = new Set<string>();
    let level: number | undefined;
    for (const row of rows) {
      const start = starts.get(row);
      const id = idOf.get(row);
      if (start !== undefined) level = start.level;
      else if (row.kind === "heading" && id === undefined && row.depth <= (level ?? 0) && !isGateTitle(row.text))
        level = undefined;
      if (id === undefined) continue;
      // Where most tasks are checkboxes, a heading without one below is a chapter.
      const isTask = row.checkbox !== undefined || (row.kind === "heading" && (!boxed || holders.has(row)));
      const isOwn = isTask && !covered.has(id);
      const beside = level === undefined && isOwn ? sectionBeside(row, first?.level ?? 0) : undefined;
      if (level !== undefined) covered.add(id);
      // A checklist only names tasks, unless one has boxes of its own there.
      const hasBoxes = row.kind === "heading" && holders.has(row);
      if (beside === undefined || (isNoPhase(beside) && !hasBoxes)) continue;
      covered.add(id);
      level = beside.depth;
      all.set(beside, { key: undefined, name: nameOfTitle(beside), level });
    }
    return all;
  }

  /** Returns the sections with tasks, in a plan without phases. Numbered ones include their deeper headings. */
  function sectionsOf(): Candidate[] {
    const levels = full(candidates((row) => withNumber(section(row)))).map(({ level }) => level);
    if (levels.length === 0) {
      // In a dialect with one section of tasks, deeper headings are groups of them.
      const titles = full(candidates(section, weight, dialect.section === undefined));
      // Where several sections have nothing but criteria, they are the phases, unless others are named so.
      const isOther = titles.length > 0 || named.length > 0;
      const criteria = isOther ? [] : full(candidates(anySection, weight, true));
      const all = namedByParents(criteria.length > 1 ? criteria : titles);
      const titled = all.filter(({ name }) => !NO_TASKS_HEADING.test(name));
      return titled.length > 0 ? titled : all;
    }
    const deepest = Math.min(...levels);
    const shallow = candidates((row) => (row.depth <= deepest ? section(row) : undefined), any);
    return full(shallow).filter(({ key, name }) => key !== undefined || !NO_TASKS_HEADING.test(name));
  }

  /** Returns the sections beside others that have only checkboxes without ids, and are no lists of notes or risks. */
  function plainSections(sections: readonly Candidate[]): Candidate[] {
    const levels = new Set(sections.map(({ level }) => level));
    const isOther = ({ name, level, tasks }: Candidate) =>
      levels.has(level) && tasks.every(({ row }) => !idOf.has(row)) && !NO_TASKS_HEADING.test(name);
    return full(candidates(section, any, true)).filter(isOther);
  }

  function anySection(row: Row): PhaseStart | undefined {
    if (row.kind !== "heading" || dialect.section !== undefined || isGateTitle(row.text)) return undefined;
    return { key: undefined, name: nameOfTitle(row), level: row.depth };
  }

  /** Returns any heading as a phase: in a plan without phases, every section with tasks is one. */
  function section(row: Row): PhaseStart | undefined {
    if (row.kind !== "heading" || dialect.section?.test(row.text) === false) return undefined;
    const numbered = numberedTitle(row.text);
    if (numbered !== undefined) return { ...numbered, level: row.depth };
    const field = fieldOf(row.text, words);
    if (isGateTitle(row.text) || field === "success" || field === "criteria") return undefined;
    return { key: undefined, name: nameOfTitle(row), level: row.depth };
  }
}

/** Finds the tasks: headings and checkboxes with an id, and other rows whose id is on none of these, or only on ones with nothing below. */
function taskRowsOf(rows: readonly Row[], dialect: Dialect, words: Vocabulary, numbered: boolean) {
  const marked = rows.filter(({ kind, checkbox }) => kind === "heading" || checkbox !== undefined);
  const codes = codePrefixes(marked.map(titleOf), (isId) => idsNamed(rows, words, isId));
  const ids = idReader(words.taskWord, codes);
  const found = withoutSections(mentionsIn(rows, dialect, ids, numbered), ids);
  /** The names and the ids of the tasks, by the row of each. */
  const nameOf: ReadonlyMap<Row, string> = new Map(found.map(({ row, name }) => [row, name]));
  const idOf = new Map<Row, string>();
  /** Rows without anything below them that name a task which has its row elsewhere, as in a checklist: the task's row. */
  const named = new Map<Row, Row>();
  /** Number of headings and of rows with a checkbox that begin with each id. */
  const mentions = new Map<string, number>();
  const byId = new Map<string, Mention[]>();
  for (const mention of found) addTo(byId, mention.id, mention);
  for (const [id, own] of byId) {
    const all = own.filter((mention) => mention.marked);
    const bare = heaviest(own);
    const isBare = all.every(({ row, below }) => below === 0 && bare && bare.below > 0 && bare.row.line < row.line);
    const main = (isBare ? bare : undefined) ?? heaviest(all);
    if (main === undefined) continue;
    idOf.set(main.row, id);
    for (const other of all) {
      if (isRepeat(other, main, words)) named.set(other.row, main.row);
      else idOf.set(other.row, id);
    }
    mentions.set(id, all.length);
  }
  const plain = rows.filter(
    (row) => plainTask(row) !== undefined && ![row, ...ancestorsOf(row)].some((one) => idOf.has(one)),
  );
  /** True if tasks have ids, so that a checkbox without one is usually not a task. Codes on a few of many checkboxes name other things. */
  const identified = idOf.size * FEW > plain.length;
  /** True if more checkboxes have no id than there are ids. */
  const boxed = plain.length > idOf.size;
  return { ids, idOf, nameOf, repeats: identified ? named : repeatedNames(rows), mentions, identified, boxed };
}

/** Returns the rows of checklists and overviews, in a plan without ids, that have the name of a task elsewhere. */
function repeatedNames(rows: readonly Row[]): ReadonlyMap<Row, Row> {
  const plain = rows.filter((row) => plainTask(row) !== undefined);
  const isListed = (row: Row) => isInSection(row, LISTS_TASKS);
  const named = new Map(plain.filter((row) => !isListed(row)).map((row) => [row.text.toLowerCase(), row]));
  return new Map(
    plain.flatMap((row) => {
      const task = isListed(row) ? named.get(row.text.toLowerCase()) : undefined;
      return task === undefined ? [] : [[row, task]];
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

/** If more checkboxes than this have no id for each task that has one, the plan has no ids. */
const FEW = 20;

/** Sections that list the tasks of other sections. */
const LISTS_TASKS = /\b(?:checklist|summary|overview|progress|status|completion|tracking|index|quick reference)\b/i;

/** Checks whether a mention only repeats a task: it has nothing below it, is elsewhere, and has its name or is in a list of tasks. */
function isRepeat({ row, name, below }: Mention, main: Mention, words: Vocabulary): boolean {
  const section = sectionOf(row);
  if (below > 0 || row.kind === "heading" || section === undefined || section === sectionOf(main.row)) return false;
  if (LISTS_TASKS.test(section.text) || fieldOf(section.text, words) === "criteria") return true;
  // Whole numbers may begin anew in each section.
  return (main.below > 0 || main.row.kind === "heading") && !/^\d+$/.test(main.id) && sameName(name, main.name);
}

function sectionOf(row: Row): Row | undefined {
  return ancestorsOf(row).find(({ kind }) => kind === "heading");
}

/** Checks whether the heading above a row is such a title. */
function isInSection(row: Row, title: RegExp): boolean {
  const section = sectionOf(row);
  return section !== undefined && title.test(section.text);
}

/** Checks whether two names have at least half of their words in common, or one of them has none. */
export function sameName(one: string, other: string): boolean {
  const wordsOf = (name: string) => new Set(name.toLowerCase().match(/[\p{L}\p{N}]+/gu));
  const [first, second] = [wordsOf(one), wordsOf(other)];
  const common = [...first].filter((word) => second.has(word)).length;
  return common * 2 >= Math.min(first.size, second.size);
}

/** Leaves out headings above other tasks, which are sections; one with the word for task only if it has nothing but its subtasks. */
function withoutSections(mentions: readonly Mention[], ids: IdReader): Mention[] {
  const sections = new Set<Row>();
  const open: Mention[] = [];
  for (const mention of mentions) {
    const { row, marked, id } = mention;
    while (!isWithin(row, open.at(-1)?.row)) open.pop();
    for (const above of marked ? open : []) {
      const isGroup = above.below === 0 && above.row.checkbox === undefined && id.startsWith(`${above.id}.`);
      if (isGroup || !ids.isNamed(titleOf(above.row))) sections.add(above.row);
    }
    if (row.kind === "heading") open.push(mention);
  }
  return mentions.filter(({ row }) => !sections.has(row));
}

function mentionsIn(rows: readonly Row[], dialect: Dialect, ids: IdReader, numbered: boolean): Mention[] {
  const found: Mention[] = [];
  const forms = numbered ? headingForms(rows, dialect, ids) : namedForms(dialect);
  const holders = holdersOf(rows);
  const numbers = nextNumbers(rows, dialect, ids);
  let open: Mention | undefined;
  const { section } = dialect;
  // In a dialect with one section of tasks, the sentences of others may mention them.
  const isOfTasks = (row: Row) =>
    section === undefined || ancestorsOf(row).some(({ kind, text }) => kind === "heading" && section.test(text));
  for (const row of rows) {
    const next = numbers.get(row);
    const boxed = isBox(row) ? ids.read(row.text, dialect.ids) : undefined;
    const checked = row.kind === "heading" ? headingId(row, forms, ids) : boxed;
    const marked = checked ?? (next === undefined ? undefined : { id: next, rest: row.text });
    const title = marked ?? (isOfTasks(row) ? bareId(row, dialect, ids, holders.has(row)) : undefined);
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

/** Returns the forms of ids that have a word or letters. */
function namedForms({ ids }: Dialect): readonly TaskIds[] {
  return ids.filter((form) => form !== "number");
}

/** Returns the forms of ids in headings. `1.2 Name` is a task if no item has a number, else a section with tasks. */
function headingForms(rows: readonly Row[], dialect: Dialect, ids: IdReader): readonly TaskIds[] {
  const named = namedForms(dialect);
  const phased = rows.some(
    ({ kind, phase, text }) => kind === "heading" && (phase !== undefined || numberedTitle(text) !== undefined),
  );
  const isNumbered = ({ kind, checkbox, text }: Row) => kind === "item" && checkbox && ids.read(text, ["number"]);
  return phased && !rows.some(isNumbered) ? [...named, "number"] : named;
}

function headingId(row: Row, forms: readonly TaskIds[], ids: IdReader) {
  const text = titleOf(row);
  const title = ids.read(text, forms);
  // `2. Setup` is a section, even if `2.1 Tables` is a task.
  return title && /^\d+$/.test(title.id) && !ids.isNamed(text) ? undefined : title;
}

/** Returns the numbers without a dot, `3 Name`, that follow the one of the item before or, as `1`, precede a `2`. */
function nextNumbers(rows: readonly Row[], { ids: forms }: Dialect, ids: IdReader): ReadonlyMap<Row, string> {
  const found = new Map<Row, string>();
  if (!forms.includes("number")) return found;
  const before = new Map<Row | undefined, { readonly row: Row; readonly number: number; readonly isDotted: boolean }>();
  const boxes = rows.filter(isBox);
  const dottedIn = ({ text }: Row) => ids.read(text, ["number"])?.id;
  const startsAt1 = boxes.every((row) => dottedIn(row) === undefined);
  for (const row of boxes) {
    const dotted = dottedIn(row);
    const number = Number(dotted ?? /^(\d{1,4})[ \t]+\p{L}/u.exec(row.text)?.[1]);
    const isDotted = dotted !== undefined;
    const last = before.get(row.parent);
    before.set(row.parent, { row, number, isDotted });
    if (isDotted || last?.number !== number - 1) continue;
    if (startsAt1 && number === 2) found.set(last.row, "1");
    if (last.isDotted || found.has(last.row)) found.set(row, `${number}`);
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

function isBox({ kind, checkbox }: Row): boolean {
  return kind === "item" && checkbox !== undefined;
}

/** Returns a line as the id of a task without one: an item with a checkbox that is in no other such item. */
function plainTask(row: Row): string | undefined {
  return isBox(row) && !ancestorsOf(row).some(isBox) ? `${row.line}` : undefined;
}

/** Returns the id of a row that is a task of its section; in a plan without ids, its line. */
type Weight = (row: Row) => string | undefined;

/** Returns the title of a row that may begin a phase. */
type StartAt = (row: Row) => PhaseStart | undefined;

/** A heading, or a line or item in place of one, that may begin a phase. */
interface Candidate extends PhaseStart {
  readonly row: Row;
  /** The tasks below it. Their ids in plans without ids are their lines. */
  readonly tasks: { readonly id: string; readonly row: Row }[];
  /** True if a checkbox is below it. */
  hasBox: boolean;
}

/** A line in bold, also with `(2 days)` after it. */
const BOLD_LINE = /^\*\*[^*]+\*\*:?(?:[ \t]*\([^()]*\))?:?$/;

/** The level of a phase or a task that is no heading: every heading ends it. */
export const BELOW_HEADINGS = 7;

function isBoldLine({ depth, text }: Row): boolean {
  return depth === -1 && BOLD_LINE.test(text);
}

function countTasks(all: readonly Candidate[]): number {
  return all.reduce((sum, { tasks }) => sum + tasks.length, 0);
}

function count<T>(keys: readonly T[]): ReadonlyMap<T, number> {
  const counts = new Map<T, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function full(all: readonly Candidate[]): Candidate[] {
  return all.filter(({ tasks }) => tasks.length > 0);
}

/** Only a heading is a phase without a number: `Phase: 2` may be a property of a task. */
function withNumber<Title extends PhaseTitle>(title: Title | undefined): Title | undefined {
  return title?.key === undefined ? undefined : title;
}

/** Returns the phase of a heading or, with `bold`, of a line in bold. `keys` are the phases with a regular title. */
function namedPhase(row: Row, keys: ReadonlySet<string>, bold: boolean): PhaseStart | undefined {
  const { kind, text, depth, phase } = row;
  const isHeading = kind === "heading";
  if (!isHeading && !(bold && isBoldLine(row))) return undefined;
  if (isGateTitle(text) && !/^[^\p{L}]*phase\s+\w+\s*[:.)]/iu.test(text)) return undefined;
  const loose = loosePhaseTitle(text);
  const title = (isHeading ? phase : withNumber(phase)) ?? (loose && !keys.has(loose.key) ? loose : undefined);
  return title && { ...title, level: isHeading ? depth : BELOW_HEADINGS };
}

function isNoPhase({ text }: Row): boolean {
  return NO_TASKS_HEADING.test(text) || LISTS_TASKS.test(text);
}

function nameOfTitle({ text }: Row): string {
  return text.replace(/\*\*|__/g, "").trim();
}

/** Returns the heading above a row that is on the level of the phases, else the nearest one. */
function sectionBeside(row: Row, level: number): Row | undefined {
  const headings = ancestorsOf(row).filter((above) => above.kind === "heading");
  return headings.find(({ depth }) => depth === level) ?? headings[0];
}

/** A plan has few words for its parts; each that is tried takes time for all rows. */
const WORDS_TRIED = 5;

/** Words before a number that name something else than a part of the work. */
const NO_PART = /^(?:option|example|appendix|figure|table|requirement|version|question|note)$/;

/** Returns the headings with tasks that no earlier one has, else the first of each number; and empty ones beside these. */
function chosen(all: readonly Candidate[], nameOf: ReadonlyMap<Row, string>): Candidate[] {
  const seen = new Map<string, string>();
  const isNew = ({ id, row }: Candidate["tasks"][number]) => {
    const [before, name] = [seen.get(id), nameOf.get(row) ?? ""];
    seen.set(id, before ?? name);
    return before === undefined || !sameName(before, name);
  };
  const numbers = new Set<string>();
  const isChecklist = ({ key = "", row: { parent } }: Candidate) => {
    const isKnown = numbers.has(key);
    numbers.add(key);
    return isKnown && CHECKS_PHASE.test(parent?.text ?? "");
  };
  const fresh = all.filter((one) => !isChecklist(one) && one.tasks.filter(isNew).length > 0);
  const keys = new Set(fresh.map(({ key }) => key));
  const firstOf = (candidates: readonly Candidate[]) =>
    candidates.filter(({ key }) => {
      const isFirst = !keys.has(key);
      keys.add(key);
      return isFirst;
    });
  const taken = [...fresh, ...firstOf(full(all))];
  const places = new Map<Row | undefined, Set<number>>();
  for (const { level, row } of taken) places.set(row.parent, (places.get(row.parent) ?? new Set()).add(level));
  const beside = ({ level, row }: Candidate) => taken.length === 0 || places.get(row.parent)?.has(level) === true;
  return [...taken, ...firstOf(all.filter((one) => one.key !== undefined && (one.hasBox || beside(one))))];
}

const ROMAN = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii"];

function startsOf(phases: readonly Candidate[]): Map<Row, PhaseStart> {
  const isRoman = phases.some(({ key = "" }) => /[ivx]{2}/.test(key));
  const numberOf = (key: string | undefined) => {
    const place = isRoman ? ROMAN.indexOf(key ?? "") : -1;
    return place === -1 ? key : `${place + 1}`;
  };
  return new Map(phases.map(({ row, key, name, level }) => [row, { key: numberOf(key), name, level }]));
}

/** Puts the heading above a section in its place if others have its name: `Subtasks` below each package. */
function namedByParents(sections: readonly Candidate[]): Candidate[] {
  const names = count(sections.map(({ name }) => name));
  const parents = count(sections.map(({ row }) => row.parent));
  const own = new Set(sections.map(({ row }) => row));
  return sections.map((section) => {
    const { parent } = section.row;
    const isShared = (names.get(section.name) ?? 0) > 1 && parents.get(parent) === 1;
    if (!isShared || parent === undefined || own.has(parent)) return section;
    return { ...section, row: parent, name: nameOfTitle(parent), level: parent.depth };
  });
}

/** Gives a section without a number the one that all its tasks begin with. */
function withKey(section: Candidate): Candidate {
  const [key, ...others] = new Set(section.tasks.map(({ id }) => /^(\d+)\./.exec(id)?.[1]));
  return section.key !== undefined || others.length > 0 ? section : { ...section, key };
}
