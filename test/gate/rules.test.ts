import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGate } from "../../src/gate/check-gate.js";
import { compileRules } from "../../src/gate/judge.js";
import type { JsonObject, JsonValue } from "../../src/workflow/json.js";
import { howOften } from "../support/how-often.js";
import { exampleEvidence } from "./example-evidence.js";
import { field, fieldGate } from "./fields.js";
import { complaints, gateOf, judge, validated } from "./rules.js";

const TESTS = `
evidence_schema:
  passed: {type: integer}
  failed: {type: integer}
  total: {type: integer, required: false}
  coverage: {type: number, validator: "value >= 80"}
  names: {type: list, required: false, validator: ["non_empty", "value.all(n, size(n) > 2)"]}
  report: {type: object, required: false}
  anything: {type: any, required: false}
cross_field_validation:
  - {rule: "evidence.passed + 1 == 13", error_message: "twelve tests must pass"}
  - rule: "lambda e: e['failed'] == 0"
`;
const HONEST: JsonObject = { passed: 12, failed: 0, coverage: 80 };

describe("rules", () => {
  it("accept correct evidence, with integers and other numbers", async () => {
    const gate = await gateOf(TESTS);
    const accepted: JsonObject[] = [
      {},
      { coverage: 80.5 },
      { names: ["abc", "defg"] },
      { total: 12 },
      { stranger: 1 },
      { names: null },
    ];
    for (const more of accepted) {
      expect(await complaints(gate, { ...HONEST, ...more })).toEqual([]);
    }
  });

  it("report the rule that is not satisfied, with the author's message", async () => {
    const verdict = await judge(await gateOf(TESTS), { passed: 11, failed: 1, coverage: 12, names: ["ab"] });
    expect(verdict.passed ? [] : verdict.problems).toEqual([
      {
        field: "coverage",
        problem: "invalid",
        message: "'coverage': the rule \"value >= 80\" doesn't hold",
        got: "12",
        expected: "value >= 80",
        example: 80,
      },
      {
        field: "names",
        problem: "invalid",
        message: "'names': the rule \"value.all(n, size(n) > 2)\" doesn't hold",
        got: '["ab"]',
        expected: "value.all(n, size(n) > 2)",
        example: ["first item"],
      },
      {
        field: "",
        problem: "invalid",
        message: 'The rule "evidence.passed + 1 == 13" doesn\'t hold: twelve tests must pass',
        expected: "evidence.passed + 1 == 13",
      },
      {
        field: "",
        problem: "invalid",
        message: "The rule \"lambda e: e['failed'] == 0\" doesn't hold",
        expected: "lambda e: e['failed'] == 0",
      },
    ]);
  });

  it("have no example if none is known to pass, and neither has the gate then", async () => {
    const text = "evidence_schema:\n  x: {type: integer, validator: 'value * value == 1234321'}\n  y: {type: string}\n";
    const gate = await gateOf(text);
    expect(exampleEvidence(gate)).toBeUndefined();
    const verdict = await judge(gate, { y: "done" });
    const problems = verdict.passed ? [] : verdict.problems;
    expect(problems).toMatchObject([{ field: "x", problem: "missing" }]);
    expect(problems[0]?.example).toBeUndefined();
  });

  it("show the author's example with a field that fails a rule", async () => {
    const gate = await gateOf(
      'evidence_schema:\n  x: {type: string, example: "v1.2", validator: "value.startsWith(\'v\')"}\n',
    );
    const verdict = await judge(gate, { x: "1.2" });
    expect(verdict).toMatchObject({ passed: false, problems: [{ example: "v1.2" }] });
  });

  it("are not run on missing or wrong fields, which are reported already", async () => {
    const gate = await gateOf(TESTS);
    expect(await complaints(gate, { failed: 0, coverage: "80" })).toEqual([
      "Required evidence 'passed' not provided",
      "'coverage' must be a number",
    ]);
  });

  it("keep the gate closed if they were not run", async () => {
    for (const gate of [await gateOf(TESTS), await gateOf(`checkpoint: {strict: false}${TESTS}`)]) {
      const verdict = checkGate(gate, HONEST);
      expect(verdict).toMatchObject({ passed: false, problems: [{ field: "", problem: "invalid" }] });
    }
    expect(compileRules(fieldGate([field()]))).toBeUndefined();
    expect(compileRules({ kind: "open", allowOverride: false })).toBeUndefined();
  });

  it("only warn if the gate is not strict, for any enforcement", async () => {
    const gate = await gateOf(`checkpoint: {strict: false}${TESTS}`);
    for (const enforcement of ["strict", "as-defined"] as const) {
      const verdict = await judge(gate, { ...HONEST, passed: 1, names: [1] }, { enforcement });
      expect(verdict.passed).toBe(true);
      expect(verdict.warnings.map(({ field: name }) => name)).toEqual(["names", ""]);
    }
    expect((await judge(gate, { ...HONEST, coverage: "high" })).passed).toBe(false);
    const lenient = await judge(gate, { ...HONEST, coverage: "high" }, { enforcement: "as-defined" });
    expect(lenient).toMatchObject({ passed: true, warnings: [{ field: "coverage", problem: "wrong_type" }] });
    expect((await judge(await gateOf(TESTS), { ...HONEST, passed: 1 }, { enforcement: "as-defined" })).passed).toBe(
      false,
    );
  });

  it("can read earlier phases, the plan and the session", async () => {
    const rules = [
      "artifacts['1'].count + 1 == 4",
      "artifacts[1].count == 3",
      "plan.goal == 'ship'",
      "session.phase == 2 && session.attempt < 3",
      "session.target.endsWith('.ts') && session.id != '' && session.workflow_type == 'garden_v1'",
    ];
    const gate = await gateOf(
      `evidence_schema: {ok: {type: bool}}\ncross_field_validation: ${JSON.stringify(rules)}\n`,
      "evidence_schema: {count: {type: int}}\n",
    );
    const session = { id: "s", workflowType: "garden_v1", target: "a.ts", phase: 2, attempt: 1 };
    const surroundings = { artifacts: { "1": { count: 3 } }, plan: { goal: "ship" }, session };
    expect(await complaints(gate, { ok: true }, { surroundings })).toEqual([]);
    // A rule that needs values which the host does not pass keeps the gate closed.
    expect(await complaints(gate, { ok: true })).toHaveLength(rules.length);
  });

  it("are compiled once for gates with the same content", async () => {
    const [one, other] = [await gateOf(TESTS), await gateOf(TESTS)];
    expect(compileRules(one)).toBe(compileRules(one));
    expect(compileRules(one)).toBe(compileRules(other));
    const changed = await gateOf(TESTS.replace("13", "14"));
    expect(compileRules(changed)).not.toBe(compileRules(one));
  });

  it("are cached for the most recently used gates", async () => {
    const gateNumber = (number: number) => {
      return fieldGate([field({ name: `f${number}`, rules: [{ source: "x", cel: "value" }] })]);
    };
    const first = compileRules(gateNumber(0));
    for (let number = 1; number < 600; number += 1) await compileRules(gateNumber(number));
    expect(compileRules(gateNumber(0))).not.toBe(first);
    expect(compileRules(gateNumber(599))).toBe(compileRules(gateNumber(599)));
  });

  it("that no longer compile keep the gate closed", async () => {
    const gate = fieldGate([field({ rules: [{ source: "gone()", cel: "gone()" }] })]);
    expect(await complaints(gate, { done: true })).toMatchObject([
      expect.stringMatching(/^'done': the rule "gone\(\)" can't be run: (?!.*can't be run)/),
    ]);
  });
});

