import { expect, it } from "vitest";
import { addNoted, isNoted, type NotedSums } from "../../../src/phased/state/noted.js";

const numbered = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]));

it.each([
  ["numbers and texts", { cost: 0.25, model: "small" }, { cost: [1] }],
  ["nothing in an object", {}, null],
  ["only numbers and texts", { cost: 1 }, { cost: 1, usd: null }],
  ["up to 20 values", numbered(20), numbered(21)],
  ["names of up to 40 characters", { [`a${"B_9".repeat(13)}`]: 1 }, { [`a${"B_9".repeat(13)}c`]: 1 }],
  ["names of at least one character", { A: 1 }, { "": 1 }],
  ["names with an underscore, but without a hyphen", { a_b: 1 }, { "a-b": 1 }],
  ["names that begin with a letter, not with a digit", { a1: 1 }, { "1a": 1 }],
  ["names that begin with a letter, not with an underscore", { a_: 1 }, { _a: 1 }],
  ["numbers up to 1e15 in size", { usd: -1e15, eur: 1e15 }, { usd: -1.1e15 }],
  ["texts of up to 200 characters", { model: "x".repeat(200) }, { model: "x".repeat(201) }],
  ["a long number as a text alone", { model: "1".repeat(17) }, { cost: 1e16 }],
])("a host may note %s", (_, noted, wrong) => {
  expect([isNoted(noted), isNoted(wrong)]).toEqual([true, false]);
});

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
