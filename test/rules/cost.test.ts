import { describe, expect, it } from "vitest";
import { boundedRule } from "../../src/rules/compile.js";
import { canGrow, ruleCost } from "../../src/rules/cost.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import type { JsonValue } from "../../src/workflow/json.js";

const fields = [
  { name: "a", type: "list" },
  { name: "b", type: "any" },
] as const;

async function compiled(rule: string) {
  const found = (await loadRuleLanguage()).forFields(fields).compile(rule, { value: "any", params: "any" });
  if (!found.ok) throw new Error(`${found.message} ${found.hint}`);
  return found;
}

const EVIDENCE = new Map([
  ["a", [1, 2]],
  ["b", [1, 2, 3, 4, 5]],
]);

/** Returns the bound of a rule on a value; a pattern has a step for each character. */
async function steps(rule: string, value: unknown): Promise<number> {
  return ruleCost((await compiled(rule)).tree, { value, evidence: EVIDENCE }, (pattern) => pattern.length);
}

const list = (length: number) => Array.from({ length }, (_, index) => index);
const TEXT = "x".repeat(64);
const TWO = { a: [1, 2], b: [1, 2, 3, 4, 5] };
const LONG = "x".repeat(40_000);

describe("the bound of a rule", () => {
  it.each<readonly [string, JsonValue, number]>([
    ["true", 0, 1],
    ["value == 1", 7, 4],
    ['value == "abc"', TEXT, 4.09375],
    ["value < 3", list(9), 4],
    ["-value < 3 && !(value == 2)", 2, 11],
    ["value.a == 1", { a: [1, 2, 3], b: TEXT }, 5],
    ['value["a"] == [1]', { a: [1, 2, 3] }, 7],
    ["value[string(1)] == 1", { "1": TEXT, "2": 5 }, 9],
    ["value.a.b == 1", { a: { b: TEXT } }, 6],
    ["value.c == 1", { a: 1 }, 5],
    ["size(value) > 2", list(40), 6],
    ["has(value.a)", { a: TEXT }, 4],
    ['value + value == "a"', TEXT, 134.03125],
    ["1 in value", list(9), 13],
    ["value.all(v, v > 1)", list(10), 51],
    ["value.exists(v, v > 1)", list(10), 51],
    ["value.exists_one(v, v > 1)", list(10), 51],
    ["value.filter(v, v > 1) == []", list(10), 53],
    ["value.map(v, v + 1) == []", list(10), 43],
    ["value.map(v, v > 2, v) == []", list(10), 63],
    ["value.all(a, value.all(b, a == b))", list(10), 521],
    ["value.all(v, v.all(w, w > 0))", [[1, 2], [3]], 25],
    ['value.all(k, k == "a")', { ab: 1, cd: 2 }, 11.0625],
    ["value.all(k, value[k] == 1)", { ab: [1, 2], cd: TEXT }, 15],
    ["value.map(v, [v, v]).all(w, w.all(x, x == 1))", list(3), 4816],
    ["value.map(v, v).map(v, v)[0] == 1", [TEXT, "x"], 14],
    ["cel.bind(n, size(value), n > 3)", list(10), 8],
    ["cel.bind(n, value, n.all(v, v == n[0]))", list(4), 31],
    ["(value == 1 ? value : [1, 2]) == [1]", list(5), 11],
    ["(value == 1 ? value + value : value).all(v, v > 1)", list(5), 68],
    ["(value == 1 ? value : value + value).all(v, v > 1)", list(5), 68],
    ["(value == 1 ? value : value).all(v, v > 1)", list(5), 31],
    ["[value, value].all(v, v == 1)", list(5), 12],
    ["[1, 2, 3].all(v, v == 1)", 0, 18],
    ['{"a": value, "b": 2}.all(k, k == "a")', list(5), 24.125],
    [`value.contains("${TEXT}")`, TEXT + TEXT, 27],
    ["value.indexOf(value) > 1", TEXT + TEXT, 42],
    ['value.lastIndexOf("ab") > 1', TEXT, 14.25],
    ['value.startsWith("ab")', TEXT, 8.0625],
    ['value.split(",").all(p, p == "a")', "a,b,cc", 22.537109375],
    ['value.split(value).all(p, p == "a")', "a,b,cc", 17.78515625],
    ['value.split(",").all(p, p == "a")', ["a,b"], 9.2841796875],
    ['value.lowerAscii().split(",").all(p, p == "a")', "a,b", 839.5341796875],
    ['value.split(value.lowerAscii()).all(p, p == "a")', "a,b", 849.8525390625],
    ['value.split(",").join("--") == "a"', "a,b,cc", 22.787109375],
    ['value.join() == "ab"', ["a", TEXT], 16.125],
    ['value.join(value[0]) == "ab"', [TEXT, "b"], 22.125],
    ['value.matches("a")', TEXT, 43.25],
    ['value.matches("0123456789")', TEXT, 162.375],
    ['value.matches("a" + "b")', TEXT, 42382],
    ["value[0].matches(value[1])", [TEXT, "abcdefghij"], 1351],
    ["value.all(v, v.matches(v))", ["a", "b", "c", "d", "e", "f", "g", "h", "0123456789"], 978787],
    ["value.all(v, v.matches(v))", ["a", "b", "c", "d", "e", "f", "g", "0123456789"], 903],
    ["size(value.trim()) > 1", TEXT, 11],
    ["ratio(value, 3) > 1.0", 7, 9],
    ['value.substring(1) == "a"', TEXT, 11.03125],
    ["evidence.a.all(v, v > 1)", 0, 12],
    ['evidence["a"].all(v, v > 1)', 0, 13],
    ['["a", "b"].all(k, evidence[k] == 1)', 0, 16],
    ["value.all(v, v == 1)", null, 1],
    ["value.all(v, v == 1)", true, 1],
    ["value.all(v, v == 1)", "abc", 16],
    ["value.all(v, v.all(w, w > 0))", [null, [1], "a", 2], 29],
    ["value.a.all(v, v == 1)", TWO, 12],
    ["value['a'].all(v, v == 1)", TWO, 13],
    ["value[string(1)].all(v, v == 1)", TWO, 31],
    ["value.c.all(v, v == 1)", TWO, 2],
    ["value.toString.all(v, v == 1)", TWO, 2],
    ["value.a.b.all(v, v == 1)", { a: null }, 3],
    ["value[0].all(v, v == 1)", [[1, 2], [3]], 13],
    ["['a'].all(k, evidence[k].all(v, v == 1))", 0, 30],
    ["evidence.b.all(v, v == 1)", 0, 27],
    ["[value.all(v, v == 1)] == [value]", list(9), 50],
    ["value.filter(v, v > 1).all(w, w > 1)", list(9), 91],
    ["value.map(v, v > 2, [v, v, v]) == [[value, value, value]]", list(9), 109],
    ["value.all(k, k.contains(k))", { [TEXT]: 1 }, 21],
    ["[size(value)] == [value]", list(9), 7],
    ["[value.trim()] == [value]", TEXT, 12],
    ["value.join(value[0]) + 'a' == 'b'", [TEXT, "b"], 314.09375],
    ["value[0].matches(value[1])", [TEXT, 7], 1351],
    ["value.all(v, value[0].split(v).all(p, p == 'a'))", ["a,b", ","], 1048.142578125],
    ["value.a.split(value.b).all(p, p == 'a')", { a: LONG, b: LONG }, 1970492],
    ["value.a.split(value.b).all(p, p == 'a')", { a: 7, b: "x" }, 9.0625],
    ["(value.c == 1 ? value.a : value.b).all(v, v.all(w, w == 1))", { a: [[1], [2, 3]], b: [[1, 2, 3], 4] }, 43],
    ["(value.c == 1 ? [value.a] : value.b).all(v, v.all(w, w == 1))", { a: [[1], [2, 3]], b: [[1, 2, 3], 4] }, 2253],
    ["value[string(1)].all(v, v == 1)", "abc", 6],
    ["value.all(v, v.all(w, w == w))", [null, [1], "ab", 2], 49],
    ["value.filter(v, v != []).all(w, w.all(x, x > 1))", [[1, 2], [3]], 33],
    ["cel.bind(n, value, n).all(v, v > 1)", list(10), 53],
    ["value == 1 || value == 2", 7, 9],
    ["value == 1 && value == 2", 7, 9],
  ])("%s, case %#", async (rule, value, most) => {
    expect(await steps(rule, value)).toBe(most);
  });
});

