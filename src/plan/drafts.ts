/**
 * The dialects of tasks.md: what is different in each, as a table over one reader. A plan that mixes them is
 * read all the same; a dialect decides only what can't be told from the text itself.
 */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import type { Checkbox, PlanItem, PlanPosition, PlanReport, TaskState } from "./plan.js";
import type { SourceText } from "./source.js";
import { isTicked } from "./task-line.js";
import { labelOf, type TaskIds } from "./titles.js";

/** What a dialect decides. */
export interface Dialect {
  readonly name: string;
  /** What only sources of this dialect have. */
  readonly sign: RegExp;
  /** How tasks are named, in the order in which the forms are tried. */
  readonly ids: readonly TaskIds[];
  /** What `[~]` says. */
  readonly tilde: TaskState;
  /** True if checkboxes with an id of their own below a task are tasks too, or its acceptance criteria. */
  readonly nested: "tasks" | "criteria";
  /** The only section that has tasks, where a dialect knows of one. */
  readonly section?: RegExp;
}

const COMMON = { tilde: "queued", nested: "tasks" } as const;

/** In the order in which their signs are looked for. Blanks before one are of its line: others are gone over for each line. */
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
    sign: /^[^\S\r\n\u2028\u2029]*(?:#{2,6} +|[-*+] +)?(?:\[[^\]]?\] *)?(?:\*\*|__)?Task +\d+\.\d+/im,
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

/** What a plan is read as that has no sign of any. */
const PLAIN: Dialect = { ...COMMON, name: "plain", sign: /(?:)/, ids: ["task", "T", "number"] };

/** The names of all dialects. */
export const DIALECT_NAMES: readonly string[] = [...DIALECTS, PLAIN].map(({ name }) => name);

/** Returns the dialect of that name, or the one that a source shows itself to be. Throws `INVALID_INPUT` for an unknown name. */
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
  /** As it is written; missing where the source gives none. */
  readonly id?: string;
  readonly name: string;
  readonly position: PlanPosition;
  readonly checkbox?: Checkbox;
  readonly optional: boolean;
  readonly parallel: boolean;
  readonly story?: string;
  /** How deep its list item is nested; the level of its heading, as `heading`. */
  readonly place: { readonly item: number } | { readonly heading: number };
  time?: string;
  status?: string;
  marked?: boolean;
  /** What is said of dependencies, as it is written. */
  readonly dependencies: string[];
  readonly criteria: PlanItem[];
  readonly requirements: string[];
  readonly files: string[];
  /** Its lines: the first, and the one after the last; those that are told elsewhere. */
  readonly firstLine: number;
  endLine: number;
}

/** A phase while it is read. */
export interface PhaseDraft {
  /** As it is written; missing where the source gives none. */
  readonly key?: string;
  readonly name: string;
  readonly level: number;
  readonly position: PlanPosition;
  goal?: string;
  duration?: string;
  /** What stands in brackets behind its name, if that is a time. */
  readonly timeInTitle?: string;
  readonly tasks: TaskDraft[];
  readonly gate: PlanItem[];
}

/** An item while it is read: what is below it is still to come. */
export interface ItemDraft extends Omit<PlanItem, "details"> {
  details?: string[];
}

/** Items of a list below a label: those with checkboxes, or the bullets if there is none. */
export interface ItemBlock {
  readonly items: ItemDraft[];
  readonly bullets: ItemDraft[];
  /** What stands beside the label. */
  readonly text?: PlanItem;
}

/** Returns the items of a block that count: those with checkboxes, or the bullets if there are none. */
export function itemsOf({ items, bullets, text }: ItemBlock): readonly PlanItem[] {
  if (items.length > 0) return items;
  return bullets.length > 0 || text === undefined ? bullets : [text];
}

/**
 * Returns what a plan says of a task beside what is told elsewhere, as Markdown: code, notes and lists as they
 * are, so that whoever does the task loses nothing. Lines are moved to the left together.
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

/** Ids of tasks, each of which is there once. */
export class UniqueIds {
  readonly #given: ReadonlySet<string>;
  readonly #used = new Set<string>();
  readonly #copies = new Map<string, number>();

  /** `given`: all ids that the source has, so that none that is made up is one of them. */
  constructor(given: Iterable<string>) {
    this.#given = new Set(given);
  }

  /** Returns the id, if no task before has it; else the first of `1.1-2`, `1.1-3`, … that is free. */
  take(id: string): string {
    return this.#used.has(id) ? this.#another(id) : this.#use(id);
  }

  /** Returns an id for a task without one: never one that the source gives to another task. */
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

/** Returns what the checkbox says; without one, what its status says, or its criteria. */
export function stateOf(draft: TaskDraft, { tilde }: Dialect, report: PlanReport): TaskState {
  const { checkbox, status, criteria } = draft;
  if (checkbox === undefined) {
    if (status !== undefined && /^\W*(?:complete|done|finished)/i.test(status)) return "done";
    if (status !== undefined && /^\W*(?:in[ -]progress|started|wip)/i.test(status)) return "in_progress";
    if (status !== undefined && /^\W*blocked/i.test(status)) return "blocked";
    return criteria.length > 0 && criteria.every(({ checked }) => checked) ? "done" : "pending";
  }
  const { mark, position } = checkbox;
  if (mark === "") return "pending";
  if (isTicked(mark)) return "done";
  if (mark === "-" || mark === "/") return "in_progress";
  if (mark === "~") return tilde;
  report.warn(
    "STATE_UNKNOWN",
    position,
    `'[${mark}]' says nothing; the task counts as open`,
    "Write [ ], [x], [-] or [~].",
  );
  return "pending";
}

function outdent(lines: readonly string[]): string[] {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => /^[ \t]*/.exec(line)?.[0].length ?? 0);
  const least = Math.min(...indents.slice(0, 10_000), 1000);
  return lines.map((line) => line.slice(Math.min(least, /^[ \t]*/.exec(line)?.[0].length ?? 0)));
}

/** `**Description:** text` is its text. */
function withoutLabel(text: string): string {
  const end = text.indexOf("\n");
  const first = end === -1 ? text : text.slice(0, end);
  const label = labelOf(first.replace(/^[-*+][ \t]+/, ""));
  if (label?.field !== "description") return text;
  return `${label.text}${end === -1 ? "" : text.slice(end)}`;
}

const RULE = /^[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*$/;

/** Rules part a task from what follows it, and belong to neither. */
function withoutRulesAtEnd(text: string): string {
  const lines = text.split("\n");
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== "" && !RULE.test(line)) + 1).join("\n");
}
