import { describe, expect, it } from "vitest";
import {
  comparisonValidator,
  hasUnclearNumber,
  isValidatorName,
  likelyNames,
  namedValidator,
} from "../../src/rules/validators.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import { complaints, validated } from "../gate/rules.js";

type Case = readonly [
  type: string,
  validator: string,
  params: JsonObject | undefined,
  good: JsonValue[],
  bad: JsonValue[],
];

const CASES: readonly Case[] = [
  ["boolean", "is_true", undefined, [true], [false, "true", 1]],
  ["integer", "greater_than_0", undefined, [1, 99], [0, -1, -0, "1", 1.5, true]],
  ["number", "positive", undefined, [0.1, 3], [0, -0.1, "3", null]],
  ["string", "positive", undefined, ["x"], ["", "  ", "\u00a0\u2003"]],
  ["list", "greater_than_0", undefined, [["a"], [0]], [[], {}, "a"]],
  ["string", "non_empty", undefined, ["x"], ["", " \t\n", "\ufeff"]],
  ["list", "non_empty", undefined, [[0], [false], ["", "x"], [{ a: 1 }]], [[], [""], [null, " "], [[]], [{ a: "" }]]],
  ["object", "min_length_2", undefined, [{ a: 1, b: 0 }], [{ a: 1 }, { a: 1, b: "" }, { a: null, b: [] }]],
  ["any", "greater_than_0", undefined, [1, 0.5, ["a"], { a: 1 }], [0, "0", "3", "abc", -1, true, [""], { a: null }]],
  ["any", "positive", undefined, [1], ["1", [], {}]],
  ["any", "non_empty", undefined, ["x", ["x"]], [" ", [""], [null], 3]],
  ["object", "non_empty", undefined, [{ a: 1 }], [{}, []]],
  ["string", "min_length_3", undefined, ["abc", " abcd "], ["ab", "  a  ", "   "]],
  ["list", "min_length_2", undefined, [[1, 2]], [[1], [], [1, null], ["", ""]]],
  ["number", "percent_gte_80", undefined, [80, 80.5, 100], [79.99, 0, 101, 8e9]],
  ["integer", "percent_gte_80", undefined, [80, 100], [79, 101]],
  ["string", "equals_yes", undefined, ["yes"], ["Yes", "yes ", "у\u0435s", "no"]],
  ["integer", "equals_0", undefined, [0], [1, "0", false]],
  ["number", "equals_1.5", undefined, [1.5], [1.4, 15]],
  ["boolean", "equals_true", undefined, [true], [false, "true"]],
  ["integer", "in_range", { min: 1, max: 5 }, [1, 5], [0, 6]],
  ["number", "in_range", { min: 0, max: 0.5 }, [0, 0.25, 0.5], [-1, 0.51]],
  ["integer", "greater_than_or_equal_4", undefined, [4, 5], [3, -4, "4"]],
  ["number", "greater_than_or_equal_0_85", undefined, [0.85, 1], [0.849, 0]],
  ["integer", "greater_than_or_equal_0_85", undefined, [1, 2], [0, -1]],
  ["number", "less_than_or_equal_2_0", undefined, [2, 0, -3.5], [2.01, 20]],
  ["integer", "between_1_and_5", undefined, [1, 3, 5], [0, 6]],
  ["number", "between_0_5_and_1_5", undefined, [0.5, 1, 1.5], [0.49, 1.51, 5]],
  ["integer", "between_1_5", undefined, [1, 5], [0, 6]],
  ["integer", "between_-5_to_-1", undefined, [-5, -1], [-6, 0]],
  ["number", "greater_than_0_5", undefined, [0.51], [0.5, 0]],
  ["integer", "less_than_10", undefined, [9], [10]],
  ["integer", "at_least_3", undefined, [3], [2]],
  ["integer", "max_7", undefined, [7], [8]],
  ["integer", "not_equals_0", undefined, [1, -1], [0]],
  ["any", "not_equals_5", undefined, [4, 0.5], [5, "4", [1], true]],
  ["integer", "equals_5", undefined, [5], [4, 50]],
  ["string", "equals_1_000", undefined, ["1_000"], ["1", "1000"]],
  ["number", "equals_0_5", undefined, [0.5], [0, 5]],
  ["string", "equals_0_5", undefined, ["0_5"], ["0.5"]],
  ["number", "percent_gte_99_5", undefined, [99.5, 100], [99.4, 101]],
  ["string", "min_length_10", undefined, ["a".repeat(10)], ["a".repeat(9), " ".repeat(20)]],
  ["string", "max_length_3", undefined, ["abc", " ab "], ["abcd"]],
  ["list", "min_items_2", undefined, [[1, 2]], [[1], [1, ""]]],
  ["list", "greater_than_or_equal_2", undefined, [["a", "b"]], [["a"], ["a", null]]],
  ["any", "greater_than_or_equal_2", undefined, [2, ["a", "b"]], [1, "5", ["a"], true]],
];

