import { createWorkflowTool } from "phasegate";
import { describe, expect, it } from "vitest";
import { writeFiles } from "../support/write-files.js";
import { aGate } from "./a-gate.js";

const GATE = "evidence_schema:\n  tests_pass: {type: boolean}\n";
const KEPT = `${GATE}verify: {verifier: unchanged_since_phase_start, path: tests/a.test.js}\n`;
const DONE = "evidence_schema:\n  done: {type: boolean}\n";
const TRUTH = { tests_pass: true };

/** Returns the files of the workflow with phases of these names and gates, numbered from 1. */
function phasesOf(phases: Readonly<Record<string, string>>): Record<string, string> {
  const about = {
    ...{ workflow_type: "honest_v1", name: "Honest", description: "Wants the truth", version: "2.0.0" },
    phases: Object.keys(phases).map((phase_name, index) => ({ phase_number: index + 1, phase_name })),
  };
  const texts = Object.entries(phases).flatMap(([name, gate], index): [string, string][] => [
    [`honest_v1/phases/${index + 1}/phase.md`, `# ${name}\n\nDo it.\n`],
    [`honest_v1/phases/${index + 1}/gate-definition.yaml`, gate],
  ]);
  return { "honest_v1/metadata.json": JSON.stringify(about), ...Object.fromEntries(texts) };
}

describe("a workflow that changes while an agent works", () => {
  it("skips no phase that was put in front of the others, which have its number and the next ones now", async () => {
    const { accepts, claim, workflows, open, id, phase } = await aGate({ gate: GATE });
    await accepts(TRUTH);
    await writeFiles(workflows, phasesOf({ "Threat model": DONE, "Phase 1": GATE, "Phase 2": DONE }));
    const host = await open();
    await host.session(id).migrate({ by: "ops" });
    expect(await phase()).toBe(1);
    for (const [number, evidence] of [
      [3, { done: true }],
      [2, TRUTH],
    ] as const) {
      expect(await claim(evidence, number)).toMatchObject({ status: "error", code: "PHASE_LOCKED" });
    }
    expect(await claim(TRUTH, 1)).toMatchObject({ status: "error", code: "GATE_FAILED" });
    expect(await claim({ done: true }, 1)).toMatchObject({ status: "success", checkpoint_passed: true });
    expect(await claim({ done: true }, 3)).toMatchObject({ code: "PHASE_LOCKED" });
    await claim(TRUTH, 2);
    expect(await claim({ done: true }, 3)).toMatchObject({ workflow_complete: true });
  });

  it("does not count a passed phase for another one of its number", async () => {
    const { accepts, workflows, open, id, phase } = await aGate({ gate: GATE });
    await accepts(TRUTH);
    await writeFiles(workflows, phasesOf({ "Security review": GATE, "Phase 2": DONE }));
    const host = await open();
    await expect(host.session(id).migrate({ by: "ops" })).rejects.toMatchObject({ code: "NOT_ALLOWED" });
    await host.session(id).migrate({ by: "ops", accept: { "Phase 1": "replaced by the review" } });
    expect(await phase()).toBe(1);
  });

  it("hides no change of a test by another number of its phase", async () => {
    const files = { "tests/a.test.js": "strict" };
    const { claim, workflows, open, id, write, phase } = await aGate({ gate: KEPT, files });
    await write("tests/a.test.js", "weakened");
    await writeFiles(workflows, phasesOf({ "Threat model": DONE, "Phase 1": KEPT, "Phase 2": DONE }));
    const host = await open();
    await host.session(id).migrate({ by: "ops", accept: { "Threat model": "made before" } });
    expect(await phase()).toBe(2);
    expect(await claim(TRUTH, 2)).toMatchObject({ status: "error", code: "GATE_FAILED" });
    await write("tests/a.test.js", "strict");
    expect(await claim(TRUTH, 2)).toMatchObject({ status: "success" });
  });

  it("is adopted by no call of the agent's tool", async () => {
    const { accepts, tool, engine, workflows, id } = await aGate({ gate: GATE });
    await writeFiles(workflows, phasesOf({ "Phase 1": DONE, "Phase 2": DONE }));
    const { revision } = (await engine.session(id).state()).head;
    const asked = { session_id: id, by: "ops", accept: { "Phase 1": "easier" } };
    for (const action of ["migrate", "migration", "move"])
      expect(await tool.dispatch({ action, ...asked })).toMatchObject({ status: "error", code: "INVALID_INPUT" });
    expect(await tool.dispatch({ action: "sync_plan", session_id: id })).toMatchObject({ status: "error" });
    const own = createWorkflowTool(engine, { actor: { name: "agent" } });
    expect(await own.dispatch({ action: "migrate", ...asked })).toMatchObject({ status: "error" });
    expect((await engine.session(id).state()).head.revision).toBe(revision);
    await accepts(TRUTH);
  });
});
