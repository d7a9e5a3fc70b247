import { defineWorkflow } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { evidenceNote } from "../../src/tools/phased/evidence-note.js";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";

const evidence = z.object({ tests_pass: z.literal(true), files: z.array(z.string()), note: z.string().optional() });

function gateOf(reveal?: "none" | "names") {
  const gate = { evidence, ...(reveal === undefined ? {} : { reveal }) };
  const workflow = defineWorkflow({
    ...{ type: "w", revision: "1", name: "W", description: "D" },
    phases: [{ number: 1, name: "P", content: "# P", gate }],
  });
  const found = workflow.definition.structure.phases[0]?.gate;
  if (found === undefined) throw new Error("no gate");
  return found;
}

const call = (inside: string) =>
  `Then:\n\n\`\`\`python\ncomplete_phase(\n  phase=1,\n  evidence={\n${inside}\n  }\n)\n\`\`\`\n`;

describe("evidence that a text shows", () => {
  it.each([
    [
      "has no note where it has the shape of the gate",
      call('"tests_pass": True, "files": [list], "more": {"x": 1}'),
      undefined,
    ],
    [
      "may leave out what is optional",
      '{"action": "complete_phase", "evidence": {"tests_pass": true, "files": ["a"]}}',
      undefined,
    ],
    ["lacks a field", call('"tests_pass": True, "paths": ["a"]'), "it also requires files"],
    ["has another type", call('"tests_pass": [number], "files": [list]'), "it wants tests_pass as boolean"],
    ["is below a label", "**Evidence:**\n```json\n{ passed: true }\n```", "it also requires tests_pass, files"],
    ["is nested deeper only", call('"all": {"tests_pass": true, "files": []}'), "it also requires tests_pass, files"],
    ["is the last of several", call('"x": 1') + call('"tests_pass": True, "files": []'), undefined],
    ["does not end", 'evidence={"x": 1', undefined],
    ["is empty", "evidence={}", undefined],
    ["is not there", "Collect evidence: all of it.", undefined],
  ])("%s", (_, text, expected) => {
    const note = evidenceNote(text, gateOf());
    if (expected === undefined) expect(note).toBeUndefined();
    else expect(note).toBe(`The text shows other evidence; the checkpoint of the phase holds: ${expected}`);
  });

  it("is compared only with what the gate reveals, and the note is short", () => {
    const text = call('"tests_pass": [number]');
    expect(evidenceNote(text, gateOf("none"))).toBeUndefined();
    expect(evidenceNote(text, gateOf("names"))).not.toContain("boolean");
    const fields = z.object(Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`field_${i}`, z.string()])));
    const wide = defineWorkflow({
      ...{ type: "w", revision: "1", name: "W", description: "D" },
      phases: [{ number: 1, name: "P", content: "# P", gate: { evidence: fields } }],
    });
    const [phase] = wide.definition.structure.phases;
    expect(phase && evidenceNote(text, phase.gate)?.length).toBe(300);
  });

  it("is noted beside the text that shows it, and nowhere else", async () => {
    const workflow = defineWorkflow({
      ...{ type: "w", revision: "1", name: "W", description: "D" },
      phases: [
        {
          ...{ number: 1, name: "P", content: "# P", gate: { evidence } },
          tasks: [
            { name: "a", content: "# A" },
            { name: "b", content: `# B\n\n${call('"done": True')}` },
          ],
        },
      ],
    });
    const tool = workflowTool(makeEngine({}, [workflow]).engine);
    const { session_id } = await tool.dispatch({ action: "start", workflow_type: "w", target_file: "a" });
    const phase = await tool.dispatch({ action: "get_phase", session_id });
    expect(Object(phase.phase_content).evidence_note).toBeUndefined();
    const task = (task_number: number) => tool.dispatch({ action: "get_task", session_id, phase: 1, task_number });
    expect(Object((await task(1)).task_content).evidence_note).toBeUndefined();
    expect(await task(2)).toMatchObject({
      task_content: { evidence_note: expect.stringContaining("requires tests_pass, files") },
    });
  });
});