describe("wrong evidence", () => {
  const WRONG_EVIDENCE: readonly (readonly [
    what: string,
    type: string,
    rule: string,
    value: JsonValue,
    says: string,
  ])[] = [
    ["a text for a boolean", "any", "value == true", "true", "doesn't hold"],
    ["a number for a boolean", "any", "value == true", 1, "doesn't hold"],
    ["a digit for a number", "any", "value > 0", "5", "a text can't be compared with a whole number (>)"],
    ["a flag for a number", "any", "value > 0", true, "can't be evaluated"],
    ["zero", "any", "value > 0", 0, "doesn't hold"],
    ["negative zero", "number", "value > 0", -0, "doesn't hold"],
    ["blanks", "any", "value.trim() != ''", "\u3000 ", "is empty"],
    ["a look-alike", "string", "value == 'main'", "m\u0430in", "doesn't hold"],
    ["a zero-width space", "string", "value == 'main'", "main\u200b", "doesn't hold"],
    ["a list for a text", "any", "value.contains('a')", ["a"], "can't be evaluated"],
    ["a size of a number", "any", "size(value) > 2", 300, "can't be evaluated"],
    ["a length of an object without one", "object", "value.length > 2", { size: 3 }, 'there is no key "length"'],
    ["a key of the prototype", "object", "value['__proto__'] != null", {}, "there is no key"],
    ["a constructor", "object", "value.constructor != null", {}, "there is no key"],
    ["a method", "object", "value['toString'] != null", {}, "there is no key"],
    ["a method of a list", "list", "value[0].push != null", [{}], "there is no key"],
    ["a key in the prototype", "object", "'constructor' in value", {}, "doesn't hold"],
    ["has of the prototype", "object", "has(value.toString)", {}, "doesn't hold"],
    ["an empty list, all of which holds", "list", "size(value) > 0 && value.all(v, v == 'ok')", [], "doesn't hold"],
    ["a part of the list", "list", "value.all(v, v.ok == true)", [{ ok: true }, { ok: "true" }], "doesn't hold"],
    ["an index beyond", "list", "value[3] == 1", [1], "can't be evaluated"],
    ["a division by zero", "integer", "10 / value > 1", 0, "division by zero"],
    ["a ratio to zero", "number", "ratio(10, value) > 1", 0, "division by zero"],
    ["a remainder of zero", "number", "mod(10, value) == 0", 0, "division by zero"],
    ["a division by zero of a number", "number", "value / 0.0 > 80.0", 1, "division by zero"],
    ["a division by the submitted zero", "number", "80.0 / value > 1.0", 0, "division by zero"],
    ["a share of nothing", "list", "value.all(v, v / 0.0 > 1.0)", [1], "division by zero"],
    ["a remainder of nothing", "number", "value % 0.0 != 1.0", 1, "division by zero"],
    ["a number beyond all", "number", "value * 1e308 > 80.0", 10, "a result that is too large or not a number"],
    ["a sum beyond all", "number", "value + 1e308 > 80.0", 1.7e308, "a result that is too large or not a number"],
    ["an infinity by its name", "string", "double(value) > 80.0", "inf", "a result that is too large or not a number"],
    ["a text that says NaN", "string", "double(value) != 80.0", "NaN", "a result that is too large or not a number"],
    ["a ratio beyond all", "number", "ratio(1e308, value) > 80.0", 0.001, "a result that is too large or not a number"],
    [
      "a number in a list of texts",
      "list",
      "value.all(f, f.endsWith('.ts'))",
      [1],
      "there is no endsWith() for a number and a text",
    ],
    [
      "a text in a list of numbers",
      "list",
      "value.all(n, n > 0)",
      ["a"],
      "a text can't be compared with a whole number (>)",
    ],
    ["a text for a list of lists", "list", "value.all(l, l.all(n, n > 0))", [3], "a number is not a list"],
    [
      "an element that is not a boolean",
      "list",
      "value.all(done, done)",
      ["yes"],
      "true or false is needed, not a text",
    ],
    ["a sum of texts", "any", "value + 1 == 13", "12", "can't be evaluated"],
    ["null inside", "object", "value.a > 0", { a: null }, "can't be evaluated"],
    ["a fraction for an integer", "any", "isInteger(value)", 1.5, "doesn't hold"],
    ["a text for a whole number", "any", "isInteger(value)", "1", "doesn't hold"],
    ["a pattern inside of more", "string", "value.matches('^v[0-9]+$')", "v1\nv", "doesn't hold"],
  ];

  it.each(WRONG_EVIDENCE)("%s is refused, with a reason", async (_, type, rule, x, says) => {
    const found = await complaints(await validated(type, rule), { x });
    expect(found.join()).toContain(says);
  });

  it("a rule that fails with an error counts as false on either side of an operator", async () => {
    const gate = await gateOf(
      'evidence_schema: {a: {type: any}, b: {type: any}}\ncross_field_validation: ["evidence.a > 1 && evidence.b > 1"]\n',
    );
    expect(await complaints(gate, { a: "x", b: 2 })).toHaveLength(1);
    expect(await complaints(gate, { a: 2, b: [] })).not.toEqual([]);
    expect(await complaints(gate, { a: 2, b: 2 })).toEqual([]);
  });
});

