/**
 * The demo: an agent writes release notes over MCP. It skips, forgets and makes things up, is refused
 * each time, loses its server half-way and goes on. Then it fixes a bug, and its tests are run by the gate. Every
 * step is asserted.
 */
import assert from "node:assert/strict";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Agent, connectAgent } from "./agent.ts";
import { fixBug } from "./fix.ts";
import { type Answer, event, showAttempt, showFields, step, styled } from "./screen.ts";

const CHANGES = {
  "changes/001-retry.md": "# Requests are tried three times",
  "changes/002-config.md": "# The option `timeout` is in milliseconds now",
  "changes/003-docs.md": "# A page about proxies",
};

const folder = await mkdtemp(join(tmpdir(), "phasegate-demo-"));
const project = join(folder, "project");
const server = [fileURLToPath(new URL("server.ts", import.meta.url)), project, join(folder, "state")];
let agent: Agent | undefined;

try {
  await makeProject();
  console.log(styled("bold", "phasegate: an agent that has to prove its work"));
  agent = await connectAgent(server);
  const session_id = await start(agent);
  await skipAndForget(agent, session_id);
  await collect(agent, session_id);
  agent = await dieAndComeBack(agent, session_id);
  await finish(agent, session_id);
  await showHistory(agent, session_id);
  await fixBug(folder);
  console.log(`\n${styled("green", "Done: six phases, each of them proved.")}`);
} finally {
  await agent?.close();
  await rm(folder, { recursive: true, force: true });
}

async function start({ call, ask }: Agent): Promise<unknown> {
  step("1. What is there, and a session", "The agent sees one phase: the one that it is in.");
  const { workflows } = await ask({ action: "list_workflows" });
  assert(Array.isArray(workflows));
  for (const { workflow_type, phases, description } of workflows) {
    event(`${workflow_type}, ${phases} phases: ${description}`);
  }
  const started = await call({ action: "start", workflow_type: "release_notes", target_file: "NOTES.md" });
  assert.equal(started.status, "success");
  const { title, content } = phaseOf(started);
  event(`phase ${started.current_phase} of ${started.total_phases}, ${title}:`);
  event(String(content));
  return started.session_id;
}

async function skipAndForget({ call }: Agent, session_id: unknown): Promise<void> {
  step("2. A skip", "Straight to publishing. Phases ahead can't be completed, and not even read.");
  const skip = await call({
    action: "complete_phase",
    session_id,
    phase: 4,
    evidence: { published_file: "published/1.4.0.md", notes_file: "NOTES.md" },
  });
  assert.equal(skip.violation_type, "attempted_skip");
  assert.equal((await call({ action: "get_phase", session_id, phase: 4 })).status, "error");

  step("3. Incomplete evidence", "One change of three, and nothing about breaking ones: all that is missing, at once.");
  const part = await call({
    action: "complete_phase",
    session_id,
    phase: 1,
    evidence: { changes: ["changes/001-retry.md"] },
  });
  assert.equal(part.checkpoint_passed, false);
  assert.deepEqual(part.missing_evidence, ["breaking"]);
}

async function collect({ call }: Agent, session_id: unknown): Promise<void> {
  step("4. Phase 1, done", "All three changes are there and named.");
  const evidence = { changes: Object.keys(CHANGES), breaking: true };
  const passed = await call({ action: "complete_phase", session_id, phase: 1, evidence });
  assert.equal(passed.checkpoint_passed, true);

  step("5. A lie", "The agent claims notes that it has not written. The gate looks.");
  const lie = await call({ action: "complete_phase", session_id, phase: 2, evidence: { notes_file: "NOTES.md" } });
  assert.equal(lie.checkpoint_passed, false);
  assert.match(JSON.stringify(lie.validation_errors), /there is no file NOTES\.md/);
}

/** The call is on its way when the server dies. It has a key, so it can be made once more and counts once. */
async function dieAndComeBack(first: Agent, session_id: unknown): Promise<Agent> {
  step("6. The server is killed while it is asked", "Real notes now; but the agent never hears whether they pass.");
  await writeNotes();
  event("NOTES.md written");
  const call = { action: "complete_phase", phase: 2, evidence: { notes_file: "NOTES.md" }, idempotency_key: "notes-1" };
  const lost = first.ask({ ...call, session_id });
  first.kill();
  await assert.rejects(lost);

  step("7. A new server, the same session", "All an agent needs after it has lost its context, in one short answer.");
  const second = await connectAgent(server);
  const where = await second.ask({ action: "get_state", session_id, brief: true });
  showFields(where);
  assert.equal(where.status, "success");
  const again = await second.call({ ...call, session_id });
  assert.equal(again.checkpoint_passed, true);
  return second;
}

async function finish({ call }: Agent, session_id: unknown): Promise<void> {
  step("8. Review and publication", "A false claim is no evidence either. Then the last two gates open.");
  const review = { action: "complete_phase", session_id, phase: 3 };
  const honest = { notes_file: "NOTES.md", read_aloud: false, breaking_first: true };
  assert.equal((await call({ ...review, evidence: honest })).checkpoint_passed, false);
  assert.equal((await call({ ...review, evidence: { ...honest, read_aloud: true } })).checkpoint_passed, true);

  await mkdir(join(project, "published"));
  await copyFile(join(project, "NOTES.md"), join(project, "published/1.4.0.md"));
  event("NOTES.md copied to published/1.4.0.md");
  const evidence = { published_file: "published/1.4.0.md", notes_file: "NOTES.md" };
  const done = await call({ action: "complete_phase", session_id, phase: 4, evidence });
  assert.equal(done.workflow_complete, true);
}

async function showHistory({ ask }: Agent, session_id: unknown): Promise<void> {
  step("9. The history", "Every try at every phase. The call that was made twice counts once.");
  const { history } = await ask({ action: "get_history", session_id });
  assert(Array.isArray(history));
  for (const attempt of history) showAttempt(attempt);
  const statuses = history.map(({ phase, status }) => `${phase} ${status}`);
  const expected = ["1 failed", "1 completed", "2 failed", "2 completed", "3 failed", "3 completed", "4 completed"];
  assert.deepEqual(statuses, expected);
}

function phaseOf(answer: Answer): { title: unknown; content: unknown } {
  const phase = answer.phase_content;
  assert(typeof phase === "object" && phase !== null && "title" in phase && "content" in phase);
  return phase;
}

async function makeProject(): Promise<void> {
  await mkdir(join(project, "changes"), { recursive: true });
  for (const [path, text] of Object.entries(CHANGES)) await writeFile(join(project, path), `${text}\n`);
}

async function writeNotes(): Promise<void> {
  const [retry, config, docs] = Object.values(CHANGES).map((title) => title.slice(2));
  await writeFile(join(project, "NOTES.md"), `# 1.4.0\n\n- **Breaking:** ${config}\n- ${retry}\n- ${docs}\n`);
}
