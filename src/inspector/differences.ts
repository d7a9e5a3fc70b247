/** What changed between two submissions, value by value; and between two texts, line by line (Myers' algorithm, by jsdiff). */
import { diffLines } from "diff";
import { isJsonObject, type JsonObject, type JsonValue } from "../workflow/json.js";
import type { Difference } from "./wire.js";

/** Maximum number of differences that are listed. */
const DIFFERENCES_MAX = 200;
/** Lines around a change that are shown with it. */
const AROUND = 2;
/** Texts that differ in more lines are shown whole, one after the other. */
const EDITS_MAX = 500;

/** Returns what is not as it was, in the order of the new value; what is gone comes last. */
export function differencesOf(before: JsonObject, after: JsonObject): readonly Difference[] {
  const found: Difference[] = [];
  compare("", before, after, found);
  return found;
}

function compare(path: string, before: JsonValue | undefined, after: JsonValue | undefined, found: Difference[]): void {
  if (found.length >= DIFFERENCES_MAX) return;
  const [old, now] = [membersOf(before), membersOf(after)];
  if (old !== undefined && now !== undefined && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...now.keys(), ...old.keys()])) {
      compare(path === "" ? name : `${path}.${name}`, old.get(name), now.get(name), found);
    }
    return;
  }
  const [one, other] = [textOf(before), textOf(after)];
  if (one === other && typeof before === typeof after) return;
  const isLong = typeof before === "string" && typeof after === "string" && /\n/.test(before + after);
  const lines = isLong ? changedLines(before, after) : [];
  if (lines.length > 0) found.push({ path, lines });
  else
    found.push({
      path,
      ...(one === undefined ? {} : { before: one }),
      ...(other === undefined ? {} : { after: other }),
    });
}

/** Members by name, items by number from 0; undefined for a plain value. */
function membersOf(value: JsonValue | undefined): ReadonlyMap<string, JsonValue | undefined> | undefined {
  if (Array.isArray(value)) return new Map(value.map((item, index) => [String(index), item]));
  return isJsonObject(value) ? new Map(Object.entries(value)) : undefined;
}

function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value : JSON.stringify(value);
}

/**
 * Returns the lines of both texts with ` `, `-` or `+` before them; for those far from a change stands `…`. Empty if no line
 * differs: a line break at the end makes no difference.
 */
export function changedLines(before: string, after: string): readonly string[] {
  const ended = (text: string) => (text === "" || text.endsWith("\n") ? text : `${text}\n`);
  const parts = diffLines(ended(before), ended(after), { maxEditLength: EDITS_MAX }) ?? [
    { value: before, removed: true, added: false },
    { value: after, removed: false, added: true },
  ];
  if (!parts.some(({ added, removed }) => added || removed)) return [];
  return parts.flatMap(({ value, added, removed }, index) => {
    const lines = value.replace(/\n$/, "").split("\n");
    if (added || removed) return lines.map((line) => `${added ? "+" : "-"}${line}`);
    const [head, tail] = [index === 0 ? 0 : AROUND, index === parts.length - 1 ? 0 : AROUND];
    if (lines.length <= head + tail + 1) return lines.map((line) => ` ${line}`);
    const shown = [...lines.slice(0, head), undefined, ...lines.slice(lines.length - tail)];
    return shown.map((line) => (line === undefined ? "…" : ` ${line}`));
  });
}
