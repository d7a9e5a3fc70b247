import { describe, expect, it } from "vitest";
import { candidateValues, faultOfValue, trialRule } from "../../src/rules/candidates.js";
import { EvidenceValue, ruleValue } from "../../src/rules/environment.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import type { FieldDefinition, FieldType } from "../../src/workflow/structure.js";

/** Compiles a rule of a field called `x`, next to one called `y`. */
async function compiled(type: FieldType, rule: string, params: JsonObject | "any" = "any") {
  const compiler = (await loadRuleLanguage()).forFields([
    { name: "x", type },
    { name: "y", type: "any" },
  ]);
  const found = compiler.compile(rule, { value: type, params });
  if (!found.ok) throw new Error(found.message);
  return found;
}

/** Returns the values to try for a field with these rules. */
async function tried(type: FieldType, rules: string[], params: JsonObject = {}, others: JsonValue[] = []) {
  const trees = await Promise.all(rules.map(async (rule) => (await compiled(type, rule)).tree));
  return [...candidateValues(type, trees, params, others)];
}

describe("the values that are tried", () => {
  it("begin with the usual one of the type, and need no rules", async () => {
    expect(await tried("boolean", [])).toEqual([true, false]);
    expect(await tried("integer", [])).toEqual([3, 0, 1, -1]);
    expect(await tried("number", [])).toEqual([0.95, 0, 1, -1]);
    expect((await tried("string", [])).slice(0, 2)).toEqual(["what was done, in words", "done"]);
    expect((await tried("list", [])).slice(0, 3)).toEqual([["first item"], ["item 1"], ["item 1", "item 2"]]);
    expect(await tried("object", [])).toEqual([
      ...[{ key: "value" }, { key_1: "value" }, { key_1: "value", key_2: "value" }],
      { key_1: "value", key_2: "value", key_3: "value" },
    ]);
  });

  it("are of every type for a field of any, each once", async () => {
    const values = await tried("any", ["value == 5"], {}, [true, 5]);
    expect(values.slice(0, 3)).toEqual([true, 5, false]);
    expect(new Set(values.map((value) => JSON.stringify(value))).size).toBe(values.length);
    for (const value of [4, "done", ["item 1"], [], { key_1: "value" }]) expect(values).toContainEqual(value);
    const types = new Set((await tried("string", ["value == 'a'"])).map((value) => typeof value));
    expect([...types]).toEqual(["string"]);
  });

  it("of a number lie between the constants, then on them, then beyond", async () => {
    expect(await tried("integer", ["value > 4 && value < 9"])).toEqual([
      ...[3, 7, 6.5, 4, 9, 0, 1, -1, 5, 10, 8],
      ...[4.5, 3.5, 9.5, 8.5, 18],
    ]);
    expect((await tried("number", ["value < 20.5 && value > 4.5"])).slice(0, 5)).toEqual([0.95, 13, 12.5, 4.5, 20.5]);
    expect(await tried("integer", ["value > 7 && value > 7"])).toEqual([3, 7, 0, 1, -1, 8, 6, 7.5, 6.5, 14]);
  });

  it("use constants of the parameters and other values, at any depth", async () => {
    const values = await tried("number", [], { a: { b: [700, "z"] }, c: null }, [12]);
    expect(values.slice(0, 6)).toEqual([0.95, 12, 356, 700, 0, 1]);
    expect(await tried("string", [], { a: [{ b: "needle" }] })).toContain("needle");
  });

  it("of a text are as long as a rule may want, and begin and end as it may want", async () => {
    const values = await tried("string", ["value.startsWith('v') && value.endsWith('.md') && size(value) > 40"]);
    const lengths = values.map((value) => String(value).length);
    for (const length of [39, 40, 41]) expect(lengths).toContain(length);
    for (const value of ["vreport", "reportv", "vreport.md", "v", ".md"]) expect(values).toContain(value);
    // Texts of a length come before others, unless they are too short to be words.
    expect(values.slice(0, 5).map((value) => String(value).length)).toEqual([23, 40, 41, 39, 7]);
    expect(values.slice(-3)).toEqual(["w", "wh", "wha"]);
    for (const value of values) expect(value).toBe(String(value).trim());
    expect(await tried("string", ["size(value) == 23"])).not.toContain("what was done, in word.");
    expect(await tried("string", ["size(value) == 5"])).toContain("whats");
    expect(await tried("string", ["size(value) == 8"])).toContain("what was");
    expect(await tried("string", ["size(value) > 0"])).not.toContain("");
    expect(await tried("string", ["size(value) == 26"])).toContain("what was done, in words, .");
  });

  it("of a text match common patterns", async () => {
    const values = (await tried("string", [])).map(String);
    for (const pattern of [
      ...[/^done$/, /^[\w/]+\.md$/, /^\d+\.\d+\.\d+$/, /^v\d+\.\d+\.\d+$/, /^main$/, /^[a-f]{3}$/, /^[A-Z]+-\d+$/],
      ...[/^\d{4}-\d\d-\d\d$/, /^[0-9a-f]{7,}$/],
    ]) {
      expect(
        values.some((value) => pattern.test(value)),
        `${pattern}`,
      ).toBe(true);
    }
  });

  it("combine at most five constants in pairs", async () => {
    const values = await tried("string", ["value in ['a', 'b', 'c', 'd', 'e', 'f']"]);
    for (const value of ["areporte", "ereporta", "freport", "f"]) expect(values).toContain(value);
    for (const value of ["areportf", "freporta"]) expect(values).not.toContain(value);
  });

  it("of a list have each size, the constants, and equal items", async () => {
    const values = await tried("list", ["value == ['a', 'b'] || size(value) == 7"]);
    expect(values).toContainEqual(Array.from({ length: 7 }, (_, index) => `item ${index + 1}`));
    expect(values).toContainEqual(["a", "b"]);
    expect(values).toContainEqual([7]);
    for (const item of ["a", 7, true, false, "areportb", { a: 7, b: 7 }, { key_1: "value" }]) {
      for (const size of [1, 2, 3, 6, 7, 8]) expect(values).toContainEqual(Array.from({ length: size }, () => item));
    }
    expect(values.at(-1)).toEqual([]);
    expect((await tried("list", [])).at(-1)).toEqual([]);
    expect(await tried("list", ["value == [4, 9]"])).toContainEqual([4, 9]);
    expect(await tried("list", [])).not.toContainEqual([[]]);
  });

  it("are not too large", async () => {
    const rule = `size(value) in [1000, 1001, 5000] || value == [${Array.from({ length: 11 }, (_, at) => at * 10).join()}]`;
    const lengths = (await tried("list", [rule])).map((value) => (Array.isArray(value) ? value.length : -1));
    expect(Math.max(...lengths)).toBe(1000);
    // Many sizes: equal items only of the first eight.
    expect(lengths.filter((length) => length === 1000)).toHaveLength(1);
    const thousand = Array.from({ length: 1001 }, (_, at) => at);
    const hasWhole = (values: readonly JsonValue[]) =>
      values.some((value) => Array.isArray(value) && value[0] === 1 && value[999] === 1000);
    expect(hasWhole(await tried("list", [], { numbers: thousand.slice(1) }))).toBe(true);
    const many = await tried("list", [], { thousand });
    expect(many.map((value) => Object(value).length)).not.toContain(1001);
    // Of many constants, only the first are items and members.
    expect(many.length).toBeLessThan(2000);
    expect((await tried("object", ["value.a == 1"], { thousand })).length).toBeLessThan(1100);
    expect(await tried("integer", ["value > 1"], { thousand })).toContain(1000);
  });

  it("of an object have the keys that the rules use, with each of the constants", async () => {
    const elsewhere = "evidence.y == 2 && params.z == 3 && session.id != '' && has(artifacts.seed) && has(plan.bed)";
    const rule = `value.name == 'pea' && value['rows'] == 4 && ${elsewhere} && options.sun == 1`;
    const keyed = await tried("any", [rule]);
    const keys = new Set(
      keyed.flatMap((value) => (typeof value === "object" && value !== null ? Object.keys(value) : [])),
    );
    for (const key of ["name", "rows"]) expect(keys).toContain(key);
    for (const key of ["y", "z", "id", "seed", "bed", "sun"]) expect(keys).not.toContain(key);
    const objects = await tried("object", ["value.all(k, k in ['pea', 'bean']) && size(value) > 4"]);
    for (const item of [true, "value", "pea", 4, ["first item"], false])
      expect(objects).toContainEqual({ pea: item, bean: item });
    expect(objects).toContainEqual(Object.fromEntries([1, 2, 3, 4, 5].map((at) => [`key_${at}`, "value"])));
    for (const rules of [[], ["size(value) > 0"]]) expect(await tried("object", rules)).not.toContainEqual({});
  });
});

