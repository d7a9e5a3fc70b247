/**
 * The dialects of tasks.md, as a table for one reader, and the drafts that the reader fills. A plan that mixes dialects
 * is read too; a dialect only decides what is ambiguous in the text itself.
 */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import { isOpen, isTicked } from "./boxes.js";
import type { TaskIds } from "./ids.js";
import {
  type Checkbox,
  keptItems,
  type PlanItem,
  type PlanPosition,
  type PlanReport,
  type StatusWord,
  type TaskState,
} from "./plan.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source.js";
import type { TaskLine } from "./task-line.js";
import { labelOf } from "./titles.js";
import type { SaidState, Vocabulary } from "./words.js";

/** The properties of a dialect. */
export interface Dialect {
  readonly name: string;
  /** Text that only sources of this dialect have. */
  readonly sign: RegExp;
  /** The forms of task ids, in the order in which they are tried. */
  readonly ids: readonly TaskIds[];
  /** The meaning of `[~]`. */
  readonly tilde: TaskState;
  /** Checkboxes with an id below a task are tasks too, or its acceptance criteria. */
  readonly nested: "tasks" | "criteria";
  /** The only section with tasks, if the dialect has one. */
  readonly section?: RegExp;
}

const COMMON = { tilde: "queued", nested: "tasks" } as const;

/** All dialects, in the order in which they are tried. A sign matches blanks of its own line only, for linear time. */
const DIALECTS: readonly Dialect[] = [
  {
    ...COMMON,
    name: "bmad",
    sign: /^#{2,3} Tasks *\/ *Subtasks/im,
    ids: ["task", "number"],
    nested: "criteria",
    section: /^tasks *\/ *subtasks/i,
  },
  { ...COMMON, name: "spec-workflow", sign: /_(?:Prompt|Leverage):/, ids: ["number", "task", "T"], tilde: "blocked" },
  {
    ...COMMON,
    name: "spec-kit",
    sign: /^[^\S\r\n\u2028\u2029]*[-*+] +\[[^\]]?\] +\*{0,2}T(?:\d{3}|XXX)\b/m,
    ids: ["T", "task"],
  },
  {
    ...COMMON,
    name: "praxis-os",
    sign: /^[^\S\r\n\u2028\u2029]*(?:#{2,6} +|[-*+] +)?(?:\[[^\]]?\] *)?(?:\*\*|__)?Task +\d+\.\d/im,
    ids: ["task"],
  },
  {
    ...COMMON,
    name: "kiro",
    sign: /_Requirements?:|\*\*Validates:|^[^\S\r\n\u2028\u2029]*[-*+] +\[[^\]]?\]\*/m,
    ids: ["number", "task", "T"],
  },
  {
    ...COMMON,
    name: "openspec",
    sign: /^#{1,6} +\d+[.)] |^[^\S\r\n\u2028\u2029]*(?:[-*+]|\d+[.)]) +\[[^\]]?\] +\d+[.)\s]/m,
    ids: ["number", "task", "T"],
  },
];

/** The dialect of a plan without a sign. */
const PLAIN: Dialect = { ...COMMON, name: "plain", sign: /(?:)/, ids: ["task", "T", "number"] };

/** The names of all dialects. */
export const DIALECT_NAMES: readonly string[] = [...DIALECTS, PLAIN].map(({ name }) => name);

/** Returns the dialect with this name, or the one that is recognised. Throws `INVALID_INPUT` for an unknown name. */
export function chooseDialect(markdown: string, name: string | undefined): Dialect {
  if (name === undefined) return DIALECTS.find(({ sign }) => sign.test(markdown)) ?? PLAIN;
  const dialect = [...DIALECTS, PLAIN].find((candidate) => candidate.name === name);
  if (dialect !== undefined) return dialect;
  const similar = nearest(name, DIALECT_NAMES);
  throw new PhasegateError("INVALID_INPUT", `there is no dialect '${name}'`, {
    remedy: `${similar === undefined ? "Use" : `Did you mean '${similar}'? There are`} ${DIALECT_NAMES.join(", ")}; leave it out to have it recognised.`,
    details: { field: "dialect", expected: DIALECT_NAMES.join(", ") },
  });
}