/** Returns a chain of names, each bound to an expression with the previous one. */
function chained(count: number, each: (before: string) => string): string {
  const names = Array.from({ length: count }, (_, index) => (index === 0 ? "value" : `a${index}`));
  return names.reduceRight((body, before, index) => `cel.bind(a${index + 1}, ${each(before)}, ${body})`, "true");
}

describe("the expansion of a rule", () => {
  it.each([
    ["types that double with each name", chained(12, (a) => `{${a}: ${a}}`), "names of more than 10000 characters"],
    [
      "types that a macro doubles",
      `[value]${".map(v, {v: v})".repeat(12)} == []`,
      "names of more than 10000 characters",
    ],
    ["types below the rule's own", `[${chained(12, (a) => `{${a}: ${a}}`)}].all(b, b)`, "names of more than 10000"],
    ["too many operators", `${"!".repeat(19_000)}true`, "can't be run"],
    ["a text that is too long", `value == "${"x".repeat(20_000)}"`, "more than 20000 characters"],
  ])("is limited before it is computed: %s", async (_, rule, says) => {
    await expect(validated("string", rule)).rejects.toThrow(says);
  });

  it.each([
    ["of values that may be either", chained(30, (a) => `value == "" ? ${a} : ${a}`)],
    ["of filtered lists", chained(12, (a) => `[${a}].filter(b, b != "")[0]`)],
    ["of lists", chained(30, (a) => `[${a}, ${a}]`)],
  ])("does not refuse names %s", async (_, rule) => {
    expect(await complaints(await validated("string", rule), { x: "x" })).toEqual([]);
  });
});

