/** What changed between two submissions, value by value; and between two texts, line by line (Myers' algorithm, by jsdiff). */
import { diffArrays } from "diff";
import { defined, isJsonObject, type JsonObject, type JsonValue, ownValue } from "../workflow/json.js";
import type { Difference } from "./model.js";

const DIFFERENCES_MAX = 200;
/** Lines around a change that are shown with it. */
const AROUND = 2;
/** Texts that differ in more lines are shown whole, one after the other. */
const EDITS_MAX = 500;
/**
 * The steps that the search for edits may take, in all texts of a comparison together: about a tenth of a second. The agent has
 * written the texts, and nobody else is served meanwhile. Texts for which too few are left are shown whole.
 */
const STEPS_MAX = 600_000;
/** Equal lines that are passed in the time of a step. */
const LINES_PER_STEP = 40;

interface Budget {
  left: number;
}

/** Returns what is not as it was, in the order of the new value; what is gone comes last. */
export function differencesOf(before: JsonObject, after: JsonObject): readonly Difference[] {
  const found: Difference[] = [];
  compare("", before, after, found, { left: STEPS_MAX });
  return found;
}

function compare(
  path: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  found: Difference[],
  budget: Budget,
): void {
  if (before === after) return;
  const names = namesIn(before, after);
  if (names !== undefined) {
    for (const name of names) {
      const [old, now] = [memberOf(before, name), memberOf(after, name)];
      if (old !== now) compare(path === "" ? name : `${path}.${name}`, old, now, found, budget);
      if (found.length >= DIFFERENCES_MAX) return;
    }
    return;
  }
  const [one, other] = [textOf(before), textOf(after)];
  if (one === other && typeof before === typeof after) return;
  const isLong = typeof before === "string" && typeof after === "string" && /\n/.test(before + after);
  const isPaid = isLong && lineCount(before) + lineCount(after) <= budget.left;
  const lines = isPaid ? changedLines(before, after, budget) : [];
  if (lines.length > 0) found.push({ path, lines });
  else found.push(defined({ path, before: one, after: other }));
}

/** Returns the names of all members of two objects, or the numbers of all items of two lists; undefined for other values. */
function namesIn(before: JsonValue | undefined, after: JsonValue | undefined): readonly string[] | undefined {
  if (Array.isArray(before) && Array.isArray(after)) return Object.keys(after.length < before.length ? before : after);
  if (!isJsonObject(before) || !isJsonObject(after)) return undefined;
  return [...Object.keys(after), ...Object.keys(before).filter((name) => !Object.hasOwn(after, name))];
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (Array.isArray(value)) return value[Number(name)];
  return ownValue(value, name);
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value);
}

/** Counts lines without a text of each: there may be millions. */
function lineCount(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** Returns the lines of both texts with ` `, `-` or `+`; `…` for those far from a change. Empty if no line differs. */
export function changedLines(before: string, after: string, budget: Budget = { left: STEPS_MAX }): readonly string[] {
  const parts = partsOf(linesOf(before), linesOf(after), budget);
  if (!parts.some(({ added, removed }) => added || removed)) return [];
  return parts.flatMap(({ value, added, removed }, index) => {
    const lines = value.map(({ text }) => text);
    if (added || removed) return lines.map((line) => `${added ? "+" : "-"}${line}`);
    const [head, tail] = [index === 0 ? 0 : AROUND, index === parts.length - 1 ? 0 : AROUND];
    if (lines.length <= head + tail + 1) return lines.map((line) => ` ${line}`);
    const shown = [...lines.slice(0, head), undefined, ...lines.slice(lines.length - tail)];
    return shown.map((line) => (line === undefined ? "…" : ` ${line}`));
  });
}

function linesOf(text: string): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

/** Equal lines are one object, so that they are compared at once, however long they are. */
interface Line {
  readonly text: string;
}

/** Returns the lines that both texts have, and those that one of them has; as far as the budget goes. */
function partsOf(before: readonly string[], after: readonly string[], budget: Budget) {
  const known = new Map<string, Line>();
  const lineOf = (text: string) => {
    const line = known.get(text) ?? { text };
    known.set(text, line);
    return line;
  };
  const [old, now] = [before.map(lineOf), after.map(lineOf)];
  budget.left -= old.length + now.length;
  // Each edit may cost a step for each edit before it, and pass all equal lines once more.
  const passing = (old.length + now.length) / LINES_PER_STEP;
  const maxEditLength = Math.min(EDITS_MAX, Math.floor(budget.left / (EDITS_MAX + passing)));
  const parts = diffArrays(old, now, { maxEditLength });
  const changed = parts?.filter(({ added, removed }) => added || removed);
  const edits = changed?.reduce((sum, { value }) => sum + value.length, 0) ?? maxEditLength;
  budget.left -= edits * (edits + passing);
  return (
    parts ?? [
      { value: old, removed: true, added: false },
      { value: now, removed: false, added: true },
    ]
  );
}
