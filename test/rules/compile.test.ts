import { describe, expect, it } from "vitest";
import { boundedRule } from "../../src/rules/compile.js";
import { EvidenceValue, ruleParams, ruleValue, SessionValue } from "../../src/rules/environment.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import type { RuleField } from "../../src/rules/rule-types.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import type { FieldType } from "../../src/workflow/structure.js";

const FIELDS: readonly RuleField[] = [
  { name: "passed", type: "integer" },
  { name: "rate", type: "number" },
  { name: "report", type: "object" },
  { name: "names", type: "list" },
  { name: "title", type: "string" },
  { name: "any-thing", type: "any" },
];
const PARAMS: JsonObject = { min: 3, label: "a" };

async function compile(rule: string, value?: FieldType, params: JsonObject | "any" = PARAMS) {
  const subject = { ...(value === undefined ? {} : { value }), params };
  return (await loadRuleLanguage()).forFields(FIELDS).compile(rule, subject);
}

/** Returns why a text is no rule, and what to write instead. */
async function fault(rule: string, value?: FieldType, params?: JsonObject | "any"): Promise<string> {
  const found = await compile(rule, value, params);
  return found.ok ? "" : `${found.message}. ${found.hint}`;
}

/** Returns the outcome of a rule on a value: true, false, or why it could not be evaluated. */
async function outcome(rule: string, type: FieldType, value: JsonValue): Promise<boolean | string> {
  const found = await compile(rule, type);
  if (!found.ok) throw new Error(`${found.message}. ${found.hint}`);
  const ended = boundedRule(found)({
    value: ruleValue(value, type),
    params: ruleParams(PARAMS).value,
    evidence: new EvidenceValue([
      ["passed", 12n],
      ["names", ["a", "b"]],
    ]),
    session: new SessionValue([
      ["id", "s"],
      ["attempt", 2n],
    ]),
    artifacts: { 1: { count: 3 } },
    plan: { goal: "ship" },
    options: { fast: true },
  });
  return ended.holds || (ended.because ?? false);
}