describe("the cost of a rule", () => {
  const list = (length: number) => Array.from({ length }, (_, index) => index);
  const limited = async (type: string, rule: string, x: JsonValue) => {
    const gate = await validated(type, rule);
    const found = await complaints(gate, { x });
    return found.join();
  };

  it.each([
    ["macros in macros", "list", "value.all(a, value.all(b, value.all(c, a + b + c >= 0)))", list(3000)],
    [
      "macros over lists that double",
      "list",
      "[value].map(v, v + v).map(v, v + v)[0].all(a, value.all(b, a != b))",
      list(2000),
    ],
    [
      "a text that is doubled repeatedly",
      "string",
      `cel.bind(a, ${"value + ".repeat(40)}value, cel.bind(b, ${"a + ".repeat(40)}a, ${"b + ".repeat(40)}b != ""))`,
      "x".repeat(100_000),
    ],
    ["a search in every element", "list", "value.all(a, value.exists(b, b.contains(a)))", list(2000).map(String)],
    [
      "a long text that is matched repeatedly",
      "list",
      "value.all(a, value[0].matches('(x+x+)+y'))",
      ["x".repeat(50_000), ...list(500).map(String)],
    ],
    ["lists compared with one another", "list", "value.all(a, a == value[0])", list(1200).map(() => list(1000))],
    ["membership in each", "list", "value.all(a, a in value)", list(5000)],
    ["parts of a computed text", "string", "value.lowerAscii().split('').all(p, p.contains('x'))", "X".repeat(50_000)],
    ["texts split and joined", "string", "value.split('').map(c, value).join(value) != ''", "x".repeat(5000)],
    [
      "a search for a periodic text in a periodic text",
      "list",
      "!value[0].contains(value[1])",
      ["ab".repeat(200_000), `${"ab".repeat(40_000)}a${"ab".repeat(40_000)}`],
    ],
    [
      "the same search from the end",
      "list",
      "value[0].lastIndexOf(value[1]) < 0",
      ["ab".repeat(99_999), "aab".repeat(30_000)],
    ],
    [
      "the same search in a split of a list element",
      "list",
      "size(value[0].split(value[1])) == 1",
      ["ab".repeat(99_999), "aab".repeat(30_000)],
    ],
    [
      "the same search in a split",
      "object",
      "size(value.a.split(value.b)) == 1",
      { a: "ab".repeat(1_000_000), b: `${"ab".repeat(100_000)}a${"ab".repeat(100_000)}` },
    ],
    ["a pattern of many steps", "string", "value.matches('(a{1,30}){1,30}$')", "a".repeat(50_000)],
    [
      "a pattern of many steps in the evidence",
      "list",
      "value[0].matches(value[1])",
      ["a".repeat(50_000), "(a{1,30}){1,30}$"],
    ],
    [
      "patterns built from the evidence",
      "list",
      "value.all(v, 'a'.matches(v + '$'))",
      Array.from({ length: 500 }, () => "a{1000}".repeat(140)),
    ],
    [
      "maps of maps",
      "object",
      "value.all(k, value.all(l, value.all(m, k != l + m)))",
      Object.fromEntries(list(500).map((n) => [`k${n}`, n])),
    ],
  ])("refuses %s before it runs", async (_, type, rule, x) => {
    expect(await limited(type, rule, x)).toContain("could take more than 1000000 steps");
  });

  it.each([
    ["two lists side by side", "list", "value.all(a, a >= 0) && value.exists(b, b == 9)", list(20_000)],
    ["a short list in a long one", "list", "value.all(a, [1, 2, 3].exists(b, b != a))", list(10_000)],
    [
      "a list in each element",
      "list",
      "value.all(a, a.items.all(b, b > 0))",
      list(500).map(() => ({ items: [1, 2, 3] })),
    ],
    [
      "a search in a long text",
      "object",
      "value.log.contains(value.line)",
      { log: `${"no ".repeat(300_000)}yes`, line: "no no yes" },
    ],
    ["a pattern of many steps on a short text", "string", "value.matches('^(a{1,30}){1,30}$')", "a".repeat(90)],
    ["a pattern that is made of the evidence", "list", "value.all(v, v.matches('^' + v + '$'))", ["v1.2", "1.2.3"]],
    ["an evil pattern, in linear time", "string", "!value.matches('^(a+)+$')", `${"a".repeat(50_000)}!`],
    ["an evil pattern of alternatives", "string", "!value.matches('^(a|aa)+$')", `${"a".repeat(50_000)}!`],
    ["a bound name", "list", "cel.bind(n, size(value), n > 3 ? n < 9999 : n == 1)", list(100)],
    ["results that are kept", "list", "value.filter(v, v > 1).map(v, v * 2).exists_one(v, v == 4)", list(100)],
    [
      "maps and lists of constants",
      "list",
      "{'a': [1, 2]}.all(k, k == 'a') && -value[1] < 0 && !(value[0] in [7])",
      list(10),
    ],
    ["a text's parts", "string", "value.split(',').map(p, p.trim()).join('') == 'ab' && dyn(value) != ''", "a, b"],
    ["a name next to the value", "list", "cel.bind(n, size(value), value.all(v, v < n))", list(100)],
    ["a text's many lines", "string", "value.split('\\n').exists(l, l.startsWith('12'))", `${"x\n".repeat(9000)}12`],
    ["parts of a computed text", "string", "value.lowerAscii().split(',').exists(p, p == 'b')", "A,B"],
    ["parts joined by nothing", "string", "value.split('-').join() == 'ab'", "a-b"],
    ["either of two lists", "list", "(size(value) > 3 ? value : [1, 2]).all(v, v >= 0)", list(100)],
    ["either of two that grow", "list", "(size(value) > 3 ? value + value : value).all(v, v >= 0)", list(100)],
    ["either of two that don't", "list", "(size(value) > 3 ? value : value + value).all(v, v >= 0)", list(100)],
    [
      "keys that only some elements have",
      "list",
      "value.all(v, has(v.a) ? v.a.all(w, w > 0) : size(v) == 0)",
      [...list(300).map(() => ({ a: [1] })), {}],
    ],
    ["keys at the name of another", "object", "value.all(k, value[k].all(v, v > 0))", { a: [1], b: [2] }],
  ])("allows %s", async (_, type, rule, x) => {
    expect(await limited(type, rule, x)).toBe("");
  });

  it("is computed for the evidence as a whole", async () => {
    const rules = (rule: string) => {
      return gateOf(`evidence_schema: {a: {type: list}, b: {type: list}}\ncross_field_validation: ["${rule}"]\n`);
    };
    const small = { a: list(500), b: list(100) };
    const large = { a: list(5000), b: list(5000) };
    const pairs = "evidence.a.all(x, evidence.b.exists(y, y == y + x - x))";
    expect(await complaints(await rules(pairs), small)).toEqual([]);
    expect((await complaints(await rules(pairs), large)).join()).toContain("steps");
    const any = "['a', 'b'].all(k, evidence[k].all(x, x >= 0))";
    expect(await complaints(await rules(any), small)).toEqual([]);
    const either = "(size(evidence.a) > 9 ? evidence.a : evidence.b).all(x, x >= 0)";
    expect(await complaints(await rules(either), small)).toEqual([]);
    const known = "evidence['a'].all(x, x >= 0) && evidence.b.map(x, x < 9, x).size() == 9";
    expect(await complaints(await rules(known), small)).toEqual([]);
  });

  it("is not computed for a value that is not a list", async () => {
    const rule = "value.all(a, a.all(b, b.all(c, c > 0)))";
    expect(await limited("list", rule, [...list(200), [[1]]])).toContain("can't be evaluated");
  });

  it("is reported when the definition is read, if the rule itself is too long", async () => {
    const long = Array(400).fill("value > 0").join(" && ");
    await expect(validated("integer", long)).rejects.toThrow(/Make it shorter/i);
    await expect(validated("integer", `${"(".repeat(500)}value > 0${")".repeat(500)}`)).rejects.toThrow(
      /Make it shorter/,
    );
    const middling = await validated("integer", Array(40).fill("value > 0").join(" && "));
    expect(await complaints(middling, { x: 1 })).toEqual([]);
  });
});

