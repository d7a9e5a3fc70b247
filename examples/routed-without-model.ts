/**
 * A routed workflow without a model: steps in order, or chosen by your own decider. A report is durable before the
 * decider is asked, and the decider's answer is checked before it is stored.
 */
import assert from "node:assert/strict";
import { MemoryStorage } from "phasegate";
import { LinearDecider, type StepDecider } from "phasegate/ai";
import { createRoutedEngine, defineRoutedWorkflow, FINISH, routedWorkflows } from "phasegate/routed";

const garden = defineRoutedWorkflow({
  name: "GARDEN",
  goal: "A bed with peas.",
  steps: [
    { name: "Dig", guidance: "Dig again if there are stones. Then sow.", instructions: "Dig a bed." },
    { name: "Sow", guidance: "Then finish.", instructions: "Sow peas.", next: ["Dig", FINISH] },
  ],
});

// #region linear
const engine = createRoutedEngine({
  storage: new MemoryStorage(),
  workflows: routedWorkflows(garden),
  decider: new LinearDecider(),
});
const { sessionId, nextStep } = await engine.start({ workflow: "GARDEN" });
// #endregion linear
assert.equal(nextStep.name, "Dig");
const names: string[] = [];
for (let turn = 0; turn < 2; turn += 1) {
  names.push((await engine.session(sessionId).advance({ report: { status: "success" } })).nextStep.name);
}
assert.deepEqual(names, ["Sow", FINISH]);

// #region own
const byReport: StepDecider = {
  async decide({ workflow, allowed, currentStep, report }) {
    const names = workflow.steps.map(({ name }) => name);
    const again = report?.status !== "success" && currentStep !== undefined;
    const next = again ? currentStep : names[names.indexOf(currentStep ?? "") + 1];
    const nextStep = next !== undefined && allowed.includes(next) ? next : FINISH;
    return { nextStep, contextUpdates: {}, reasoning: again ? "it isn't done yet" : "it is done" };
  },
};
// #endregion own
const careful = createRoutedEngine({
  storage: new MemoryStorage(),
  workflows: routedWorkflows(garden),
  decider: byReport,
});
const { sessionId: bed } = await careful.start({ workflow: "GARDEN" });
assert.equal(
  (await careful.session(bed).advance({ report: { status: "failure", message: "stones" } })).nextStep.name,
  "Dig",
);
assert.equal((await careful.session(bed).advance({ report: { status: "success" } })).nextStep.name, "Sow");
console.log(`${bed}: dug twice, sowing now`);
