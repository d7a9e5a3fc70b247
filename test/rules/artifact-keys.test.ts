import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { earlierPhases } from "../../src/rules/artifact-keys.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { type ChildWorkflow, childCheck } from "../../src/workflow/child-workflow.js";
import { type GatePlace, NO_PHASES } from "../../src/workflow/gate-definition.js";
import { PhaseNames } from "../../src/workflow/phase-names.js";
import type { FieldGate } from "../../src/workflow/structure.js";
import { unnamed } from "../support/phase-names.js";
import { metadata, phase, read } from "../workflow/workflow-texts.js";

const FIRST = "evidence_schema: {count: {type: integer}, cause: {type: object}}\n";

/** Returns a gate that asks for whole numbers. */
function gateOf(...names: string[]): FieldGate {
  const fields = names.map((name) => ({ name, type: "integer", required: true }) as const);
  return { kind: "fields", strict: true, allowOverride: false, source: "gate-file", fields };
}

/** Returns what is said of a rule at a place; "" if it is taken. */
async function saidIn(place: GatePlace, rule: string) {
  const language = await loadRuleLanguage();
  const fields = [{ name: "x", type: "integer" }] as const;
  const found = language.forFields(fields, earlierPhases(place)).compile(rule, {});
  return found.ok ? "" : `${found.why}. ${found.hint}`;
}

/** Returns the diagnostics of a rule in the gate of phase 2, of three phases. */
async function told(rule: string, first = FIRST) {
  const list = [1, 2, 3].map((number) => phase(number, { tasks: undefined }));
  const { diagnostics } = await read({
    ...{ "metadata.json": metadata({ phases: list }), "phases/3/phase.md": "# Phase 3: Reap\n" },
    ...{ "phases/1/task-1-dig.md": undefined, "phases/2/task-1-dig.md": undefined },
    "phases/1/gate-definition.yaml": first,
    "phases/2/gate-definition.yaml": `evidence_schema:\n  x: {type: integer}\ncross_field_validation:\n  - ${JSON.stringify(rule)}\n`,
  });
  const errors = diagnostics.filter(({ code }) => code === "RULE_INVALID");
  return errors.map(({ severity, file, line, message }) => `${severity} ${file}:${line} ${message}`);
}

const PLACE = "error phases/2/gate-definition.yaml:4";

