import type { EngineNotifications, SessionId } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { makeAsking } from "../../support/approvals.js";
import { failure } from "../../support/failure.js";
import { makeEngine } from "../../support/make-engine.js";

describe("a session at a gate that requires an approval", () => {
  it("waits with complete evidence, and returns the question", async () => {
    const { engine, start, submit } = await makeAsking();
    const sessionId = await start();
    const answer = await submit(sessionId);
    expect(answer).toMatchObject({
      passed: false,
      problems: [],
      attempt: 1,
      attemptsLeft: 3,
      status: "active",
      awaiting: { phase: 1, prompt: "Is the plan good enough to build?", approvers: ["ann", "bob"] },
    });
    const state = await engine.session(sessionId).state();
    expect(state).toMatchObject({ status: "active", awaitingApproval: true, completedPhases: [] });
    if (answer.passed) throw new Error("it passed");
    expect(state.awaiting).toEqual(answer.awaiting);
    expect((await engine.session(sessionId).phase()).awaiting).toEqual(answer.awaiting);
    expect(await engine.approvals()).toEqual([answer.awaiting]);
    expect(state.hash).toBe(answer.awaiting?.request);
  });

  it("does not ask for an approval of evidence that fails", async () => {
    const { engine, start } = await makeAsking();
    const sessionId = await start();
    const refused = await engine.session(sessionId).completePhase(1, { tests_pass: false });
    expect(refused).toMatchObject({ passed: false, problems: [{ problem: "claimed_false" }] });
    expect(refused).toMatchObject({ awaiting: undefined });
    expect(await engine.session(sessionId).approval()).toBeUndefined();
    expect(await engine.approvals()).toEqual([]);
  });

  it("shows the approver the evidence, the warnings and the target", async () => {
    const { waiting, evidence, start } = await makeAsking();
    await start();
    const { question } = await waiting();
    expect(question).toMatchObject({ evidence, warnings: [], target: "src/a.ts", unsignedAllowed: false });
  });

  it("continues after a signed approval, with the evidence as its artifact", async () => {
    const { engine, waiting, signed, submit, evidence } = await makeAsking();
    const { sessionId } = await waiting();
    const answer = await engine.session(sessionId).approve(await signed(sessionId, { note: "well done" }));
    expect(answer).toMatchObject({
      passed: true,
      phase: 1,
      attempt: 1,
      by: "ann",
      authenticated: true,
      evidenceAccepted: ["tests_pass"],
      nextPhase: { number: 2 },
    });
    const state = await engine.session(sessionId).fullState();
    expect(state).toMatchObject({
      awaitingApproval: false,
      currentPhase: 2,
      artifacts: [{ phase: 1, artifact: evidence }],
    });
    expect(state.awaiting).toBeUndefined();
    await submit(sessionId, 2);
    expect(await engine.session(sessionId).approve(await signed(sessionId))).toMatchObject({
      nextPhase: { number: 3 },
    });
    expect(await engine.session(sessionId).completePhase(3, {})).toMatchObject({ nextPhase: null });
  });

  it("stays in its phase after a denial, which says what to fix", async () => {
    const { engine, waiting, signed, submit } = await makeAsking();
    const { sessionId } = await waiting();
    const no = await signed(sessionId, { decision: "deny", note: "no rollback plan" });
    expect(await engine.session(sessionId).deny({ ...no, note: "no rollback plan" })).toMatchObject({
      passed: false,
      problems: [{ problem: "denied", message: "ann denied the approval: no rollback plan" }],
      attemptsLeft: 2,
      by: "ann",
    });
    expect(await engine.session(sessionId).state()).toMatchObject({
      awaitingApproval: false,
      denied: { by: "ann", note: "no rollback plan", authenticated: true },
      head: { attempts: 1 },
    });
    expect(await engine.session(sessionId).errors()).toMatchObject([{ phase: 1, problems: [{ problem: "denied" }] }]);
    await submit(sessionId, 1, { more: 1 });
    expect((await engine.session(sessionId).state()).denied).toBeUndefined();
  });

  it("returns the same answer for the same evidence, without another question", async () => {
    const { engine, waiting, question } = await makeAsking();
    const { sessionId, question: first } = await waiting();
    const again = await engine.session(sessionId).completePhase(1, { tests_pass: true });
    expect(again).toMatchObject({ replayed: true, attempt: 1, awaiting: { request: first.request } });
    expect(await question(sessionId)).toEqual(first);
    expect((await engine.session(sessionId).state()).version).toBe(2);
  });

  it("asks again for other evidence, and refuses an approval of the first", async () => {
    const { engine, waiting, signed, submit } = await makeAsking();
    const { sessionId } = await waiting();
    const old = await signed(sessionId);
    expect(await submit(sessionId, 1, { note: "and more" })).toMatchObject({ replayed: false, awaiting: {} });
    const refused = await failure(engine.session(sessionId).approve(old));
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "other_evidence" } });
    expect(await engine.session(sessionId).approve(await signed(sessionId))).toMatchObject({ passed: true });
  });

  it("stores long evidence outside of the log, and returns it", async () => {
    const { engine, start, signed, submit } = await makeAsking();
    const sessionId = await start();
    await submit(sessionId, 1, { report: "x".repeat(100_000) });
    expect(await engine.session(sessionId).approve(await signed(sessionId))).toMatchObject({
      evidenceAccepted: ["tests_pass", "report"],
    });
    expect((await engine.session(sessionId).fullState()).artifacts[0]?.artifact).toHaveProperty(
      "report.length",
      100_000,
    );
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true });
  });

  it("merges new evidence over the submitted one if a retry withdrew the question", async () => {
    const { engine, start, submit } = await makeAsking();
    const sessionId = await start();
    await engine.session(sessionId).completePhase(1, {});
    await submit(sessionId);
    await engine.session(sessionId).retryPhase(1, { resetEvidence: false });
    expect(await engine.session(sessionId).approval()).toBeUndefined();
    expect(await engine.session(sessionId).completePhase(1, { extra: 1 })).toMatchObject({ awaiting: {} });
    expect((await engine.session(sessionId).approval())?.evidence).toEqual({ tests_pass: true, extra: 1 });
  });

  it("notifies the host of questions, approvals and denials, in order", async () => {
    const { engine, waiting, signed } = await makeAsking();
    const news: unknown[] = [];
    const names = [
      "approvalRequested",
      "approved",
      "denied",
      "gatePassed",
      "gateFailed",
    ] satisfies (keyof EngineNotifications)[];
    for (const name of names) engine.on(name, (payload) => void news.push([name, payload]));
    const { sessionId } = await waiting();
    await engine
      .session(sessionId)
      .deny({ ...(await signed(sessionId, { decision: "deny", note: "no" })), note: "no" });
    await engine.session(sessionId).completePhase(1, { tests_pass: true });
    await engine.session(sessionId).approve(await signed(sessionId));
    expect(news).toMatchObject([
      [
        "approvalRequested",
        { sessionId, phase: 1, prompt: "Is the plan good enough to build?", approvers: ["ann", "bob"] },
      ],
      ["denied", { by: "ann", note: "no", authenticated: true }],
      ["gateFailed", { phase: 1 }],
      ["approvalRequested", { attempt: 2 }],
      ["approved", { phase: 1, by: "ann" }],
      ["gatePassed", { phase: 1 }],
    ]);
  });

  it("lists waiting sessions, the newest first, without paused and damaged ones", async () => {
    const { engine, waiting, clock, storage } = await makeAsking();
    const first = await waiting();
    clock.advance(1000);
    const second = await waiting();
    clock.advance(1000);
    const third = await waiting();
    await engine.session(third.sessionId).pause();
    const ids = async () => (await engine.approvals()).map(({ sessionId }) => sessionId);
    expect(await ids()).toEqual([second.sessionId, first.sessionId]);
    const read = storage.read.bind(storage);
    storage.read = async (id: SessionId) => {
      const commit = await read(id);
      return id === first.sessionId && commit !== undefined ? { ...commit, hash: "0".repeat(64) } : commit;
    };
    const security: unknown[] = [];
    engine.on("security", (payload) => void security.push(payload));
    expect(await ids()).toEqual([second.sessionId]);
    expect(security).toMatchObject([{ operation: "listApprovals", code: "TAMPERED" }]);
  });
});

describe("approver keys", () => {
  it("are refused by createEngine if they are invalid", async () => {
    const { publicKey } = await createApproverKeys();
    for (const key of ["", "ed25519:", publicKey.slice(0, -1), `${publicKey}A`, publicKey.replace("ed25519", "rsa")]) {
      expect(() => makeEngine({ approvers: { ann: key } }), key).toThrow("is no Ed25519 public key");
    }
    expect(() => makeEngine({ approvers: { " ": publicKey } })).toThrow("has a name that is blank");
  });

  it("cannot sign if they are invalid, and are not quoted in the error", async () => {
    const { waiting } = await makeAsking();
    const { question } = await waiting();
    const garbage = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n";
    for (const privateKey of ["", "secret", garbage]) {
      const refused = await failure(signApproval(question, { decision: "approve", by: "ann", privateKey }));
      expect(refused.code).toBe("INVALID_INPUT");
      expect(refused.message).not.toContain("secret");
    }
  });
});
