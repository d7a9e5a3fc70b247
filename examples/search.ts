/**
 * Texts from a search index: the workflow of `examples/workflows/release_v1`, with phases and tasks from an index and
 * gates from the folder; and a search tool for agents.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createEngine, MemoryStorage } from "phasegate";
// #region content
import { FileContent } from "phasegate/fs";
import { createSearchTool, OramaRetriever, RagContent } from "phasegate/rag";

const roots = [fileURLToPath(new URL("workflows", import.meta.url))];
const content = new RagContent({
  definitions: new FileContent({ roots }),
  retriever: new OramaRetriever({ roots, folder: "state/workflows" }),
});
// #endregion content

const engine = createEngine({ storage: new MemoryStorage(), content });
const { sessionId, phase } = await engine.start({ workflowType: "release_v1", target: "package.json" });
assert.match(phase.content.text, /^# Phase 1/);
assert.equal(phase.contentChanged, false);
const task = await engine.session(sessionId).task(1, 1);
console.log(`${task.task.name}: ${task.content.tokens} tokens out of ${task.content.sources.join(", ")}`);
const refused = await engine.session(sessionId).completePhase(1, {});
assert.ok(!refused.passed, "the gate is that of the folder");
await engine.close();

await mkdir("standards", { recursive: true });
await writeFile(
  "standards/tests.md",
  "---\ntags: [tests]\n---\n# Tests\n\n## Names\n\nName a test after what holds.\n",
);
await writeFile("standards/commits.md", "# Commits\n\nSay why, not what.\n");

// #region tool
const standards = new OramaRetriever({ roots: ["standards"], folder: "state/standards" });
const tool = createSearchTool(standards); // name, description, inputSchema, handler: for any MCP server
const answer = await tool.handler({ query: "how to name a test", limit: 1 });
// #endregion tool
console.log(JSON.stringify(answer, undefined, 2));
assert.match(JSON.stringify(answer.results), /after what holds/);
