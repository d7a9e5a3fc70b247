import { expect, test } from "vitest";
import { type GateChange, gateChanges } from "../../src/workflow/gate-change.js";
import type {
  FieldDefinition,
  FieldGate,
  GateDefinition,
  PlanGate,
  SchemaGate,
} from "../../src/workflow/gate-definition.js";

const field = (name: string, more: Partial<FieldDefinition> = {}): FieldDefinition => ({
  ...{ name, type: "string", required: true },
  ...more,
});
const gate = (more: Partial<FieldGate> = {}): FieldGate => ({
  ...{ kind: "fields", strict: true, fields: [field("report")], source: "gate-file" },
  ...more,
});
const of = (more: Partial<FieldDefinition>) => gate({ fields: [field("report", more)] });
const rule = (cel: string, params?: FieldDefinition["sample"]) => ({
  ...{ source: cel, cel },
  ...(params === undefined ? {} : { params: { value: params } }),
});
const command = { verifier: "command", params: { line: "npm test" } };
const schema = (more: Partial<SchemaGate> = {}): SchemaGate => ({ kind: "schema", ...more });
const plan = (more: Partial<PlanGate> = {}): PlanGate => ({ kind: "plan", tasks: [], items: [], ...more });

/** Each difference as it is from the first gate to the second one, and back. */
const OPPOSITES: readonly [string, GateDefinition, GateDefinition, weaker: string, stricter: string][] = [
  ["a field", gate(), gate({ fields: [] }), 'the field "report" is gone', 'the field "report" is new'],
  [
    "an optional field",
    of({ required: false }),
    gate({ fields: [] }),
    'the field "report" is gone',
    'the optional field "report" is new',
  ],
  ["required", gate(), of({ required: false }), 'the field "report" is optional', 'the field "report" is required'],
  [
    "any type",
    gate(),
    of({ type: "any" }),
    'the field "report" is of type any, and was of type string',
    'the field "report" is of type string, and was of type any',
  ],
  [
    "whole numbers",
    of({ type: "integer" }),
    of({ type: "number" }),
    'the field "report" is of type number, and was of type integer',
    'the field "report" is of type integer, and was of type number',
  ],
  [
    "a rule of a field",
    of({ rules: [rule("size(value) > 9")] }),
    gate(),
    'the rule "size(value) > 9" of the field "report" is gone',
    'the rule "size(value) > 9" of the field "report" is new',
  ],
  [
    "a rule",
    gate({ rules: [rule("evidence.a == evidence.b")] }),
    gate(),
    'the rule "evidence.a == evidence.b" is gone',
    'the rule "evidence.a == evidence.b" is new',
  ],
  [
    "an example that may be copied",
    gate(),
    of({ allowExample: true }),
    'the field "report" may be a copy of its example',
    'the field "report" may no longer be a copy of its example',
  ],
  [
    "a field that may be waived",
    of({ waivable: false }),
    gate(),
    'the field "report" may be waived',
    'the field "report" may no longer be waived',
  ],
  ["strict", gate(), gate({ strict: false }), "strict is false: rules only warn", "strict is true: rules block"],
  [
    "a check",
    gate({ verify: [command] }),
    gate(),
    'the check command {"line":"npm test"} is gone',
    'the check command {"line":"npm test"} is new',
  ],
  [
    "a check that may be waived",
    gate({ verify: [{ ...command, waivable: false }] }),
    gate({ verify: [command] }),
    'the check command {"line":"npm test"} may be waived',
    'the check command {"line":"npm test"} may no longer be waived',
  ],
  [
    "an approval",
    gate({ approval: { prompt: "Good?" } }),
    gate(),
    "nobody has to approve any more",
    "a person must approve",
  ],
  [
    "a list of approvers",
    gate({ approval: { prompt: "Good?", approvers: ["ann"] } }),
    gate({ approval: { prompt: "Good?" } }),
    "any approver may approve",
    "only ann may approve",
  ],
  [
    "an approver more",
    gate({ approval: { prompt: "Good?", approvers: ["ann"] } }),
    gate({ approval: { prompt: "Good?", approvers: ["ann", "bob"] } }),
    '"bob" may approve, too',
    '"bob" may no longer approve',
  ],
  [
    "an override",
    gate(),
    gate({ allowOverride: true }),
    "the host may let a session pass without evidence",
    "the host may no longer let a session pass without evidence",
  ],
  ["an open gate", gate(), { kind: "open" }, "the gate is open: any evidence passes", "the gate is no longer open"],
  [
    "a check of a schema's gate",
    schema({ verify: [command] }),
    schema(),
    'the check command {"line":"npm test"} is gone',
    'the check command {"line":"npm test"} is new',
  ],
  [
    "a copy in a schema's gate",
    schema(),
    schema({ allowExample: true }),
    "the evidence may be a copy of the example",
    "the evidence may no longer be a copy of the example",
  ],
  [
    "an item of a plan",
    plan({ items: ["it builds"] }),
    plan(),
    'the item "it builds" is gone',
    'the item "it builds" is new',
  ],
  [
    "a task of a plan",
    plan({ tasks: [{ id: "1.1", optional: false }] }),
    plan(),
    'the task "1.1" is gone',
    'the task "1.1" is new',
  ],
  [
    "an optional task of a plan",
    plan({ tasks: [{ id: "1.1", optional: false }] }),
    plan({ tasks: [{ id: "1.1", optional: true }] }),
    'the task "1.1" is optional',
    'the task "1.1" is required',
  ],
  [
    "a check of a plan",
    plan({ verify: [command] }),
    plan(),
    'the check command {"line":"npm test"} is gone',
    'the check command {"line":"npm test"} is new',
  ],
];

