import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { signApproval } from "phasegate/approval";
import { createVerifiers } from "phasegate/verify";
import { describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { run } from "./run-cli.js";
import { waitingSession } from "./waiting-session.js";

describe("phasegate approve", () => {
  it("shows the request, signs the answer, and lets the session continue", async () => {
    const { state, sessionId, keyFile, approvers, evidenceHash, standing, engine } = await waitingSession();
    const args = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers, "--note", "fine"];
    const { code, stdout } = await run("approve", sessionId, ...args, "--yes", "--evidence-hash", evidenceHash);
    expect(stdout).toContain("  │ Is the plan good enough to build?\n");
    expect(stdout).toContain("  │ tests_pass: true\n");
    expect(stdout).toContain("Claims of the agent that no check has looked at\n  │ tests_pass\n");
    expect(stdout).toContain(`  evidence  ${evidenceHash}\n`);
    expect(stdout).toMatch(/\nApproved by ann: phase 1 has passed, phase 2 is next.\n$/);
    expect(code).toBe(0);
    expect(await standing()).toMatchObject({ currentPhase: 2, awaitingApproval: false });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
    const again = await run("approve", sessionId, ...args, "--yes", "--evidence-hash", evidenceHash);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining("waits for no approval: it is active") });
  });

  it("warns if the next phase has a check that needs a snapshot, and --project is missing", async () => {
    const project = await temporaryFolder();
    const change = (text: string) => writeFile(join(project, "a.ts"), text);
    const gate =
      "evidence_schema: {done: {type: boolean}}\nverify: {verifier: changed_since_phase_start, path: a.ts}\n";
    const more = {
      files: { "phases/2/gate-definition.yaml": gate },
      verifiers: await createVerifiers({ projectRoot: project }),
    };
    const approve = async (args: readonly string[]) => {
      const { state, sessionId, keyFile, approvers, evidenceHash, engine } = await waitingSession({}, undefined, more);
      const flags = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers, "--yes", ...args];
      const { stdout } = await run("approve", sessionId, ...flags, "--evidence-hash", evidenceHash);
      const submit = () => engine.session(sessionId).completePhase(2, { done: true });
      return { stdout, engine, sessionId, submit };
    };
    await change("before");
    const blind = await approve([]);
    expect(blind.stdout).toContain(
      "Phase 2 checks files against their state at its start, which was not recorded without --project",
    );
    await change("after");
    expect(JSON.stringify(await blind.submit())).toContain("nothing was recorded; retry_phase records it again");
    await blind.engine.session(blind.sessionId).retryPhase(2, { as: "agent" });
    await change("after that");
    expect(await blind.submit()).toMatchObject({ passed: true });
    const seeing = await approve(["--project", project]);
    expect(seeing.stdout).toMatch(/phase 2 is next\.\n$/);
    await change("at last");
    expect(await seeing.submit()).toMatchObject({ passed: true });
    vi.stubEnv("PHASEGATE_PROJECT", project);
    expect((await approve([])).stdout).toMatch(/phase 2 is next\.\n$/);
  });

  it("warns about a later phase, too, that compares with the end of the approved one", async () => {
    const gate =
      "evidence_schema: {done: {type: boolean}}\nverify: {verifier: unchanged_since_phase_start, path: a.ts, since: {phase: 1}}\n";
    const project = await temporaryFolder();
    const { state, sessionId, keyFile, approvers, evidenceHash } = await waitingSession({}, undefined, {
      files: { "phases/3/gate-definition.yaml": gate },
      verifiers: await createVerifiers({ projectRoot: project }),
    });
    const flags = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers, "--yes"];
    const { stdout } = await run("approve", sessionId, ...flags, "--evidence-hash", evidenceHash);
    expect(stdout).toContain(
      "Phase 3 checks files against their state at the end of phase 1, which was not recorded without --project",
    );
  });

  it("denies with a note", async () => {
    const { state, sessionId, keyFile, approvers, evidenceHash, standing } = await waitingSession();
    const args = [sessionId, "--state", state, "--key", await keyFile("bob"), "--approvers", approvers];
    const sure = ["--yes", "--evidence-hash", evidenceHash];
    expect(await run("deny", ...args, ...sure)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("a denial needs a note"),
    });
    const { code, stdout } = await run("deny", ...args, ...sure, "--note", "no tests of failures");
    expect(stdout).toMatch(/\nDenied by bob: phase 1 needs to be fixed, 2 attempts left.\n$/);
    expect(code).toBe(0);
    expect(await standing()).toMatchObject({ currentPhase: 1, denied: { by: "bob", note: "no tests of failures" } });
  });

  it("denies by the server's limits: the last attempt fails the session", async () => {
    const { state, sessionId, keyFile, approvers, evidenceHash, standing } = await waitingSession();
    const args = [sessionId, "--state", state, "--key", await keyFile("bob"), "--approvers", approvers];
    const sure = ["--yes", "--evidence-hash", evidenceHash, "--note", "no tests", "--max-attempts", "1"];
    expect((await run("deny", ...args, ...sure)).stdout).toMatch(/\nDenied by bob: .*\n$/);
    expect(await standing()).toMatchObject({ status: "failed" });
  });

  it("is refused without a terminal and without --yes", async () => {
    const { state, sessionId, keyFile, approvers, standing, evidenceHash } = await waitingSession();
    const rest = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers];
    const args = ["approve", sessionId, ...rest];
    const nobody = await run("approve", "nobody", ...rest);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("nobody") });
    expect(nobody.stderr).not.toContain("terminal");
    expect(await run(...args)).toMatchObject({ code: 2, stderr: expect.stringContaining("this is not a terminal") });
    expect(await run(...args, "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("needs --evidence-hash"),
    });
    const other = await run(...args, "--yes", "--evidence-hash", "0".repeat(64));
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("the session waits on other evidence") });
    const request = ["--request", "0".repeat(64)];
    expect(await run(...args, "--yes", ...request)).toMatchObject({ code: 2 });
    expect(await run(...args, "--yes", "--evidence-hash", evidenceHash, ...request)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the session waits on evidence, not on a request for a waiver"),
    });
    // The error for a wrong hash does not contain the right one: `phasegate show` prints it.
    expect(other.stderr).not.toContain(evidenceHash);
    expect(other.stderr).toContain(`phasegate show ${sessionId}`);
    expect((await run("show", sessionId, "--state", state)).stdout).toContain(`  evidence  ${evidenceHash}\n`);
    expect(await standing()).toMatchObject({ awaitingApproval: true, version: 2 });
  });

  it("refuses the key of another person, under any name", async () => {
    const { state, sessionId, keyFile, approvers, evidenceHash, standing, keys } = await waitingSession();
    const eve = await keyFile("eve");
    const args = ["approve", sessionId, "--state", state, "--key", eve, "--yes", "--evidence-hash", evidenceHash];
    expect(await run(...args, "--approvers", approvers)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not one of the approvers' keys"),
    });
    expect(await run(...args, "--approvers", approvers, "--by", "ann")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is not by ann"),
    });
    const named = await run(...args, "--approver", `eve=${keys.eve.publicKey}`);
    expect(named).toMatchObject({ code: 1, stderr: expect.stringContaining("is not an approver of") });
    expect(await standing()).toMatchObject({ awaitingApproval: true, version: 2 });
  });

  it("writes an approval with a forged --approver, but the server refuses it", async () => {
    const { state, sessionId, keyFile, evidenceHash, engine, keys } = await waitingSession();
    const forged = ["--approver", `ann=${keys.eve.publicKey}`, "--yes", "--evidence-hash", evidenceHash];
    expect((await run("approve", sessionId, "--state", state, "--key", await keyFile("eve"), ...forged)).code).toBe(0);
    await expect(engine.session(sessionId).phase()).rejects.toThrow(
      "an approval by ann that this host does not accept",
    );
  });

  it("refuses a key file that others can read, and one without a key", async ({ skip }) => {
    skip(process.platform === "win32", "Windows has no such permissions");
    const { root, state, sessionId, keyFile, approvers, evidenceHash } = await waitingSession();
    const ann = await keyFile("ann");
    await chmod(ann, 0o644);
    const args = [
      "approve",
      sessionId,
      "--state",
      state,
      "--approvers",
      approvers,
      "--yes",
      "--evidence-hash",
      evidenceHash,
    ];
    const open = await run(...args, "--key", ann);
    expect(open).toMatchObject({ code: 3, stderr: expect.stringContaining(`hint: Run chmod 600 ${ann} first.`) });
    await writeFile(join(root, "none.pem"), "secret words", { mode: 0o600 });
    const none = await run(...args, "--key", join(root, "none.pem"));
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("not an Ed25519 private key") });
    expect(none.stderr).not.toContain("secret words");
    expect((await run(...args, "--key", join(root, "nowhere.pem"))).code).toBe(3);
  });

  it("escapes control characters of evidence, and marks each of its lines", async () => {
    const evil = "\u001b[2J\u001b]0;x\u0007\u202eok\nApproved by ann: phase 1 has passed.\n[y/N] y";
    const { state, sessionId, keyFile, approvers, evidenceHash } = await waitingSession({ summary: evil, [evil]: 1 });
    const args = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers];
    const { stdout } = await run("approve", sessionId, ...args, "--yes", "--evidence-hash", evidenceHash);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    const claims = stdout.split("\n").filter((line) => line.includes("Approved by ann: phase 1 has passed."));
    expect(claims.filter((line) => !line.startsWith("  │ "))).toEqual([]);
  });

  it("shows invisible characters as escapes: in an approval, in `show` and in JSON", async () => {
    const hidden = "\u061c\u00ad\u{e0041}\u{e007f}\u200b\u2028\u202e\u2066\ufe0f\u3164\u180e\u009b\ufeff";
    const { state, sessionId, keyFile, approvers, evidenceHash } = await waitingSession({ summary: `a${hidden}b` });
    const args = ["--state", state, "--key", await keyFile("ann"), "--approvers", approvers, "--note", hidden];
    const screens = [
      await run("show", sessionId, "--state", state, "--json"),
      await run("approve", sessionId, ...args, "--by", "nobody", "--yes", "--evidence-hash", evidenceHash),
      await run(
        "approve",
        sessionId,
        ...args.slice(0, -2),
        "--note",
        `ok${hidden}`,
        "--yes",
        "--evidence-hash",
        evidenceHash,
      ),
      await run("show", sessionId, "--state", state),
      await run("show", sessionId, "--state", state, "--json"),
    ];
    for (const { stdout, stderr } of screens) {
      expect(`${stdout}${stderr}`).not.toMatch(/[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Zl}]|[^\P{Cc}\n]/u);
    }
    expect(screens[2]?.stdout).toContain('summary: "a\\u061c\\u00ad\\udb40\\udc41\\udb40\\udc7f\\u200b\\u2028');
    expect(screens[2]?.code).toBe(0);
    expect(JSON.parse(screens[4]?.stdout ?? "")).toMatchObject({ sessionId });
  });

  it("shows the start of long evidence, and all of it with --full", async () => {
    const { state, sessionId, keyFile, approvers, evidenceHash } = await waitingSession({ log: "x".repeat(50_000) });
    const args = [
      "--state",
      state,
      "--key",
      await keyFile("ann"),
      "--approvers",
      approvers,
      "--evidence-hash",
      evidenceHash,
    ];
    const refused = ["--by", "nobody", "--yes"];
    const short = await run("approve", sessionId, ...args, ...refused);
    expect(short.stdout).toContain("… --full shows all ");
    expect(short.stdout.length).toBeLessThan(10_000);
    const full = await run("approve", sessionId, ...args, ...refused, "--full");
    expect(full.stdout).toContain("x".repeat(50_000));
  });

  it("explains what is wrong with --approvers", async () => {
    const { root, state, sessionId, keyFile } = await waitingSession();
    const args = [
      "approve",
      sessionId,
      "--state",
      state,
      "--key",
      await keyFile("ann"),
      "--yes",
      "--evidence-hash",
      "x",
    ];
    for (const [text, message] of [
      ["{", "is not a file of approvers"],
      ['{"ann": 1}', 'approvers."ann" is no Ed25519 public key'],
      ["[]", "is not a file of approvers"],
    ] as const) {
      await writeFile(join(root, "bad.json"), text);
      const refused = await run(...args, "--approvers", join(root, "bad.json"));
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
    }
    expect(await run(...args, "--approvers", join(root, "nowhere.json"))).toMatchObject({ code: 3 });
    expect(await run(...args, "--approver", "ann")).toMatchObject({ code: 2 });
    const key = await run(...args, "--approver", "ann=ed25519:x", "--by", "ann");
    expect(key).toMatchObject({ code: 2, stderr: expect.stringContaining("is no Ed25519 public key") });
  });

  it("reports a missing session", async () => {
    const { state, keyFile, approvers } = await waitingSession();
    const args = [
      "--state",
      state,
      "--key",
      await keyFile("ann"),
      "--approvers",
      approvers,
      "--yes",
      "--evidence-hash",
      "x",
    ];
    expect(await run("approve", "nobody", ...args)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no session nobody"),
    });
  });
});

