/** Workflows put together: several sources as one, a folder in code, and code as the files of a folder. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { combineContent, workflowToFiles } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";

const folders = fileURLToPath(new URL("workflows", import.meta.url));

// #region load
const release = await loadWorkflow(join(folders, "release_v1"));
const reviewed = defineWorkflow({
  ...release.input,
  type: "reviewed_release",
  revision: `${release.input.revision}, review 1`,
  phases: [
    ...release.parts,
    {
      name: "Review",
      content: "# Review\n\nRead what was published.",
      gate: { fields: { approved: { type: "boolean" } } },
    },
  ],
});
// #endregion load

// #region combine
const content = combineContent([new MemoryContent({ workflows: [reviewed] }), new FileContent({ roots: [folders] })], {
  names: ["the code", "the folder"],
});
// #endregion combine

const engine = createEngine({ content, storage: new MemoryStorage() });
const types = (await engine.listWorkflows()).map(({ type }) => type);
assert.deepEqual(types, ["bug_fix_v1", "build_v1", "release_v1", "reviewed_release"]);
const { sessionId } = await engine.start({ workflowType: "reviewed_release", target: "." });
const refused = await engine.session(sessionId).completePhase(1, { tests_pass: false });
assert.ok(!refused.passed, "the gate of the folder counts in code");

// #region write
const files = await workflowToFiles(reviewed);
for (const [path, text] of Object.entries(files)) {
  const file = join("workflows/reviewed_release", path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
// #endregion write

const written = await new FileContent({ roots: ["workflows"] }).definition("reviewed_release");
assert.deepEqual(
  written?.structure.phases.map(({ name }) => name),
  reviewed.definition.structure.phases.map(({ name }) => name),
);
console.log(Object.keys(files).join("\n"));
