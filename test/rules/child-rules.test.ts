import { describe, expect, it } from "vitest";
import { surroundingsOf } from "../../src/gate/run-gate-rules.js";
import { assignmentsOf, childGateFaults } from "../../src/rules/child-rules.js";
import { type ChildWorkflow, childCheck } from "../../src/workflow/child-workflow.js";
import type { FieldGate, GateDefinition, GatePlace } from "../../src/workflow/gate-definition.js";
import type { JsonObject } from "../../src/workflow/json.js";
import { unnamed } from "../support/phase-names.js";

const VARIABLES = surroundingsOf({
  artifacts: { 1: { files: ["src/a.ts", "src/b.ts"], main: "src/main.ts", count: 2, cause: { file: "a.ts" } } },
  session: { id: "s-1", workflowType: "feature", target: "src", phase: 2, attempt: 1 },
  options: { depth: "deep" },
});

/** Returns the children that a phase asks for whose session works on "src". */
function asked(child: Omit<ChildWorkflow, "type">) {
  return assignmentsOf({ type: "review", ...child }, VARIABLES, "src");
}

const NO_JSON =
  "gives a value that JSON can't hold exactly (a time, bytes, a type, or a whole number beyond 9007199254740991)";

describe("the children of a phase that is a workflow", () => {
  it.each<[string, Omit<ChildWorkflow, "type">, object[]]>([
    ["one, on what its session works on", {}, [{ target: "src", options: {} }]],
    ["one, on a path", { target: "docs" }, [{ target: "docs", options: {} }]],
    ["one, on what a rule gives", { target: { rule: "artifacts[1].main" } }, [{ target: "src/main.ts", options: {} }]],
    [
      "one, with options that are values and options that rules give",
      { options: { lines: 7, like: { rule: "x", of: "y" }, depth: { rule: 'options.depth + " " + session.target' } } },
      [{ target: "src", options: { lines: 7, like: { rule: "x", of: "y" }, depth: "deep src" } }],
    ],
    [
      "one for each item, on the same",
      { for_each: '["a", "b"]' },
      [
        { item: "a", target: "src", options: {} },
        { item: "b", target: "src", options: {} },
      ],
    ],
    [
      "one for each item, which its rules read",
      {
        for_each: "artifacts[1].files",
        target: { rule: "item" },
        options: { name: { rule: "item.split('/')[1]" }, of: { rule: "session.id" } },
      },
      [
        { item: "src/a.ts", target: "src/a.ts", options: { name: "a.ts", of: "s-1" } },
        { item: "src/b.ts", target: "src/b.ts", options: { name: "b.ts", of: "s-1" } },
      ],
    ],
    ["one for an item that is null", { for_each: "[null]" }, [{ item: null, target: "src", options: {} }]],
    [
      "one for items that are equal",
      { for_each: '[{"a": 1, "b": 2}, 7, {"b": 2, "a": 1.0}]' },
      [
        { item: { a: 1, b: 2 }, target: "src", options: {} },
        { item: 7, target: "src", options: {} },
      ],
    ],
    ["none for a list that may be empty", { for_each: "[]", allow_empty: true }, []],
    [
      "one for each item of a list that may be empty",
      { for_each: "[7]", allow_empty: true },
      [{ item: 7, target: "src", options: {} }],
    ],
    ["one on a path in the project", { target: { rule: '"./docs//a.md"' } }, [{ target: "docs/a.md", options: {} }]],
  ])("are %s", async (_, child, children) => {
    expect(await asked(child)).toStrictEqual({ ok: true, children });
  });

  it("are at most a hundred", async () => {
    const of = (count: number) =>
      assignmentsOf(
        { type: "review", for_each: "artifacts.list" },
        surroundingsOf({ artifacts: { list: Array.from({ length: count }, (_, at) => at) } }),
        "src",
      );
    const hundred = await of(100);
    expect(hundred.ok && hundred.children).toHaveLength(100);
    expect(await of(101)).toEqual({ ok: false, why: "for_each gives 101 items; at most 100 are possible" });
  });

  it.each<[Omit<ChildWorkflow, "type">, string]>([
    [{ for_each: "[]" }, "for_each gives an empty list"],
    [{ for_each: "[]", allow_empty: false }, "for_each gives an empty list"],
    [{ for_each: "artifacts[1].main" }, 'for_each gives "src/main.ts", which is no list'],
    [{ for_each: "artifacts[1].cause", allow_empty: true }, 'for_each gives {"file":"a.ts"}, which is no list'],
    [{ for_each: "[item]" }, "for_each can't be run: unknown variable: item"],
    [{ for_each: "artifacts[1].missing" }, 'for_each can\'t be evaluated: there is no key "missing"'],
    [{ target: { rule: "item" } }, "target can't be run: unknown variable: item"],
    [{ target: { rule: "artifacts[1].count" } }, "target gives 2, which is no path"],
    [{ target: { rule: '""' } }, 'target gives "": the path "" is refused: it is empty'],
    [{ target: { rule: '"/etc"' } }, 'target gives "/etc": the path "/etc" is refused: it is absolute'],
    [{ target: { rule: '"../a"' } }, 'target gives "../a": the path "../a" is refused: it leaves its root (\'..\')'],
    [{ options: { depth: { rule: "1 / 0" } } }, "options.depth can't be evaluated: division by zero"],
    [{ options: { depth: { rule: "evidence.x" } } }, "options.depth can't be run: there is no evidence.x"],
    [{ options: { a: 1, b: { rule: "type(1)" } } }, `options.b ${NO_JSON}`],
  ])("can't be said for %o, and why not", async (child, why) => {
    expect(await asked(child)).toEqual({ ok: false, why });
  });

  it.each<[string, unknown]>([
    ["artifacts[1].count", 2],
    ["size(artifacts[1].files)", 2],
    ["-7", -7],
    ["uint(7)", 7],
    ["-9007199254740991", -9007199254740991],
    ["1.5", 1.5],
    ["0", 0],
    ["true", true],
    ["false", false],
    ['"text"', "text"],
    ['""', ""],
    ["null", null],
    ["[]", []],
    ["{}", {}],
    ['{"valueOf": 1}', { valueOf: 1 }],
    ['[1, "a", null, [2], {"b": 3}]', [1, "a", null, [2], { b: 3 }]],
    ['{"a": 1, "b": null, "c": {"d": [2]}}', { a: 1, b: null, c: { d: [2] } }],
    ["{1: 2, true: 3}", { 1: 2, true: 3 }],
    ["artifacts[1].cause", { file: "a.ts" }],
    ["visible(artifacts[1].cause)", { file: "a.ts" }],
    ["session", { id: "s-1", workflow_type: "feature", target: "src", phase: 2, attempt: 1 }],
  ])("get the JSON of what a rule gives: %s", async (rule, value) => {
    expect(await asked({ options: { value: { rule } } })).toEqual({
      ok: true,
      children: [{ target: "src", options: { value } }],
    });
  });

  it.each([
    "type(1)",
    "9007199254740993",
    "[uint(9007199254740993)]",
    'timestamp("2020-01-01T00:00:00Z")',
    'duration("1s")',
    'b"abc"',
    "[1, type(1)]",
    '{"a": 1, "b": type(1)}',
    '{"a": [{"b": type(1)}]}',
  ])("get no value that JSON can't hold: %s", async (rule) => {
    const why = `options.value ${NO_JSON}`;
    expect(await asked({ options: { value: { rule } } })).toEqual({ ok: false, why });
  });
});

