import { join } from "node:path";
import { createEngine } from "phasegate";
import { FileStorage } from "phasegate/fs";
import { describe, expect, it } from "vitest";
import { FileContent } from "../../src/content/files.js";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";
import { run } from "./run-cli.js";
import { connectToServe } from "./serve-client.js";
import { SMALL } from "./workflow-folders.js";

const START = { action: "start", workflow_type: "small", target_file: "src/a.ts" } as const;

/** Creates a folder of workflows and one for a state; returns the flags of a server on them. */
async function folders() {
  const root = await temporaryFolder();
  const [workflows, state] = [join(root, "workflows"), join(root, "state")];
  await writeFiles(workflows, SMALL);
  return { workflows, state, flags: ["--workflows", workflows, "--state", state] };
}

describe("an operator, next to a server", () => {
  it("reads which limit to raise, while the agent is told to finish or to wait", async () => {
    const { flags, state } = await folders();
    const { ask, log } = await connectToServe([...flags, "--max-sessions", "1"]);
    const { session_id: first } = await ask(START);
    const refused = await ask({ ...START, target_file: "src/b.ts" });
    expect(refused).toMatchObject({
      code: "SESSION_LIMIT",
      remediation: expect.stringMatching(/^Finish a session .*, or wait/),
      next: { action: "list_sessions" },
    });
    expect(JSON.stringify(refused)).not.toContain("maxActiveSessions");
    const told = log.find(({ msg }) => msg === "internalError");
    expect(told).toMatchObject({
      err: {
        ...{ code: "SESSION_LIMIT", remedy: expect.stringContaining("phasegate serve --max-sessions") },
        url: expect.stringMatching(/errors\.md#session_limit$/),
      },
    });
    await ask({ action: "pause", session_id: first });
    const { session_id: second } = await ask({ ...START, target_file: "src/b.ts" });
    expect(await ask({ action: "resume", session_id: first })).toMatchObject({ code: "SESSION_LIMIT" });
    // The operator is the host, whom the server's limit does not bind.
    const done = await run("resume", String(first), "--by", "ann", "--state", state);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(await ask({ action: "get_state", session_id: first })).toMatchObject({ session_status: "active" });
    const listed = await ask({ action: "list_sessions" });
    expect(listed).toMatchObject({ count: 2, total: 2 });
    expect(JSON.stringify(listed)).toContain(String(second));
  });

  it("grants more attempts, which the agent is told that only the host can", async () => {
    const { flags, state } = await folders();
    const { ask } = await connectToServe([...flags, "--max-attempts", "1", "--max-attempts-total", "1"]);
    const { session_id } = await ask(START);
    const submit = (evidence: object) => ask({ action: "complete_phase", session_id, phase: 1, evidence });
    await submit({});
    const refused = await ask({ action: "retry_phase", session_id, phase: 1 });
    expect(refused).toMatchObject({
      code: "ATTEMPTS_EXHAUSTED",
      remediation: expect.stringContaining("phasegate retry"),
    });
    const retried = await run("retry", String(session_id), "--by", "ann", "--note", "a new runner", "--state", state);
    expect(retried).toMatchObject({ code: 0, stderr: "" });
    expect(await submit({ tests_pass: true })).toMatchObject({ checkpoint_passed: true });
    const shown = await run("show", String(session_id), "--state", state);
    expect(shown.stdout).toContain("retried by ann: a new runner");
  });

  it("has old sessions deleted, as the ages by status say", async () => {
    const { flags, state, workflows } = await folders();
    const engine = createEngine({
      storage: await FileStorage.open(state),
      content: new FileContent({ roots: [workflows] }),
      limits: { maxAttempts: 1 },
    });
    const start = async (target: string) => (await engine.start({ workflowType: "small", target })).sessionId;
    const [kept, failed] = [await start("kept"), await start("failed")];
    await engine.session(failed).completePhase(1, {});
    await engine.close();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const { ask, log } = await connectToServe([...flags, "--cleanup-after", "failed=0s,active=7d"]);
    await expect.poll(() => log.find(({ msg }) => msg === "cleanup")).toMatchObject({ removed: 1 });
    expect(log.find(({ msg }) => msg === "deleted")).toMatchObject({ sessionId: failed, reason: "stale" });
    expect(await ask({ action: "list_sessions" })).toMatchObject({ count: 1, sessions: [{ session_id: kept }] });
  });

  it("is told which ages can be given", async () => {
    const { flags, state, workflows } = await folders();
    for (const ages of [
      "7",
      "done=7d",
      "failed=soon",
      "failed=1d,failed=7d",
      "failed=7d=8d",
      "0d",
      "active=0s",
      "paused=0h",
    ]) {
      expect(await run("serve", ...flags, "--cleanup-after", ages)).toMatchObject({ code: 2 });
    }
    const routed = await run("serve", "--routed", workflows, "--state", state, "--cleanup-after", "7d");
    expect(routed).toMatchObject({ code: 2, stderr: expect.stringContaining("--cleanup-after is for phased") });
  });
});