describe("a text that is a rule", () => {
  it.each<readonly [string, FieldType, JsonValue, boolean]>([
    ["value > 3", "integer", 4, true],
    ["value > 3", "integer", 3, false],
    ["value > 3.5", "integer", 4, true],
    ["value == 4.0 && 4.0 == value", "integer", 4, true],
    ["value + 0.5 == 4.5 && 0.5 + value == 4.5", "integer", 4, true],
    ["value - 0.5 == 3.5 && 0.5 - value == -3.5", "integer", 4, true],
    ["value * 0.5 == 2.0 && 0.5 * value == 2.0", "integer", 4, true],
    ["value / 0.5 == 8.0 && 2.0 / value == 0.5", "integer", 4, true],
    ["value % 3.0 == 1.0 && 7.5 % value == 3.5", "integer", 4, true],
    ["value % 3.0 == 1.5", "number", 4.5, true],
    ["ratio(value, 8) == 0.5 && ratio(1.0, value) == 0.25 && ratio(value, 0.5) == 8.0", "integer", 4, true],
    [
      "mod(value, 3) == 1.0 && mod(-value, 3) == 2.0 && mod(value, -3.0) == -2.0 && mod(0.5, value) == 0.5",
      "integer",
      4,
      true,
    ],
    ["value + 0.0 == 4.0 && value - 0.0 == 4.0 && value * 0.0 == 0.0", "number", 4, true],
    ["isInteger(value)", "integer", 4, true],
    ["isInteger(value)", "any", 4, true],
    ["isInteger(value)", "any", 4.5, false],
    ["isInteger(value)", "any", "4", false],
    ["isInteger(value)", "any", true, false],
    ["isInteger(value)", "any", [4], false],
    ["isInteger(value)", "any", { a: 4 }, false],
    ["isInteger(value)", "any", null, false],
    ["visible(value) == 'a'", "string", " a ", true],
    ["size(visible(value)) == 1", "list", ["", null, "a"], true],
    ["size(visible(value)) == 1", "object", { a: "", b: 1, c: null }, true],
    ["value >= params.min && params.label == 'a'", "integer", 3, true],
    ["evidence.passed == 12 && evidence['passed'] + 1 == 13", "any", 0, true],
    ["has(evidence.title)", "any", 0, false],
    ["'passed' in evidence && !('title' in evidence)", "any", 0, true],
    ["session.id == 's' && session.attempt < 3", "any", 0, true],
    ["artifacts[1].count == 3 && artifacts['1'].count == 3", "any", 0, true],
    ["plan.goal == 'ship' && options.fast == true", "any", 0, true],
    ["value.matches('^v[0-9]+$')", "string", "v12", true],
    ["value.matches('^v[0-9]+$')", "string", "v12x", false],
    ["value.all(v, v.matches('a'))", "list", ["a", "ba"], true],
    ["value == 1e308 * 1.0", "number", 1e308, true],
  ])("%s", async (rule, type, value, expected) => {
    expect(await outcome(rule, type, value)).toBe(expected);
  });

  it.each<readonly [string, FieldType, JsonValue, string]>([
    ["10 / value > 1", "integer", 0, "can't be evaluated: division by zero"],
    ["10 % value > 1", "integer", 0, "can't be evaluated: division by zero"],
    ["value / 0.0 > 1.0", "number", 1, "can't be evaluated: division by zero"],
    ["value % 0.0 > 1.0", "number", 1, "can't be evaluated: division by zero"],
    ["ratio(1, value) > 1.0", "number", 0, "can't be evaluated: division by zero"],
    ["mod(1, value) > 1.0", "number", 0, "can't be evaluated: division by zero"],
    ["value * 1e308 > 1.0", "number", 10, "can't be evaluated: a result that is too large or not a number"],
    ["value + 1e308 > 1.0", "number", 1.7e308, "can't be evaluated: a result that is too large or not a number"],
    ["value - 1e308 < 1.0", "number", -1.7e308, "can't be evaluated: a result that is too large or not a number"],
    ["double(value) > 1.0", "string", "inf", "can't be evaluated: a result that is too large or not a number"],
    ["ratio(1e308, value) > 1.0", "number", 0.001, "can't be evaluated: a result that is too large or not a number"],
    ["mod(value, 1.79e308) > 0.0", "number", 1.7e308, "can't be evaluated: a result that is too large or not a number"],
    ["value > 0", "any", "5", "can't be evaluated: a text can't be compared with a whole number (>)"],
    ["value.a > 0", "object", {}, 'can\'t be evaluated: there is no key "a"'],
    ["value.all(v, v)", "list", ["yes"], "can't be evaluated: true or false is needed, not a text"],
  ])("%s fails with a reason", async (rule, type, value, because) => {
    expect(await outcome(rule, type, value)).toBe(because);
  });

  it("knows the evidence that it uses", async () => {
    const names = async (rule: string) => {
      const found = await compile(rule, "any");
      return found.ok && found.names !== undefined ? [...found.names] : undefined;
    };
    expect(await names("value == 1")).toEqual([]);
    expect(await names("evidence.passed > 1 && evidence['rate'] > 1.0 && evidence.passed < 9")).toEqual([
      "passed",
      "rate",
    ]);
    expect(await names("params.min > 1 && session.attempt < 3")).toEqual([]);
    expect(await names("['passed'].all(k, evidence[k] == 1)")).toBeUndefined();
    expect(await names("evidence.passed == 1 && size(evidence) > 1")).toBeUndefined();
    expect(await names("'evidence' == string(value)")).toEqual([]);
    expect(await names("'passed' in evidence && 'other' in ['a'] && string(value) in ['a']")).toEqual(["passed"]);
    expect(await names("string(value) in evidence")).toBeUndefined();
  });
});

