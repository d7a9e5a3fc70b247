/**
 * The dialects of tasks.md: what is different in each, as a table over one reader. A plan that mixes them is
 * read all the same; a dialect decides only what can't be told from the text itself.
 */

import { PhasegateError } from "../errors.js";
import { nearest } from "../workflow/names.js";
import type { TaskState } from "./plan.js";
import type { TaskIds } from "./titles.js";

/** What a dialect decides. */
export interface Dialect {
  readonly name: string;
  /** What only sources of this dialect have. */
  readonly sign: RegExp;
  /** How tasks are named, in the order in which the forms are tried. */
  readonly ids: readonly TaskIds[];
  /** What `[~]` says. */
  readonly tilde: TaskState;
  /** Whether checkboxes with an id of their own below a task are tasks too, or its acceptance criteria. */
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

/** The dialect of that name, or the one that a source shows itself to be. Throws `INVALID_INPUT` for an unknown name. */
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
