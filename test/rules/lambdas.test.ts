import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { parsePython } from "../../src/rules/python.js";
import { readRuleText } from "../../src/rules/python-to-cel.js";
import type { FieldType } from "../../src/workflow/structure.js";
import { howOften } from "../support/how-often.js";

const LAMBDAS = howOften(300, 15_000);

const FIELDS = [
  { name: "a", type: "integer" },
  { name: "b", type: "number" },
  { name: "s", type: "string" },
  { name: "l", type: "list" },
  { name: "o", type: "object" },
  { name: "any-thing", type: "any" },
] as const;

function translate(lambda: string, about: { readonly type: FieldType } | "evidence" = { type: "any" }): string {
  const read = readRuleText(lambda, about, FIELDS);
  return read.ok ? read.cel : `${read.message} (${read.hint})`;
}

describe("a lambda", () => {
  it.each([
    ["lambda x: x > 0", "value > 0"],
    ["lambda x: len(x) >= 3 and x != []", "(size(value) >= 3) && (value != [])"],
    ["lambda x: 0 < x <= 10", "(0 < value) && (value <= 10)"],
    ["lambda x: not x == 1 or x is None", "(!(value == 1)) || (dyn(value) == null)"],
    ["lambda x: not not x", "!(!value)"],
    ["lambda x: x is not None", "dyn(value) != null"],
    ["lambda x: x == None", "dyn(value) == null"],
    ["lambda x: x != None", "dyn(value) != null"],
    ["lambda x: x['a'] is not None", '"a" in value && dyn(value["a"]) != null'],
    ["lambda x: x['a'] is None", '!("a" in value && dyn(value["a"]) != null)'],
    ["lambda x: x[0] is None", "dyn(value[0]) == null"],
    ["lambda x: x in ('a', \"b\")", 'value in ["a", "b"]'],
    ["lambda x: x not in [1, 2,]", "!(value in [1, 2])"],
    ["lambda x: 'a' in x", '"a" in value'],
    ["lambda x: x in (1,)", "value in [1]"],
    ["lambda x: x in ()", "value in []"],
    ["lambda x: x == [1]", "value == [1]"],
    ["lambda x: x in (')', 'None')", 'value in [")", "None"]'],
    [`lambda x: x == '"""'`, String.raw`value == "\"\"\""`],
    [`lambda x: x == "'''"`, `value == "'''"`],
    ["lambda x: (x)", "value"],
    ["lambda x: isinstance(x, str)", "(type(value) == string)"],
    ["lambda x: isinstance(x, (int, float))", "((isInteger(value)) || (type(value) in [int, double]))"],
    ["lambda x: isinstance(x, bool) or isinstance(x, dict)", "(type(value) == bool) || (type(value) == map)"],
    ["lambda x: all(y > 0 for y in x)", "value.all(item, item > 0)"],
    ["lambda x: any(len(y) > 2 for y in x if y)", "value.filter(item, item).exists(item, size(item) > 2)"],
    ["lambda x: all(all(z > y for z in y) for y in x)", "value.all(item, item.all(item2, item2 > item))"],
    ["lambda x: x.get('k') == 1", '("k" in value ? dyn(value["k"]) : dyn(null)) == 1'],
    ["lambda x: x.get('k', 0) > 1", '("k" in value ? dyn(value["k"]) : dyn(0)) > 1'],
    ["lambda x: x.startswith('v')", 'value.startsWith("v")'],
    ["lambda x: x.strip().lower().endswith('.md')", 'value.trim().lowerAscii().endsWith(".md")'],
    ["lambda x: x.upper() == 'A'", 'value.upperAscii() == "A"'],
    ["lambda x: str(x) == '1'", 'string(value) == "1"'],
    ["lambda x: x + 1 * 2 - -3 == 4", "((value + (1 * 2)) - (-3)) == 4"],
    ["lambda x: x / 2 >= .5", "(ratio(value, 2)) >= 0.5"],
    ["lambda x: x % 2 == 0", "(mod(value, 2)) == 0"],
    ["lambda x: -x < 0", "(-value) < 0"],
    ["lambda x: x == True if len(x) > 0 else False", "(size(value) > 0) ? (value == true) : false"],
    ["lambda x, p: x >= p['min']", 'value >= params["min"]'],
    ["lambda x, p, e: x == e['a']", 'value == evidence["a"]'],
    [
      "lambda x: x > 1_000 and x < 0xff and x < 1e3 and x < 1.",
      "(value > 1000) && (value < 255) && (value < 1000.0) && (value < 1.0)",
    ],
    ["lambda x: x == 'it\\'s' \"\\n\" '''y'''", 'value == "it\'s\\ny"'],
    ["lambda x: (\n  x > 1  # more than one\n)", "value > 1"],
    ["  lambda x : x  ", "value"],
    ["lambda x: all(item > 0 for item in x['size'])", 'value["size"].all(item, item > 0)'],
  ])("%s", (python, cel) => {
    expect(translate(python)).toBe(cel);
  });

  it("distinguishes fields with text, in which `in` searches for a part", () => {
    expect(translate("lambda x: 'a' in x", { type: "string" })).toBe('value.contains("a")');
    expect(translate("lambda x: 'a' not in x.lower()", { type: "string" })).toBe('!(value.lowerAscii().contains("a"))');
    expect(translate("lambda e: 'a' in e['s'] and 1 in e['l']", "evidence")).toBe(
      '(evidence["s"].contains("a")) && (1 in evidence["l"])',
    );
    expect(translate("lambda x: 'a' in str(x)")).toBe('string(value).contains("a")');
  });

  it("of the whole gate reads the evidence, and may read the session", () => {
    expect(translate("lambda e: e['a'] == e['any-thing']", "evidence")).toBe('evidence["a"] == evidence["any-thing"]');
    expect(translate("lambda e, s: s['attempt'] < 3", "evidence")).toBe('session["attempt"] < 3');
  });

  it.each([
    ["lambda x: sum(x) > 3", '"sum(…)", at character 11', "size(value) >= 3"],
    ["lambda x: re.match('a', x)", '".match(…)"', 'value.matches("^[a-z]+$")'],
    ["lambda x: x.count('a') > 1", '".count(…)"', 'value.contains("part")'],
    ["lambda x: all(x)", '"all(…)"', "value.all(item, item == true)"],
    ["lambda x: [y for y in x] == []", '"for"', "value.map"],
    ["lambda x: x // 2 == 1", '"//"', "value"],
    ["lambda x: x ** 2 == 1", '"**"', "value"],
    ["lambda x: x[1:] == ''", '":"', "value"],
    ["lambda x: x is True", "is with anything but None", "value"],
    ["lambda x: __import__('os').system('x')", '".system(…)"', "value"],
    ["lambda x: open(x)", '"open(…)"', "value"],
    ["lambda x: y > 1", '"the name y"', "value"],
    ["lambda x: x.__class__", '".__class__"', "value"],
    ["lambda x: x.y.z() == 1", '".z(…)"', "value"],
    ["lambda x: {'a': 1} == x", '"a dict"', "value"],
    ["lambda x: (y for y in x)", '"for"', "value"],
    ["lambda x: lambda y: y", '"lambda"', "value"],
    ["lambda x: f'{x}' == 'a'", "the prefix f of a text", "value"],
    ["lambda x: x == '\\x41'", "the escape", "value"],
    ["lambda x: x == 'a\nb'", "a text across lines", "value"],
    ["lambda x: x == 'a", "the character", "value"],
    ["lambda x: x == 'ä' and ä", String.raw`the character \"ä\"`, "value"],
    ["lambda x: x == 👍", String.raw`the character \"👍\"", at character 16`, "value"],
    ["lambda x: x == '\ud800'", "not valid Unicode", "value"],
    ["lambda x: x == 99999999999999999999", "too large", "value"],
    ["lambda x: x == 1e999", '"1e999"', "value"],
    ["lambda x:", "the end of the text", "value"],
    ["lambda x: x >", "the end of the text", "value"],
    ["lambda x: (x", "the end of the text", "value"],
    ["lambda x: x not 3", '"3"', "value"],
    ["lambda x: x)", '")"', "value"],
    ["lambda: True", '":"', "value"],
    ["lambda *a: True", '"*"', "value"],
    ["lambda a, b, c, d: True", "a lambda of 4 parameters", "value"],
    ["lambda x: len(x, 1) > 1", '"len(…)"', "value"],
    ["lambda x: x.lower(1) == ''", '".lower(…)"', "value"],
    ["lambda x: x.get() == 1", '".get(…)"', "value"],
    ["lambda x: isinstance(x, set)", "isinstance with set", "value"],
    ["lambda x: isinstance(x, ())", "isinstance without a type", "value"],
    ["lambda x: isinstance(x, 1)", "isinstance with this", "value"],
    ["lambda x: isinstance(x, (y for y in x))", '"for"', "value"],
    ["lambda x: len(y for y in x) > 1", '"for … in"', "value"],
    ["lambda x: x()", '"x"', "value"],
    ["lambda x: len()", '"len"', "value"],
    ["lambda x: x[0]()", '"this"', "value"],
    ["lambda x: x := 3", '":="', "value"],
    ["lambda x: x if x", "the end of the text", "value"],
  ])("without an equivalent in CEL, %s, is an error with its position and a replacement", (python, what, instead) => {
    const said = translate(python);
    expect(said).toContain("can't be translated to a rule");
    expect(said).toContain(what);
    expect(said.slice(said.lastIndexOf("Write the rule in CEL"))).toContain(instead);
  });

  it.each([
    ["levels", `lambda x: ${"(".repeat(100)}x${")".repeat(100)}`, "more than 20 levels"],
    ["what follows one another", `lambda x: x${"[0]".repeat(9000)} == 1`, "more than 500 chained parts"],
    ["sums", `lambda x: x${" + 1".repeat(9000)} == 1`, "more than 500 chained parts"],
    ["what is written twice", `lambda x: x${".get('a')".repeat(25)} == 1`, "more than 10000 characters of CEL"],
    ["what is compared twice", `lambda x: ${"(1 < ".repeat(18)}x${" < 9)".repeat(18)}`, "more than 10000 characters"],
    ["types", `lambda x: isinstance(x, (${"str, ".repeat(9000)}))`, "more than 20 types"],
  ])("is refused if it is too large: %s", (_, python, what) => {
    const said = translate(python);
    expect(said).toContain(what);
    expect(said).toContain("split it into two rules");
  });

  it("of the whole gate is reported with an example of such a rule", () => {
    expect(translate("lambda e: sum(e)", "evidence")).toContain("evidence.passed == evidence.total");
  });

  it("becomes a rule that the language can parse", async () => {
    const compiler = (await loadRuleLanguage()).forFields(FIELDS);
    const leaf = fc.constantFrom(
      "x",
      "p",
      "1",
      "2.5",
      "'a'",
      '"it\'s"',
      "True",
      "None",
      "[]",
      "-3",
      "x['k']",
      "x[0]",
      "p['min']",
    );
    const { python } = fc.letrec<{ python: string }>((tie) => ({
      python: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        leaf,
        fc
          .tuple(
            tie("python"),
            fc.constantFrom("+", "-", "*", "/", "%", "<", "<=", "==", "!=", "in", "not in", "and", "or"),
            tie("python"),
          )
          .map(([a, sign, b]) => `${a} ${sign} (${b})`),
        tie("python").map((a) => `(${a})`),
        tie("python").map((a) => `not ${a}`),
        tie("python").map((a) => `-(${a})`),
        tie("python").map((a) => `len(${a})`),
        tie("python").map((a) => `(${a}) is not None`),
        tie("python").map((a) => `(${a})['k'] is None`),
        tie("python").map((a) => `(${a}).get('k', ${a})`),
        tie("python").map((a) => `(${a}).strip()`),
        tie("python").map((a) => `isinstance(${a}, (int, str))`),
        fc.tuple(tie("python"), tie("python")).map(([a, b]) => `all(${a} > y for y in ${b} if y != 1)`),
        fc.tuple(tie("python"), tie("python"), tie("python")).map(([a, b, c]) => `(${a} if ${b} else ${c})`),
        fc.tuple(tie("python"), tie("python")).map(([a, b]) => `[${a}, ${b}]`),
      ),
    }));
    let read = 0;
    fc.assert(
      fc.property(python, (body) => {
        const rule = readRuleText(`lambda x, p: ${body}`, { type: "any" }, FIELDS);
        if (!rule.ok) return;
        read += 1;
        const compiled = compiler.compile(rule.cel, { value: "any", params: { min: 1 } });
        // Types may not match, and a rule may be too long, but the syntax is always valid.
        if (!compiled.ok)
          expect(compiled.message).not.toMatch(/unexpected|expected [A-Z]|unterminated|invalid|unknown/i);
      }),
      { numRuns: LAMBDAS },
    );
    expect(read).toBeGreaterThan(LAMBDAS / 2);
  });

  it("of any text never throws", () => {
    const pieces = fc.constantFrom(
      "lambda x: ",
      "x",
      "(",
      ")",
      "[",
      "]",
      "'",
      '"',
      "'''",
      "\\",
      "\n",
      "#",
      " ",
      "for ",
      "in ",
      "if ",
      "else ",
      "not ",
      "is ",
      "1",
      ".",
      "e",
      "_",
      "0x",
      ":",
      ",",
      "**",
      "é",
      "all(",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 30 }), (found) => {
        const rule = readRuleText(`lambda x: ${found.join("")}`, { type: "any" }, FIELDS);
        expect(typeof (rule.ok ? rule.cel : rule.message)).toBe("string");
      }),
      { numRuns: howOften(500, 30_000) },
    );
  });
});

