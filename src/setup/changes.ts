/** Changes of a text: insertions, and the cuts that undo them. Offsets are in UTF-16 units. */

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