describe("a rule that reads artifacts", () => {
  it.each([
    ['artifacts["7"].count == 1', 'artifacts has no phase "7"'],
    ["artifacts[7].count == 1", 'artifacts has no phase "7"'],
    ['"7" in artifacts', 'artifacts has no phase "7"'],
    ['artifacts["2"].x == 1', 'artifacts has no phase "2"'],
    ['artifacts["3"].done == true', 'artifacts has no phase "3"'],
    ['artifacts["1"].cuont == 1', 'the evidence of phase 1 has no field "cuont"'],
    ['artifacts["1"]["cuont"] == 1', 'the evidence of phase 1 has no field "cuont"'],
    ['"cuont" in artifacts["1"]', 'the evidence of phase 1 has no field "cuont"'],
    ['[1].all(n, artifacts["1"].cuont == n)', 'the evidence of phase 1 has no field "cuont"'],
  ])("is refused when it is read, if no earlier phase has them: %s", async (rule, says) => {
    expect(await told(rule)).toEqual([expect.stringContaining(`${PLACE} the rule `)]);
    expect((await told(rule))[0]).toContain(says);
  });

  it.each([
    'artifacts["1"].count == evidence.x',
    "artifacts[1].count == evidence.x",
    'artifacts["1"].cause.file == "a.ts"',
    '!("cause" in artifacts["1"]) || evidence.x == 1',
    "size(artifacts) == 1",
  ])("is taken if an earlier phase has them: %s", async (rule) => {
    expect(await told(rule)).toEqual([]);
  });

  it("can read any field of a phase that names none", async () => {
    expect(await told('artifacts["1"].anything == 1', "gate: none\n")).toEqual([]);
  });

  const names = [...Array.from({ length: 20 }, (_, at) => `field_${at}`), "last"];
  const first = gateOf(...names);
  const before = [1, 2, 3, 4].map((number) => ({ number, gate: number === 1 ? first : { kind: "open" as const } }));
  const PLACES = {
    "phase 3": { phase: 3, phases: unnamed(1, 2, 3, 4), before },
    "phase 3 of sessions that begin with phase 2": { phase: 3, phases: unnamed(1, 2, 3, 4), startPhase: 2, before },
    "the first phase": { phase: 1, phases: unnamed(1, 2, 3, 4), before },
    "no phase": NO_PHASES,
  } satisfies Record<string, GatePlace>;

  const saidAt = (place: keyof typeof PLACES, rule: string) => saidIn(PLACES[place], rule);

  it.each([
    ["phase 3", 'artifacts["1"].last == 1'],
    ["phase 3", 'artifacts["2"].any == 1'],
    ["phase 3", "artifacts[string(evidence.x)].last == 1"],
    ["phase 3", 'artifacts["1"][string(evidence.x)] == 1'],
    ["phase 3 of sessions that begin with phase 2", 'artifacts["2"].any == 1'],
  ] as const)("may be in %s: %s", async (place, rule) => {
    expect(await saidAt(place, rule)).toBe("");
  });

  it.each([
    ["phase 3", 'artifacts["3"].any == 1', 'no phase "3"', "Write one of the phases before: 1, 2."],
    ["phase 3", 'artifacts["4"].any == 1', 'no phase "4"', "Write one of the phases before: 1, 2."],
    ["phase 3", "artifacts[7.0].any == 1", 'no phase "7"', "Write one of the phases before: 1, 2."],
    ["phase 3", "artifacts[true].any == 1", 'no phase "true"', "Write one of the phases before: 1, 2."],
    ["phase 3", "null in artifacts", 'no phase "null"', "Write one of the phases before: 1, 2."],
    ["phase 3 of sessions that begin with phase 2", 'artifacts["1"].last == 1', 'no phase "1"', "before: 2."],
    ["the first phase", 'artifacts["1"].last == 1', 'no phase "1"', "No phase comes before this one: write a rule"],
    ["no phase", 'artifacts["1"].last == 1', 'no phase "1"', "No phase comes before this one: write a rule"],
    ["phase 3", 'artifacts["1"].lats == 1', 'no field "lats"', "Write one of its fields: field_0, field_1, "],
    ["phase 3", 'artifacts["1"].lasts == 1', 'no field "lasts"', 'Did you mean "last"?'],
  ] as const)("is refused in %s with a hint: %s", async (place, rule, why, hint) => {
    const said = await saidAt(place, rule);
    expect(said).toContain(why);
    expect(said).toContain(hint);
  });

  it("is told at most twenty fields", async () => {
    expect(await saidAt("phase 3", 'artifacts["1"].other == 1')).toMatch(/: field_0, .*, field_19\.$/);
  });

  it("is refused in a workflow in code before a session is started", async () => {
    const gate = {
      fields: { x: { type: "integer" } },
      crossFieldValidation: ['artifacts["7"].count == evidence.x'],
    } as const;
    const workflow = defineWorkflow({
      ...{ type: "small", name: "Small", description: "A small one", version: "1", revision: "1" },
      phases: [{ number: 1, name: "One", content: "# One", gate }],
    });
    const engine = createEngine({
      content: new MemoryContent({ workflows: [workflow] }),
      storage: new MemoryStorage(),
    });
    await expect(engine.start({ workflowType: "small", target: "a.ts" })).rejects.toMatchObject({
      code: "DEFINITION_INVALID",
      message: expect.stringContaining('artifacts has no phase "7"'),
    });
  });
});

