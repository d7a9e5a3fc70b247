import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { run } from "./run-cli.js";
import { waitingSession } from "./waiting-session.js";

/** Returns the file of a commit of the only session in a folder. */
async function commitFile(state: string, version: number): Promise<string> {
  const files = await readdir(state, { recursive: true });
  const found = files.find((file) => new RegExp(`(^|[/\\\\])0*${version}\\.json$`).test(file));
  if (found === undefined) throw new Error(`no commit ${version} among ${files.join(", ")}`);
  return join(state, found);
}

/** Creates a session that Ann has approved into its second phase. */
async function approved(hashKey?: string) {
  const made = await waitingSession({}, hashKey);
  const { sessionId, state, approvers, evidenceHash, hashKeyFile } = made;
  const trust = ["--approvers", approvers, ...(hashKey === undefined ? [] : ["--hash-key-file", hashKeyFile])];
  const word = ["--key", await made.keyFile("ann"), "--yes", "--evidence-hash", evidenceHash];
  const done = await run("approve", sessionId, "--state", state, ...trust, ...word);
  expect(done.stderr).toBe("");
  return { ...made, trust, audit: (...args: string[]) => run("audit", sessionId, "--state", state, ...args) };
}

describe("phasegate audit", () => {
  it("reports that a log is intact, and which approvals are accepted", async () => {
    const { audit, trust } = await approved();
    const { code, stdout } = await audit(...trust);
    expect(stdout).toMatch(
      /^intact: 3 commits, the newest is [0-9a-f]{64}\n {2}phase 1 approved by ann, .*, commit 3: signed, accepted\n$/,
    );
    expect(code).toBe(0);
    const unchecked = await audit();
    expect(unchecked).toMatchObject({ code: 0, stdout: expect.stringContaining("not checked: no approvers given") });
    const json = JSON.parse((await audit(...trust, "--json")).stdout);
    expect(json).toMatchObject({
      intact: true,
      versions: 3,
      approvals: [{ phase: 1, by: "ann", authenticated: true }],
    });
  });

  it("detects an approval with another person's key", async () => {
    const { audit, keys } = await approved();
    const { code, stdout } = await audit("--approver", `ann=${keys.eve.publicKey}`);
    expect(stdout).toContain("commit 3: signed, NOT accepted: signature");
    expect(code).toBe(1);
  });

  it("detects a log that was edited", async () => {
    const { audit, state, trust, standing } = await approved();
    const file = await commitFile(state, 2);
    await writeFile(file, (await readFile(file, "utf8")).replace("tests_pass", "tests_fail"));
    const { code, stdout } = await audit(...trust);
    expect(stdout).toMatch(/^changed: commit 2 of session .* was changed: .*\n {2}the first 1 commits are intact\n$/);
    expect(code).toBe(1);
    // The evidence that Ann was asked about is unreadable, so a server cannot check her approval.
    await expect(standing()).rejects.toMatchObject({ code: "TAMPERED" });
  });

  it("detects a truncated log with a receipt that was kept elsewhere", async () => {
    const { audit, state, root, sessionId, engine } = await approved();
    // An open engine writes `head` after its answer.
    await engine.close();
    const receipt = join(root, "receipt.json");
    expect((await audit("--write-receipt", receipt)).code).toBe(0);
    expect(JSON.parse(await readFile(receipt, "utf8"))).toEqual({ sessionId, version: 3, hash: expect.any(String) });
    expect(await audit("--receipt", receipt)).toMatchObject({ code: 0 });
    await rm(await commitFile(state, 3));
    const noticed = {
      code: 1,
      stdout: expect.stringContaining("names commit 3 as one of the session's, and it is missing"),
    };
    expect(await audit()).toMatchObject(noticed);
    await rm(join(await commitFile(state, 2), "..", "head"));
    expect(await audit()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^intact: 2 commits/) });
    const cut = await audit("--receipt", receipt);
    expect(cut).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("the commit of the receipt is not in the log"),
    });
  });

  it("needs the hash key of the log, without which nobody can write to it", async () => {
    const { audit, trust, sessionId, state, approvers, keyFile, engine } = await approved("k".repeat(40));
    expect(await audit(...trust)).toMatchObject({ code: 0 });
    expect(await audit()).toMatchObject({ code: 1, stdout: expect.stringContaining("changed: commit 1") });
    const word = ["--key", await keyFile("ann"), "--yes", "--evidence-hash", "x"];
    const without = await run("approve", sessionId, "--state", state, "--approvers", approvers, ...word);
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining("was changed") });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
  });

  it("refuses an invalid receipt, and one of another session", async () => {
    const { audit, root } = await approved();
    const file = join(root, "receipt.json");
    for (const [text, message] of [
      ["{", "is not a receipt"],
      ['{"version":0,"hash":""}', "is not a receipt"],
      ['{"sessionId":"other","version":1,"hash":""}', "of another session"],
    ] as const) {
      await writeFile(file, text);
      expect(await audit("--receipt", file)).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    }
    expect((await audit("--receipt", join(root, "nowhere"))).code).toBe(3);
    expect((await audit("--write-receipt", join(root, "no", "where"))).code).toBe(3);
    const key = join(root, "short.key");
    await writeFile(key, "short", { mode: 0o600 });
    expect(await audit("--hash-key-file", key)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("fewer than 32"),
    });
  });
});
