/**
 * Which headings begin a phase. Plans name their phases more than once: in an overview, in summaries, in
 * lists of dependencies and risks. The heading that counts is the one below which the tasks are.
 */
import { type Candidate, candidates, chosen, type PhaseStart, type Weight } from "./candidates.js";
import type { Dialect } from "./dialects.js";
import { isGateTitle, loosePhaseTitle, numberedTitle, type PhaseTitle, phaseTitle } from "./identify.js";
import { fieldOf, NO_TASKS } from "./labels.js";
import type { Row } from "./rows.js";
import { type TaskRows, taskRowsOf } from "./task-rows.js";

/** The shape of a plan. */
export interface Outline extends TaskRows {
  /** By the index of the row. */
  readonly starts: ReadonlyMap<number, PhaseStart>;
  /** Whether there are no headings of phases, and tasks `2`, `2.1`, `2.2` are phase 2. */
  readonly grouped: boolean;
  /** Whether tasks have ids: then a checkbox without one is something else, as a rule. */
  readonly identified: boolean;
  /** The index of the first task, where tasks with ids stand below no heading at all. */
  readonly untitled?: number;
}

type Ids = readonly (string | undefined)[];

/** Finds the phases of a plan. */
export function outlineOf(rows: readonly Row[], dialect: Dialect): Outline {
  const { idOf, mentions } = taskRowsOf(rows, dialect);
  const ids = rows.map((row) => idOf.get(row));
  const shared = { identified: idOf.size > 0, idOf, mentions };
  const weight: Weight = (index) => ids[index] ?? (shared.identified ? undefined : plainTask(rows[index]));
  const keys = new Set(rows.flatMap(({ kind, text }) => (kind === "heading" && phaseTitle(text)?.key) || []));
  const named = candidates(rows, weight, (row) => namedPhase(row, keys));
  const phases = chosen(named);
  if (phases.length > 0) return { starts: startsOf(phases), grouped: false, ...shared };
  const sections = sectionsOf(rows, ids, weight, dialect);
  const numbered = sections.some(({ key }) => key !== undefined);
  const grouped = !numbered && sections.length < 2 && dialect.nested === "tasks" && ids.some((id) => id?.includes("."));
  const starts = startsOf(grouped ? sections : sections.map(withKey));
  const first = rows.findIndex((row) => idOf.has(row));
  return { starts, grouped, ...shared, ...(starts.size === 0 && first !== -1 ? { untitled: first } : {}) };
}

/**
 * Sections with tasks, in a plan without phases. Where they are numbered, each has what is below its deeper
 * headings too, and one without a number may have tasks without ids.
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
  return full(candidates(rows, any, shallow)).filter(({ key, name }) => key !== undefined || !NO_TASKS.test(name));
}

function numberedSection(start: PhaseStart | undefined): PhaseStart | undefined {
  return start?.key === undefined ? undefined : start;
}

function full(all: readonly Candidate[]): Candidate[] {
  return all.filter(({ tasks }) => tasks.length > 0);
}

/** A section without a number has the one that all its tasks begin with. */
function withKey(section: Candidate): Candidate {
  const parts = new Set(section.tasks.map((id) => /^(\d+)\./.exec(id)?.[1]));
  const [key] = parts;
  return section.key !== undefined || parts.size !== 1 || key === undefined ? section : { ...section, key };
}

function plainTask(row: Row | undefined): string | undefined {
  return row?.checkbox !== undefined && row.kind === "item" && row.depth === 0 ? `${row.line}` : undefined;
}

/**
 * A heading, or in a plan that has none of phases a line in bold. `keys` are the phases that have a title as it
 * should be.
 */
function namedPhase(row: Row, keys: ReadonlySet<string>): PhaseStart | undefined {
  const bold = keys.size === 0 && row.kind === "text" && row.depth === -1 && /^\*\*[^*]+\*\*:?$/.test(row.text);
  if (row.kind !== "heading" && !bold) return undefined;
  const title =
    isGateTitle(row.text) && !/^[^\p{L}]*phase\s+\w+\s*[:.)]/iu.test(row.text)
      ? undefined
      : (phaseTitle(row.text) ?? otherPhase(row.text, keys));
  return title && { ...title, level: row.kind === "heading" ? row.depth : 7 };
}

function otherPhase(text: string, keys: ReadonlySet<string>): PhaseTitle | undefined {
  const title = loosePhaseTitle(text);
  return title === undefined || keys.has(title.key) ? undefined : title;
}

/** In a plan without phases every section with tasks is one. */
function anySection(row: Row, { section }: Dialect): PhaseStart | undefined {
  if (row.kind !== "heading") return undefined;
  if (section !== undefined && !section.test(row.text)) return undefined;
  const numbered = numberedTitle(row.text);
  if (numbered !== undefined) return { ...numbered, level: row.depth };
  const field = fieldOf(row.text);
  if (isGateTitle(row.text) || field === "success" || field === "criteria") return undefined;
  return { name: row.text.replace(/\*\*|__/g, "").trim(), level: row.depth };
}

function startsOf(phases: readonly Candidate[]): Map<number, PhaseStart> {
  return new Map(
    phases.map(({ index, key, name, level }) => [index, { ...(key === undefined ? {} : { key }), name, level }]),
  );
}
