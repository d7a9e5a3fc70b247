import { expect, it } from "vitest";
import { boundedRule } from "../../src/rules/compile.js";
import { EvidenceValue, ruleParams, ruleValue, SessionValue } from "../../src/rules/environment.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { typeOfValue } from "../../src/workflow/field-types.js";
import type { JsonValue } from "../../src/workflow/json.js";
import type { FieldType } from "../../src/workflow/structure.js";

const HOLDS: readonly (readonly [rule: string, value: JsonValue])[] = [
  ["value + 0.5 == 4.5 && 0.5 + value == 4.5", 4],
  ["value - 0.5 == 3.5 && 0.5 - value == -3.5", 4],
  ["value * 0.5 == 2.0 && 0.5 * value == 2.0", 4],
  ["value / 0.5 == 8.0 && 2.0 / value == 0.5", 4],
  ["value % 3.0 == 1.0 && 7.5 % value == 3.5", 4],
  ["value % 3.0 == 1.5 && 4.0 == value - 0.5", 4.5],
  ["value == 4.0 && 4.0 == value && value < 4.5 && 3.5 < value", 4],
  ["ratio(value, 8) == 0.5 && ratio(1.0, value) == 0.25 && ratio(value, 0.5) == 8.0 && ratio(1.0, 4.0) == 0.25", 4],
  ["mod(value, 3) == 1.0 && mod(-value, 3) == 2.0 && mod(value, -3.0) == -2.0 && mod(0.5, value) == 0.5", 4],
  ["mod(4.5, -2.0) == -1.5", 4],
  ["isInteger(value) && isInteger(4.0) && !isInteger(4.5) && !isInteger('4') && !isInteger(true)", 4],
  ["!isInteger([4]) && !isInteger({'a': 4}) && !isInteger(null)", 4],
  ["visible(value) == 'a'", " a "],
  ["visible(value) == [0, 'a']", ["", null, 0, "a"]],
  ["size(visible(value)) == 1 && visible(value).b == 1", { a: "", b: 1, c: null }],
  ["value.matches('^v[0-9]+$') && !value.matches('x')", "v12"],
  ["value.all(v, [1, 'a', 2.0].exists(w, w == v))", [1, "a", 2]],
  ["evidence.x == 12 && 'x' in evidence && !('y' in evidence) && !has(evidence.y)", 0],
  ["session.id == 's' && session.attempt + 1 == 3 && session.workflow_type == 'w' && session.target == 't'", 0],
  ["session.phase == 1", 0],
  ["artifacts[1].count == 3 && plan.goal == 'ship' && options.fast == true", 0],
  ["params.min + 1 == 4 && params.label == 'a' && params.rate == 0.5 && params.on && params.list[0] == 1", 0],
  ["params.keys.a == 'b' && params.none == null", 0],
  [`value == [${Array(200).fill("1").join()}]`, Array(200).fill(1)],
  [`size({${Array.from({ length: 100 }, (_, at) => `${at}: 1`).join()}}) == 100`, 0],
  [Array(120).fill("value == 1").join(" && "), 1],
  [`${"(".repeat(90)}value == 1${")".repeat(90)}`, 1],
];

const TOO_LARGE = [
  `value == [${Array(201).fill("1").join()}]`,
  `size({${Array.from({ length: 101 }, (_, at) => `${at}: 1`).join()}}) == 100`,
  Array(130).fill("value == 1").join(" && "),
  `[[[[${"[".repeat(110)}${"]".repeat(110)}]]]] == value`,
];

// One test, because only the first one of a file loads the language.
it("the language has its values, operators, functions and limits as soon as it is loaded", async () => {
  const language = await loadRuleLanguage();
  const params = { min: 3, label: "a", rate: 0.5, on: true, list: [1], keys: { a: "b" }, none: null };
  const variables = {
    params: ruleParams(params).value,
    evidence: new EvidenceValue([["x", 12n]]),
    session: new SessionValue([
      ...([
        ["id", "s"],
        ["attempt", 2n],
        ["workflow_type", "w"],
        ["target", "t"],
        ["phase", 1n],
      ] as const),
    ]),
    artifacts: { 1: { count: 3 } },
    plan: { goal: "ship" },
    options: { fast: true },
  };
  const compiler = language.forFields([
    { name: "x", type: "integer" },
    { name: "y", type: "any" },
  ]);
  for (const [rule, value] of HOLDS) {
    const type: FieldType = typeOfValue(value) ?? "any";
    const compiled = compiler.compile(rule, { value: type, params });
    if (!compiled.ok) throw new Error(`${compiled.message} ${compiled.hint}`);
    expect(boundedRule(compiled)({ ...variables, value: ruleValue(value, type) }), rule).toEqual({ holds: true });
  }
  for (const rule of TOO_LARGE) expect(compiler.compile(rule, { value: "any" }).ok, rule).toBe(false);
  // Types are declared: what can't hold is refused when it is read.
  for (const rule of ["evidence.x == 'a'", "params.label > 1", "session.phase == 'a'", "plan == 1", "options == 1"])
    expect(compiler.compile(rule, { value: "any", params }).ok, rule).toBe(false);
  expect(compiler.compile("params.other == 1", { params: "any" }).ok).toBe(true);
  expect(compiler.compile("params == 1", { params: "any" }).ok).toBe(false);
  const variable = language.forVariables({ n: "integer", s: "string" });
  expect([variable.compile("n > 1 && s == 'a'").ok, variable.compile("n == 'a'").ok]).toEqual([true, false]);
});