it("of values of many lists, only the largest counts", async () => {
  const rule = "value.all(v, v[0].all(w, w > 0))";
  const lists = (length: number) => Array.from({ length }, () => [[1]]);
  expect(await steps(rule, lists(10_000))).toBe(90_001);
  expect(await steps(rule, lists(10_001))).toBeGreaterThan(1_000_000);
  const either = "(value == 1 ? value.a : value.b).all(v, v[0].all(w, w > 0))";
  expect(await steps(either, { a: lists(10), b: lists(20) })).toBeLessThan(1000);
  const oneMore = "value.all(v, (v == 1 ? v : 1).all(w, w.all(x, x > 0)))";
  expect(await steps(oneMore, lists(9999))).toBe(139_987);
  expect(await steps(oneMore, lists(10_000))).toBeGreaterThan(1_000_000);
});

describe("the time of a rule", () => {
  const grows = async (rule: string) => canGrow((await compiled(rule)).tree);

  it.each([
    "value.a.b == 1 && evidence['a'] == [1] || !has(value.c)",
    "size(value) + int(value) - -1 > 2 * 3 / 1 % 2",
    "double(value) >= 1.0 && value < 2 && value <= 3 && value != 4 && type(value) in [int]",
    "value.startsWith('a') && value.endsWith('b') && value.trim() == '' && size(visible(value)) > 1 && isInteger(value)",
    "(value ? 1 : 2) == 1",
    `value.contains("${TEXT}")`,
  ])("does not grow with the evidence, in %s", async (rule) => {
    expect(await grows(rule)).toBe(false);
  });

  it.each([
    "value.contains(value)",
    `value.contains("${TEXT}x")`,
    "value.matches('a')",
    "value.lowerAscii() == 'a'",
    "value.indexOf('a') > 1",
    "{'a': value} == value",
    "cel.bind(n, value, n == 1)",
    "value.split(',') == []",
    "ratio(value, 2) > 1.0",
    "value.all(v, v > 1)",
    "value.map(v, v + 1) == []",
    "evidence.a.filter(v, v > 1) == []",
  ])("can grow, in %s", async (rule) => {
    expect(await grows(rule)).toBe(true);
  });

  it("can grow in a long rule", async () => {
    const flat = `${"!".repeat(57)}(value == 1)`;
    expect(await grows(flat)).toBe(false);
    expect(await grows(`!${flat}`)).toBe(true);
  });
});

