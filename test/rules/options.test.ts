import { describe, expect, it } from "vitest";
import {
  checkBySchema,
  describeOptions,
  issueProblems,
  namingProblems,
  schemaFaults,
  skipFault,
  skipPhrase,
  skipsWith,
} from "../../src/rules/options.js";
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
    ["pattern properties", { properties: {}, patternProperties: { "^a": {} } }, /only be used directly/],
    ["a condition", { properties: {}, if: {} }, /can't be used: Conditional schemas/],
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
    const issues = [{ message: "Invalid input: no", path: ["a", { key: 0 }] }, { message: "Broken" }];
    expect(issueProblems(issues)).toEqual(["options.a.0: no", "options: Broken"]);
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

describe("skipPhrase", () => {
  it.each(["No supporting_docs in options", "no `supporting_docs` in the options.", "No 'supporting_docs' in options"])(
    "reads <%s>",
    async (words) => {
      const cel = skipPhrase(words) ?? "";
      const holds = async (options: JsonObject) =>
        (await skipsWith({ phases: [{ skipWhen: { cel, reason: words } }] }, options))(0) !== undefined;
      for (const none of [{}, { supporting_docs: null }, { supporting_docs: "" }, { supporting_docs: [] }]) {
        expect(await holds(none), JSON.stringify(none)).toBe(true);
      }
      for (const some of [{ supporting_docs: ["a.md"] }, { supporting_docs: "a.md" }, { supporting_docs: { a: 1 } }]) {
        expect(await holds(some), JSON.stringify(some)).toBe(false);
      }
    },
  );

  it.each(["No docs", "when there are no docs", "no docs in options or elsewhere", "No a.b in options", ""])(
    "does not read <%s>",
    (words) => expect(skipPhrase(words)).toBeUndefined(),
  );
});