test.each(OPPOSITES)("%s: less is weaker, and more is stricter", (_, more, less, weaker, stricter) => {
  expect(gateChanges(more, less)).toEqual([{ kind: "weaker", what: weaker }]);
  expect(gateChanges(less, more)).toEqual([{ kind: "stricter", what: stricter }]);
});

const CHANGED: readonly [string, GateDefinition, GateDefinition, readonly GateChange[]][] = [
  [
    "another rule takes the place of one",
    gate({ rules: [rule("evidence.n >= 3")] }),
    gate({ rules: [rule("evidence.n >= 1")] }),
    [
      { kind: "weaker", what: 'the rule "evidence.n >= 3" is gone' },
      { kind: "stricter", what: 'the rule "evidence.n >= 1" is new' },
    ],
  ],
  [
    "the parameters of a rule",
    of({ rules: [rule("value >= params.value", 3)] }),
    of({ rules: [rule("value >= params.value", 1)] }),
    [
      { kind: "weaker", what: 'the rule "value >= params.value" of the field "report" is gone' },
      { kind: "stricter", what: 'the rule "value >= params.value" of the field "report" is new' },
    ],
  ],
  [
    "the parameters of a check",
    gate({ verify: [command] }),
    gate({ verify: [{ verifier: "command", params: { line: "true" } }] }),
    [{ kind: "changed", what: 'the check command {"line":"npm test"} is now command {"line":"true"}' }],
  ],
  [
    "a check of another field",
    gate({ verify: [{ verifier: "file_exists", params: {}, field: "report" }] }),
    gate({ verify: [{ verifier: "file_exists", params: {} }] }),
    [
      { kind: "weaker", what: 'the check file_exists of the field "report" is gone' },
      { kind: "stricter", what: "the check file_exists is new" },
    ],
  ],
  [
    "one of two checks that are the same",
    gate({ verify: [command, command] }),
    gate({ verify: [command] }),
    [{ kind: "weaker", what: 'the check command {"line":"npm test"} is gone' }],
  ],
  [
    "a type",
    gate(),
    of({ type: "boolean" }),
    [{ kind: "changed", what: 'the field "report" is of type boolean, and was of type string' }],
  ],
  [
    "the question",
    gate({ approval: { prompt: "Good?" } }),
    gate({ approval: { prompt: "Fine?" } }),
    [{ kind: "changed", what: 'approvers are asked "Fine?", and were asked "Good?"' }],
  ],
  [
    "how much is shown",
    gate(),
    gate({ reveal: "none" }),
    [{ kind: "changed", what: 'agents are shown "none" of the gate, and were shown "fields"' }],
  ],
  [
    "a schema",
    schema({ jsonSchema: { type: "object" } }),
    schema(),
    [{ kind: "changed", what: "the schema of the evidence is another one" }],
  ],
  [
    "the kind of the gate, which loses its approval",
    gate({ approval: { prompt: "Good?" } }),
    schema(),
    [
      { kind: "changed", what: "evidence is checked as one schema, and was as named fields" },
      { kind: "weaker", what: "nobody has to approve any more" },
    ],
  ],
  [
    "a form that requires nothing",
    { kind: "open" },
    gate({ fields: [] }),
    [{ kind: "changed", what: "the gate has a form now, and still requires nothing" }],
  ],
  [
    "an optional task more",
    plan(),
    plan({ tasks: [{ id: "1.1", optional: true }] }),
    [{ kind: "changed", what: 'the optional task "1.1" is new' }],
  ],
];

test.each(CHANGED)("%s", (_, before, after, changes) => {
  expect(gateChanges(before, after)).toEqual(changes);
});

test("texts and the order of rules and checks do not count", () => {
  const before = gate({
    fields: [field("report", { description: "the report", example: "a.md", rules: [rule("a"), rule("b")] })],
    verify: [command, { verifier: "git_clean", params: {} }],
  });
  const after = gate({
    fields: [field("report", { description: "a report", example: "b.md", rules: [rule("b"), rule("a")] })],
    verify: [{ verifier: "git_clean", params: {}, description: "clean" }, command],
    source: "metadata",
  });
  expect(gateChanges(before, after)).toEqual([]);
  expect(gateChanges({ kind: "open" }, { kind: "open" })).toEqual([]);
});
