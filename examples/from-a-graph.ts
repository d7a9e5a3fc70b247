/** A graph as in LangGraph, as a workflow: each node is a phase, an interrupt an approval, and the log takes the place of checkpoints. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

// #region workflow
const article = defineWorkflow({
  ...{ type: "article", revision: "1", name: "Article", description: "Draft, review, publish" },
  phases: [
    {
      name: "Draft",
      content: "# Draft {target}",
      gate: { fields: { words: { type: "integer", validator: "value >= 300" } } },
    },
    {
      name: "Review", // where the graph has interrupt()
      content: "# Say what a reviewer must know",
      gate: { fields: { summary: { type: "string" } }, approval: { prompt: "May this be published?" } },
    },
    { name: "Publish", content: "# Publish {target}", gate: { fields: { url: { type: "string" } } } },
  ],
});
// #endregion workflow

const storage = new MemoryStorage();
const options = { storage, content: new MemoryContent({ workflows: [article] }), allowUnsignedApprovals: true };

// #region run
const nodes: Record<string, () => Promise<Record<string, unknown>>> = {
  Draft: async () => ({ words: 412 }),
  Review: async () => ({ summary: "one source is new" }),
  Publish: async () => ({ url: "https://example.org/article" }),
};

/** Runs nodes until the session waits for a person, or is completed. */
async function run(sessionId: string) {
  const session = createEngine(options).session(sessionId);
  for (;;) {
    const { status, currentPhase, structure, awaitingApproval } = await session.state();
    const node = structure.phases.find(({ number }) => number === currentPhase)?.name ?? "";
    if (status !== "active" || awaitingApproval) return node;
    await session.completePhase(currentPhase, (await nodes[node]?.()) ?? {});
  }
}
// #endregion run

const engine = createEngine(options);
const { sessionId } = await engine.start({ workflowType: "article", target: "article.md" });
const refused = await engine.session(sessionId).completePhase(1, { words: 200 });
assert.equal(refused.passed, false);

// The session waits for a person. A new engine, such as one after a restart, waits, too.
assert.equal(await run(sessionId), "Review");
assert.equal(await run(sessionId), "Review");
const request = await engine.session(sessionId).approval();
assert.ok(request !== undefined);
await engine.session(sessionId).approve({ by: "ann", evidenceHash: request.evidenceHash });
await run(sessionId);
assert.equal((await engine.session(sessionId).state()).status, "completed");
await engine.close();
