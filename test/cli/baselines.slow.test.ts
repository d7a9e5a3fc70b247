import { rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createApproverKeys } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { gatedFiles } from "../support/verified.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";

const FIELDS = "evidence_schema: {done: {type: boolean}}\n";
const evidence = { done: true };

/** Creates a folder with a workflow, and a project; connects the official client to a server on both. */
async function serving(gates: readonly string[], files: Record<string, string>, flags: readonly string[] = []) {
  const root = await temporaryFolder();
  await writeFiles(join(root, "workflows", "checked"), gatedFiles("checked", gates));
  const project = join(root, "project");
  await writeFiles(project, files);
  const state = join(root, "state");
  const args = ["--workflows", join(root, "workflows"), "--state", state, "--project", project, ...flags];
  const { ask } = await connectToServe([...args, "--allow-command", `node=${process.execPath}`]);
  const { session_id } = await ask({ action: "start", workflow_type: "checked", target_file: "add.mjs" });
  const call = (action: string, more: Record<string, unknown> = {}) => ask({ action, session_id, ...more });
  const submit = (phase: number) => call("complete_phase", { phase, evidence });
  const write = (path: string, text: string) => writeFiles(project, { [path]: text });
  return {
    root,
    project,
    state,
    call,
    submit,
    write,
    sessionId: String(session_id),
    workflows: join(root, "workflows"),
  };
}

const TEST = `import assert from "node:assert/strict";
import { add } from "../add.mjs";

assert.equal(add(2, 2), 4);
`;
const WRONG = "export const add = (a, b) => a - b;\n";
const RUN = "argv: [node, test/add.test.mjs]";
const FAILS = `${FIELDS}verify: {verifier: command, ${RUN}, exit: 1, output: {pattern: ERR_ASSERTION}}\n`;
const PASSES = `${FIELDS}verify:
  - {verifier: command, ${RUN}}
  - {verifier: unchanged_since_phase_start, path: "test/**/*.test.mjs", since: {phase: 1}}
`;

describe("a test that fails in phase 1 and passes in phase 2, over MCP", () => {
  it("must fail for the right reason, and must be the same test", async () => {
    const { submit, write } = await serving([FAILS, PASSES], { "add.mjs": WRONG, "test/add.test.mjs": "assert.(" });
    expect(await submit(1)).toMatchObject({
      code: "GATE_FAILED",
      validation_errors: [expect.stringContaining("its output matches ERR_ASSERTION 0 times")],
    });
    await write("test/add.test.mjs", TEST);
    expect(await submit(1)).toMatchObject({ checkpoint_passed: true });
    await write("test/add.test.mjs", TEST.replace("4", "0"));
    expect(await submit(2)).toMatchObject({
      code: "GATE_FAILED",
      validation_errors: [expect.stringContaining("test/add.test.mjs was changed since phase 1 was passed")],
      verification: [
        {
          ok: false,
          output: expect.arrayContaining(["- assert.equal(add(2, 2), 4);", "+ assert.equal(add(2, 2), 0);"]),
        },
        { ok: true },
      ],
    });
    await write("test/add.test.mjs", TEST);
    expect(await submit(2)).toMatchObject({ code: "GATE_FAILED" });
    await write("add.mjs", WRONG.replace("-", "+"));
    expect(await submit(2)).toMatchObject({ checkpoint_passed: true, workflow_complete: true });
  });
});

describe("a workflow with a wrong `since`, over MCP", () => {
  it("is listed as broken, and can't be started", async () => {
    const root = await temporaryFolder();
    const gate = `${FIELDS}verify: {verifier: unchanged_since_phase_start, path: a, since: {phase: 2}}\n`;
    await writeFiles(join(root, "workflows", "checked"), gatedFiles("checked", [FIELDS, gate]));
    const { ask } = await connectToServe(["--workflows", join(root, "workflows"), "--state", join(root, "state")]);
    const listed = JSON.stringify(await ask({ action: "list_workflows" }));
    expect(listed).toContain("`since` names phase 2, which is not before phase 2");
    expect(await ask({ action: "start", workflow_type: "checked", target_file: "a" })).toMatchObject({
      status: "error",
      code: "DEFINITION_INVALID",
    });
  });
});

