import { MemoryContent } from "phasegate";
import { expect, it } from "vitest";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";

const metadata = {
  workflow_type: "planned",
  name: "Planned",
  description: "Plans",
  version: "1.0.0",
  phases: [{ phase_number: 1, phase_name: "Plan" }],
};
const GATE = `
evidence_schema:
  plan_file: { type: string, required: true }
  hours: { type: integer, required: true }
  tasks_planned: { type: integer, required: true, validator: at_least_three }
validators:
  at_least_three: "value >= 3"
cross_field_validation:
  - rule: "evidence.hours <= evidence.tasks_planned * 8"
    error_message: "no task takes more than a day"
`;

async function atTheGate() {
  const files = {
    "metadata.json": JSON.stringify(metadata),
    "phases/1/phase.md": "# Phase 1: Plan",
    "phases/1/gate-definition.yaml": GATE,
  };
  const { engine } = makeEngine({ content: new MemoryContent({ sources: { planned: files } }) });
  const { sessionId } = await engine.start({ workflowType: "planned", target: "src/a.ts" });
  const tool = workflowTool(engine);
  return (evidence: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    tool.dispatch({ action: "complete_phase", session_id: sessionId, phase: 1, evidence, ...more });
}

const NEXT = { action: "complete_phase", phase: 1 };

it("an agent that follows `next` after one wrong field submits all of its evidence again, and passes", async () => {
  const complete = await atTheGate();
  const before: Record<string, unknown> = { plan_file: "plan.md", hours: 8, tasks_planned: 1 };
  const refused = await complete(before);
  expect(refused).toMatchObject({
    code: "GATE_FAILED",
    next: { ...NEXT, evidence: { plan_file: "<as before>", hours: "<as before>" } },
  });
  const { evidence } = refused.next as { evidence: Record<string, string> };
  expect(Object.keys(evidence).sort()).toEqual(Object.keys(before).sort());
  const again = Object.entries(evidence).map(([name, blank]) => [name, blank === "<as before>" ? before[name] : 3]);
  expect(await complete(Object.fromEntries(again))).toMatchObject({ checkpoint_passed: true });
});

it("a rule about two fields is reported as text, and `next` contains no made-up field", async () => {
  const complete = await atTheGate();
  const refused = await complete({ plan_file: "plan.md", hours: 80, tasks_planned: 3 });
  const blank = "<as validation_errors want it>";
  expect(refused.next).toEqual({
    ...NEXT,
    session_id: expect.any(String),
    evidence: { plan_file: blank, hours: blank, tasks_planned: blank },
  });
  expect(refused.validation_errors).toEqual([expect.stringContaining("no task takes more than a day")]);
});

it("`next` says that there are more fields than it names", async () => {
  const complete = await atTheGate();
  const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`note_${index}`, "more"]));
  const { next } = await complete({ ...many, plan_file: "plan.md", hours: 8, tasks_planned: 1 });
  const { evidence } = next as { evidence: Record<string, string> };
  expect(Object.keys(evidence)).toHaveLength(13);
  expect(evidence["<all other fields>"]).toBe("<as before>");
});

it("an answer that is repeated for its key has `replayed: true`", async () => {
  const complete = await atTheGate();
  const key = { idempotency_key: "once" };
  const evidence = { plan_file: "plan.md", hours: 8, tasks_planned: 1 };
  const refused = await complete(evidence, key);
  expect(refused).not.toHaveProperty("replayed");
  const session_now = { current_phase: 1, session_status: "active" };
  expect(await complete(evidence, key)).toEqual({ ...refused, replayed: true, session_now });
});
