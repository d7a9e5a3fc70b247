/** Reads a plan in a remark pipeline: the plan is in the file's data, its warnings are in the file's messages. */
import assert from "node:assert/strict";
import { planOrder } from "phasegate/plan";
import { remarkPlan } from "phasegate/remark";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";
import { VFile } from "vfile";

const value = `# Plan

## Phase 1: Reader

- [x] **Task 1.1**: Write the tests
- [ ] **Task 1.2**: Write the reader
  - **Dependencies**: Task 1.1
  - **Acceptance Criteria**:
    - [ ] all tests pass

**Validation Gate:**
- [ ] somebody has read it

## Notes

- [ ] ask about tabs
`;

// #region pipeline
const file = new VFile({ path: "specs/tasks.md", value });
const processor = unified().use(remarkParse).use(remarkGfm).use(remarkPlan);
const tree = processor.parse(file);
await processor.run(tree, file);

for (const message of file.messages) console.log(`${message.ruleId}: ${message}`);
// checkbox-unplaced: specs/tasks.md:16:4: a checkbox that belongs to no task and no gate, below 'Notes' (…)
for (const { type, data } of tree.children) console.log(type, data?.plan);
// heading { phase: 1, role: 'phase' }
// #endregion pipeline

const { plan } = file.data;
assert(plan);
assert.deepEqual(planOrder(plan).waves, [["1.1"], ["1.2"]]);
assert.equal(plan.phases[0]?.validationGate[0]?.text, "somebody has read it");
assert.deepEqual(tree.children[1]?.data?.plan, { phase: 1, role: "phase" });
assert.deepEqual(
  file.messages.map(({ ruleId, line, column }) => [ruleId, line, column]),
  [["checkbox-unplaced", 16, 4]],
);
