/** A phase that is a workflow: each changed file is reviewed in a session of its own before the release goes on. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

const review = defineWorkflow({
  type: "review_file",
  revision: "1",
  name: "Review a file",
  description: "Reads one file and says what is wrong.",
  phases: [
    { name: "Verdict", content: "# Verdict\n\nRead the file.", gate: { fields: { approved: { type: "boolean" } } } },
  ],
});

// #region parent
const release = defineWorkflow({
  type: "release",
  revision: "1",
  name: "Release",
  description: "Has each changed file reviewed, and publishes.",
  phases: [
    { name: "Changes", content: "# Changes\n\nList the files.", gate: { fields: { files: { type: "list" } } } },
    {
      name: "Review",
      content: "# Review\n\nEach file is reviewed in a session of its own.",
      gate: { workflow: "review_file", forEach: "artifacts.changes.files", target: { rule: "item" } },
    },
    {
      name: "Publish",
      content: "# Publish",
      gate: {
        fields: { version: { type: "string" } },
        crossFieldValidation: ["artifacts.review.items.all(one, one.artifacts.verdict.approved)"],
      },
    },
  ],
});
// #endregion parent

const content = new MemoryContent({ workflows: [release, review] });
const engine = createEngine({ content, storage: new MemoryStorage() });
const { sessionId } = await engine.start({ workflowType: "release", target: "src" });
const session = engine.session(release, sessionId);
await session.completePhase(1, { files: ["src/a.ts", "src/b.ts"] });

// #region children
const first = await session.startChild();
const second = await session.startChild();
for (const child of [first, second]) {
  await engine.session(child.sessionId).completePhase(1, { approved: true });
}
const passed = await session.completePhase(2, {});
// #endregion children

assert.equal(passed.passed, true);
assert.deepEqual([first.target, second.target], ["src/a.ts", "src/b.ts"]);
const done = await session.completePhase(3, { version: "1.2.0" });
assert.equal(done.passed && done.nextPhase, null);
const { children = [] } = await session.audit();
console.log(`released after ${children.length} reviews: ${children.map(({ intact }) => intact).join(", ")}`);
await engine.close();
