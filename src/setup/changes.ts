/** Changes of a text: insertions, the cuts that undo them, and the lines that differ. Offsets are in UTF-16 units. */

/** A text that is inserted at an offset. */
export interface Insertion {
  readonly offset: number;
  readonly text: string;
}

/** The ranges of a text that were inserted, as offset and length, from the first to the last. */
export type Cuts = readonly (readonly [offset: number, length: number])[];

/** Inserts texts. Their offsets are those of the text before. */
export function insertAll(text: string, insertions: readonly Insertion[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { offset, text: inserted } of ordered(insertions)) {
    parts.push(text.slice(from, offset), inserted);
    from = offset;
  }
  return [...parts, text.slice(from)].join("");
}

/** Cuts ranges out. */
export function cutAll(text: string, cuts: Cuts): string {
  let from = 0;
  const parts = cuts.map(([offset, length]) => {
    const part = text.slice(from, offset);
    from = offset + length;
    return part;
  });
  return [...parts, text.slice(from)].join("");
}

/** Returns the ranges after further insertions, with these. */
export function movedCuts(cuts: Cuts, insertions: readonly Insertion[]): Cuts {
  let moved = cuts;
  // From the last to the first, so that no offset is moved by another insertion.
  for (const { offset, text } of ordered(insertions).toReversed()) {
    const inside = moved.find(([start, length]) => start < offset && offset <= start + length);
    const rest = moved.map(([start, length]): readonly [number, number] => {
      if (inside?.[0] === start) return [start, length + text.length];
      return start >= offset ? [start + text.length, length] : [start, length];
    });
    moved = inside === undefined ? [...rest, [offset, text.length] as const] : rest;
  }
  return moved.toSorted(([a], [b]) => a - b);
}

/** Returns the ranges after a change inside of one of them; undefined if it was not inside. */
export function resizedCuts(cuts: Cuts, before: string, after: string): Cuts | undefined {
  const difference = after.length - before.length;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  const changed = cuts.find(([start, length]) => start <= same && same < start + length);
  const resized = cuts.map(([start, length]): readonly [number, number] => {
    if (start === changed?.[0]) return [start, length + difference];
    return [start > same ? start + difference : start, length];
  });
  return changed !== undefined && cutAll(after, resized) === cutAll(before, cuts) ? resized : undefined;
}

function ordered(insertions: readonly Insertion[]): readonly Insertion[] {
  return insertions.toSorted((a, b) => a.offset - b.offset);
}

/** Lines around a change that are shown with it. */
const AROUND = 2;
/** A table of more cells is not computed: the lines between the first and the last difference are all shown. */
const CELLS_MAX = 4_000_000;

/** Returns the lines that differ, with `+` or `-` in front, and those around them with a blank. Empty if none differ. */
export function differenceOf(before: string, after: string): string[] {
  const lines = compare(linesOf(before), linesOf(after));
  const isNear = (index: number) =>
    lines.slice(Math.max(0, index - AROUND), index + AROUND + 1).some((line) => !line.startsWith(" "));
  return lines.flatMap((line, index) => {
    if (isNear(index)) return [line];
    return index > 0 && isNear(index - 1) ? ["…"] : [];
  });
}

function linesOf(text: string): string[] {
  if (text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

function compare(before: readonly string[], after: readonly string[]): string[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const [old, next] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return [
    ...before.slice(0, start).map((line) => ` ${line}`),
    ...compareMiddle(old, next),
    ...before.slice(before.length - end).map((line) => ` ${line}`),
  ];
}

function compareMiddle(old: readonly string[], next: readonly string[]): string[] {
  if (old.length * next.length > CELLS_MAX)
    return [...old.map((line) => `-${line}`), ...next.map((line) => `+${line}`)];
  // longest[i][j]: the number of lines that the rests from i and from j have in common.
  const longest = Array.from({ length: old.length + 1 }, () => new Array<number>(next.length + 1).fill(0));
  const at = (i: number, j: number) => longest[i]?.[j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = next.length - 1; j >= 0; j -= 1) {
      const row = longest[i];
      if (row !== undefined) row[j] = old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i] === next[j]) {
      lines.push(` ${old[i]}`);
      i += 1;
      j += 1;
    } else if (j >= next.length || (i < old.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(`-${old[i]}`);
      i += 1;
    } else {
      lines.push(`+${next[j]}`);
      j += 1;
    }
  }
  return lines;
}