describe("phasegate show", () => {
  it("names the approvers that a session waits for", async () => {
    const { state, sessionId, evidenceHash } = await waitingSession();
    const { stdout } = await run("show", sessionId, "--state", state);
    expect(stdout).toContain("  question  Is the plan good enough to build?\n");
    const json = JSON.parse((await run("show", sessionId, "--state", state, "--json")).stdout);
    expect(json.awaiting).toEqual({
      prompt: "Is the plan good enough to build?",
      approvers: ["ann", "bob"],
      evidenceHash,
    });
  });

  it("needs the hash key of the log", async () => {
    const { state, sessionId, hashKeyFile } = await waitingSession({}, "k".repeat(32));
    expect(await run("show", sessionId, "--state", state)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("was changed"),
    });
    expect((await run("show", sessionId, "--state", state, "--hash-key-file", hashKeyFile)).code).toBe(0);
  });
});

describe("phasegate waive", () => {
  /** A session of which Ann or Bob must decide a waiver, and flags for a person with that key. */
  const waiting = async () => {
    const made = await waitingSession();
    const { engine, sessionId, keys, approvers, state, keyFile } = made;
    const { evidenceHash } = made;
    const note = "first say what can't be done";
    const question = await engine.session(sessionId).approval();
    if (question === undefined) throw new Error("nothing waits");
    const signature = await signApproval(question, {
      decision: "deny",
      by: "ann",
      note,
      privateKey: keys.ann.privateKey,
    });
    await engine.session(sessionId).deny({ by: "ann", note, evidenceHash, signature });
    const asked = await engine
      .session(sessionId)
      .requestWaiver(1, { fields: ["tests_pass"], reason: "there are none" });
    const flags = async (name: "ann" | "eve") => [
      ...["--state", state, "--key", await keyFile(name), "--approvers", approvers],
      ...["--yes", "--request", asked.request],
    ];
    return { ...made, asked, flags };
  };

  it("shows the request, signs the answer, and the gate asks for the rest", async () => {
    const { engine, sessionId, flags } = await waiting();
    const { code, stdout } = await run("waive", sessionId, ...(await flags("ann")), "--note", "fine");
    expect(stdout).toContain("To be waived\n  │ tests_pass: all of them\n");
    expect(stdout).toContain("Reason\n  │ there are none\n");
    expect(stdout).toMatch(/approvers +ann, bob\n/);
    expect(code).toBe(0);
    const { waived } = await engine.session(sessionId).state();
    expect(waived).toMatchObject([{ by: "ann", note: "fine", authenticated: true }]);
  });

  it("is refused with a foreign key, without a key where approvers are named, and without the request's hash", async () => {
    const { sessionId, flags, state, asked } = await waiting();
    expect(await run("waive", sessionId, ...(await flags("eve")))).toMatchObject({ code: 2 });
    const byName = ["--state", state, "--by", "ann", "--yes"];
    expect(await run("waive", sessionId, ...byName, "--request", asked.request)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("this decision must be signed"),
    });
    expect(await run("waive", sessionId, ...byName)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes needs --request"),
    });
    expect(await run("waive", sessionId, ...byName, "--request", "0".repeat(64))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("the session waits on another request than the given hash"),
    });
    expect(await run("deny", sessionId, ...byName, "--note", "no")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--yes needs --evidence-hash or --request"),
    });
    const evidence = ["--evidence-hash", "0".repeat(64)];
    for (const other of [evidence, [...evidence, "--request", asked.request]]) {
      expect(await run("deny", sessionId, ...byName, "--note", "no", ...other)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("the session waits on a request for a waiver, not on evidence"),
      });
    }
    expect(await run("waive", sessionId, "--state", state)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("this decision must be signed"),
    });
  });

  it("finds nothing to waive in a session that waits for an approval", async () => {
    const { state, sessionId } = await waitingSession();
    const flags = ["--state", state, "--by", "ann", "--yes", "--request", "0".repeat(64)];
    expect(await run("waive", sessionId, ...flags)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("waits for no waiver: it is active, in phase 1"),
    });
  });
});
