import { expect, it } from "vitest";
import { addNoted, type NotedSums } from "../../../src/phased/state/noted.js";

it("tells apart 50 names, whatever they are called", () => {
  const sums: NotedSums = {};
  for (let at = 0; at < 60; at += 1) addNoted(sums, { [`n${at}`]: 1, text: "one" });
  addNoted(sums, { n0: 2, n55: 2 });
  expect(Object.keys(sums)).toHaveLength(50);
  expect([sums.n0, sums.n49, sums.n55, sums.text]).toEqual([3, 1, undefined, undefined]);
  const inherited: NotedSums = {};
  addNoted(inherited, { constructor: 1, toString: 2 });
  expect(Object.entries(inherited)).toEqual([
    ["constructor", 1],
    ["toString", 2],
  ]);
});
