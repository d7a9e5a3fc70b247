/**
 * Sets of positions and of tasks' numbers as ascending, disjoint, inclusive ranges. A head is part of every commit, and
 * such numbers are usually consecutive.
 */

import * as z from "zod/mini";

/** Checks stored ranges. */
export const rangesSchema = z.array(z.tuple([z.int(), z.int()]));

/** A set of integers. */
export type Ranges = [number, number][];

/** Returns true if a number is in the set. */
export function inRanges(ranges: Ranges, value: number): boolean {
  return ranges.some(([from, to]) => from <= value && value <= to);
}

/** Returns the set with one more number. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  // The usual case: phases are done in order.
  const last = ranges.at(-1);
  if (last !== undefined && value === last[1] + 1) return ranges.with(-1, [last[0], value]);
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** Returns the numbers of both sets that pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean = () => true): Ranges {
  return [...numbersIn(one), ...numbersIn(other)].filter(test).reduce(addToRanges, []);
}

/** Returns all numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** Returns the numbers of the set below a limit. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}