describe("phasegate validate", () => {
  const validate = async (gates: readonly string[], metadata: Record<string, unknown> = {}) => {
    const root = await temporaryFolder();
    const files = gatedFiles("checked", gates);
    const given = { ...JSON.parse(files["metadata.json"] ?? ""), ...metadata };
    await writeFiles(join(root, "checked"), { ...files, "metadata.json": JSON.stringify(given) });
    return run("validate", root);
  };
  const since = (text: string) =>
    `${FIELDS}verify:\n  - {verifier: unchanged_since_phase_start, path: a,\n     since: ${text}}\n`;

  it.each([
    [2, "{phase: 7}", "`since` names phase 7, which does not exist", "Write one of the phases before: 1 (Phase 1)."],
    [2, "{phase: 2}", "`since` names phase 2, which is not before phase 2", "phases before: 1 (Phase 1)."],
    [2, "phase_3", '`since` names the phase "phase_3", which is not before phase 2', "phases before: 1 (Phase 1)."],
    [2, "{phase: Phase 7}", '`since` names the phase "Phase 7", which does not exist', "phases before: 1 (Phase 1)."],
    [2, "{phase: 3}", "`since` names phase 3, which is not before phase 2", "Without `since` the check compares"],
    [1, "{phase: 1}", "`since` names phase 1, which is not before phase 1", "Leave `since` out"],
    [2, "1", "`since` must name a phase, or the start", "Write since: {phase: 1}"],
    [2, "{phase: 1, task: 2}", "`since` must name a phase, or the start", "Write since: {phase: 1}"],
  ])("refuses since in phase %i: %s, with file and line", async (phase, text, message, hint) => {
    const gates = [1, 2, 3].map((number) => (number === phase ? since(text) : FIELDS));
    const { code, stdout } = await validate(gates);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`phases/${phase}/gate-definition\\.yaml:4:\\d+: error`));
    expect(stdout).toContain(message);
    expect(stdout).toContain(hint);
  });

  it("refuses a phase that no session passes, because they begin after it", async () => {
    const { code, stdout } = await validate([FIELDS, FIELDS, since("{phase: 1}")], { start_phase: 2 });
    expect(code).toBe(1);
    expect(stdout).toContain("`since` names phase 1, which no session passes: they begin with phase 2");
  });

  it("accepts an earlier phase, also in a field's check and for the other verifier", async () => {
    const field =
      "evidence_schema: {file: {type: string, verify: {verifier: changed_since_phase_start, within: src, since: {phase: 1}}}}\n";
    expect(await validate([FIELDS, since("{phase: 1}"), field])).toMatchObject({ code: 0 });
    const wrong = await validate([FIELDS, FIELDS, field.replace("phase: 1", "phase: 9")]);
    expect(wrong.stdout).toContain("phases/3/gate-definition.yaml:1:");
    expect(wrong.stdout).toContain("`since` names phase 9, which does not exist");
  });

  it("warns about a command that must fail for whatever reason", async () => {
    const gate = (more: string) => `${FIELDS}verify:\n  verifier: command\n  argv: [npm, test]\n  exit: 1\n${more}`;
    const { code, stdout } = await validate([gate("")]);
    expect(code).toBe(0);
    expect(stdout).toContain("phases/1/gate-definition.yaml:5:");
    expect(stdout).toContain("must end with exit code 1 here, for whatever reason: a syntax error is enough");
    for (const fine of [gate("  output: {pattern: 1 failed}\n"), gate("").replace("exit: 1", "exit: 0")]) {
      expect((await validate([fine])).stdout).not.toContain("for whatever reason");
    }
  });

  it("refuses since in a routed workflow, which has no phases", async () => {
    const root = await temporaryFolder();
    const step = (front: string) =>
      `---\n${front}---\n\n# Orchestrator Guidance\n\nGo on.\n\n# Client Instructions\n\nWork.\n`;
    await writeFiles(join(root, "walk"), {
      "index.md": "# Walk\n\nGoal.\n\n1. [One](steps/one.md)\n",
      "steps/one.md": step(
        "gate:\n  evidence_schema: {done: {type: boolean}}\n  verify: {verifier: changed_since_phase_start, path: a, since: {phase: 1}}\n",
      ),
    });
    const { code, stdout } = await run("validate", root);
    expect(code).toBe(1);
    expect(stdout).toContain("`since` can't name a phase here: a routed workflow has steps");
    expect(stdout).toContain("steps/one.md:4:");
  });
});

