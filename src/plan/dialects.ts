/**
 * The dialects of tasks.md, as a table for one reader, and the meaning of marks: that of the plan's legend, else that of
 * the dialect. A plan that mixes dialects is read too; a dialect only decides what is ambiguous in the text itself.
 */
import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import { isOpen, isTicked } from "./boxes.js";
import type { TaskIds } from "./ids.js";
import type { TaskState } from "./plan.js";
import type { Row } from "./rows.js";
import type { SourceText } from "./source.js";
import type { PlanWords, Vocabulary } from "./words.js";

export interface Dialect {
  readonly name: string;
  /** Checks for text that only sources of this dialect have. */
  readonly sign: Pick<RegExp, "test">;
  /** The forms of task ids, in the order in which they are tried. */
  readonly ids: readonly TaskIds[];
  /** The meaning of `[~]`. */
  readonly tilde: TaskState;
  /** Checkboxes with an id below a task are tasks too, or its acceptance criteria. */
  readonly nested: "tasks" | "criteria";
  /** The only section with tasks, if the dialect has one. */
  readonly section?: RegExp;
  /** Words with a meaning in this dialect alone. */
  readonly words?: PlanWords;
}

const COMMON = { ids: ["number", "task", "T"], tilde: "queued", nested: "tasks" } as const;

/** The beginning of a title, in a heading, an item or bold, up to its first word. */
const BEGIN = String.raw`^(?:[^\p{L}\p{N}\r\n]|x(?=\])){1,16}`;
const EPIC = new RegExp(String.raw`${BEGIN}epic(?:[ \t]*:|[ \t#-]+(?:\d|[a-z](?![a-z])))`, "imu");
const STORY = new RegExp(String.raw`${BEGIN}(?:user[ \t]+)?story(?:[ \t]+#?|-)[a-z.]{0,4}\d`, "imu");
const PHASE = new RegExp(String.raw`${BEGIN}phase[ \t]+#?\d`, "imu");

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
  {
    ...COMMON,
    name: "epics",
    sign: { test: (markdown) => EPIC.test(markdown) && STORY.test(markdown) && !PHASE.test(markdown) },
    ids: ["task", "T", "number"],
    words: { phase: ["epic"], task: ["story", "user story"] },
  },
  { ...COMMON, name: "spec-workflow", sign: /_(?:Prompt|Leverage):/, tilde: "blocked" },
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
  },
  {
    ...COMMON,
    name: "openspec",
    sign: /^#{1,6} +\d+[.)] |^[^\S\r\n\u2028\u2029]*(?:[-*+]|\d+[.)]) +\[[^\]]?\] +\d+[.)\s]/m,
  },
  { ...COMMON, name: "plain", sign: /(?:)/, ids: ["task", "T", "number"] },
];

export const DIALECT_NAMES: readonly string[] = DIALECTS.map(({ name }) => name);

/** Returns the dialect with this name, or the one that is recognised. Throws `INVALID_INPUT` for an unknown name. */
export function chooseDialect(markdown: string, name: string | undefined): Dialect {
  const found = DIALECTS.find((one) => (name === undefined ? one.sign.test(markdown) : one.name === name));
  if (found !== undefined) return found;
  const all = DIALECT_NAMES.join(", ");
  const similar = nearest(name ?? "", DIALECT_NAMES);
  throw new PhasegateError("INVALID_INPUT", `there is no dialect '${name}'`, {
    remedy: `${similar === undefined ? "Use" : `Did you mean '${similar}'? There are`} ${all}; leave it out to have it recognised.`,
    details: { field: "dialect", expected: all },
  });
}

/** Returns the state that a mark says; undefined for one without a meaning. */
export type Marks = (mark: string) => TaskState | undefined;

const MARKS: ReadonlyMap<string, TaskState> = new Map<string, TaskState>([
  ...["-", "/", ">"].map((mark) => [mark, "in_progress"] as const),
  ...["N/A", "n/a"].map((mark) => [mark, "dropped"] as const),
]);

/** Returns the meaning of marks in a source. `items` are those of its legend. */
export function marksOf(source: SourceText, items: ReadonlySet<Row>, { tilde }: Dialect, words: Vocabulary): Marks {
  const legend = new Map<string | undefined, TaskState | undefined>([
    ...source.lines.flatMap(({ text }) => legendEntries(text, words)),
    ...[...items].map(({ text, checkbox }) => [checkbox?.mark, words.stateIn(text)?.state] as const),
  ]);
  return (mark) => {
    if (isTicked(mark)) return "done";
    if (isOpen(mark)) return "pending";
    return legend.get(mark) ?? MARKS.get(mark) ?? (mark === "~" ? tilde : words.stateIn(mark)?.state);
  };
}

/** A text that says nothing but a state: `pending`, `in progress: work has begun`. */
const STATE_ALONE = /^(?:[^\p{L}\p{N}]*$|[^\p{L}\p{N}:：=(（–—-]*[:：=(（–—-])/u;

/** Titles and labels above lists that explain marks. */
const LEGEND_TITLE =
  /\b(?:legend|key|markers?|notation|symbols?|leyenda|legenda)\b|\bstatus(?:es)? (?:values|codes|icons)\b|légende|legende|легенда|凡例|图例|圖例|범례/i;

/** Returns the items of lists that explain marks, below such a title or label: at least two, each a mark and the name of its state. */
export function legendRows(rows: readonly Row[], words: Vocabulary): ReadonlySet<Row> {
  const found = new Set<Row>();
  let run: Row[] = [];
  let title = "";
  const end = () => {
    const marks = new Set(run.map(({ checkbox }) => checkbox?.mark));
    if (run.length > 1 && LEGEND_TITLE.test(title) && marks.size === run.length) for (const row of run) found.add(row);
    run = [];
  };
  for (const row of rows) {
    const { kind, text, checkbox, parent } = row;
    const said = checkbox && words.stateIn(text);
    if (checkbox && /^[=:：→–—-]/.test(text) && isLegend(`[${checkbox.mark}] ${text}`, words)) found.add(row);
    const isSign = said !== undefined && STATE_ALONE.test(text.slice(said.index + said.word.length));
    if (isSign && (run.at(-1) ?? row).parent === parent) run.push(row);
    else if (kind !== "text") end();
    if (kind === "heading" || row.label !== undefined) title = text;
  }
  end();
  return found;
}

/** Checks whether a line is a legend of marks: `[ ] pending · [>] in progress · [-] shelved`. */
export function isLegend(line: string, words: Vocabulary): boolean {
  return legendEntries(line, words).length > 0;
}

const LEGEND_ENTRY = /`?\[([^[\]]?)\]`?\s*(?:[:=→–—-]+\s*)?`?([\p{L} -]+)/gu;

/** Returns the marks and states of a line that has at least two. */
function legendEntries(line: string, words: Vocabulary): (readonly [string, TaskState])[] {
  if (line.trimStart().startsWith("|")) return [];
  const entries = [...line.matchAll(LEGEND_ENTRY)].flatMap(([, mark = "", said = ""]) => {
    const state = words.stateIn(said)?.state;
    return state === undefined ? [] : [[mark.trim(), state] as const];
  });
  return entries.length < 2 ? [] : entries;
}
