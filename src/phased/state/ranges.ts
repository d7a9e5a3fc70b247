/**
 * Sets of positions and of tasks' numbers as ascending, disjoint, inclusive ranges. A head is part of every commit, and
 * such numbers are usually consecutive. Also the phases whose ticks are not written into the plan yet, and
 * the failures by position.
 */
import * as z from "zod/mini";

/** Checks stored ranges. */
export const rangesSchema = z.array(z.tuple([z.int(), z.int()]));

/** A set of integers. */
export type Ranges = z.infer<typeof rangesSchema>;

/** Returns true if a number is in the set; none is if it is missing. */
export function inRanges(ranges: Ranges | undefined, value: number): boolean {
  return ranges?.some(([from, to]) => from <= value && value <= to) === true;
}

/** Returns the set with one more number. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** Returns the numbers of both sets that pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean): Ranges {
  return filterRanges([...one, ...other], test);
}

/** Returns the numbers of a set that pass a test; its ranges may overlap. */
export function filterRanges(ranges: Ranges, test: (value: number) => boolean): Ranges {
  return numbersIn(ranges).filter(test).reduce(addToRanges, []);
}

/** Returns all numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** Returns the numbers of the set below a limit. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}

/** Old and new positions of phases. */
export type Places = readonly (readonly [from: number, to: number])[];

/** Returns the new positions of those in the set that stay. */
export function movedRanges(ranges: Ranges, places: Places): Ranges {
  return places.flatMap(([from, to]) => (inRanges(ranges, from) ? [to] : [])).reduce<Ranges>(addToRanges, []);
}

/** Checks stored ticks. */
export const dueTicksSchema = z.object({ tick: rangesSchema, untick: rangesSchema });
/** Ticks that are not written into a plan yet: positions of phases to tick and to untick. */
export type DueTicks = z.infer<typeof dueTicksSchema>;

const NOTHING: DueTicks = { tick: [], untick: [] };

/** Returns the due ticks after a phase has passed. */
export function dueAfterPass(due = NOTHING, position: number): DueTicks {
  return { ...due, tick: addToRanges(due.tick, position) };
}

/** Completed positions, and the ticks that are due. */
interface Ticked {
  readonly completed: Ranges;
  readonly due?: DueTicks | undefined;
}

/** Removes the ticks of phases that are no longer completed, including ticks that are not written yet. */
export function dueAfterRollback(
  { due = NOTHING, completed }: Ticked,
  { unticksFrom: from }: { readonly unticksFrom?: number | undefined },
): DueTicks | undefined {
  if (from === undefined) return withoutEmpty(due);
  return withoutEmpty({
    tick: cutRanges(due.tick, from),
    untick: joinRanges(due.untick, completed, (place) => place >= from || inRanges(due.untick, place)),
  });
}

/**
 * Removes the ticks that were written. If a phase was passed or rolled back meanwhile, ticks that were just removed are due
 * again, or ticks that were just written must be removed.
 */
export function dueAfterTicks(
  { due = NOTHING, completed }: Ticked,
  { ticks, unticks }: { readonly ticks: Ranges; readonly unticks: Ranges },
): DueTicks | undefined {
  const late = filterRanges(ticks, (place) => !inRanges(completed, place));
  return withoutEmpty({
    tick: joinRanges(due.tick, unticks, (place) => inRanges(completed, place) && !inRanges(ticks, place)),
    untick: joinRanges(due.untick, late, (place) => !inRanges(unticks, place)),
  });
}

function withoutEmpty(due: DueTicks): DueTicks | undefined {
  return due.tick.length === 0 && due.untick.length === 0 ? undefined : due;
}

/**
 * Moves failures with their phases: otherwise an edit and a sync would give an agent new attempts. Failures
 * of the current phase also count for a phase in its position.
 */
export function spentAfter(
  spent: [number, number][],
  position: number,
  places: readonly (readonly [number, number])[] | undefined,
): [number, number][] {
  const counts = new Map(spent.filter(([place]) => place <= position));
  for (const [place, count] of spent) {
    const to = places?.find(([from]) => from === place)?.[1];
    if (to !== undefined) counts.set(to, Math.max(count, counts.get(to) ?? 0));
  }
  return [...counts];
}
