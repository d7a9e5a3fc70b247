/**
 * Watches sessions while they are worked on, then migrates them to another storage: here from memory to files, in
 * production perhaps from a folder to a database. When the last copy is made, no session is in use.
 */
import assert from "node:assert/strict";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { copySessions } from "phasegate/storage";
import * as z from "zod";

const workflow = defineWorkflow({
  type: "bugfix",
  revision: "1",
  name: "Bug fix",
  description: "See it fail, fix it",
  phases: [
    {
      number: 1,
      name: "Reproduce",
      content: "# Reproduce\n",
      gate: { evidence: z.object({ failing_test: z.string() }) },
    },
    { number: 2, name: "Fix", content: "# Fix\n", gate: { evidence: z.object({ tests_pass: z.literal(true) }) } },
  ],
});
const content = new MemoryContent({ workflows: [workflow] });
const storage = new MemoryStorage();
const engine = createEngine({ storage, content, retention: { completed: 0 } });

// #region watch
const ending = new AbortController();
const watched: string[] = [];
const commits = engine.watch({ workflowType: "bugfix" }, { signal: ending.signal });
const watching = (async () => {
  for await (const { sessionId, version, events } of commits) {
    watched.push(...events.map(({ type }) => type));
    console.log(`${sessionId} ${version}: ${events.map(({ type }) => type).join(", ")}`);
  }
})();
// #endregion watch

const { sessionId } = await engine.start({ workflowType: "bugfix", target: "src/parser.ts" });
await engine.session(sessionId).completePhase(1, { failing_test: "rejects an empty file" });
const other = await engine.start({ workflowType: "bugfix", target: "src/lexer.ts" });

// #region move
const target = await FileStorage.open("state");
const report = await copySessions(storage, target, {
  onProgress: ({ sessions, commits }) => console.log(`${sessions} sessions, ${commits} commits`),
});
for (const { sessionId, reason } of report.refused) console.error(`${sessionId} stays: ${reason}`);
// #endregion move
assert.deepEqual([report.sessions, report.commits, report.caughtUp], [2, 3, true]);

// A session continued meanwhile: a second copy transfers only what is new.
await engine.session(sessionId).completePhase(2, { tests_pass: true });
assert.equal((await copySessions(storage, target)).commits, 1);

const there = createEngine({ storage: target, content, retention: { completed: 0 } });
assert.equal((await there.session(sessionId).state()).status, "completed");
const audit = await there.session(sessionId).audit();
assert.ok(audit.intact && audit.versions === 3);
await there.session(other.sessionId).completePhase(1, { failing_test: "reads a comment" });

// #region statistics
const first = await there.statistics();
for (const { phase, name, time, attempts, failed } of first.workflows.flatMap(({ phases }) => phases)) {
  console.log(`${phase} ${name}: median ${time?.medianSeconds} s, ${failed} of ${attempts} attempts failed`);
}
const kept = JSON.stringify(first.cursor);
// Later, perhaps in another process: only what was committed since then is read.
const second = await there.statistics({ cursor: JSON.parse(kept) });
// #endregion statistics
assert.deepEqual(second.sessions, first.sessions);
assert.equal(second.sessions.completed, 1);

// Completed sessions are removed when the host says so, never by themselves.
await new Promise((resolve) => setTimeout(resolve, 5));
assert.deepEqual(await there.cleanup(), { removed: [sessionId] });

ending.abort();
await watching;
assert.deepEqual(watched.slice(0, 4), ["started", "phase_entered", "gate_passed", "phase_entered"]);
await there.close();