describe("the gate of a phase that is a workflow", () => {
  const fields = [{ name: "files", type: "list", required: true } as const];
  const build: FieldGate = { kind: "fields", strict: true, allowOverride: false, source: "document", fields };
  const place: GatePlace = { phase: 2, phases: unnamed(1, 2), before: [{ number: 1, gate: build }] };

  /** Returns the gate, with parameters that may be wrong. */
  function gateOf(params: JsonObject, change: object = {}): GateDefinition {
    const check = { ...childCheck({ type: "review" }), params: { type: "review", ...params } };
    return { ...build, fields: [], verify: [check], ...change };
  }

  it.each<[string, GateDefinition]>([
    ["has no rules", gateOf({})],
    ["has values", gateOf({ target: "docs", options: { depth: "item", of: { rule: "x", like: "y" } } })],
    ["reads earlier phases", gateOf({ target: { rule: "artifacts[1].files[0]" }, options: { a: { rule: "plan" } } })],
    [
      "reads the item",
      gateOf({ for_each: "artifacts[1].files", target: { rule: "item" }, options: { a: { rule: "item" } } }),
    ],
    ["is another gate", build],
    ["is open", { kind: "open" }],
  ])("has no fault if it %s", async (_, gate) => {
    expect(await childGateFaults(gate, place)).toEqual([]);
  });

  const NO_ITEM = "unknown variable: item";
  it.each<[JsonObject, ...(readonly [at: string, why: string])[]]>([
    [{ target: { rule: "artifacts[1].flies" } }, ["target", 'the evidence of phase 1 has no field "flies"']],
    [{ target: { rule: "artifacts[2].files" } }, ["target", 'artifacts has no phase "2"']],
    [{ target: { rule: "item" } }, ["target", NO_ITEM]],
    [{ options: { a: 1, b: { rule: "item" } } }, ["options.b", NO_ITEM]],
    [{ for_each: "item", target: { rule: "item" } }, ["for_each", NO_ITEM]],
    [{ options: { a: { rule: "evidence.files" } } }, ["options.a", "there is no evidence.files"]],
    [
      { for_each: "artifacts[3]", target: { rule: "itm" }, options: { a: { rule: "1 +" }, b: { rule: "item" } } },
      ["for_each", 'artifacts has no phase "3"'],
      ["target", "unknown variable: itm"],
      ["options.a", "unexpected token"],
    ],
  ])("has a fault for each rule that can't be run: %o", async (params, ...faults) => {
    const found = await childGateFaults(gateOf(params), place);
    expect(found.map(({ at, message }) => [at.join("."), message])).toEqual(
      faults.map(([at, why]) => [at, expect.stringContaining(why)]),
    );
  });

  it("has a hint for a rule that can't be run", async () => {
    const [fault] = await childGateFaults(gateOf({ for_each: "[1]", target: { rule: "itm" } }), place);
    expect(fault).toEqual({
      at: ["target"],
      message: 'the rule "itm" can\'t be run: unknown variable: itm',
      hint: "Did you mean item?",
    });
  });

  it.each<[GateDefinition, string]>([
    [gateOf({ type: "no/type" }), 'type must be the type of a workflow, as its folder is called, not "no/type"'],
    [gateOf({ target: "../a" }), 'target must be a path in the project, not "../a"'],
    [gateOf({}, { fields }), "a phase that is a workflow passes by that alone: its gate has nothing else"],
  ])("has a fault that is not in its rules", async (gate, message) => {
    expect(await childGateFaults(gate, place)).toEqual([{ at: [], message, hint: "Correct the gate." }]);
  });

  it("is to be corrected before its rules are looked at", async () => {
    const found = await childGateFaults(gateOf({ target: { rule: "item" }, colour: "red" }), place);
    expect(found.map(({ message }) => message)).toEqual(['a workflow has no key "colour"']);
  });
});
