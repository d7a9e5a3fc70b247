/**
 * A workflow in code whose phases come from a plan, with everything in memory: no file is read or written. Its first phase
 * has a gate with fields, validators and a rule between fields, as a gate file has them.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryPlans, MemoryStorage } from "phasegate";

// #region define
const workflow = defineWorkflow({
  type: "carry_out",
  revision: "1",
  name: "Carry out a plan",
  description: "Review a plan, then do what it says",
  phases: [
    {
      number: 0,
      name: "Review",
      content: "# Review the plan for {options.team}",
      gate: {
        fields: {
          tasks_read: { type: "integer", validator: "greater_than_0", description: "how many tasks you have read" },
          tasks_clear: { type: "integer", validator: ["value >= 0", "all_or_few"] },
          notes: { type: "string", required: false, validator: "min_length_10" },
        },
        validators: { all_or_few: { rule: "value < 100", errorMessage: "a plan of 100 tasks is too long" } },
        crossFieldValidation: [
          { rule: "evidence.tasks_clear == evidence.tasks_read", errorMessage: "ask about the unclear tasks" },
        ],
      },
    },
  ],
  dynamic: {
    templates: {
      phase: "# Phase [PHASE_NUMBER]: [PHASE_NAME]\n\n[PHASE_DESCRIPTION]\n\n[VALIDATION_GATE]\n",
      task: "# Task [TASK_ID]: [TASK_NAME]\n\n[ACCEPTANCE_CRITERIA]\n",
    },
  },
});
// #endregion define

// #region memory
const plans = new MemoryPlans({
  "specs/parser/tasks.md": `# Parser

## Phase 1: Read

- [ ] **Task 1.1**: Split the text into words
- [ ] **Task 1.2**: Put the words into a tree

**Validation Gate:**
- [ ] All tests pass
`,
});
const content = new MemoryContent({ workflows: [workflow] });
const engine = createEngine({ storage: new MemoryStorage(), content, plans });
const start = { workflowType: "carry_out", target: "specs/parser", options: { team: "Ann and Bob" } };
const { sessionId, phase } = await engine.start(start);
// #endregion memory
assert.equal(phase.content.text, "# Review the plan for Ann and Bob");

const session = engine.session(workflow, sessionId);
const unclear = await session.completePhase(0, { tasks_read: 2, tasks_clear: 1, notes: "what?" });
assert.ok(!unclear.passed);
for (const { message } of unclear.problems) console.log(`refused: ${message}`);

const reviewed = await session.completePhase(0, { tasks_read: 2, tasks_clear: 2 });
assert.ok(reviewed.passed && reviewed.nextPhase?.name === "Read");
assert.ok((await session.phase()).content.text.startsWith("# Phase 1: Read"));

const done = await session.completePhase(1, { tasks_completed: ["1.1", "1.2"], validation_gate: { "1": true } });
assert.ok(done.passed && done.nextPhase === null);
// #region ticked
assert.ok(plans.get("specs/parser/tasks.md")?.includes("- [x] **Task 1.2**"));
// #endregion ticked
console.log("The plan in memory was carried out, and its tasks are ticked.");
await engine.close();