describe("named validators", () => {
  it.each(CASES)("of a %s: %s %j", async (type, validator, params, good, bad) => {
    const gate = await validated(type, validator, params);
    for (const x of good) expect(await complaints(gate, { x })).toEqual([]);
    for (const x of bad) expect(await complaints(gate, { x })).not.toEqual([]);
  });

  it("are undefined for types that they do not apply to", async () => {
    for (const [type, name] of [
      ["boolean", "positive"],
      ["integer", "non_empty"],
      ["integer", "min_length_2"],
      ["string", "percent_gte_80"],
      ["list", "equals_a"],
      ["boolean", "equals_yes"],
      ["integer", "equals_yes"],
      ["number", "equals_true"],
      ["string", "in_range"],
      ["string", "is_true"],
      ["string", "equals_\ud800"],
      ["boolean", "greater_than_or_equal_4"],
      ["integer", "max_length_3"],
      ["string", "not_equals_5"],
      ["list", "not_equals_5"],
    ] as const) {
      await expect(validated(type, name)).rejects.toThrow(`doesn't go with a field of type ${type}`);
    }
  });

  it("are suggested for similar names", async () => {
    await expect(validated("list", "min_lenght_4")).rejects.toThrow("Did you mean min_length_4?");
    await expect(validated("string", "nonempty")).rejects.toThrow("Did you mean non_empty?");
    await expect(validated("string", "file_exist")).rejects.toThrow("Did you mean file_exists?");
    await expect(validated("string", "entirely_different")).rejects.toThrow('Define it below "validators:"');
    await expect(validated("string", "x")).rejects.toThrow("evidence.x");
  });

  it("are not read if a number could be a thousand or one", async () => {
    for (const name of ["greater_than_1_000", "between_1_000_and_2_000", "at_most_999_999", "equals_1_000"])
      await expect(validated("integer", name)).rejects.toThrow("1_000 in a name could be a thousand or 1");
    expect(await complaints(await validated("string", "equals_1_000"), { x: "1_000" })).toEqual([]);
    expect(await complaints(await validated("any", "equals_v_1_000"), { x: "v_1_000" })).toEqual([]);
    expect(await complaints(await validated("number", "at_least_0_125"), { x: 0.125 })).toEqual([]);
  });

  it("are read only if the whole name is a comparison", async () => {
    expect(namedValidator("greater_than_or_equal_4", "integer")).toBeUndefined();
    expect(comparisonValidator("greater_than_or_equal_x", "integer")).toBeUndefined();
    expect(comparisonValidator("is_greater_than_or_equal_4", "integer")).toBeUndefined();
  });

  it("require their parameters", async () => {
    await expect(validated("integer", "in_range", { min: 1 })).rejects.toThrow("Add it to validator_params");
    await expect(validated("integer", "in_range", { min: 1, maxi: 2 })).rejects.toThrow('Did you mean "maxi"?');
    await expect(validated("integer", "in_range", { min: "a", max: "b" })).rejects.toThrow("can't be run");
  });
});

