import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
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