describe("a text that is no rule", () => {
  it.each<readonly [string, FieldType | undefined, string]>([
    // Names.
    ["valu > 3", "integer", "Did you mean value?"],
    ["passed > 3", "integer", "Write evidence.passed."],
    ["value > 3", undefined, "has no value: write evidence. and the field's name"],
    ["pased > 3", undefined, "Did you mean evidence.passed?"],
    ["sesion.id == ''", "integer", "Did you mean session?"],
    ["nobody == 1", "integer", "A rule can use value, evidence, params, artifacts, plan, session, options; put texts"],
    ["nobody == 1", undefined, "A rule can use evidence, params, artifacts, plan, session, options; put texts"],
    // Keys.
    ["evidence.pased > 3", "integer", 'there is no evidence.pased. Did you mean "passed"?'],
    ["has(evidence.zzz)", "integer", "Write one of: passed, rate, report, names, title, any-thing."],
    ["evidence['zzz'] == 1", "integer", "there is no evidence.zzz"],
    ["evidence.constructor == 1", "integer", "there is no evidence.constructor"],
    ["cel.bind(e, evidence, e.zzz == 1)", "integer", 'can\'t be run: there is no key "zzz". See'],
    ["session.idd == ''", "integer", 'Did you mean "id"?'],
    ["session.zzz == ''", "integer", "Write one of: id, workflow_type, target, phase, attempt."],
    ["params.mix > 1", "integer", 'Did you mean "min"?'],
    ["params.zzzz > 1", "integer", "Add it to validator_params: {zzzz: …}."],
    // Functions.
    ["sise(value) > 3", "integer", "Did you mean size?"],
    ["quux(value)", "integer", 'See "The language of rules"'],
    ["size(value) > 3", "integer", "there is no size() for a whole number. size needs values of other types"],
    ["value.startWith('a')", "string", "Did you mean startsWith?"],
    ["value.matches('a', 'b')", "string", "matches needs values of other types, or another number of them"],
    ["has()", "integer", "docs/gates.md"],
    ["len(value) > 3", "string", "Write size(…)."],
    ["length(value) > 3", "string", "Write size(…)."],
    ["value.match('a')", "string", "Write text.matches(pattern)."],
    ["value.test('a')", "string", "Write text.matches(pattern)."],
    ["value.search('a')", "string", "Write text.matches(pattern)."],
    ["value.includes('a')", "string", "Write text.contains(part), or item in list."],
    ["any(value)", "list", "Write list.exists(item, …)."],
    ["some(value)", "list", "Write list.exists(item, …)."],
    ["every(value)", "list", "Write list.all(item, …)."],
    ["value.strip() == ''", "string", "Write text.trim()."],
    ["str(value) == ''", "string", "Write string(…)."],
    ["float(value) == 1.0", "string", "Write double(…)."],
    // Types.
    ["value > 3", "string", "a text can't be compared with a whole number (>). Convert one side"],
    ["value + 1 == 'a'", "string", "a text and a whole number can't be combined with +"],
    ["value == null", "string", "a text can't be compared with null (==). A field that was not submitted"],
    ["'a' in value", "string", '"in" can\'t search a text. Write text.contains("part").'],
    ["value in [80, 90]", "number", "Write the numbers of the list with a point: [80.0, 90.0]."],
    ["value in [80.0, 90.0]", "integer", "Write the numbers of the list without a point: [80, 90]."],
    ["!value", "integer", '"not" (!) needs true or false, not a whole number'],
    ["-value == 1", "string", "a text can't be negated"],
    ["session == 1", "integer", "the session can't be compared with a whole number"],
    ["params == 1", "integer", "the parameters can't be compared with a whole number"],
    ["evidence == 1", "integer", "the evidence can't be compared with a whole number"],
    ["type(value) == 1", "integer", "a type can't be compared with a whole number"],
    ["value == 1", "object", "an object can't be compared with a whole number"],
    ["value == 1", "list", "a list can't be compared with a whole number"],
    ["value == 1", "boolean", "true or false can't be compared with a whole number"],
    ["value == uint(1)", "string", "a text can't be compared with a whole number"],
    // Results.
    [
      "value + 1",
      "integer",
      "must give true or false, and this one gives a whole number. Compare it with something, as in value + 1 == true.",
    ],
    ["value", "any", "this one gives a value of any type"],
    ["value.ok", "object", "as in value.ok == true"],
    ["value + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 11", "integer", "as in … == true"],
    ["value + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 100", "integer", "+ 100 == true"],
    ["value + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1111", "integer", "as in … == true"],
    ["value + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 111", "integer", "+ 111 == true"],
    // Patterns.
    ["value.matches('(')", "string", "its pattern is invalid, or can't be matched in linear time"],
    ["value.matches('(?=a)')", "string", "Use RE2 syntax"],
    [`value.matches('${"a".repeat(1001)}')`, "string", "longer than 1000"],
    ["value == '' || value.matches('(a{1000}){1000}')", "string", "more than 10000 steps"],
    // Sizes.
    ["cel.bind(a1, {value: value}, ".repeat(1), "string", "docs/gates.md"],
    // Syntax.
    ["value >", "integer", "docs/gates.md"],
    ["value = 3", "integer", "docs/gates.md"],
    ["import os", "integer", "docs/gates.md"],
  ])("%s of a %s", async (rule, type, says) => {
    expect(await fault(rule, type)).toContain(says);
  });

  // Not in the table, because names of tests should be short.
  it("may be too long", async () => {
    const text = (length: number) => `value == "${"x".repeat(length - 11)}"`;
    expect(await outcome(text(20_000), "string", "x")).toBe(false);
    expect(await fault(text(20_001), "string")).toContain("it has more than 20000 characters. Make it shorter");
    expect(await fault(`${"!".repeat(19_000)}true`, "string")).toContain("can't be run");
    const long = Array(400).fill("value > 0").join(" && ");
    expect(await fault(long, "integer")).toContain("Make it shorter, or split it into two rules.");
  });

  it("is quoted in the message, on one line", async () => {
    expect(await fault("valu > 3", "integer")).toMatch(/^the rule "valu > 3" can't be run: [^\n]+$/);
    expect(await fault("value.matches('(')", "string")).toMatch(/^the rule .* can't be run: its pattern is invalid/);
    expect(await fault("has(evidence.zzz)", "integer")).toMatch(/^the rule "has\(evidence\.zzz\)" can't be run: there/);
  });

  it("may use parameters that are not known yet, and has none if there are none", async () => {
    expect(await fault("params.zzz == 1", "integer", "any")).toBe("");
    expect(await fault("params.zzz == 1", "integer", {})).toContain("Add it to validator_params");
    const noFields = (await loadRuleLanguage()).forFields([]).compile("has(evidence.a)", {});
    expect(noFields).toMatchObject({ ok: false, hint: expect.stringContaining("docs/gates.md") });
    const many = Array.from({ length: 25 }, (_, at) => ({ name: `f${at + 100}`, type: "any" as const }));
    const listed = (await loadRuleLanguage()).forFields(many).compile("has(evidence.zzzzzzzzzz)", {});
    expect(listed.ok ? "" : listed.hint).toMatch(/^Write one of: f100, .*, f119\.$/);
  });

  it("of other variables has only these, and their keys", async () => {
    const language = await loadRuleLanguage();
    const rules = language.forVariables({ n: "integer", o: "object", p: "object" }, { o: ["alpha", "beta"] });
    const said = (rule: string) => {
      const found = rules.compile(rule);
      return found.ok ? "" : `${found.message}. ${found.hint}`;
    };
    expect(said("n > 1 && o.alpha == 1 && p.gamma == 2")).toBe("");
    expect(said("o.gamma == 1")).toContain("Write one of: alpha, beta.");
    expect(said("o.alpa == 1")).toContain('Did you mean "alpha"?');
    expect(said("value > 1")).toContain("A rule can use n, o, p; put texts in quotes.");
    expect(said("session.id == ''")).toContain("A rule can use n, o, p");
    expect(language.forVariables({ o: "object" }).compile("o.any == 1").ok).toBe(true);
  });

  it("has types that do not double with each name", async () => {
    const chained = (count: number) => {
      const names = Array.from({ length: count }, (_, at) => (at === 0 ? "value" : `a${at}`));
      return names.reduceRight((body, before, at) => `cel.bind(a${at + 1}, {${before}: ${before}}, ${body})`, "true");
    };
    expect(await fault(chained(6), "string")).toBe("");
    expect(await fault(chained(12), "string")).toContain("names of more than 10000 characters. Make it shorter");
  });
});
