import { expect, it } from "vitest";
import { notedSumTexts, notedTexts } from "../../src/read/noted.js";

it("what was noted is shown with its name in words, and short numbers", () => {
  expect(notedTexts({ cost: 0.1 + 0.2, input_tokens: 12_345, model: "a_b" })).toEqual([
    { label: "cost", text: "0.3" },
    { label: "input tokens", text: "12,345" },
    { label: "model", text: "a_b" },
  ]);
  expect(notedTexts()).toEqual([]);
});

it("sums are shown with the median", () => {
  const text = "1,234,560 in all, median 2.5";
  expect(notedSumTexts([{ name: "input_tokens", sum: 1_234_560.4, median: 2.5 }])).toEqual([
    { label: "input tokens", text },
  ]);
  expect(notedSumTexts()).toEqual([]);
});