/** A task while it is read. */
export interface TaskDraft extends Omit<TaskLine, "dependencies"> {
  readonly row: Row;
  readonly position: PlanPosition;
  /** The level of its heading, or of its line in bold; undefined for an item. */
  readonly level: number | undefined;
  checkbox: Checkbox | undefined;
  time: string | undefined;
  /** What its status line says; the state is undefined for other words. */
  status?: {
    readonly state: SaidState | undefined;
    readonly word?: StatusWord;
    /** The text, if it says done and takes it back, `Done, but not tested`, or has no known word. */
    readonly unclear?: StatusWord;
  };
  /** The tasks right inside it. */
  readonly inside: TaskDraft[];
  marked?: boolean;
  /** The texts about dependencies, as they are written. */
  readonly dependencies: string[];
  /** The texts about tasks that wait for it. */
  readonly blocks: string[];
  /** Labels without a meaning that name nothing but tasks. */
  readonly unread: { readonly name: string; readonly text: string }[];
  readonly criteria: PlanItem[];
  readonly requirements: string[];
  readonly files: string[];
  /** Its first line, and the line after its last one. */
  readonly firstLine: number;
  endLine: number;
}

/** A phase while it is read. */
export interface PhaseDraft {
  /** The number or letter as it is written; undefined if the source has none. */
  readonly key: string | undefined;
  readonly name: string;
  readonly level: number;
  readonly position: PlanPosition;
  goal?: string;
  duration?: string;
  /** The text in parentheses after its name, if it is a duration. */
  readonly timeInTitle: string | undefined;
  readonly tasks: TaskDraft[];
  readonly gate: PlanItem[];
  /** The texts about what it depends on, as they are written. */
  readonly dependencies: string[];
}

/** An item while it is read: its details follow. */
export interface ItemDraft extends Omit<PlanItem, "details"> {
  details?: string[];
}

/** The items of a list below a label. */
export interface ItemBlock {
  readonly items: ItemDraft[];
  /** The text after the label. */
  readonly text?: PlanItem | undefined;
}

/** Returns the items that count: all but the names of groups among checkboxes, else the text after the label. */
export function itemsOf({ items, text }: ItemBlock, words: Vocabulary): readonly PlanItem[] {
  if (items.length === 0) return text === undefined ? [] : [text];
  return items.some(hasBox) ? items.filter((item) => hasBox(item) || !isGroupName(item, words)) : items;
}

function hasBox({ checkbox }: PlanItem): boolean {
  return checkbox !== undefined;
}

function isGroupName({ text, details }: PlanItem, words: Vocabulary): boolean {
  return details === undefined && labelOf(text, words)?.text === "";
}

/**
 * Returns the lines of a task that are nowhere else in the plan, as Markdown, with code, notes and lists unchanged. The
 * common indentation is removed.
 */
export function descriptionOf(
  { firstLine, endLine }: TaskDraft,
  source: SourceText,
  isTold: (line: number) => boolean,
  words: Vocabulary,
): string {
  const lines: string[] = [];
  for (let line = firstLine + 1; line < endLine; line += 1) {
    if (!isTold(line)) lines.push(source.text(line));
  }
  const text = outdent(lines)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return withoutLabel(withoutRulesAtEnd(text), words).trim();
}

/** Makes the ids of tasks unique. */
export class UniqueIds {
  readonly #given: ReadonlySet<string>;
  readonly #used = new Set<string>();
  readonly #copies = new Map<string, number>();

  /** `given` are all ids of the source; generated ids differ from them. */
  constructor(given: Iterable<string>) {
    this.#given = new Set(given);
  }

  /** Returns the id if no earlier task has it; else the first free one of `1.1-2`, `1.1-3`, … */
  take(id: string): string {
    return this.#used.has(id) ? this.#another(id) : this.#use(id);
  }

  /** Returns an id for a task without one; never one that the source gives to another task. */
  make(id: string): string {
    return this.#used.has(id) || this.#given.has(id) ? this.#another(id) : this.#use(id);
  }

