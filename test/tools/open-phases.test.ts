import { defineWorkflow, MemoryContent } from "phasegate";
import { describe, expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";

type Gate = NonNullable<Parameters<typeof defineWorkflow>[0]["phases"][number]["gate"]>;

/** Returns the answers of a tool whose workflow has three phases with the given gates. */
async function answers(...gates: (Gate | undefined)[]) {
  const phases = gates.map((gate, index) => ({
    ...{ number: index + 1, name: `Phase ${index + 1}`, content: "# Do it" },
    ...(gate === undefined ? {} : { gate }),
  }));
  const about = { type: "small", name: "Small", description: "A small one", version: "1", revision: "1" };
  const { engine } = makeEngine({ content: new MemoryContent({ workflows: [defineWorkflow({ ...about, phases })] }) });
  const tool = workflowTool(engine);
  const started = await tool.dispatch({ action: "start", workflow_type: "small", target_file: "a.ts" });
  const phase = await tool.dispatch({ action: "get_phase", session_id: started.session_id });
  return { list: await tool.dispatch({ action: "list_workflows" }), started, phase };
}

const GATE: Gate = { fields: { done: { type: "boolean" } } };

describe("a phase that requires nothing", () => {
  it("is named when its workflow is listed and started, and when it is read", async () => {
    const { list, started, phase } = await answers(undefined, GATE, undefined);
    expect(list).toMatchObject({ workflows: [{ open: true, open_phases: [1, 3] }] });
    expect(started).toMatchObject({ open: true, open_phases: [1, 3] });
    expect(phase).toMatchObject({ phase_content: { checkpoint: { open: true } } });
  });

  it("is one whose fields are all optional, too", async () => {
    const optional: Gate = { fields: { note: { type: "string", required: false } } };
    expect((await answers(GATE, optional)).started).toMatchObject({ open_phases: [2] });
    const ruled = { ...optional, crossFieldValidation: ["has(evidence.note)"] };
    expect((await answers(GATE, ruled)).started.open_phases).toBeUndefined();
    expect((await answers(GATE, { ...ruled, strict: false })).started.open_phases).toEqual([2]);
    expect((await answers(GATE, { ...optional, approval: { prompt: "Well?" } })).started.open_phases).toBeUndefined();
  });

  it("is not there if every phase requires something", async () => {
    const { list, started, phase } = await answers(GATE, GATE);
    expect(JSON.stringify([list, started, phase])).not.toContain('"open');
  });
});