describe("a rule that is tried", () => {
  const field = (type: FieldType, required = false): FieldDefinition => ({ name: "x", type, required });
  const fault = async (type: FieldType, rule: string, value: JsonValue, evidence?: EvidenceValue) => {
    const trial = trialRule(rule, await compiled(type, rule, { least: 3 }), { least: 3 });
    if (trial === undefined) throw new Error("no trial");
    return faultOfValue(field(type), [trial], value, evidence);
  };

  it("holds, or says why not, with the parameters and the other fields", async () => {
    expect(await fault("integer", "value > params.least", 4)).toBeUndefined();
    expect(await fault("integer", "value > params.least", 3)).toBe('the rule "value > params.least" doesn\'t hold');
    expect(await fault("integer", "10 / value > 1", 0)).toMatch(/^the rule "10 \/ value > 1" .*division by zero/);
    expect(await fault("integer", "value == evidence.x", 4)).toBeUndefined();
    const others = new EvidenceValue([["y", ruleValue(7, "any")]]);
    expect(await fault("integer", "value == evidence.y", 7, others)).toBeUndefined();
    expect(await fault("integer", "value == evidence.y", 8, others)).toMatch(/doesn't hold/);
    expect(await fault("list", "value.all(a, value.all(b, a == b))", [1, 1])).toBeUndefined();
    expect(await fault("list", "value.all(a, value.all(b, a == b))", Array(500).fill(1))).toMatch(/10000 steps/);
  });

  it("knows the fields that it uses", async () => {
    expect(trialRule("s", await compiled("integer", "value > evidence.y"), {})?.names).toEqual(["y"]);
    expect(trialRule("s", await compiled("integer", "value > 1"), {})?.names).toEqual([]);
    // A text is no name.
    expect(trialRule("s", await compiled("string", "value == 'plan'"), {})?.names).toEqual([]);
  });

  it.each(["session.id != ''", "has(artifacts.a)", "has(plan.a)", "size(options) > 0", "evidence[string(value)] == 1"])(
    "is none if it depends on a session, or on any field: %s",
    async (rule) => expect(trialRule(rule, await compiled("any", rule), {})).toBeUndefined(),
  );

  it("comes after the type, and what a required field must have", () => {
    expect(faultOfValue(field("integer"), [], "4")).toBe("it is not of type integer");
    expect(faultOfValue(field("integer"), [], 4)).toBeUndefined();
    expect(faultOfValue(field("boolean", true), [], false)).toBe("a required field must not be false");
    expect(faultOfValue(field("boolean"), [], false)).toBeUndefined();
    expect(faultOfValue(field("string", true), [], " ")).toBe("it is empty");
    expect(faultOfValue(field("string"), [], " ")).toBeUndefined();
  });
});