  #another(id: string): string {
    let copy = this.#copies.get(id) ?? 2;
    while (this.#used.has(`${id}-${copy}`) || this.#given.has(`${id}-${copy}`)) copy += 1;
    this.#copies.set(id, copy + 1);
    return this.#use(`${id}-${copy}`);
  }

  #use(id: string): string {
    this.#used.add(id);
    return id;
  }
}

/** The states of marks that a legend of the plan names: `[-] shelved`. */
export type Legend = ReadonlyMap<string, TaskState>;

/** The number of boxes inside a task, and of those that are open; a task inside counts as one. */
interface Inside {
  readonly all: number;
  readonly open: number;
}

function insideOf({ criteria, inside }: TaskDraft, stateOfTask: (task: TaskDraft) => TaskState): Inside {
  const boxes = keptItems(criteria).filter(hasBox);
  const counted = inside.filter(({ optional }) => !optional);
  const states = counted.map(stateOfTask).filter((state) => state !== "dropped");
  const open = boxes.filter(({ checked }) => !checked).length + states.filter((state) => state !== "done").length;
  return { all: boxes.length + states.length, open };
}

/** Returns the state that a mark says; undefined for one without a meaning. */
export type Marks = (mark: string) => TaskState | undefined;

/** Returns the meaning of marks: that of the plan's legend, else that of the dialect or of a word. */
export function marksOf(dialect: Dialect, legend: Legend, words: Vocabulary): Marks {
  return (mark) => {
    if (isTicked(mark)) return "done";
    if (isOpen(mark)) return "pending";
    return legend.get(mark) ?? MARKS.get(mark) ?? (mark === "~" ? dialect.tilde : words.stateIn(mark)?.state);
  };
}

/** Returns the states of tasks: by the checkbox; without one, by the status line and what is inside. */
export function statesOf(
  tasks: readonly TaskDraft[],
  marks: Marks,
  report: PlanReport,
): (task: TaskDraft) => TaskState {
  const states = new Map<TaskDraft, TaskState>();
  const stateOfTask = (task: TaskDraft) => states.get(task) ?? "pending";
  // Tasks stand before those inside them.
  for (const task of [...tasks].reverse()) {
    states.set(task, stateOf(task, insideOf(task, stateOfTask), marks, report));
  }
  return stateOfTask;
}

function stateOf(draft: TaskDraft, inside: Inside, marks: Marks, report: PlanReport): TaskState {
  const { checkbox, status, struck, position } = draft;
  const isStill = (says: string) => {
    const message = `this task ${says}, with ${inside.open} open ${inside.open === 1 ? "box" : "boxes"} inside it`;
    report.warn(
      "TASK_TICKED_OPEN",
      checkbox?.position ?? position,
      message,
      "Tick them, or take the state of the task back.",
    );
  };
  if (checkbox === undefined) {
    if (struck || status?.state === "dropped") return "dropped";
    if (status?.unclear !== undefined) {
      const { unclear, word } = status;
      const message = `'${unclear.text}' ${word === undefined ? "is no known state" : "says done and limits it"}; the task counts as pending`;
      report.warn("STATE_UNKNOWN", unclear.position, message, "Write 'Done', 'Pending' or another state alone.");
      return "pending";
    }
    const isDone = inside.open === 0 && (inside.all > 0 || status?.state === "done");
    if (status?.state === "done" && !isDone) isStill("says done and counts as pending");
    if (status?.state !== undefined && status.state !== "done") return status.state;
    return isDone ? "done" : "pending";
  }
  const state = marks(checkbox.mark);
  if (state === "done" && inside.open > 0) isStill("is ticked");
  if (state === "done") return "done";
  if (struck) return "dropped";
  if (state !== undefined) return state;
  const message = `'[${checkbox.mark}]' has no meaning; the task counts as pending`;
  report.warn("STATE_UNKNOWN", checkbox.position, message, "Write [ ], [x], [-] or [~].");
  return "pending";
}

const MARKS: Legend = new Map<string, TaskState>([
  ["-", "in_progress"],
  ["/", "in_progress"],
  [">", "in_progress"],
  ["N/A", "dropped"],
  ["n/a", "dropped"],
]);

