/**
 * The dialects of tasks.md, as a table for one reader, and the drafts that the reader fills. A plan that mixes dialects
 * is read too; a dialect only decides what is ambiguous in the text itself.
 */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import type { Checkbox, PlanItem, PlanPosition, PlanReport, TaskState } from "./plan.js";
import type { SourceText } from "./source.js";
import { isTicked } from "./task-line.js";
import { labelOf, type TaskIds } from "./titles.js";

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
  { ...COMMON, name: "spec-workflow", sign: /_(?:Prompt|Leverage):/, ids: ["number", "task"], tilde: "blocked" },
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
    ids: ["number", "task"],
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
export interface TaskDraft {
  /** The id as it is written; undefined if the source has none. */
  readonly id: string | undefined;
  readonly name: string;
  readonly position: PlanPosition;
  readonly checkbox: Checkbox | undefined;
  readonly optional: boolean;
  readonly parallel: boolean;
  readonly story: string | undefined;
  /** The nesting depth of its list item, or the level of its heading. */
  readonly place: { readonly item: number } | { readonly heading: number };
  time: string | undefined;
  status?: string;
  marked?: boolean;
  /** The texts about dependencies, as they are written. */
  readonly dependencies: string[];
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
}

/** An item while it is read: its details follow. */
export interface ItemDraft extends Omit<PlanItem, "details"> {
  details?: string[];
}

/** The items of a list below a label. */
export interface ItemBlock {
  readonly items: ItemDraft[];
  /** The text after the label. */
  readonly text?: PlanItem;
}

/** Returns the items that count: all but the names of groups among checkboxes, else the text after the label. */
export function itemsOf({ items, text }: ItemBlock): readonly PlanItem[] {
  if (items.length === 0) return text === undefined ? [] : [text];
  return items.some(hasBox) ? items.filter((item) => hasBox(item) || !isGroupName(item)) : items;
}

function hasBox({ checkbox }: PlanItem): boolean {
  return checkbox !== undefined;
}

function isGroupName({ text, details }: PlanItem): boolean {
  return details === undefined && labelOf(text)?.text === "";
}

/**
 * Returns the lines of a task that are nowhere else in the plan, as Markdown, with code, notes and lists unchanged. The
 * common indentation is removed.
 */
export function descriptionOf(
  { firstLine, endLine }: TaskDraft,
  source: SourceText,
  told: ReadonlySet<number>,
): string {
  const lines: string[] = [];
  for (let line = firstLine + 1; line < endLine; line += 1) {
    if (!told.has(line)) lines.push(source.text(line));
  }
  const text = outdent(lines)
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
  return withoutLabel(withoutRulesAtEnd(text)).trim();
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

/** Returns the state by the checkbox; without one, by the status line, else by the criteria. */
export function stateOf(draft: TaskDraft, { tilde }: Dialect, report: PlanReport): TaskState {
  const { checkbox, status = "", criteria } = draft;
  if (checkbox === undefined) {
    if (/^\W*(?:complete|done|finished)/i.test(status)) return "done";
    if (/^\W*(?:in[ -]progress|started|wip)/i.test(status)) return "in_progress";
    if (/^\W*blocked/i.test(status)) return "blocked";
    const boxes = criteria.filter(hasBox);
    return boxes.length > 0 && boxes.every(({ checked }) => checked) ? "done" : "pending";
  }
  const { mark, position } = checkbox;
  if (mark === "") return "pending";
  if (isTicked(mark)) return "done";
  if (mark === "-" || mark === "/") return "in_progress";
  if (mark === "~") return tilde;
  report.warn(
    "STATE_UNKNOWN",
    position,
    `'[${mark}]' has no meaning; the task counts as pending`,
    "Write [ ], [x], [-] or [~].",
  );
  return "pending";
}

function outdent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const least = Math.min(...indents.slice(0, 10_000), 1000);
  return lines.map((line) => line.slice(Math.min(least, /^[ \t]*/.exec(line)?.[0].length ?? 0)));
}

/** Returns the text of `**Description:** text` without the label. */
function withoutLabel(text: string): string {
  const end = text.indexOf("\n");
  const first = end === -1 ? text : text.slice(0, end);
  // Of the bullets, a label ignores `-` and `+`; `*` may be the mark of one.
  const label = labelOf(first.replace(/^\*[ \t]/, ""));
  if (label?.field !== "description") return text;
  return `${label.text}${end === -1 ? "" : text.slice(end)}`;
}

const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;

/** Removes rules at the end, which separate a task from what follows it. */
function withoutRulesAtEnd(text: string): string {
  const lines = text.split("\n");
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== "" && !RULE.test(line)) + 1).join("\n");
}