describe("a rule that reads a phase with a schema or a shared name", () => {
  const phases = new PhaseNames([
    { number: 1, name: "Test" },
    { number: 2, name: "Build it" },
    { number: 3, name: "Test" },
    { number: 4, name: "Ship" },
  ]);
  const schema = z.strictObject({ count: z.number() });
  const place: GatePlace = {
    ...{ phase: 4, phases },
    before: [
      { number: 1, gate: gateOf("count") },
      { number: 2, gate: { kind: "schema", allowOverride: false }, schema },
      { number: 3, gate: { kind: "schema", allowOverride: false }, schema: z.looseObject({ count: z.number() }) },
    ],
  };

  it.each([
    ['artifacts["Build it"].count == 1', ""],
    ["artifacts.build_it.count == 1", ""],
    ["artifacts[2].counts == 1", 'the evidence of phase 2 has no field "counts". Did you mean "count"?'],
    ["artifacts[3].cuont == 1", ""],
    ['"other" in artifacts.build_it', 'the evidence of phase 2 has no field "other". Write one of its fields: count.'],
    [
      "artifacts.test.count == 1",
      '"test" is the name of 2 phases: 1 (Test), 3 (Test). Write the number of the one that is meant.',
    ],
    ["artifacts[1].count == 1", ""],
  ])("is checked against that phase: %s", async (rule, said) => {
    expect(await saidIn(place, rule)).toBe(said);
  });
});

describe("a rule that reads a phase that is a workflow", () => {
  const workflow = (more: Partial<ChildWorkflow> = {}): FieldGate => ({
    ...gateOf(),
    verify: [childCheck({ type: "review", ...more })],
  });
  const child = [
    { number: 1, key: "read_it", gate: gateOf("lines", "pages") },
    { number: 2, key: "verdict", gate: { kind: "open" } as const },
    { number: 3, key: "items", gate: gateOf("first") },
    { number: 4, key: "deeper", gate: workflow() },
  ];
  const place: GatePlace = {
    ...{ phase: 5, phases: unnamed(1, 2, 3, 4, 5) },
    before: [
      { number: 1, gate: workflow(), child },
      { number: 2, gate: workflow({ for_each: "plan" }), child },
      { number: 3, gate: workflow() },
      { number: 4, gate: gateOf("lines") },
    ],
  };

  it.each([
    "artifacts[1].read_it.lines == 1",
    'artifacts[1]["read_it"]["lines"] == 1',
    '"lines" in artifacts[1].read_it',
    "artifacts[1].verdict.any == 1",
    "artifacts[1].items.first == 1",
    "artifacts[1].deeper.any.field == 1",
    "artifacts[1][string(evidence.x)].any == 1",
    "artifacts[1].read_it[string(evidence.x)] == 1",
    "artifacts[1].read_it.lines.any == 1",
    // Its children stand in a list, whatever their phases are called.
    "artifacts[2].items[0].read_it.any == 1",
    '"any" in artifacts[2].items',
    // Its workflow is not known.
    "artifacts[3].any.other == 1",
    "artifacts[4].lines.any == 1",
    "plan.read_it.any == 1",
    "options.a.read_it.any == 1",
  ])("is taken if it can have that: %s", async (rule) => {
    expect(await saidIn(place, rule)).toBe("");
  });

  it.each([
    [
      "artifacts[1].read_it.line == 1",
      'the evidence of "read_it" in phase 1 has no field "line". Did you mean "lines"?',
    ],
    [
      '"other" in artifacts[1]["read_it"]',
      'the evidence of "read_it" in phase 1 has no field "other". Write one of its fields: lines, pages.',
    ],
    [
      "artifacts[1].items.any == 1",
      'the evidence of "items" in phase 1 has no field "any". Write one of its fields: first.',
    ],
    ["artifacts[1].verdcit.any == 1", 'the evidence of phase 1 has no field "verdcit". Did you mean "verdict"?'],
    [
      "artifacts[1].lines == 1",
      'the evidence of phase 1 has no field "lines". Write one of its fields: read_it, verdict, items, deeper.',
    ],
    [
      "artifacts[2].verdict.any == 1",
      'the evidence of phase 2 has no field "verdict". Write one of its fields: items.',
    ],
    [
      "artifacts[4].read_it.any == 1",
      'the evidence of phase 4 has no field "read_it". Write one of its fields: lines.',
    ],
  ])("is refused if it has no such phase or field: %s", async (rule, said) => {
    expect(await saidIn(place, rule)).toBe(said);
  });
});
