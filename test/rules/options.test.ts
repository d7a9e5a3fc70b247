import { afterEach, describe, expect, it, vi } from "vitest";
import { loadRuleLanguage } from "../../src/rules/language.js";
import {
  checkBySchema,
  declaredOptions,
  describeOptions,
  issueProblems,
  namingProblems,
  skipFault,
  skipPhrase,
  skipsWith,
} from "../../src/rules/options.js";
import { schemaFaults } from "../../src/rules/schema-faults.js";
import type { JsonObject } from "../../src/workflow/json.js";

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    audience: { enum: ["dev", "ops"], description: "who reads it" },
    depth: { type: "integer", minimum: 1, default: 2 },
    docs: { type: "array", items: { type: "string", pattern: "^docs/" } },
    name: { type: "string", pattern: "^[a-z]+$" },
  },
  required: ["audience"],
  additionalProperties: false,
};

const problems = async (schema: JsonObject, options: JsonObject) => {
  const checked = await checkBySchema(schema, options);
  return checked.ok ? checked.options : checked.problems;
};

describe("checkBySchema", () => {
  it("adds the defaults", async () => {
    const given = { audience: "dev", docs: ["docs/a.md"], name: "abc" };
    expect(await problems(SCHEMA, given)).toEqual({ ...given, depth: 2 });
    expect(await problems(SCHEMA, { audience: "ops", depth: 7 })).toEqual({ audience: "ops", depth: 7 });
  });

  it("names everything that is wrong at once", async () => {
    expect(await problems(SCHEMA, { dph: 1, docs: ["docs/a.md", "b.md"], name: "A1", depth: "x" })).toEqual([
      'there is no option "dph"',
      'the option "audience" is missing: "dev" | "ops", required: who reads it',
      "options.depth: expected number, received string",
      'options.docs.*: "b.md" does not match ^docs/',
      'options.name: "A1" does not match ^[a-z]+$',
    ]);
  });

  it("suggests the option that was meant, among those that are not given", async () => {
    expect(await problems(SCHEMA, { audience: "dev", dpth: 1 })).toEqual([
      'there is no option "dpth"; did you mean "depth"?',
    ]);
    expect(await problems(SCHEMA, { audience: "x" })).toEqual(['options.audience: expected one of "dev"|"ops"']);
  });

  it("keeps unknown options where the schema does not exclude them", async () => {
    const open = { properties: { depth: { type: "integer" } } };
    expect(await problems(open, { other: [1], depth: 3 })).toEqual({ other: [1], depth: 3 });
  });

  it("does not need a required option that has a default", async () => {
    const schema = { properties: { depth: { type: "integer", default: 4 } }, required: ["depth"] };
    expect(await problems(schema, {})).toEqual({ depth: 4 });
    expect(namingProblems(schema, {})).toEqual([]);
  });

  it("matches a pattern in linear time", async () => {
    const schema = { properties: { name: { type: "string", pattern: "^(a+)+$" } } };
    const begun = performance.now();
    expect(await problems(schema, { name: `${"a".repeat(50_000)}!` })).toHaveLength(1);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it("does not take a property called pattern for a pattern", async () => {
    const schema = { properties: { pattern: { type: "string", default: "x" } } };
    expect(await schemaFaults(schema)).toEqual([]);
    expect(await problems(schema, {})).toEqual({ pattern: "x" });
  });
});

describe("checkBySchema, in detail", () => {
  it("suggests no option that is given already", async () => {
    expect(await problems(SCHEMA, { audience: "dev", depth: 1, dept: 2 })).toEqual(['there is no option "dept"']);
  });

  it("refuses what is nearly the name of an option, unless the schema allows others or the name is short", async () => {
    const open = { properties: { doc: {}, depth: {}, dy: {} } };
    expect(await problems(open, { dox: 1 })).toEqual(['there is no option "dox"; did you mean "doc"?']);
    expect(await problems(open, { dx: 1, title: 2 })).toEqual({ dx: 1, title: 2 });
    expect(await problems(open, { dox: 1, doc: 2 })).toEqual({ dox: 1, doc: 2 });
    expect(await problems({ ...open, additionalProperties: true }, { dox: 1 })).toEqual({ dox: 1 });
  });

  it("suggests a name with two letters swapped, unless it is short", async () => {
    const closed = { properties: { abcd: {}, pqr: {} }, additionalProperties: false };
    expect(await problems(closed, { abdc: 1 })).toEqual(['there is no option "abdc"; did you mean "abcd"?']);
    expect(await problems(closed, { prq: 1 })).toEqual(['there is no option "prq"']);
  });

  it("matches patterns of texts only, where they are", async () => {
    const inner = { properties: { name: { pattern: "^a" } } };
    const schema = { properties: { list: { items: { pattern: "^a" } }, inner } };
    for (const given of [{ list: ["a"], inner: { name: "ab" } }, { list: [1], inner: { name: 1 } }, { list: [] }, {}])
      expect(await problems(schema, given)).toEqual(given);
    for (const given of [{ list: "b" }, { list: null }, { inner: null }, { inner: "b" }])
      expect(await problems(schema, given)).not.toEqual([expect.stringContaining("does not match")]);
    expect(await problems(schema, { list: ["a", "b"], inner: { name: "c" } })).toEqual([
      ...['options.list.*: "b" does not match ^a', 'options.inner.name: "c" does not match ^a'],
    ]);
    expect(await problems(SCHEMA, { audience: "dev", docs: "x" })).toHaveLength(1);
  });

  it("reports what is wrong below an option in the words of the schema", async () => {
    const inner = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    };
    const schema = { properties: { inner }, required: ["inner"] };
    expect(await problems(schema, { inner: {} })).toEqual([expect.stringMatching(/^options\.inner\.a: /)]);
    expect(await problems(schema, { inner: { a: 1, b: 2 } })).toEqual([
      expect.stringMatching(/^options\.inner: .*"b"/),
    ]);
    expect(await problems(schema, {})).toEqual([
      expect.stringMatching(/^the option "inner" is missing: object, required/),
    ]);
    expect(await problems({ properties: { a: {}, toString: {} }, required: ["toString"] }, {})).toEqual([
      'the option "toString" is missing: any value, required',
    ]);
  });

  it("reports what is wrong with the options as a whole", async () => {
    const schema = { properties: { a: {}, b: {} }, minProperties: 1 };
    expect(await problems(schema, {})).toEqual([expect.stringMatching(/^options: .*>=1/)]);
    expect(await problems(schema, { b: 2 })).toEqual({ b: 2 });
  });

  it("adds a default as it is, also one that has a pattern in it", async () => {
    const standard = { pattern: "x", deep: { pattern: "y" } };
    const schema = { properties: { rule: { type: "object", default: standard } } };
    expect(await schemaFaults(schema)).toEqual([]);
    expect(await problems(schema, {})).toEqual({ rule: standard });
  });

  it("says what is expected even where the schema does not describe it", () => {
    expect(namingProblems({ properties: { odd: "text" }, required: ["a", "odd"] }, {})).toEqual([
      ...['the option "a" is missing: any value, required', 'the option "odd" is missing: any value, required'],
    ]);
    expect(describeOptions({ properties: { odd: { type: 5 } } })).toEqual({ odd: "any value" });
  });
});

describe("schemaFaults, in detail", () => {
  it.each<readonly [string, JsonObject, readonly (readonly (string | number)[])[]]>([
    ["the whole", { type: "array" }, [[]]],
    ["a property", { properties: { a: "text" } }, [["properties", "a"]]],
    ["a property's schema", { properties: { a: { type: "int" } } }, [["properties", "a"]]],
    ["its type", { properties: { a: { type: 1 } } }, [["properties", "a", "type"]]],
    ["its default", { properties: { a: { type: "string", default: 1 } } }, [["properties", "a", "default"]]],
    ["its keyword", { properties: { a: { tpye: "string" } } }, [["properties", "a", "tpye"]]],
    ["a keyword", { properties: {}, requierd: [] }, [["requierd"]]],
    ["what is required", { properties: {}, required: ["a"] }, [["required"]]],
    ["an invalid pattern", { properties: { a: { pattern: "(" } } }, [["properties"]]],
    ["a pattern elsewhere", { properties: { a: { anyOf: [{ pattern: "(" }] } } }, [["properties"]]],
    ["a condition", { properties: {}, if: {} }, [[]]],
  ])("have the place of %s", async (_, schema, paths) => {
    expect((await schemaFaults(schema)).map(({ path }) => path)).toEqual(paths);
  });

  it("finds nothing in keywords of one's own, in shared definitions, and in data that has a pattern", async () => {
    const draft7 = {
      ...{ $schema: "http://json-schema.org/draft-07/schema#", definitions: { a: { type: "string" } }, "x-if": 1 },
    };
    const a = { $ref: "#/definitions/a" };
    expect(await schemaFaults({ ...draft7, properties: { a } })).toEqual([]);
    expect(await schemaFaults({ ...draft7, properties: { a: { $ref: "#/definitions/b" } } })).toMatchObject([
      { path: ["properties", "a"], message: expect.stringContaining("Reference not found") },
    ]);
    for (const data of ["default", "const", "enum", "examples"]) {
      const schema = { properties: { a: { [data]: [{ pattern: "a" }] } } };
      expect(JSON.stringify(await schemaFaults(schema)), data).not.toContain("a pattern can only be used");
    }
  });
});

describe("schemaFaults", () => {
  it("finds nothing in a sound schema", async () => {
    expect(await schemaFaults(SCHEMA)).toEqual([]);
    expect(
      await schemaFaults({
        properties: { "x-any": {}, list: { type: "array", items: { $ref: "#/$defs/a" } } },
        $defs: { a: { type: "string" } },
      }),
    ).toEqual([]);
  });

  it.each<readonly [string, JsonObject, RegExp]>([
    ["no properties", { depth: { type: "integer" } }, /must describe an object/],
    ["another type", { type: "array", properties: {} }, /must describe an object/],
    ["a bare type", { properties: { depth: "integer" } }, /"depth" must be a schema in braces/],
    ["an unknown type", { properties: { depth: { type: "int" } } }, /"depth": Unsupported type: int/],
    ["no type", { properties: { depth: { type: null } } }, /the type of "depth" is not one/],
    ["an empty list of types", { properties: { depth: { type: [] } } }, /the type of "depth" is not one/],
    ["no type in a list", { properties: { depth: { type: ["string", null] } } }, /the type of "depth" is not one/],
    ["a misspelt keyword", { properties: {}, requierd: ["a"] }, /"requierd" has no meaning here.*"required"/],
    ["a misspelt keyword below", { properties: { a: { tpye: "string" } } }, /"tpye" has no meaning here.*"type"/],
    ["an unknown required option", { properties: { depth: {} }, required: ["dpeth"] }, /"dpeth".*Did you mean "depth"/],
    ["a required option alone", { properties: {}, required: ["a"] }, /"a" is not among the properties.*Describe it/],
    [
      "a wrong default",
      { properties: { a: { type: "integer", default: "x" } } },
      /the default of "a".*expected number/,
    ],
    ["a bad pattern", { properties: { a: { pattern: "(" } } }, /the pattern "\(" is invalid/],
    ["a backreference", { properties: { a: { pattern: "(a)\\1" } } }, /can't be matched in linear time/],
    ["a deep pattern", { properties: { a: { anyOf: [{ type: "string", pattern: "a" }] } } }, /only be used directly/],
    [
      "patterns in two places",
      { properties: { a: { patternProperties: { "^a": {} }, anyOf: [{ pattern: "a" }] } } },
      /only be used directly/,
    ],
    ["pattern properties", { properties: {}, patternProperties: { "^a": {} } }, /only be used directly/],
    ["a condition", { properties: {}, if: {} }, /can't be used: Conditional schemas/],
    [
      "a limit without a type",
      { properties: { a: { minimum: 1 } } },
      /"minimum" has no effect.*Write "type": "number" beside it/,
    ],
    [
      "a limit without a type in a part",
      { properties: { a: { type: "integer", allOf: [{ minimum: 1 }] } } },
      /"minimum" has no effect in a schema without a type/,
    ],
    ["a length below a definition", { properties: {}, $defs: { a: { items: { minLength: 1 } } } }, /"minLength" has/],
    [
      "a required option that a part does not describe",
      { properties: { a: {}, b: {} }, anyOf: [{ type: "object", required: ["a"] }] },
      /"required" names "a".*Describe it in "properties"/,
    ],
    ["a limit beside a list of values", { properties: { a: { enum: [1, 2], minimum: 2 } } }, /no effect beside "enum"/],
    [
      "a limit beside a reference",
      { properties: { a: { $ref: "#/$defs/n", minimum: 2 } }, $defs: { n: {} } },
      /"\$ref"/,
    ],
  ])("reports %s", async (_, schema, message) => {
    const said = (await schemaFaults(schema)).map((fault) => `${fault.message}. ${fault.hint}`);
    expect(said.join("\n")).toMatch(message);
  });
});

describe("describeOptions", () => {
  it("says type, default, need and meaning in a few words", () => {
    const properties = {
      ...Object(SCHEMA.properties),
      free: {},
      odd: "text",
      one: { const: 1 },
      list: { type: "array" },
    };
    expect(describeOptions({ ...SCHEMA, properties: { ...properties, two: { type: ["string", "null"] } } })).toEqual({
      audience: '"dev" | "ops", required: who reads it',
      depth: "integer, default 2",
      docs: "list of string",
      name: "string",
      free: "any value",
      odd: "any value",
      one: "1",
      list: "list",
      two: "string | null",
    });
    expect(describeOptions({})).toEqual({});
  });
});

describe("issueProblems", () => {
  it("reads the paths of any Standard Schema", () => {
    const issues = [
      ...[{ message: "Invalid input: no", path: ["a", { key: 0 }] }, { message: "Invalid option: x" }],
      { message: "It is: Invalid input: no" },
    ];
    expect(issueProblems(issues)).toEqual(["options.a.0: no", "options: x", "options: It is: Invalid input: no"]);
  });
});

describe("a rule that skips phases", () => {
  const phases = (...rules: readonly string[]) => rules.map((cel) => ({ skipWhen: { cel, reason: `as ${cel}` } }));
  const skipped = async (options: JsonObject, ...rules: readonly string[]) => {
    const skips = await skipsWith({ phases: phases(...rules) }, options);
    return rules.map((_, position) => skips(position) !== undefined);
  };

  it("holds by the values of the options", async () => {
    const rules = ["!has(options.docs)", "has(options.depth) && options.depth > 2", 'options.audience == "ops"'];
    expect(await skipped({ audience: "ops" }, ...rules)).toEqual([true, false, true]);
    expect(await skipped({ docs: [], depth: 3, audience: "dev" }, ...rules)).toEqual([false, true, false]);
    const skips = await skipsWith({ phases: phases("true") }, {});
    expect(skips(0)).toEqual({ reason: "as true", rule: "true" });
  });

  it("skips nothing if it can't be evaluated, or can't run", async () => {
    const rules = ["options.fast == true", "options.a > 1", "1 +", "options.n / 0 == 1"];
    expect(await skipped({ a: "text", n: 1 }, ...rules)).toEqual([false, false, false, false]);
  });

  it("is refused for an option that a closed schema does not have", async () => {
    const workflow = { phases: [], optionsSchema: SCHEMA };
    expect(await skipFault("!has(options.doc)", workflow)).toMatchObject({ hint: 'Did you mean "docs"?' });
    expect(await skipFault("!has(options.docs)", workflow)).toBeUndefined();
    expect(await skipFault("!has(options.doc)", { ...workflow, optionsSchema: { properties: {} } })).toBeUndefined();
    const config = { parser: "p", sourcePathKey: "spec_path", templates: { phase: "a", task: "b" } };
    const dynamic = { ...config, enforceDependencies: false, tickCriteria: false };
    expect(await skipFault("!has(options.spec_path)", { ...workflow, dynamic })).toBeUndefined();
    expect(await skipFault("evidence.a == 1", workflow)).toMatchObject({
      hint: "A rule can use options; put texts in quotes.",
    });
  });
});

describe("the rules that skip phases", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("leave out phases that have none", async () => {
    const skips = await skipsWith({ phases: [{}, { skipWhen: { cel: "true", reason: "r" } }, {}] }, {});
    expect([0, 1, 2].map(skips)).toEqual([undefined, { reason: "r", rule: "true" }, undefined]);
  });

  it("are compiled once for each list of options, of which the last 256 are kept", async () => {
    const compiled = vi.spyOn(await loadRuleLanguage(), "forVariables");
    const optionsSchema = { properties: { n: {} }, additionalProperties: false };
    const fault = (at: number, schema: JsonObject = optionsSchema) =>
      skipFault(`options.n == ${at}`, { phases: [], optionsSchema: schema });
    for (let at = 0; at < 256; at += 1) expect(await fault(at)).toBeUndefined();
    expect(compiled).toHaveBeenCalledTimes(256);
    await fault(0);
    await fault(255);
    expect(compiled).toHaveBeenCalledTimes(256);
    expect(await fault(0, { ...optionsSchema, properties: { m: {} } })).toMatchObject({ ok: false });
    expect(compiled).toHaveBeenCalledTimes(257);
    await fault(1);
    expect(compiled).toHaveBeenCalledTimes(257);
    await fault(0);
    expect(compiled).toHaveBeenCalledTimes(258);
  });
});

describe("declaredOptions", () => {
  it("are the properties, unless the schema says that there are others", () => {
    const dynamic = {
      ...{ parser: "p", sourcePathKey: "spec_path", templates: { phase: "a", task: "b" } },
      ...{ enforceDependencies: false, tickCriteria: false },
    };
    const of = (optionsSchema: JsonObject | undefined, more = {}) =>
      declaredOptions({ ...(optionsSchema === undefined ? {} : { optionsSchema }), ...more });
    expect(of({ properties: { a: {} } })).toEqual(["a"]);
    expect(of({ properties: { a: {} }, additionalProperties: false }, { dynamic })).toEqual(["a", "spec_path"]);
    expect(of({})).toEqual([]);
    expect(of({ properties: { a: {} }, additionalProperties: true })).toBeUndefined();
    expect(of({ properties: { a: {} }, additionalProperties: { type: "string" } })).toBeUndefined();
    expect(of(undefined)).toBeUndefined();
    expect(of(undefined, { dynamic })).toBeUndefined();
  });
});

describe("skipPhrase", () => {
  it.each([
    "No supporting_docs in options",
    " no  supporting_docs  in  the  options ",
    "no `supporting_docs` in the options.",
    "No 'supporting_docs' in options",
  ])("reads <%s>", async (words) => {
    const cel = skipPhrase(words) ?? "";
    const holds = async (options: JsonObject) =>
      (await skipsWith({ phases: [{ skipWhen: { cel, reason: words } }] }, options))(0) !== undefined;
    for (const none of [{}, { supporting_docs: null }, { supporting_docs: "" }, { supporting_docs: [] }]) {
      expect(await holds(none), JSON.stringify(none)).toBe(true);
    }
    for (const some of [{ supporting_docs: ["a.md"] }, { supporting_docs: "a.md" }, { supporting_docs: { a: 1 } }]) {
      expect(await holds(some), JSON.stringify(some)).toBe(false);
    }
  });

  it.each([
    "No docs",
    "when there are no docs",
    "no docs in options or elsewhere",
    "No a.b in options",
    "so no a in options",
    "",
  ])("does not read <%s>", (words) => expect(skipPhrase(words)).toBeUndefined());
});