describe("a lambda and its translation", () => {
  const CASES: readonly (readonly [lambda: string, good: unknown[], bad: unknown[]])[] = [
    [
      "lambda x: len(x) >= 3 and all(isinstance(y, str) for y in x)",
      [["a", "b", "c"]],
      [
        ["a", "b"],
        ["a", "b", 3],
      ],
    ],
    ["lambda x: x % 3 == 2", [2, -1, 5.0], [1, -2, 1.5]],
    ["lambda x: x / 2 == 1.5", [3, 3.0], [2]],
    ["lambda x: x.get('ok', False) == True", [{ ok: true }], [{}, { ok: false }, { ok: "true" }]],
    ["lambda x: x['a'] is not None and x['a'] > 1", [{ a: 2 }], [{}, { a: null }, { a: 1 }]],
    ["lambda x: isinstance(x, int) and not isinstance(x, bool)", [3, 3.0], [true, "3", 3.5]],
    ["lambda x: x in [1, 2]", [1, 2.0], [3, "1"]],
  ];

  it.each(CASES)("%s", async (lambda, good, bad) => {
    const compiler = (await loadRuleLanguage()).forFields([]);
    const rule = readRuleText(lambda, { type: "any" }, []);
    if (!rule.ok) throw new Error(rule.message);
    const compiled = compiler.compile(rule.cel, { value: "any" });
    if (!compiled.ok) throw new Error(compiled.message);
    for (const value of good) expect(compiled.run({ value })).toBe(true);
    for (const value of bad) {
      let result: unknown;
      try {
        result = compiled.run({ value });
      } catch (error) {
        result = error;
      }
      expect(result).not.toBe(true);
    }
  });
});

