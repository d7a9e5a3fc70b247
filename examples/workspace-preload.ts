/** Loads all files of a workflow in one call; writes the matching part of a system prompt; lists bundles. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createWorkspace, discoverBundles, workflowInstructions } from "phasegate/workspace";

await mkdir("outputs", { recursive: true });
const workspace = await createWorkspace({
  bundleRoot: fileURLToPath(new URL("intake", import.meta.url)),
  outputRoot: "outputs",
});

// #region preload
const system = workflowInstructions({ workflows: await workspace.workflows(), variables: workspace.variables });
const model = workspace.connect();
const loaded = await model.preloadWorkflow({ workflow: "intake" });
if (!loaded.success) throw new Error(`${loaded.error}. ${loaded.remedy}`);
for (const { role, path, size } of loaded.files) console.log(`${role}: ${path}, ${size} bytes`);
console.log(loaded.message); // All 3 files of intake are here, complete: don't read them again.

const again = await model.preloadWorkflow({ workflow: "intake" });
if (again.success) console.log(again.message); // The 3 files of intake are already loaded in this conversation …
// #endregion preload

assert(system.includes("- intake"));
assert(system.length / 4 < 900);
assert.deepEqual(
  loaded.files.map(({ role }) => role),
  ["workflow", "instructions", "template"],
);
assert(again.success && again.files.length === 0);

// #region bundles
const { bundles, diagnostics } = await discoverBundles(fileURLToPath(new URL("intake", import.meta.url)));
for (const { name, agents } of bundles) console.log(`${name}: ${agents.map(({ id }) => id).join(", ")}`); // intake: alex
// #endregion bundles
assert.deepEqual(diagnostics, []);
assert.deepEqual(
  bundles.flatMap(({ agents, workflows }) => [...agents, ...workflows].map(({ name }) => name)),
  ["Alex", "intake"],
);
await workspace.close();
