/** Headings that may begin a phase, with what is below them, and which of them count. */
import { isGateTitle } from "./identify.js";
import type { Row } from "./rows.js";

/** Where a phase begins. */
export interface PhaseStart {
  /** The number or letter as it is written; missing where there is none. */
  readonly key?: string;
  readonly name: string;
  readonly level: number;
}

/** What makes a row a task of its section: its id, or, where there are none, its line. */
export type Weight = (index: number) => string | undefined;

/** A heading that may begin a phase. */
export interface Candidate extends PhaseStart {
  readonly index: number;
  readonly parent: number;
  /** Ids of tasks below it; for plans without ids, one for each checkbox. */
  readonly tasks: readonly string[];
}

/**
 * Headings with what is below them: up to the next candidate, or to a heading that isn't deeper and belongs
 * to no task and no gate. `direct`: up to the next heading of any kind.
 */
export function candidates(
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

/** Of the headings with one number, the first with tasks, and those that have others; empty ones beside them. */
export function chosen(all: readonly Candidate[]): Candidate[] {
  const seen = new Set<string>();
  const full = all.filter(({ tasks }) => {
    const fresh = tasks.filter((id) => !seen.has(id));
    for (const id of fresh) seen.add(id);
    return fresh.length > 0;
  });
  const taken = new Set(full.map(({ key }) => key));
  const places = new Set(full.map(placeOf));
  const empty = all.filter((candidate) => {
    const beside = full.length === 0 || places.has(placeOf(candidate));
    if (!beside || taken.has(candidate.key)) return false;
    taken.add(candidate.key);
    return true;
  });
  return [...full, ...empty].sort((a, b) => a.index - b.index);
}

/** How deep a heading is, and below which other one. */
function placeOf({ level, parent }: Candidate): string {
  return `${level} ${parent}`;
}
