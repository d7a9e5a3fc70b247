import { describe, expect, it } from "vitest";
import { assignmentsOf, childGateFaults } from "../../src/rules/child-rules.js";
import { type ChildWorkflow, childCheck } from "../../src/workflow/child-workflow.js";
import { fieldGate } from "../gate/fields.js";
import { unnamed } from "../support/phase-names.js";

const VARIABLES = {
  options: { path: "docs/a.md", count: 3, deep: { is: true }, endless: Number.POSITIVE_INFINITY },
  artifacts: {},
};
const of = (child: Omit<ChildWorkflow, "type">, variables: object = VARIABLES) =>
  assignmentsOf({ type: "review", ...child }, { ...variables }, "src/own.ts");
const items = (rule: string) => of({ for_each: rule });

describe("the children of a phase that is a workflow", () => {
  it("are one, on what the phase's own session works on, if nothing else is said", async () => {
    expect(await of({})).toEqual({ ok: true, children: [{ target: "src/own.ts", options: {} }] });
  });

  it("have the target and the options that are written, or that rules give", async () => {
    const options = { level: "high", count: { rule: "options.count + 1" } };
    expect(await of({ target: "docs/b.md", options })).toEqual({
      ok: true,
      children: [{ target: "docs/b.md", options: { level: "high", count: 4 } }],
    });
    expect(await of({ target: { rule: "options.path" } })).toMatchObject({ children: [{ target: "docs/a.md" }] });
  });

  it("are one for each item of a list, and equal items are one child", async () => {
    const child = { target: { rule: '"docs/" + item.name' }, options: { of: { rule: "item.size" }, level: "low" } };
    const list = '[{"name": "a", "size": 1}, {"name": "b", "size": 2}, {"name": "a", "size": 1}]';
    expect(await of({ ...child, for_each: list })).toEqual({
      ok: true,
      children: [
        { item: { name: "a", size: 1 }, target: "docs/a", options: { of: 1, level: "low" } },
        { item: { name: "b", size: 2 }, target: "docs/b", options: { of: 2, level: "low" } },
      ],
    });
  });

  it("may be a hundred at most, and none only where that is allowed", async () => {
    const many = (count: number) =>
      of(
        { for_each: "options.all" },
        { ...VARIABLES, options: { all: Array.from({ length: count }, (_, one) => one) } },
      );
    expect(await many(100)).toMatchObject({ ok: true, children: { length: 100 } });
    expect(await many(101)).toEqual({ ok: false, why: "for_each gives 101 items; at most 100 are possible" });
    expect(await many(0)).toEqual({ ok: false, why: "for_each gives an empty list" });
    expect(await of({ for_each: "[]", allow_empty: true })).toEqual({ ok: true, children: [] });
  });

  it.each([
    ["[1, 2.5]", [1, 2.5]],
    ['["a", true, null]', ["a", true, null]],
    ['[{"a": {"b": [1, {"c": null}]}}, [1]]', [{ a: { b: [1, { c: null }] } }, [1]]],
    ["[options.deep, {1: 2}]", [{ is: true }, { 1: 2 }]],
  ])("have items that are JSON: %s", async (rule, expected) => {
    expect(await items(rule)).toMatchObject({ ok: true, children: expected.map((item) => ({ item })) });
  });

  it.each([
    ["3", /^for_each gives 3, which is no list$/],
    ['{"a": 1}', /^for_each gives .+, which is no list$/],
    ["null", /^for_each gives null, which is no list$/],
    ['[timestamp("2026-01-01T00:00:00Z")]', /^for_each gives a value that is no JSON$/],
    ['[{"a": [1, duration("1s")]}]', /^for_each gives a value that is no JSON$/],
    ["[options.endless]", /^for_each gives a value that is no JSON$/],
    ["options.missing", /^for_each .*missing/],
    ["1 +", /^for_each can't be run: ./],
  ])("are not known where the list is none: %s", async (rule, why) => {
    expect(await items(rule)).toEqual({ ok: false, why: expect.stringMatching(why) });
  });

  it.each([
    ["7", /^target gives 7, which is no path$/],
    ['" "', /^target gives " ", which is no path$/],
    ['"../a.md"', /^target gives "\.\.\/a\.md": ./],
    ["options.missing", /^target .*missing/],
  ])("are not known where the target is no path of the project: %s", async (rule, why) => {
    expect(await of({ target: { rule } })).toEqual({ ok: false, why: expect.stringMatching(why) });
    expect(await of({ for_each: "[1]", target: { rule } })).toEqual({ ok: false, why: expect.stringMatching(why) });
  });

  it("are not known where an option is not: its name is told", async () => {
    const why = expect.stringMatching(/^options\.level .*missing/);
    expect(await of({ options: { level: { rule: "options.missing" } } })).toEqual({ ok: false, why });
  });
});

describe("the faults in the gate of a phase that is a workflow", () => {
  const faultsOf = (child: Omit<ChildWorkflow, "type">, more: object = {}) =>
    childGateFaults(fieldGate([], { verify: [{ ...childCheck({ type: "review", ...child }), ...more }] }), {
      phase: 2,
      phases: unnamed(1, 2),
    });

  it("are rules that can't be compiled, each at its place", async () => {
    const wrong = { rule: "options.count +" };
    const each = await faultsOf({
      target: wrong,
      options: { level: wrong, other: { rule: "1" } },
      for_each: "options.a +",
    });
    expect(each.map(({ at }) => at)).toEqual([["for_each"], ["target"], ["options", "level"]]);
    for (const { message, hint } of each)
      expect([message, hint]).toEqual([expect.stringMatching(/./), expect.any(String)]);
  });

  it("are rules that read an item where there is none", async () => {
    expect(await faultsOf({ target: { rule: "item" } })).toMatchObject([{ at: ["target"] }]);
    expect(await faultsOf({ target: { rule: "item" }, for_each: "options.all" })).toEqual([]);
    expect(await faultsOf({ for_each: "[item]" })).toMatchObject([{ at: ["for_each"] }]);
    expect(await faultsOf({ target: "docs/a.md", options: { level: "high" } })).toEqual([]);
  });

  it("are what the check itself has wrong, before its rules", async () => {
    expect(await faultsOf({ target: { rule: "1 +" } }, { waivable: true })).toEqual([
      { at: [], message: expect.stringContaining("nobody may waive"), hint: "Correct the gate." },
    ]);
  });

  it("are none of a gate without such a check", async () => {
    expect(await childGateFaults(fieldGate([]), { phase: 1, phases: unnamed(1) })).toEqual([]);
  });
});