describe("definition errors", () => {
  it.each([
    ["integer", "valu > 3", "Did you mean value?"],
    ["integer", "x > 3", "Write evidence.x."],
    ["integer", "evidence.passed > 3", "Write one of: x."],
    ["integer", "has(evidence.xx)", 'Did you mean "x"?'],
    ["integer", "evidence.constructor == 1", "there is no evidence.constructor"],
    ["integer", "sise(value) > 3", "Did you mean size?"],
    ["integer", "len(value) > 3", "Write size(…)."],
    ["integer", "size(value) > 3", "size needs values of other types"],
    ["integer", "quux(value)", "docs/gates.md"],
    ["string", "value.match('a')", "Write text.matches(pattern)."],
    ["string", "value.startWith('a')", "Did you mean startsWith?"],
    ["string", "value.matches('a', 'b')", "matches needs values of other types, or another number of them"],
    ["string", "value > 3", "a text can't be compared with a whole number (>)"],
    ["string", "value == null", "has(evidence.field)"],
    ["string", "'a' in value", 'text.contains("part")'],
    ["number", "value in [80, 90]", "with a point"],
    ["integer", "value in [80.0, 90.0]", "without a point"],
    ["integer", "value >", "docs/gates.md"],
    ["integer", "value = 3", "docs/gates.md"],
    ["integer", "import os", "docs/gates.md"],
    ["integer", "value + 1", "must give true or false, and this one gives a whole number"],
    ["any", "value.size()", "must give true or false, and this one gives a whole number"],
    ["object", "value.ok", "value.ok == true"],
    ["integer", "session.idd == ''", 'Did you mean "id"?'],
    ["integer", "sesion.id == ''", "Did you mean session?"],
    ["integer", "nobody == 1", "A rule can use value, evidence"],
    ["string", "value.matches('(')", "its pattern is invalid, or can't be matched in linear time"],
    ["string", "value.matches('(?=a)')", "lookaround"],
    ["string", "value.matches('(a{1000}){1000}')", "linear time"],
    ["string", `value.matches('${"a".repeat(1001)}')`, "longer than 1000"],
    ["string", `value.matches('(?:${"a".repeat(900)}){1000}')`, "more than 10000 steps"],
  ])("of a %s: %j", async (type, rule, says) => {
    await expect(validated(type, rule)).rejects.toThrow(says);
  });

  it("have the position of the rule", async () => {
    const text =
      'evidence_schema:\n  x:\n    type: int\n    validator: "valu > 3"\ncross_field_validation:\n  - rule: "evidence.z > 1"\n';
    const { readWorkflow } = await import("../../src/workflow/files/read-workflow.js");
    const { texts } = await import("../workflow/workflow-texts.js");
    const { diagnostics } = await readWorkflow("garden_v1", texts({ "phases/1/gate-definition.yaml": text }));
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect(errors.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`)).toEqual([
      "phases/1/gate-definition.yaml:4:5 RULE_INVALID",
      "phases/1/gate-definition.yaml:6:5 RULE_INVALID",
    ]);
  });

  it("of a rule of the whole gate explain that it has no value, and suggest names of fields", async () => {
    const gate = (rule: string) =>
      gateOf(`evidence_schema: {passed: {type: int}}\ncross_field_validation: [${rule}]\n`);
    await expect(gate("value > 1")).rejects.toThrow("has no value");
    await expect(gate("passd > 1")).rejects.toThrow("Did you mean evidence.passed?");
    await expect(gate("params.x > 1")).rejects.toThrow("can't be run");
  });
});

it("rules never throw out of a gate, and accept only evidence that satisfies the gate", async () => {
  const gate = await gateOf(TESTS);
  const rules = await compileRules(gate);
  if (rules === undefined) throw new Error("no rules");
  const evidence = fc.dictionary(
    fc.constantFrom("passed", "failed", "total", "coverage", "names", "report", "anything", "else"),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(evidence, (found) => {
      const given: JsonObject = JSON.parse(JSON.stringify(found));
      const verdict = checkGate(gate, given, { rules });
      if (!verdict.passed) return;
      expect(given).toMatchObject({ passed: 12, failed: 0 });
      expect(given.coverage).toBeGreaterThanOrEqual(80);
    }),
    { numRuns: howOften(100, 20_000) },
  );
});

it("a number has no elements that could add to the cost", async () => {
  const found = await complaints(
    await validated("any", "[value].all(v, v.a.all(w, w > 0)) && value.a.map(w, w) == []"),
    { x: 7 },
  );
  expect(found.join()).toContain("can't be evaluated");
});