describe("a rule with a limit", () => {
  const bounded = async (rule: string, most: number) => boundedRule(await compiled(rule), most);

  it("runs up to its limit", async () => {
    const rule = "value.map(v, v + 1) == [1, 2, 3]";
    const most = await steps(rule, [0, 1, 2]);
    expect((await bounded(rule, most))({ value: [0, 1, 2] })).toEqual({ holds: true });
    expect((await bounded(rule, most - 1))({ value: [0, 1, 2] })).toEqual({
      holds: false,
      because: `was not run: on values of this size it could take more than ${most - 1} steps`,
    });
    expect((await bounded(rule, most))({ value: [0] })).toEqual({ holds: false });
  });

  it("is not run for the steps of its pattern", async () => {
    const outcome = async (rule: string) => (await bounded(rule, 1_000_000))({ value: LONG });
    expect(await outcome("value.matches('y{3}')")).toEqual({ holds: false });
    expect(await outcome("value.matches('(y{100}){10}')")).toMatchObject({
      because: expect.stringContaining("more than 1000000 steps"),
    });
  });

  it("without growth always runs, and fails with a reason", async () => {
    expect((await bounded("value == 1", 0))({ value: 1 })).toEqual({ holds: true });
    expect((await bounded("value > 1", 0))({ value: "a" })).toEqual({
      holds: false,
      because: "can't be evaluated: a text can't be compared with a whole number (>)",
    });
  });
});
