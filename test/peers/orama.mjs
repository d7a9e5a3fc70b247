/** A search tool finds a text, also after its index was read from its file. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { createSearchTool, OramaRetriever } from "phasegate/rag";

await mkdir("standards", { recursive: true });
await writeFile(
  "standards/tests.md",
  "---\ntags: [tests]\n---\n# Tests\n\n## Names\n\nName a test after what holds.\n",
);
await writeFile("standards/commits.md", "# Commits\n\nSay why, not what.\n");
for (const _ of ["made", "read"]) {
  const tool = createSearchTool(new OramaRetriever({ roots: ["standards"], folder: "state" }));
  const answer = await tool.handler({ query: "how to name a test", limit: 1 });
  assert.match(JSON.stringify(answer.results), /after what holds/);
}
