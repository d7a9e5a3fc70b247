import { describe, expect, it } from "vitest";
import { askingFiles } from "../support/approvals.js";
import { run } from "./run-cli.js";
import { waitingSession } from "./waiting-session.js";

const metadata = JSON.parse(askingFiles["metadata.json"] ?? "");
/** The only phase requires an approval by Ann. */
const files = { "metadata.json": JSON.stringify({ ...metadata, phases: metadata.phases.slice(0, 1) }) };

/** Creates a session that was approved in Ann's name at a terminal, with another key. */
async function forged() {
  const made = await waitingSession({}, undefined, { files });
  const { state, sessionId, evidenceHash, keys } = made;
  const key = await made.keyFile("eve");
  const approver = `ann=${keys.eve.publicKey}`;
  const { code } = await run(
    ...["approve", sessionId, "--state", state, "--key", key, "--approver", approver],
    ...["--yes", "--evidence-hash", evidenceHash],
  );
  expect(code).toBe(0);
  return { ...made, trust: ["--state", state, "--approvers", made.approvers] };
}

describe("a session that was approved at a terminal with an unknown key", () => {
  it("is not completed for a host that knows the approvers", async () => {
    const { engine, sessionId } = await forged();
    expect(await engine.session(sessionId).state()).toMatchObject({ status: "active", unapproved: { phase: 1 } });
  });

  it("is refused to an operator without the approvers, with the option that gives them", async () => {
    const { sessionId, state } = await forged();
    const { code, stderr } = await run("resume", sessionId, "--state", state, "--by", "otto");
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining("--approvers FILE") });
  });

  it("is named by `sessions`, and not listed as completed", async () => {
    const { sessionId, state, trust } = await forged();
    const text = await run("sessions", ...trust);
    expect(text).toMatchObject({ code: 1, stdout: expect.stringContaining("1 session can't be shown:") });
    expect(text.stdout).toContain(
      `${sessionId}: phase 1 was passed on an approval by ann that this host does not accept`,
    );
    const json = JSON.parse((await run("sessions", ...trust, "--status", "completed", "--json")).stdout);
    expect(json).toMatchObject({ count: 0, sessions: [], broken: [{ sessionId, code: "APPROVAL_REFUSED" }] });
    const unchecked = await run("sessions", "--state", state);
    expect(unchecked).toMatchObject({ code: 0, stdout: expect.stringContaining("completed") });
  });

  it("is shown by `show` as before the approval", async () => {
    const { sessionId, state, trust } = await forged();
    const text = await run("show", sessionId, ...trust);
    expect(text.code).toBe(1);
    expect(text.stdout).toMatch(/status {4}active\n {2}phase {5}1 of 1: Phase 1\n/);
    expect(text.stdout).toMatch(/approval {2}phase 1 was passed on an approval by ann that this host does not accept/);
    expect(text.stdout).not.toContain("completed");
    const json = JSON.parse((await run("show", sessionId, ...trust, "--json")).stdout);
    expect(json).toMatchObject({ status: "active", unapproved: { by: "ann" }, phases: [{ status: "current" }] });
    expect((await run("show", sessionId, "--state", state)).stdout).toMatch(/status {4}Done/);
  });
});
