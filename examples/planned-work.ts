/**
 * A workflow whose phases come from a plan: a team's own tasks.md becomes gated phases, and its tasks are ticked when
 * the gates pass.
 */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryStorage } from "phasegate";
// #region plans
import { FileContent, FilePlans } from "phasegate/fs";

const engine = createEngine({
  storage: new MemoryStorage(),
  content: new FileContent({ roots: [fileURLToPath(new URL("workflows", import.meta.url))] }),
  plans: new FilePlans({ root: "." }), // plans are in the project's folder, and are ticked there
});
// #endregion plans

await mkdir("specs/parser", { recursive: true });
await writeFile(
  "specs/parser/tasks.md",
  `# Parser

## Phase 1: Read

**Goal:** Read what is there

- [ ] **Task 1.1**: Split the text into words
  - **Dependencies**: None
  - **Acceptance Criteria**:
    - [ ] Quotes keep words together
- [ ] **Task 1.2**: Put the words into a tree
  - **Dependencies**: Task 1.1

**Validation Gate:**
- [ ] All tests pass

## Phase 2: Print

- [ ] **Task 2.1**: Print a tree as text
`,
);

// #region start
const { sessionId, phase } = await engine.start({ workflowType: "build_v1", target: "specs/parser" });
// #endregion start
assert.equal(phase.phase.name, "Read");
for (const { id, name, ready } of phase.plan?.tasks ?? []) console.log(`${ready ? "ready" : "waits"}: ${id} ${name}`);

const half = await engine.session(sessionId).completePhase(1, { tasks_completed: ["1.1"] });
assert.ok(!half.passed);
for (const { message } of half.problems) console.log(`refused: ${message}`);

const evidence = { tasks_completed: ["1.1", "1.2"], validation_gate: { "1": true } };
const whole = await engine.session(sessionId).completePhase(1, evidence);
assert.ok(whole.passed && whole.nextPhase?.name === "Print");

const text = await readFile("specs/parser/tasks.md", "utf8");
assert.ok(text.includes("- [x] **Task 1.2**") && text.includes("- [ ] **Task 2.1**"));
console.log("Phase 1 is through its gate, and ticked in tasks.md; phase 2 is not.");
await engine.close();
