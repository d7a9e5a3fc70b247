/** Moves a session to a newer definition of its workflow, in which a phase is put in front of the others. */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";

function bugfix(revision: string, ...names: readonly string[]) {
  return defineWorkflow({
    ...{ type: "bugfix", revision, name: "Bug fix", description: "See it fail, fix it", target: "none" },
    phases: names.map((name, index) => ({
      number: index + 1,
      name,
      content: `# ${name}\n`,
      gate: { fields: { done: { type: "boolean" } } },
    })),
  });
}

const storage = new MemoryStorage();
const old = bugfix("1", "Reproduce", "Fix");
const before = createEngine({ storage, content: new MemoryContent({ workflows: [old] }) });
const { sessionId } = await before.start({ workflowType: "bugfix" });
await before.session(sessionId).completePhase(1, { done: true });

const content = new MemoryContent({ workflows: [old, bugfix("2", "Threat model", "Reproduce", "Fix")] });
const engine = createEngine({ storage, content });

// #region migrate
const session = engine.session(sessionId);
const { phases, returnsTo, needsAccept } = await session.migration();
for (const { name, was, will, is } of phases) console.log(`${name}: ${is}, ${was ?? "-"} to ${will ?? "-"}`);
// Threat model: new, - to 1
// Reproduce: moved, 1 to 2
// Fix: moved, 2 to 3

const accept = { "Threat model": "ann has made it by hand" };
const { currentPhase } = await session.migrate({ by: "ann", accept });
// #endregion migrate
assert.deepEqual([returnsTo, needsAccept, currentPhase], [1, [], 3]);
assert.equal((await session.completePhase(3, { done: true })).passed, true);
await engine.close();
