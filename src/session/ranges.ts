import * as z from "zod";

/** Checks ranges that come out of a store. */
export const rangesSchema = z.array(z.tuple([z.int(), z.int()]));

/** A set of whole numbers as ascending, disjoint, inclusive ranges: small however many there are. */
export type Ranges = z.infer<typeof rangesSchema>;

/** Whether a number is in the set. */
export function inRanges(ranges: Ranges, value: number): boolean {
  return ranges.some(([from, to]) => from <= value && value <= to);
}

/** The set with one number more. */
export function addToRanges(ranges: Ranges, value: number): Ranges {
  // What is done in order, which is nearly always, goes on the end.
  const last = ranges.at(-1);
  if (last !== undefined && value === last[1] + 1) return [...ranges.slice(0, -1), [last[0], value]];
  const before = ranges.filter(([, to]) => to < value - 1);
  const after = ranges.filter(([from]) => from > value + 1);
  const touching = ranges.filter(([from, to]) => from <= value + 1 && to >= value - 1);
  const from = Math.min(value, ...touching.map(([start]) => start));
  const to = Math.max(value, ...touching.map(([, end]) => end));
  return [...before, [from, to], ...after];
}

/** The set of all numbers that are in one of the two and pass a test. */
export function joinRanges(one: Ranges, other: Ranges, test: (value: number) => boolean = () => true): Ranges {
  return [...numbersIn(one), ...numbersIn(other)].filter(test).reduce(addToRanges, []);
}

/** All numbers in the set, ascending. */
export function numbersIn(ranges: Ranges): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
}

/** The set without the numbers from a limit on. */
export function cutRanges(ranges: Ranges, limit: number): Ranges {
  return ranges.filter(([from]) => from < limit).map(([from, to]): [number, number] => [from, Math.min(to, limit - 1)]);
}
