/** Workflows that extend starters: one in code, with one more phase, a gate that asks for more, and its command set; one in a folder. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createEngine, definePhase, MemoryContent, MemoryStorage } from "phasegate";
import { extendWorkflow } from "phasegate/compose";
import { FileContent, loadWorkflow } from "phasegate/fs";
import { createVerifiers } from "phasegate/verify";

const starters = fileURLToPath(new URL("../starters", import.meta.url));
const projectRoot = process.cwd();

// #region extend
const bugFix = await loadWorkflow(`${starters}/bug_fix`);
const ours = await extendWorkflow(bugFix, {
  type: "our_bug_fix",
  revision: "1",
  name: "Fix a bug, our way",
  options: { test_command: "npm test" },
  phases: [
    {
      before: "Fix",
      phase: definePhase({
        name: "Threats",
        content: "# Threats\n\nSay who could have used the bug, and for what.",
        gate: { fields: { threats: { type: "list", validator: "value.size() > 0" } } },
      }),
    },
    { change: "Finish", gate: { approval: { prompt: "Is it good enough to release?" } } },
  ],
});
// #endregion extend

const content = new MemoryContent({ workflows: [ours] });
const verifiers = await createVerifiers({ projectRoot, commands: ["npm test"] });
const engine = createEngine({ content, storage: new MemoryStorage(), verifiers });
const [listing] = await engine.listWorkflows();
assert.equal(listing?.status, "ready");
const { structure } = listing.definition;
assert.deepEqual(
  structure.phases.map(({ number, name }) => `${number} ${name}`),
  ["1 Reproduce", "2 Find the cause", "3 Threats", "4 Fix", "5 Finish"],
);
assert.equal(structure.extends?.type, "bug_fix");
console.log(structure.phases.map(({ number, name }) => `${number} ${name}`).join("\n"));

const folder = fileURLToPath(new URL("./extended/team_review", import.meta.url));
const review = await loadWorkflow(folder, { bases: new FileContent({ roots: [starters] }) });
console.log(review.phases.map(({ name }) => name).join(", "));
assert.equal(review.definition.structure.extends?.type, "code_review");