describe("a validator's name", () => {
  it.each([
    ["min_length_12", "string", "size(visible(value)) >= 12"],
    ["percent_gte_80_25", "number", "value >= 80.25 && value <= 100"],
    ["equals_a_b", "string", 'value == "a_b"'],
    ["equals_-12", "integer", "value == -12"],
    ["equals_true", "any", "value == true"],
    ["equals_trues", "any", 'value == "trues"'],
    ["equals_untrue", "any", 'value == "untrue"'],
    ["equals_false", "boolean", "value == false"],
    ["in_range", "any", "value >= params.min && value <= params.max"],
    ["is_true", "any", "value == true"],
  ] as const)("%s of a %s is %s", (name, type, cel) => {
    expect(namedValidator(name, type)).toEqual({ cel });
  });

  it.each([
    ["max_length_12", "list", "size(visible(value)) <= 12"],
    ["minimum_items_12", "any", "size(visible(value)) >= 12"],
    ["less_than_12.5", "number", "value < 12.5"],
    ["not_equal_to_12", "number", "value != 12"],
    ["between_1_and_5", "list", "size(visible(value)) >= 1 && size(visible(value)) <= 5"],
    ["from_1_to_5", "integer", "value >= 1 && value <= 5"],
    ["not_equals_12", "any", "type(value) in [int, double] && value != 12"],
  ] as const)("%s of a %s is compared as %s", (name, type, cel) => {
    expect(comparisonValidator(name, type)).toEqual({ cel });
  });

  it.each(["xmin_length_3", "min_length_3x", "xpercent_gte_80", "percent_gte_80x", "min_length_", "equals_"])(
    "is all of it: %s is none",
    (name) => expect(namedValidator(name, "any")).toBeUndefined(),
  );

  it.each([
    "xmin_items_3",
    "min_items_3x",
    "xmax_items_3",
    "max_items_3x",
    "max_items_x",
    "between_1",
    "from_1_000_to_5",
  ])("is all of it: %s is no comparison", (name) => expect(comparisonValidator(name, "any")).toBeUndefined());

  it("does not compare what has no size and is no number", () => {
    for (const name of ["at_least_3", "between_1_and_5", "not_equals_5", "min_items_3"])
      expect(comparisonValidator(name, "boolean"), name).toEqual({ cel: undefined });
    expect(comparisonValidator("min_items_3", "number")).toEqual({ cel: undefined });
    expect(namedValidator("equals_5", "object")).toEqual({ cel: undefined });
    expect(namedValidator("equals_untrue", "integer")).toEqual({ cel: undefined });
  });

  it("is unclear only where a number could be a thousand", () => {
    for (const name of ["at_least_1_000", "between_1_and_2_000", "equals_12_345", "at_most_-1_000"])
      expect(hasUnclearNumber(name), name).toBe(true);
    for (const name of ["at_least_0_125", "at_least_1_00", "min_length_1_000", "file_1_000", "equals_1_000_x"])
      expect(hasUnclearNumber(name), name).toBe(false);
  });

  it("is one word that is no rule", () => {
    for (const name of ["positive", "equals_1.5", "a-b", "_x", "values", "trues", "my_value.x"])
      expect(isValidatorName(name), name).toBe(true);
    for (const name of ["value", "true", "false", "value.ok", "a b", "1a", "-a", "a(b)", ""])
      expect(isValidatorName(name), name).toBe(false);
  });

  it("is suggested with the numbers of what was written", () => {
    const of = (name: string) => likelyNames(name).filter((one) => /^(?:min_length|between|is_true|file)_/.test(one));
    expect(of("betwen_12_and_34")).toEqual(["min_length_12", "between_12_and_34", "file_exists"]);
    expect(of("betwen_7")).toEqual(["min_length_7", "between_7_and_7", "file_exists"]);
    expect(of("betwen")).toEqual(["min_length_1", "between_1_and_1", "file_exists"]);
    expect(likelyNames("x_5")).toContain("is_true");
    expect(likelyNames("x_5")).toContain("not_equals_5");
  });
});