describe("an approval without --project, over MCP", () => {
  const ASKS = `${FIELDS}approval: {prompt: Good?}\n`;
  const CHECKS = `${FIELDS}verify:
  - {verifier: changed_since_phase_start, path: add.mjs}
  - {verifier: unchanged_since_phase_start, path: test, since: {phase: 1}}
`;

  it("is made up for by the server, which records the start of the phase when it next loads the session", async () => {
    const { privateKey, publicKey } = await createApproverKeys();
    const flags = ["--approver", `ann=${publicKey}`];
    const served = await serving([ASKS, CHECKS], { "add.mjs": WRONG, "test/add.test.mjs": TEST }, flags);
    const { submit, call, write, sessionId, state, root } = served;
    const { evidence_hash: hash } = await submit(1);
    await writeFile(join(root, "ann.pem"), privateKey, { mode: 0o600 });
    const args = ["--state", state, "--key", join(root, "ann.pem"), ...flags, "--yes", "--evidence-hash", String(hash)];
    const { code, stdout } = await run("approve", sessionId, ...args);
    expect(code).toBe(0);
    expect(stdout).toContain("A server\nwith --project records the files when it next loads the session");
    const seen = await call("get_state", { brief: true });
    expect(seen).toMatchObject({ current_phase: 2, next: { action: "get_phase" } });
    expect(seen).not.toHaveProperty("unrecorded");
    await write("add.mjs", WRONG.replace("-", "+"));
    expect(await submit(2)).toMatchObject({ checkpoint_passed: true });
    const shown = await run("show", sessionId, "--state", state, "--json");
    expect(shown.stdout).toMatch(/1 file is unchanged since phase 1 was passed \(recorded late, at 20/);
    expect(shown.stdout).toMatch(/add\.mjs changed since this phase was entered \(recorded late, at 20/);
  });

  it("leads a submission that comes first to retry_phase, which records it", async () => {
    const { privateKey, publicKey } = await createApproverKeys();
    const flags = ["--approver", `ann=${publicKey}`];
    const served = await serving([ASKS, CHECKS], { "add.mjs": WRONG, "test/add.test.mjs": TEST }, flags);
    const { submit, call, write, sessionId, state, root } = served;
    const { evidence_hash: hash } = await submit(1);
    await writeFile(join(root, "ann.pem"), privateKey, { mode: 0o600 });
    const args = ["--state", state, "--key", join(root, "ann.pem"), ...flags, "--yes", "--evidence-hash", String(hash)];
    await run("approve", sessionId, ...args);
    const refused = await submit(2);
    expect(refused).toMatchObject({
      code: "GATE_FAILED",
      attempts_left: 3,
      remediation: expect.stringContaining("Call retry_phase for phase 2 first"),
      next: { action: "retry_phase", session_id: sessionId, phase: 2 },
    });
    expect(await call("retry_phase", { phase: 2 })).toMatchObject({
      status: "success",
      next: { action: "complete_phase" },
    });
    await write("add.mjs", WRONG.replace("-", "+"));
    expect(await submit(2)).toMatchObject({ checkpoint_passed: true });
  });
});

describe("a start of a phase that could not be recorded, over MCP", () => {
  it("is told with the first phase", async () => {
    const root = await temporaryFolder();
    const gate = `${FIELDS}verify: {verifier: changed_since_phase_start, path: add.mjs}\n`;
    await writeFiles(join(root, "workflows", "checked"), gatedFiles("checked", [gate]));
    await writeFiles(join(root, "project"), { "other.mjs": WRONG });
    await symlink("other.mjs", join(root, "project", "add.mjs"));
    const args = ["--workflows", join(root, "workflows"), "--state", join(root, "state")];
    const { ask } = await connectToServe([...args, "--project", join(root, "project")]);
    const started = await ask({ action: "start", workflow_type: "checked", target_file: "add.mjs" });
    expect(started).toMatchObject({
      unrecorded: expect.stringContaining("could not be recorded"),
      next: { action: "retry_phase", phase: 1 },
    });
  });

  it("leads to retry_phase before an attempt fails", async () => {
    const checks = `${FIELDS}verify: {verifier: changed_since_phase_start, path: add.mjs}\n`;
    const { submit, call, write, project } = await serving([FIELDS, checks], { "other.mjs": WRONG });
    await symlink("other.mjs", join(project, "add.mjs"));
    const next = { action: "retry_phase", phase: 2 };
    const unrecorded = expect.stringContaining("Call retry_phase before you change anything");
    expect(await submit(1)).toMatchObject({ checkpoint_passed: true, unrecorded, next });
    expect(await call("get_phase")).toMatchObject({ unrecorded, next });
    expect(await call("get_state", { brief: true })).toMatchObject({ unrecorded, next });
    expect(await call("get_state")).toMatchObject({ unrecorded, next, attempts: 0 });
    // It fails again, and the agent is not sent in a circle.
    expect(await call("retry_phase", { phase: 2 })).toMatchObject({ unrecorded, next: { action: "complete_phase" } });
    await rm(join(project, "add.mjs"));
    await write("add.mjs", WRONG);
    const retried = await call("retry_phase", { phase: 2 });
    expect(retried).not.toHaveProperty("unrecorded");
    await write("add.mjs", WRONG.replace("-", "+"));
    expect(await submit(2)).toMatchObject({ checkpoint_passed: true });
  });
});
