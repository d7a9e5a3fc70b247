import type { JsonValue } from "phasegate";
import { describe, expect, it } from "vitest";
import { parsePointer, valueAt } from "../../src/verifiers/json-value.js";
import { aProject, refused } from "./a-project.js";

/** Returns the error that a call throws. */

const REPORT = JSON.stringify({ total: { failed: 0, passed: 12 }, "a/b": { "m~n": [true, null] }, name: "x" });

describe("json_value", () => {
  it("compares a value with `equals`, or with the evidence", async () => {
    const { verify } = await aProject({ "report.json": REPORT });
    const ask = (params: object, value?: number | string) =>
      verify("json_value", { path: "report.json", ...params }, value === undefined ? {} : { value });
    expect(await ask({ pointer: "/total/failed", equals: 0 })).toMatchObject({
      ok: true,
      message: "report.json: /total/failed is 0; expected: 0",
      ran: "report.json",
    });
    expect(refused(await ask({ pointer: "/total/passed", equals: "12" }))).toContain('is 12; expected: "12"');
    expect(await ask({ pointer: "/total", equals: { passed: 12, failed: 0 } })).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/total", equals: { passed: 12 } }))).toContain("expected");
    expect(await ask({ pointer: "/total/passed" }, 12)).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/total/passed" }, 13))).toContain("is 12; expected: 13");
    expect(await ask({ pointer: "/name" })).toMatchObject({ ok: true });
    expect(refused(await ask({ pointer: "/a~1b/m~0n/1" }))).toContain("expected: any value but null");
    expect(refused(await ask({ pointer: "/none", equals: false }))).toContain("/none is missing");
    const named = { pointer: "/total/failed" };
    expect(await verify("json_value", named, { value: "report.json" })).toMatchObject({ ok: true });
  });

  it("checks a rule on value, claimed and evidence", async () => {
    const { verify } = await aProject({ "r.json": REPORT });
    const ask = (rule: string, pointer = "/total/passed", value: JsonValue = 12) =>
      verify("json_value", { path: "r.json", pointer, rule }, { value, evidence: { n: 3, names: ["a"] } });
    for (const rule of [
      "value == 12",
      "value == claimed",
      "value > evidence.n && value / 4.0 == 3.0",
      "size(evidence.names) == 1 && !has(evidence.other)",
    ]) {
      expect(await ask(rule)).toMatchObject({ ok: true });
    }
    expect(await ask("value.failed == 0 && value.passed > 0", "/total")).toMatchObject({ ok: true });
    expect(refused(await ask("value > 12"))).toBe("r.json: /total/passed is 12; expected: value > 12");
    expect(refused(await ask("value == claimed", "/total/passed", "12"))).toContain("expected: value == claimed");
    expect(refused(await ask("value == 12", "/none"))).toContain("is missing");
    expect(refused(await ask("value > 3", "/name"))).toContain("a text can't be compared with a whole number (>)");
    expect(refused(await ask("value / 0.0 > 80.0"))).toContain("division by zero");
  });

  it.each([
    ["valu > 12", "Did you mean value?"],
    ["output == 'x'", "A rule can use value, claimed, evidence"],
    ["session.phase == 1", "A rule can use value, claimed, evidence"],
    ["value.matches('(')", "linear time"],
    ["len(value) > 1", "Write size(…)"],
    ["size(value)", "must give true or false"],
    ["value >", "can't be run"],
    [`${"value == 1 || ".repeat(300)}true`, "can't be run"],
  ])("refuses the rule %.40s when the definition is checked", async (rule, says) => {
    const { check, verify } = await aProject({ "r.json": REPORT });
    const params = { path: "r.json", pointer: "/total/passed", rule };
    await expect(check("json_value", params)).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringContaining(says),
      details: { field: "json_value.rule" },
    });
    expect(refused(await verify("json_value", params))).toContain(says);
    await expect(check("json_value", { pointer: "", rule: "true", equals: 1 })).rejects.toThrow(
      "use equals or rule, not both",
    );
  });

  it("does not run a rule that would take too long on the file", async () => {
    const list = JSON.stringify(Array.from({ length: 3000 }, (_, index) => index));
    const { check, verify } = await aProject({ "r.json": list });
    const params = { path: "r.json", pointer: "", rule: "value.all(a, value.exists(b, a == b))" };
    await check("json_value", params);
    expect(refused(await verify("json_value", params))).toContain("was not run: on values of this size");
  });

  it.each([
    ["9007199254740993", 9007199254740992],
    ["9007199254740992", 9007199254740992],
    ["-9007199254740993", -9007199254740992],
    ["1e21", 1e21],
    ["1e400", 1],
    ["1e-400", 0],
    ["1.00000000000000000001", 1],
    ["123456789012345678901234567890.5", 3],
    ["0.1234567890123456789", 0.12345678901234568],
  ])("refuses %s, which has too many digits to be compared", async (text, value) => {
    const { verify } = await aProject({ "r.json": `{"n": [${text}], "other": 1}` });
    const ask = (params: object, claim: JsonValue) =>
      verify("json_value", { path: "r.json", ...params }, { value: claim });
    const says = "has too many digits";
    expect(refused(await ask({ pointer: "/n/0" }, value))).toContain(says);
    expect(refused(await ask({ pointer: "/n" }, [value]))).toContain(says);
    expect(refused(await ask({ pointer: "/n/0", rule: "value > 0 || true" }, 1))).toContain(says);
    // A value that is not compared may have any number of digits.
    expect(await ask({ pointer: "/other", equals: 1 }, 1)).toMatchObject({ ok: true });
  });

  it("compares numbers in any notation", async () => {
    const { verify, check } = await aProject({
      "r.json": "[1e2, 0.10, 0.10000000000000001, -0.0, 9007199254740991, 5e-324]",
    });
    const ask = (at: number, claim: JsonValue) =>
      verify("json_value", { path: "r.json", pointer: `/${at}` }, { value: claim });
    for (const [at, value] of [100, 0.1, 0.1, 0, 9007199254740991, 5e-324].entries()) {
      expect(await ask(at, value)).toMatchObject({ ok: true });
    }
    expect(refused(await ask(4, 9007199254740992))).toContain("9007199254740992 has too many digits");
    expect(refused(await ask(4, { n: [2 ** 60] }))).toContain("has too many digits");
    await expect(check("json_value", { pointer: "", equals: [2 ** 53] })).rejects.toThrow(
      "too large to be compared exactly",
    );
  });

  it.each([
    ["{", "line 1"],
    ["", "expected a value"],
    ['{"failed": 3, "failed": 0}', 'the key "failed" appears twice'],
    ["{'failed': 0}", "can't be read as JSON"],
    ['{"failed": NaN}', "can't be read as JSON"],
    ["[".repeat(100_000), "nested more than 64"],
  ])("refuses %.40j", async (text, message) => {
    const { verify } = await aProject({ "r.json": text });
    expect(refused(await verify("json_value", { path: "r.json", pointer: "/failed", equals: 0 }))).toContain(message);
  });

  it("reads own keys only", async () => {
    const { verify } = await aProject({ "r.json": '{"__proto__": {"failed": 0}, "list": [1]}' });
    const ask = (pointer: string) => verify("json_value", { path: "r.json", pointer });
    expect(refused(await ask("/failed"))).toContain("is missing");
    expect(refused(await ask("/constructor/name"))).toContain("is missing");
    expect(refused(await ask("/list/length"))).toContain("is missing");
    expect(await ask("/__proto__/failed")).toMatchObject({ ok: true });
  });
});

