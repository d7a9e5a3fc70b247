import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addToRanges, cutRanges, inRanges, type Ranges, rangesSchema } from "../../../src/phased/state/ranges.js";

const place = fc.nat({ max: 20 });
const setOf = (ranges: Ranges) =>
  new Set(Array.from({ length: 25 }, (_, n) => n - 2).filter((n) => inRanges(ranges, n)));

describe("ranges", () => {
  it("join adjacent numbers", () => {
    expect([3, 1, 2].reduce(addToRanges, [])).toEqual([[1, 3]]);
    expect([1, 5, 3].reduce(addToRanges, [])).toEqual([
      [1, 1],
      [3, 3],
      [5, 5],
    ]);
    expect(addToRanges([[1, 4]], 2)).toEqual([[1, 4]]);
    expect([1, 3, 6, 4].reduce(addToRanges, [])).toEqual([
      [1, 1],
      [3, 4],
      [6, 6],
    ]);
  });

  it("are cut within a range, and between two", () => {
    const ranges: Ranges = [
      [0, 2],
      [5, 9],
    ];
    expect(cutRanges(ranges, 7)).toEqual([
      [0, 2],
      [5, 6],
    ]);
    expect(cutRanges(ranges, 4)).toEqual([[0, 2]]);
    expect(cutRanges(ranges, 5)).toEqual([[0, 2]]);
    expect(cutRanges(ranges, 0)).toEqual([]);
  });

  it("contain nothing if they are missing", () => {
    expect([inRanges([[1, 1]], 1), inRanges([], 1), inRanges(undefined, 1)]).toEqual([true, false, false]);
  });

  it("contain the same numbers as a set, in as few ranges as possible, without changing their input", () => {
    const steps = fc.array(fc.oneof(fc.record({ add: place }), fc.record({ cut: place })), { maxLength: 40 });
    fc.assert(
      fc.property(steps, (done) => {
        let ranges: Ranges = [];
        let set = new Set<number>();
        for (const step of done) {
          const before = JSON.stringify(ranges);
          const next = "add" in step ? addToRanges(ranges, step.add) : cutRanges(ranges, step.cut);
          set = "add" in step ? new Set([...set, step.add]) : new Set([...set].filter((n) => n < step.cut));
          expect(JSON.stringify(ranges)).toBe(before);
          ranges = next;
          expect(setOf(ranges)).toEqual(new Set([...set].sort((a, b) => a - b)));
          for (const [index, [from, to]] of ranges.entries()) {
            expect(from).toBeLessThanOrEqual(to);
            const before = ranges[index - 1];
            if (before !== undefined) expect(from).toBeGreaterThan(before[1] + 1);
          }
          expect(rangesSchema.parse(ranges)).toEqual(ranges);
        }
      }),
    );
  });
});
