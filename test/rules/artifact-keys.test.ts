import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { earlierPhases } from "../../src/rules/artifact-keys.js";
import { loadRuleLanguage } from "../../src/rules/language.js";
import { childCheck } from "../../src/workflow/child-workflow.js";
import { type GateDefinition, type GatePlace, NO_PHASES } from "../../src/workflow/gate-definition.js";
import { PhaseNames } from "../../src/workflow/phase-names.js";
import type { FieldGate } from "../../src/workflow/structure.js";
import { field, fieldGate } from "../gate/fields.js";
import { unnamed } from "../support/phase-names.js";
import { metadata, phase, read } from "../workflow/workflow-texts.js";

const FIRST = "evidence_schema: {count: {type: integer}, cause: {type: object}}\n";

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
  const first: FieldGate = {
    ...{ kind: "fields", strict: true, allowOverride: false, source: "gate-file" },
    fields: names.map((name) => ({ name, type: "integer", required: true })),
  };
  const before = [1, 2, 3, 4].map((number) => ({ number, gate: number === 1 ? first : { kind: "open" as const } }));
  const PLACES = {
    "phase 3": { phase: 3, phases: unnamed(1, 2, 3, 4), before },
    "phase 3 of sessions that begin with phase 2": { phase: 3, phases: unnamed(1, 2, 3, 4), startPhase: 2, before },
    "the first phase": { phase: 1, phases: unnamed(1, 2, 3, 4), before },
    "no phase": NO_PHASES,
  } satisfies Record<string, GatePlace>;

  /** Returns what is said of a rule at a place; "" if it is taken. */
  async function saidAt(place: keyof typeof PLACES, rule: string) {
    const language = await loadRuleLanguage();
    const fields = [{ name: "x", type: "integer" }] as const;
    const found = language.forFields(fields, earlierPhases(PLACES[place])).compile(rule, {});
    return found.ok ? "" : `${found.why}. ${found.hint}`;
  }

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

describe("a rule that reads the artifact of a phase that is a workflow", () => {
  const openGate = { kind: "open", allowOverride: false } as const;
  const asking = (...fields: string[]) => fieldGate(fields.map((name) => field({ name })));
  const running = (more: object = {}) => fieldGate([], { verify: [childCheck({ type: "review", ...more })] });
  const child = [
    { number: 1, key: "read", gate: asking("notes") },
    { number: 2, key: "verdict", gate: asking("approved") },
    { number: 3, gate: openGate },
  ];
  const place = (gate: GateDefinition, of: typeof child | undefined = child): GatePlace => ({
    phase: 3,
    phases: new PhaseNames([
      { number: 1, name: "Twice" },
      { number: 2, name: "Review" },
      { number: 3, name: "Close" },
      { number: 4, name: "Twice" },
    ]),
    before: [
      { number: 1, gate: openGate },
      { number: 2, gate, child: of },
    ],
  });
  const said = async (rule: string, at = place(running())) => {
    const found = (await loadRuleLanguage()).forFields([], earlierPhases(at)).compile(rule, {});
    return found.ok ? "" : `${found.why}. ${found.hint}`;
  };

  it.each([
    ["artifacts.review.verdict.approved == true"],
    ['artifacts["2"]["read"].notes != ""'],
    ['"read" in artifacts.review'],
    ['artifacts["1"].anything.of.it == 1'],
    ["artifacts.review.verdict.approved.deeper == 1"],
  ])("may read what the phases of its child have: %s", async (rule) => {
    expect(await said(rule)).toBe("");
  });

  it.each([
    ["artifacts.review.verdct.approved == true", 'phase 2 has no field "verdct". Did you mean "verdict"?'],
    [
      "artifacts.review.verdict.aproved == true",
      'the evidence of "verdict" in phase 2 has no field "aproved". Did you',
    ],
    [
      '"notes" in artifacts.review.verdict',
      '"verdict" in phase 2 has no field "notes". Write one of its fields: approved.',
    ],
    ["artifacts.review.items.size() == 1", 'phase 2 has no field "items"'],
    ["artifacts.twice.done == 1", '"twice" is the name of 2 phases'],
  ])("is refused for what they do not have: %s", async (rule, message) => {
    expect(await said(rule)).toContain(message);
  });

  it("reads a list where the phase has a child for each item", async () => {
    const many = place(running({ for_each: "[1]" }));
    expect(await said("artifacts.review.items.size() == 1", many)).toBe("");
    expect(await said("artifacts.review.verdict.approved == true", many)).toContain('no field "verdict"');
    // The fields of the items are not checked.
    expect(await said("artifacts.review.items[0].verdict.anything == 1", many)).toBe("");
  });

  it("may read anything of a child that is not known", async () => {
    const unknown = { ...place(running()), before: [{ number: 2, gate: running() }] };
    expect(await said("artifacts.review.any.thing == 1", unknown)).toBe("");
  });
});
