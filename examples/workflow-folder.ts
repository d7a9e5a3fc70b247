/**
 * A workflow from a folder: `examples/workflows/release_v1`, with Markdown and a gate file for each phase. Sessions are
 * stored in files, and targets must be in the project's folder.
 */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createEngine, isPhasegateError } from "phasegate";
// #region files
import { createProjectRoot, FileContent, FileStorage } from "phasegate/fs";

await mkdir("project", { recursive: true });
const engine = createEngine({
  storage: await FileStorage.open("state"),
  content: new FileContent({ roots: [fileURLToPath(new URL("workflows", import.meta.url))] }),
  targets: await createProjectRoot("project"),
});
// #endregion files

const listed = (await engine.listWorkflows()).find(({ type }) => type === "release_v1");
assert.deepEqual([listed?.type, listed?.status, listed?.diagnostics], ["release_v1", "ready", []]);

const outside = await engine.start({ workflowType: "release_v1", target: "../elsewhere" }).catch((error) => error);
assert.ok(isPhasegateError(outside, "PATH_REFUSED"));

const { sessionId, phase } = await engine.start({ workflowType: "release_v1", target: "package.json" });
assert.equal(phase.facts.estimatedDuration, "20 minutes");
const task = await engine.session(sessionId).task(1, 1);
assert.deepEqual(
  task.facts.executionSteps?.map(({ command }) => command),
  ['git clone --depth 1 . "$(mktemp -d)"', "npm ci && npm test"],
);

// Other files of the folder are documents: those next to the texts of a phase are readable from that phase on.
const checklist = await engine.session(sessionId).document("core/checklist.md");
assert.match(checklist.content.text, /^# Before a release/);
const ahead = await engine
  .session(sessionId)
  .document("phases/2/notes.md")
  .catch((error) => error);
assert.ok(isPhasegateError(ahead, "PHASE_LOCKED"), String(ahead));

const claim = await engine.session(sessionId).completePhase(1, { tests_pass: false, tests_run: "many" });
assert.ok(!claim.passed);
for (const { message } of claim.problems) console.log(`refused: ${message}`);

await engine.session(sessionId).completePhase(1, { tests_pass: true, tests_run: 128, coverage: 97.5 });
assert.match((await engine.session(sessionId).document("phases/2/notes.md")).content.text, /signed/);
const done = await engine.session(sessionId).completePhase(2, { tag: "v1.3.0", published: true });
assert.ok(done.passed && done.nextPhase === null);
await engine.close();
console.log("The folder's gates let the release through when there was something to show.");
