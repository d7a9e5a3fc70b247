import { afterEach, describe, expect, it, vi } from "vitest";
import { loadRuleLanguage } from "../../src/rules/language.js";
import {
  checkBySchema,
  childOptionFaults,
  declaredOptions,
  describeOptions,
  issueProblems,
  namingProblems,
  optionsInCode,
  skipFault,
  skipPhrase,
  skipsWith,
} from "../../src/rules/options.js";
import { schemaFaults } from "../../src/rules/schema-faults.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { SCHEMA } from "./options-schema.js";

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
    const right: JsonObject[] = [
      { list: ["a"], inner: { name: "ab" } },
      { list: [1], inner: { name: 1 } },
      { list: [] },
      {},
    ];
    for (const given of right) expect(await problems(schema, given)).toEqual(given);
    const wrong: JsonObject[] = [{ list: "b" }, { list: null }, { inner: null }, { inner: "b" }];
    for (const given of wrong)
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

describe("optionsInCode", () => {
  const standard = optionsInCode(SCHEMA)["~standard"];
  const { vendor, version, validate } = standard;

  it("is a Standard Schema that shows the JSON Schema", () => {
    expect({ vendor, version }).toEqual({ vendor: "phasegate", version: 1 });
    const { input, output } = Object(Reflect.get(standard, "jsonSchema"));
    expect([input(), output()]).toEqual([SCHEMA, SCHEMA]);
  });

  it("takes what the schema takes, with its defaults", async () => {
    expect(await validate({ audience: "dev" })).toEqual({ value: { audience: "dev", depth: 2 } });
  });

  it.each([
    [{ audience: "dev", depth: "x" }, ["depth"], "expected number"],
    [{ audience: "dev", name: "A1" }, ["name"], '"A1" does not match ^[a-z]+$'],
    [{}, ["audience"], ""],
    [["dev"], undefined, "they must be an object"],
    [null, undefined, "they must be an object"],
  ])("refuses what it does not take: %o", async (given, path, message) => {
    expect(await validate(given)).toEqual({
      issues: [expect.objectContaining({ ...(path && { path }), message: expect.stringContaining(message) })],
    });
  });
});

describe("the options that a phase gives to its workflow", () => {
  const open = { ...SCHEMA, additionalProperties: true };
  const withDefault = { ...SCHEMA, required: ["audience", "depth"] };
  const dynamic = {
    ...{ parser: "tasks", sourcePathKey: "plan_path", templates: { phase: "phase.md", task: "task.md" } },
    ...{ enforceDependencies: false, tickCriteria: false },
  };

  it.each<[string, JsonObject | undefined, JsonObject, string[]]>([
    ["all that are required", SCHEMA, { audience: "dev" }, []],
    ["a rule for one that is required", SCHEMA, { audience: { rule: "item" } }, []],
    ["any, if there is no schema", undefined, { any: 1 }, []],
    ["any, if the schema allows others", open, { audience: "dev", any: 1 }, []],
    ["none that is required but has a default", withDefault, { audience: "dev" }, []],
    ["none, if none is required", { properties: {} }, {}, []],
    ["the one that names the plan", SCHEMA, { audience: "dev", plan_path: "tasks.md" }, []],
    ["none that is required", SCHEMA, { depth: 3 }, ['the option "audience" is missing']],
    [
      "only some that are required",
      { ...SCHEMA, required: ["audience", "docs", "name"] },
      { docs: [] },
      ['the option "audience" is missing', 'the option "name" is missing'],
    ],
    [
      "one that there is not",
      SCHEMA,
      { plan_path: "tasks.md", dpth: 1 },
      ['there is no option "dpth"; did you mean "depth"?', 'the option "audience" is missing'],
    ],
  ])("may lack or have too much: %s", (_, optionsSchema, options, faults) => {
    expect(childOptionFaults({ options }, { optionsSchema, dynamic })).toEqual(faults);
  });

  it("name no plan for a workflow that has none", () => {
    expect(childOptionFaults({ options: { audience: "dev", plan_path: "a" } }, { optionsSchema: SCHEMA })).toEqual([
      'there is no option "plan_path"',
    ]);
    expect(childOptionFaults({}, { optionsSchema: SCHEMA })).toEqual(['the option "audience" is missing']);
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

  it("are compiled once for each list of options, of which the 256 used last are kept", async () => {
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
    await fault(0);
    expect(compiled).toHaveBeenCalledTimes(257);
    await fault(1);
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
    const empty: JsonObject[] = [{}, { supporting_docs: null }, { supporting_docs: "" }, { supporting_docs: [] }];
    for (const none of empty) {
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