const LEGEND_ENTRY = /`?\[([^[\]]?)\]`?\s*(?:[:=→–—-]+\s*)?`?([\p{L} -]+)/gu;

/** A text that says nothing but a state: `pending`, `in progress: work has begun`. */
const STATE_ALONE = /^(?:[^\p{L}\p{N}]*$|[^\p{L}\p{N}:：=(（–—-]*[:：=(（–—-])/u;

/** Titles and labels above lists that explain marks. */
const LEGEND_TITLE =
  /\b(?:legend|key|markers?|notation|symbols?|leyenda|legenda)\b|\bstatus(?:es)? (?:values|codes|icons)\b|légende|legende|легенда|凡例|图例|圖例|범례/i;

/**
 * Returns the items of lists that explain marks, below a title or label that says so: at least two together, each a mark
 * and the name of its state.
 */
export function legendRows(rows: readonly Row[], words: Vocabulary): ReadonlySet<Row> {
  const found = new Set<Row>();
  let run: Row[] = [];
  let title = "";
  const end = () => {
    if (
      run.length > 1 &&
      LEGEND_TITLE.test(title) &&
      new Set(run.map(({ checkbox }) => checkbox?.mark)).size === run.length
    ) {
      for (const row of run) found.add(row);
    }
    run = [];
  };
  for (const row of rows) {
    const box = row.kind === "item" ? row.checkbox : undefined;
    const said = box === undefined ? undefined : words.stateIn(row.text);
    const isSign = said !== undefined && STATE_ALONE.test(row.text.slice(said.index + said.word.length));
    if (box !== undefined && /^[=:：→–—-]/.test(row.text) && isLegend(`[${box.mark}] ${row.text}`, words))
      found.add(row);
    if (isSign && (run.length === 0 || run.at(-1)?.parent === row.parent)) run.push(row);
    else if (row.kind !== "text") end();
    if (row.kind === "heading" || (row.label !== undefined && row.checkbox === undefined)) title = row.text;
  }
  end();
  return found;
}

/** Reads the legends of a source: at least two marks in a line, `[ ] pending · [>] in progress · [-] shelved`, and the items that explain marks. */
export function legendOf(source: SourceText, items: ReadonlySet<Row>, words: Vocabulary): Legend {
  const inLines = source.lines.flatMap(({ text }) => legendEntries(text, words));
  const inItems = [...items].flatMap(({ text, checkbox }) => {
    const state = words.stateIn(text)?.state;
    return state === undefined || checkbox === undefined ? [] : [[checkbox.mark, state] as const];
  });
  return new Map([...inLines, ...inItems].filter(([mark]) => !isOpen(mark) && !isTicked(mark)));
}

/** Checks whether a line is a legend of marks. */
export function isLegend(line: string, words: Vocabulary): boolean {
  return legendEntries(line, words).length > 0;
}

function legendEntries(line: string, words: Vocabulary): (readonly [string, TaskState])[] {
  if (line.indexOf("[") === line.lastIndexOf("[") || line.trimStart().startsWith("|")) return [];
  const entries = [...line.matchAll(LEGEND_ENTRY)].flatMap(([, mark = "", said = ""]) => {
    const state = words.stateIn(said)?.state;
    return state === undefined ? [] : [[mark.trim(), state] as const];
  });
  return entries.length < 2 ? [] : entries;
}

function outdent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const least = Math.min(...indents.slice(0, 10_000), 1000);
  return lines.map((line) => line.slice(Math.min(least, /^[ \t]*/.exec(line)?.[0].length ?? 0)));
}

/** Returns the text of `**Description:** text` without the label. */
function withoutLabel(text: string, words: Vocabulary): string {
  const end = text.indexOf("\n");
  const first = end === -1 ? text : text.slice(0, end);
  // Of the bullets, a label ignores `-` and `+`; `*` may be the mark of one.
  const label = labelOf(first.replace(/^\*[ \t]/, ""), words);
  if (label?.field !== "description") return text;
  return `${label.text}${end === -1 ? "" : text.slice(end)}`;
}

const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;

/** Removes rules at the end, which separate a task from what follows it. */
function withoutRulesAtEnd(text: string): string {
  const lines = text.split("\n");
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== "" && !RULE.test(line)) + 1).join("\n");
}