describe("equals", () => {
  it("compares as JSON, in any order of keys", async () => {
    const isEqual = async (value: JsonValue, equals: JsonValue) => {
      const { verify } = await aProject({ "r.json": JSON.stringify({ value }) });
      return (await verify("json_value", { path: "r.json", pointer: "/value", equals })).ok;
    };
    expect(await isEqual([1, { a: [true, null], b: "x" }], [1, { b: "x", a: [true, null] }])).toBe(true);
    expect(await isEqual(1.0, 1)).toBe(true);
    expect(await isEqual(-0, 0)).toBe(true);
    expect(await isEqual(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 1}'))).toBe(true);
    const unlike: [JsonValue, JsonValue][] = [
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
    ];
    for (const [value, wanted] of unlike) expect(await isEqual(value, wanted)).toBe(false);
    const { verify } = await aProject({ "r.json": "{}" });
    expect(await verify("json_value", { path: "r.json", pointer: "/value", equals: null })).toMatchObject({
      ok: false,
    });
  });
});

describe("a JSON pointer", () => {
  it("is resolved according to RFC 6901", () => {
    const value = { foo: ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "~1": 9 };
    const at = (pointer: string) => valueAt(value, parsePointer(pointer));
    expect(at("")).toBe(value);
    expect(at("/foo/0")).toBe("bar");
    expect(at("/")).toBe(0);
    expect([at("/a~1b"), at("/c%d"), at("/m~0n"), at("/~01")]).toEqual([1, 2, 8, 9]);
    expect([at("/foo/2"), at("/foo/-"), at("/foo/00"), at("/foo/1/x"), at("/x/y")]).toEqual(Array(5).fill(undefined));
    expect(() => at("foo")).toThrow("begins with '/'");
    expect(() => at("/a~2")).toThrow("'~0'");
  });
});
