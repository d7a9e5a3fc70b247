import type { JsonValue } from "phasegate/verify";
import { describe, expect, it } from "vitest";
import { isEqualJson, parsePointer, valueAt } from "../../../src/adapters/verifiers/json-pointer.js";
import { aProject, refused } from "./a-project.js";

const REPORT = JSON.stringify({ total: { failed: 0, passed: 12 }, "a/b": { "m~n": [true, null] }, name: "x" });

describe("json_value", () => {
  it("compares with equals, and with what the evidence says", async () => {
    const { verify } = await aProject({ "report.json": REPORT });
    const ask = (params: object, value?: number | string) =>
      verify("json_value", { path: "report.json", ...params }, value === undefined ? {} : { value });
    expect(await ask({ pointer: "/total/failed", equals: 0 })).toMatchObject({
      ok: true,
      message: "report.json: /total/failed is 0; wanted: 0",
      ran: "report.json",
    });
    expect(refused(await ask({ pointer: "/total/passed", equals: "12" }))).toContain('is 12; wanted: "12"');
    expect(await ask({ pointer: "/total", equals: { passed: 12, failed: 0 } })).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/total", equals: { passed: 12 } }))).toContain("wanted");
    expect(await ask({ pointer: "/total/passed" }, 12)).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/total/passed" }, 13))).toContain("is 12; wanted: 13");
    expect(await ask({ pointer: "/name" })).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/a~1b/m~0n/1" }))).toContain("wanted: any value but null");
    expect(refused(await ask({ pointer: "/none", equals: false }))).toContain("/none is not there");
    const named = { pointer: "/total/failed" };
    expect(await verify("json_value", named, { value: "report.json" })).toMatchObject({ ok: true });
  });

  it("asks the host's evaluator of rules, and takes only true for true", async () => {
    const asked: unknown[] = [];
    const rules = {
      evaluateRule: (rule: string, variables: object) => {
        asked.push([rule, variables]);
        return rule === "value == 12";
      },
      checkRule: (rule: string, names: readonly string[]) => {
        if (rule === "nonsense") throw new Error(`no such name; there are ${names.join(", ")}`);
      },
    };
    const { verify, check } = await aProject({ "r.json": REPORT }, rules);
    const ask = (rule: string, pointer = "/total/passed") =>
      verify("json_value", { path: "r.json", pointer, rule }, { value: 3, evidence: { n: 3 } });
    expect(await ask("value == 12")).toMatchObject({ ok: true });
    expect(asked).toEqual([["value == 12", { value: 12, claimed: 3, evidence: { n: 3 } }]]);
    expect(refused(await ask("value > 12"))).toContain("wanted: value > 12");
    expect(refused(await ask("value == 12", "/none"))).toContain("is not there");
    expect(() => check("json_value", { pointer: "", rule: "nonsense" })).toThrow("value, claimed, evidence");
    expect(() => check("json_value", { pointer: "", rule: "true", equals: 1 })).toThrow("one of the two");
  });

  it("refuses rules at load where the host has no evaluator", async () => {
    const { check } = await aProject();
    expect(() => check("json_value", { pointer: "/a", rule: "true" })).toThrow("this host evaluates no rules");
    expect(() => check("command", { argv: ["x"], output: { rule: "true" } })).toThrow("not on the host's list");
  });

  it.each([
    ["{", "line 1"],
    ["", "expected a value"],
    ['{"failed": 3, "failed": 0}', 'the key "failed" is there twice'],
    ["{'failed': 0}", "can't be read as JSON"],
    ['{"failed": NaN}', "can't be read as JSON"],
    ["[".repeat(100_000), "nested more than 64"],
  ])("refuses %.40j", async (text, message) => {
    const { verify } = await aProject({ "r.json": text });
    expect(refused(await verify("json_value", { path: "r.json", pointer: "/failed", equals: 0 }))).toContain(message);
  });

  it("sees own keys only", async () => {
    const { verify } = await aProject({ "r.json": '{"__proto__": {"failed": 0}, "list": [1]}' });
    const ask = (pointer: string) => verify("json_value", { path: "r.json", pointer });
    expect(refused(await ask("/failed"))).toContain("is not there");
    expect(refused(await ask("/constructor/name"))).toContain("is not there");
    expect(refused(await ask("/list/length"))).toContain("is not there");
    expect(await ask("/__proto__/failed")).toMatchObject({ ok: true });
  });
});

describe("isEqualJson", () => {
  it("compares as JSON does, without the order of keys", () => {
    expect(isEqualJson([1, { a: [true, null], b: "x" }], [1, { b: "x", a: [true, null] }])).toBe(true);
    expect(isEqualJson(1.0, 1)).toBe(true);
    const unlike: [JsonValue | undefined, JsonValue][] = [
      [[1, 2], [1]],
      [[1], [1, 2]],
      [{ a: 1 }, [1]],
      [[1], { 0: 1 }],
      [
        { a: 1, b: 2 },
        { a: 1, c: 2 },
      ],
      [JSON.parse('{"__proto__": 1}'), { toString: 1 }],
      [0, false],
      ["", null],
      ["1", 1],
      [undefined, null],
    ];
    for (const [value, wanted] of unlike) expect(isEqualJson(value, wanted)).toBe(false);
  });
});

describe("a JSON pointer", () => {
  it("is read as RFC 6901 has it", () => {
    const value = { foo: ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "~1": 9 };
    const at = (pointer: string) => valueAt(value, parsePointer("x", pointer));
    expect(at("")).toBe(value);
    expect(at("/foo/0")).toBe("bar");
    expect(at("/")).toBe(0);
    expect([at("/a~1b"), at("/c%d"), at("/m~0n"), at("/~01")]).toEqual([1, 2, 8, 9]);
    expect([at("/foo/2"), at("/foo/-"), at("/foo/00"), at("/foo/1/x"), at("/x/y")]).toEqual(Array(5).fill(undefined));
    expect(() => at("foo")).toThrow("begins with '/'");
    expect(() => at("/a~2")).toThrow("'~0'");
  });
});