describe("details of a lambda", () => {
  it.each([
    ["lambda x: x < 1. and x < 1e10", "(value < 1.0) && (value < 10000000000.0)"],
    ["lambda x: x > 2E-1 and x > 1e+2 and x < 1e21", "(value > 0.2) && (value > 100.0) && (value < 1e+21)"],
    [String.raw`lambda x: x == '\\ \' \" \n \r \t'`, String.raw`value == "\\ ' \" \n \r \t"`],
    ["lambda x: x == '''a\nb''' # a comment", String.raw`value == "a\nb"`],
    ["lambda x: x > 0xE", "value > 14"],
    ["lambda x: x > 0 # a comment\n # and another\n and x < 9", "(value > 0) && (value < 9)"],
    ["lambda x: x < None", "value < null"],
    ["lambda x: isinstance(x, list)", "(type(value) == list)"],
    ["lambda x: 1 in len(str(x))", "1 in size(string(value))"],
    ["lambda x: 'a' in str(x)[0]", '"a" in string(value)[0]'],
    ["lambda x: 'b' in 'abc'", '"abc".contains("b")'],
    [
      "lambda x: all(y for y in x if y > 1 if y < 9)",
      "value.filter(item, item > 1).filter(item, item < 9).all(item, item)",
    ],
    [
      "lambda x: all(any(all(c > b + a for c in b) for b in a) for a in x)",
      "value.all(item, item.exists(item2, item2.all(item3, item3 > (item2 + item))))",
    ],
  ])("%j", (python, cel) => {
    expect(translate(python)).toBe(cel);
  });

  it.each([
    ["lambda x: x 'and' x", '"and"', 'value != "todo"'],
    ["lambda x: x 'not' in [1]", '"not"', 'value != "todo"'],
    ["lambda x: == 3", '"=="', 'value != "todo"'],
    ["lambda x: all(x, y for y in x)", '"for"', "value.map"],
    [String.raw`lambda x: x == 'a\'`, "the character", 'value != "todo"'],
    ["lambda x: x == 'a\\\nb'", "a text across lines", 'value != "todo"'],
    ["lambda x: x == '''a\\\nb'''", "the escape", 'value != "todo"'],
    ['lambda x: x == r"a"', "the prefix r of a text", 'value != "todo"'],
    ["lambda x: x[0](1)", '"this"', 'value != "todo"'],
    ["lambda x: str(x, 1) == ''", '"str(…)"', 'value != "todo"'],
    ["lambda x: isinstance(x)", '"isinstance(…)"', 'value != "todo"'],
    ["lambda x: isinstance(x, str, 1)", '"isinstance(…)"', 'value != "todo"'],
    ["lambda x: isinstance(x, x.str)", '"isinstance with .str"', 'value != "todo"'],
    ["lambda x: sum(y for y in x) > 1", '"sum(…)"', "item > 0"],
    ["lambda x: x.get('a', 1, 2)", '".get(…)"', 'value != "todo"'],
    ["lambda x: re(x)", '"re(…)"', "value.matches"],
    ["lambda x: isinstance(x, x.match)", '"isinstance with .match"', 'value != "todo"'],
    ["lambda x: isinstance(x, x.count)", '"isinstance with .count"', 'value != "todo"'],
    ["lambda x: isinstance(x, x.find)", '"isinstance with .find"', 'value != "todo"'],
    ["lambda x: isinstance(x, x.index)", '"isinstance with .index"', 'value != "todo"'],
    ["lambda x: all(y for y in x, 1)", '","', 'value != "todo"'],
    ["lambda x: are > 1", '"the name are"', 'value != "todo"'],
    ["lambda x: sum > 1", '"the name sum"', 'value != "todo"'],
    ["lambda x: any > 1", '"the name any"', 'value != "todo"'],
    ["lambda x: wait_for > 1", '"the name wait_for"', 'value != "todo"'],
  ])("%j is refused, with an example of what is meant", (python, what, instead) => {
    expect(translate(python)).toContain(what);
    expect(translate(python)).toContain(instead);
  });

  it("are limited: levels, chained parts, types and characters", () => {
    const levels = (count: number) => `lambda x: ${"(".repeat(count)}x${")".repeat(count)}`;
    const chained = (count: number) => `lambda x: x${"[0]".repeat(count)} == 1`;
    const types = (count: number) => `lambda x: isinstance(x, (${"str, ".repeat(count)}))`;
    const long = (count: number) => `lambda x: x == '${"a".repeat(count)}'`;
    for (const lambda of [levels(19), chained(500), types(20), long(9989)])
      expect(translate(lambda)).toMatch(/^value|^\(\(type/);
    expect(translate(levels(20))).toContain("it has more than 20 levels, at character 31");
    expect(translate(chained(501))).toContain("more than 500 chained parts");
    expect(translate(types(21))).toContain("more than 20 types");
    expect(translate(long(9990))).toContain("more than 10000 characters of CEL, at character 11");
    expect(translate(long(9989))).toHaveLength(10_000);
  });

  it("are not looked for in a rule that only mentions one", () => {
    expect(translate(' value != "lambda x" ')).toBe('value != "lambda x"');
    expect(translate("lambdas > 1")).toBe("lambdas > 1");
  });
});

describe("a Python expression", () => {
  const constant = (value: unknown) => ({ kind: "constant", value });

  it("is read with the positions of its parts", () => {
    expect(parsePython("{'a': -1, 'b': [1.5, None], }")).toEqual({
      ...{ kind: "dict", at: 0 },
      entries: [
        [
          { ...constant("a"), at: 1 },
          { ...constant(-1n), at: 6 },
        ],
        [
          { ...constant("b"), at: 10 },
          {
            ...{ kind: "list", at: 15 },
            items: [
              { ...constant(1.5), at: 16 },
              { ...constant(null), at: 21 },
            ],
          },
        ],
      ],
    });
    expect(parsePython("{}")).toEqual({ kind: "dict", at: 0, entries: [] });
  });

  it("has negative numbers, and other things with a minus", () => {
    expect([parsePython("-1.5"), parsePython("-0x10")]).toMatchObject([constant(-1.5), constant(-16n)]);
    expect(parsePython("-x")).toMatchObject({ kind: "minus", of: { kind: "name" } });
    expect(parsePython("-'a'")).toMatchObject({ kind: "minus", of: constant("a") });
    expect(parsePython("-True")).toMatchObject({ kind: "minus", of: constant(true) });
  });

  it("is all of the text", () => {
    for (const text of ["1 2", "{'a' 1}", "{'a': 1 'b': 2}", "{'a': 1", "[1", "lambda x: x", ""])
      expect(() => parsePython(text), text).toThrow();
  });
});
