import { type EngineNotifications, MemoryStorage } from "phasegate";
import { createApproverKeys } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { commitHash } from "../../../src/log/commit.js";
import type { ApproveRequest } from "../../../src/phased/approval/requests.js";
import { AlteredStorage } from "../../log/altered-storage.js";
import { makeAsking } from "../../support/approvals.js";
import { failure } from "../../support/failure.js";
import { submitTo } from "../../support/submit.js";

type Asking = Awaited<ReturnType<typeof makeAsking>>;

/** Expects that an approval is refused, that nothing is changed and that the host is notified; returns the reason. */
async function expectForged(made: Asking, sessionId: string, request: ApproveRequest) {
  const { engine } = made;
  const before = await engine.session(sessionId).state();
  const heard: unknown[] = [];
  const stop = engine.on("security" satisfies keyof EngineNotifications, (payload) => void heard.push(payload));
  const refused = await failure(engine.session(sessionId).approve(request));
  stop();
  expect(refused.code).toBe("APPROVAL_REFUSED");
  expect(heard).toMatchObject([{ operation: "approve", code: "APPROVAL_REFUSED" }]);
  expect(await engine.session(sessionId).state()).toEqual(before);
  return refused.code === "APPROVAL_REFUSED" ? refused.details.reason : undefined;
}

describe("an approval is refused", () => {
  it("that is not signed", async () => {
    const made = await makeAsking();
    const { sessionId, question } = await made.waiting();
    const request = { by: "ann", evidenceHash: question.evidenceHash };
    expect(await expectForged(made, sessionId, request)).toBe("unsigned");
  });

  it("that another person signed with an approver's name", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    for (const { privateKey } of [made.keys.eve, made.keys.bob]) {
      expect(await expectForged(made, sessionId, await made.signed(sessionId, { privateKey }))).toBe("signature");
    }
  });

  it("by an approver of the host whom the gate does not name", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    const cat = { by: "cat", privateKey: made.keys.cat.privateKey };
    expect(await expectForged(made, sessionId, await made.signed(sessionId, cat))).toBe("not_an_approver");
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    await made.submit(sessionId, 2);
    expect(await made.engine.session(sessionId).approve(await made.signed(sessionId, cat))).toMatchObject({
      by: "cat",
    });
  });

  it("by a person unknown to the host, or with the name of an object's built-in property", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    await made.submit(sessionId, 2);
    for (const by of ["eve", "Ann", "ann ", "__proto__", "constructor", "toString"]) {
      const word = await made.signed(sessionId, { by, privateKey: made.keys.eve.privateKey });
      expect(await expectForged(made, sessionId, word), by).toBe("unknown_approver");
    }
  });

  it("of evidence that is not the waiting one", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    const word = await made.signed(sessionId);
    for (const evidenceHash of ["", "0".repeat(64), word.evidenceHash.toUpperCase()]) {
      expect(await expectForged(made, sessionId, { ...word, evidenceHash })).toBe("other_evidence");
    }
  });

  it("of evidence that was changed after signing", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    const word = await made.signed(sessionId);
    await made.submit(sessionId, 1, { but: "this is not what was seen" });
    expect(await expectForged(made, sessionId, word)).toBe("other_evidence");
    const { evidenceHash } = await made.question(sessionId);
    expect(await expectForged(made, sessionId, { ...word, evidenceHash })).toBe("signature");
  });

  it("that was used before, for the same evidence in the same phase, after a rollback", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    const first = await made.signed(sessionId);
    await made.engine.session(sessionId).approve(first);
    await made.submit(sessionId, 2);
    const second = await made.signed(sessionId);
    await made.engine.session(sessionId).rollback(1);
    await made.submit(sessionId);
    expect(await expectForged(made, sessionId, first)).toBe("signature");
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    await made.submit(sessionId, 2);
    for (const word of [first, second]) expect(await expectForged(made, sessionId, word)).toBe("signature");
  });

  it("that was signed for another session with the same evidence", async () => {
    const made = await makeAsking();
    const [one, other] = [await made.waiting(), await made.waiting()];
    expect(one.question.evidenceHash).toBe(other.question.evidenceHash);
    expect(await expectForged(made, other.sessionId, await made.signed(one.sessionId))).toBe("signature");
  });

  it("that differs from the signed text: another note, another time, an approval instead of a denial", async () => {
    const made = await makeAsking();
    const { sessionId } = await made.waiting();
    const word = await made.signed(sessionId, { note: "only behind a flag" });
    const signedAt = "2026-01-01T00:00:00.000Z";
    expect(await expectForged(made, sessionId, { ...word, note: "ship it" })).toBe("signature");
    const { note: _, ...without } = word;
    expect(await expectForged(made, sessionId, without)).toBe("signature");
    expect(await expectForged(made, sessionId, { ...word, signature: { ...word.signature, signedAt } })).toBe(
      "signature",
    );
    const no = await made.signed(sessionId, { decision: "deny", note: "no" });
    expect(await expectForged(made, sessionId, no)).toBe("signature");
  });

  it("with an invalid signature, even if the host accepts unsigned approvals", async () => {
    const made = await makeAsking({ allowUnsignedApprovals: true });
    const { sessionId } = await made.waiting();
    const word = await made.signed(sessionId);
    const { value, signedAt } = word.signature;
    for (const forged of ["", "x", "A".repeat(86), `${value}A`, value.slice(0, -1), "ä".repeat(86)]) {
      const signature = { signedAt, value: forged };
      expect(await expectForged(made, sessionId, { ...word, signature }), forged).toBe("signature");
    }
  });

  it("for a session that is paused, failed or completed, or does not wait", async () => {
    const made = await makeAsking({ limits: { maxAttempts: 1 } });
    const { engine, waiting, signed, start } = made;
    const paused = await waiting();
    const word = await signed(paused.sessionId);
    await engine.session(paused.sessionId).pause();
    const refused = await failure(engine.session(paused.sessionId).approve(word));
    expect(refused).toMatchObject({ code: "INVALID_TRANSITION", details: { command: "approve", status: "paused" } });
    await engine.session(paused.sessionId).resume();
    expect(await engine.session(paused.sessionId).approve(word)).toMatchObject({ passed: true });

    const failed = await waiting();
    const late = await signed(failed.sessionId);
    await engine.session(failed.sessionId).deny({
      ...(await signed(failed.sessionId, { decision: "deny", note: "no" })),
      note: "no",
    });
    expect(await failure(engine.session(failed.sessionId).approve(late))).toMatchObject({
      message: "ann has denied that already in phase 1",
    });
    const other = { ...late, evidenceHash: "x" };
    expect(await failure(engine.session(failed.sessionId).approve(other))).toMatchObject({
      details: { status: "failed" },
    });

    await engine.session(failed.sessionId).overrideGate(1, { by: "host", note: "seen" });
    await engine.session(failed.sessionId).overrideGate(2, { by: "host", note: "seen" });
    await engine.session(failed.sessionId).completePhase(3, {});
    expect(await failure(engine.session(failed.sessionId).approve(other))).toMatchObject({
      details: { status: "completed" },
    });

    const nobody = await failure(engine.session(await start()).approve(late));
    expect(nobody).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "not_waiting" } });
    expect((await failure(engine.session("nobody_at_all").approve(late))).code).toBe("SESSION_NOT_FOUND");
  });

  it("without a name, and a denial without a note", async () => {
    const { engine, waiting } = await makeAsking();
    const { sessionId, question } = await waiting();
    const { evidenceHash } = question;
    for (const by of ["", " ", "x".repeat(201)]) {
      expect(await failure(engine.session(sessionId).approve({ by, evidenceHash }))).toMatchObject({
        details: { field: "by" },
      });
    }
    const silent = await failure(engine.session(sessionId).deny({ by: "ann", evidenceHash, note: " " }));
    expect(silent).toMatchObject({ code: "INVALID_INPUT", details: { field: "note" } });
  });
});

describe("of two concurrent decisions", () => {
  it("one is accepted, and the other is refused with the first one's name", async () => {
    const { engine, waiting, signed, keys } = await makeAsking();
    const { sessionId } = await waiting();
    const ann = await signed(sessionId);
    const note = "not like this";
    const bob = await signed(sessionId, { by: "bob", privateKey: keys.bob.privateKey, decision: "deny", note });
    const outcomes = await Promise.allSettled([
      engine.session(sessionId).approve(ann),
      engine.session(sessionId).deny({ ...bob, note }),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const lost = outcomes.find(({ status }) => status === "rejected");
    expect(lost).toMatchObject({ reason: { code: "APPROVAL_REFUSED", details: { reason: "not_waiting" } } });
    expect(String(lost?.status === "rejected" && lost.reason)).toMatch(/ann has approved|bob has denied/);
    expect((await engine.session(sessionId).state()).version).toBe(3);
  });

  it("a repeated one with a new signature is answered, after a crash between commit and answer", async () => {
    const { engine, waiting, signed } = await makeAsking();
    const { sessionId, question } = await waiting();
    const key = { idempotencyKey: "ann-approves" };
    const { evidenceHash } = question;
    const word = await signed(sessionId);
    const first = await engine.session(sessionId).approve({ ...word, ...key });
    const later = await signed(sessionId, { about: question, at: "2031-01-01T00:00:00.000Z" });
    const again = await engine.session(sessionId).approve({ ...later, ...key });
    expect(later.signature).not.toEqual(word.signature);
    expect(again).toEqual({ ...first, replayed: true });
    const other = await failure(engine.session(sessionId).approve({ by: "bob", evidenceHash, ...key }));
    expect(other.code).toBe("IDEMPOTENCY_KEY_REUSED");
  });

  it("a submission with the same key returns its first answer, even after the approval", async () => {
    const { engine, start, signed } = await makeAsking();
    const sessionId = await start();
    const request = { phase: 1, evidence: { tests_pass: true }, idempotencyKey: "k" };
    const first = await submitTo(engine.session(sessionId), request);
    await engine.session(sessionId).approve(await signed(sessionId));
    expect(await submitTo(engine.session(sessionId), request)).toEqual({
      ...first,
      replayed: true,
    });
  });
});

describe("unsigned approvals, if the host accepts them", () => {
  it("are recorded as not authenticated, and only from approvers of the gate", async () => {
    const { engine, waiting } = await makeAsking({ allowUnsignedApprovals: true });
    const { sessionId, question } = await waiting();
    const { evidenceHash, unsignedAllowed } = question;
    expect(unsignedAllowed).toBe(true);
    const stranger = await failure(engine.session(sessionId).approve({ by: "client user", evidenceHash }));
    expect(stranger).toMatchObject({ details: { reason: "not_an_approver" } });
    const answer = await engine.session(sessionId).approve({ by: "ann", evidenceHash });
    expect(answer).toMatchObject({ passed: true, by: "ann", authenticated: false });
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([{ by: "ann", authenticated: false }]);
  });
});

describe("an approval that another process has written", () => {
  /** Creates a session in its second phase, approved on an engine with another public key for Ann. */
  async function letThrough(mine: Partial<Parameters<typeof makeAsking>[0]> = {}) {
    const storage = new MemoryStorage();
    const theirs = await makeAsking({ storage, ...mine });
    const { sessionId } = await theirs.waiting();
    await theirs.engine.session(sessionId).approve(await theirs.signed(sessionId));
    return { storage, sessionId, theirs };
  }

  it("is refused if it was signed with the agent's own key", async () => {
    const { storage, sessionId } = await letThrough();
    const { engine, submit } = await makeAsking({ storage });
    const reasons = [
      await failure(engine.session(sessionId).phase()),
      await failure(engine.session(sessionId).phase(1)),
      await failure(submit(sessionId, 2)),
      await failure(engine.session(sessionId).retryPhase(2)),
    ];
    for (const refused of reasons) {
      expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { phase: 1, reason: "signature" } });
    }
    expect(reasons[0]?.message).toBe(
      "phase 1 was passed on an approval by ann that this host does not accept (signature)",
    );
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([
      { phase: 1, by: "ann", distrust: "signature" },
    ]);
  });

  it("can be replaced after a rollback by a new approval", async () => {
    const { storage, sessionId } = await letThrough();
    const { engine, submit, signed } = await makeAsking({ storage });
    expect(await engine.session(sessionId).rollback(1)).toMatchObject({ phase: { currentPhase: 1 } });
    await submit(sessionId);
    expect(await engine.session(sessionId).approve(await signed(sessionId))).toMatchObject({ passed: true });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
  });

  it("is not accepted by a rollback to a phase after it, which changes nothing", async () => {
    const { storage, sessionId, theirs } = await letThrough();
    await theirs.submit(sessionId, 2);
    await theirs.engine.session(sessionId).approve(await theirs.signed(sessionId));
    const { engine } = await makeAsking({ storage });
    const { version } = await engine.session(sessionId).state();
    expect((await failure(engine.session(sessionId).rollback(2))).code).toBe("APPROVAL_REFUSED");
    expect((await engine.session(sessionId).state()).version).toBe(version);
  });

  it("is accepted if its key is one of the host's approvers", async () => {
    const { storage, sessionId, theirs } = await letThrough();
    const { engine, submit } = await makeAsking({ storage, approvers: theirs.approvers });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
    expect(await submit(sessionId, 2)).toMatchObject({ awaiting: { phase: 2 } });
    expect((await engine.session(sessionId).audit()).approvals).toMatchObject([
      { phase: 1, by: "ann", authenticated: true },
    ]);
  });

  it("without a signature is accepted only if the host accepts unsigned approvals", async () => {
    const storage = new MemoryStorage();
    const theirs = await makeAsking({ storage, allowUnsignedApprovals: true });
    const { sessionId, question } = await theirs.waiting();
    await theirs.engine.session(sessionId).approve({ by: "ann", evidenceHash: question.evidenceHash });
    const { approvers } = theirs;
    const strict = await makeAsking({ storage, approvers });
    expect(await failure(strict.engine.session(sessionId).phase())).toMatchObject({ details: { reason: "unsigned" } });
    const lenient = await makeAsking({ storage, approvers, allowUnsignedApprovals: true });
    expect(await lenient.engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
  });

  it("is checked once: later calls read only new commits", async () => {
    const { theirs, sessionId, storage } = await letThrough();
    await theirs.engine.session(sessionId).phase();
    const reads: unknown[] = [];
    const log = storage.log.bind(storage);
    storage.log = (id, options) => {
      reads.push(options?.after);
      return log(id, options);
    };
    await theirs.engine.session(sessionId).phase();
    expect(reads).toEqual([]);
    await theirs.engine.session(sessionId).pause();
    await theirs.engine.session(sessionId).resume();
    await theirs.engine.session(sessionId).phase();
    expect(reads).not.toContain(undefined);
    expect(reads).not.toContain(0);
  });

  it("does not concern sessions without approvals, nor gates that the host has overridden", async () => {
    const { storage, sessionId } = await letThrough();
    const { engine, start } = await makeAsking({ storage });
    await engine.session(sessionId).rollback(1);
    await engine.session(sessionId).overrideGate(1, { by: "host", note: "seen" });
    expect(await engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
    expect(await engine.session(await start()).phase()).toMatchObject({ currentPhase: 1 });
  });
});

describe("a log that was edited by hand", () => {
  it("is refused if the host has a hash key, even with recomputed hashes", async () => {
    const storage = new MemoryStorage();
    const made = await makeAsking({ storage, hashKey: "of the host" });
    const { sessionId } = await made.waiting();
    const forger = await makeAsking({ storage, approvers: made.approvers });
    const forged = { by: "ann", evidenceHash: "x", signature: { signedAt: "", value: "" } };
    expect((await failure(forger.engine.session(sessionId).approve(forged))).code).toBe("TAMPERED");
  });

  /** Rewrites the third commit of a session, which passed the gate, and recomputes the hashes. */
  async function rewritten(edit: (body: string) => string, hashKey?: string) {
    const storage = new AlteredStorage();
    const made = await makeAsking({ storage, ...(hashKey === undefined ? {} : { hashKey }) });
    const { sessionId } = await made.waiting();
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    expect(await made.engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
    storage.alter = (commits) =>
      commits.map((commit) => {
        if (commit.version !== 3) return commit;
        const body = edit(commit.body);
        expect(body).not.toBe(commit.body);
        return { ...commit, body, hash: commitHash(commit.previousHash, body) };
      });
    return { ...made, sessionId };
  }

  const without = (body: string) => {
    const parsed: { events: { type: string }[] } = JSON.parse(body);
    return JSON.stringify({ ...parsed, events: parsed.events.filter(({ type }) => type !== "approved") });
  };
  const edits: readonly (readonly [string, (body: string) => string, string])[] = [
    ["the yes was taken out", without, "unsigned"],
    ["other evidence was put in its place", (body) => body.replace("tests_pass", "tests_none"), "other_evidence"],
    [
      "other output is passed on",
      (body) => body.replace('"evidence":', '"output":{"inline":7},"evidence":'),
      "other_evidence",
    ],
    ["the yes is to another commit", (body) => body.replace('"asked":2', '"asked":1'), "other_evidence"],
    ["the approval is another person's", (body) => body.replace('"by":"ann"', '"by":"bob"'), "signature"],
    ["the approval is unsigned", (body) => body.replace(/"signature":\{[^}]*\},?/, ""), "unsigned"],
  ];
  for (const [name, edit, reason] of edits) {
    it(`is refused, even with recomputed hashes: ${name}`, async () => {
      const { engine, submit, sessionId } = await rewritten(edit);
      for (const refused of [await failure(engine.session(sessionId).phase()), await failure(submit(sessionId, 2))]) {
        expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { phase: 1, reason } });
      }
      expect((await engine.session(sessionId).audit()).approvals).toMatchObject([{ phase: 1, distrust: reason }]);
    });

    it(`is refused as tampered if the host has a hash key: ${name}`, async () => {
      const { engine, submit, sessionId } = await rewritten(edit, "of the host");
      expect((await failure(submit(sessionId, 2))).code).toBe("TAMPERED");
      expect(await engine.session(sessionId).audit()).toMatchObject({ intact: false, versions: 2, approvals: [] });
    });
  }
});

describe("keys", () => {
  it("are different for each call", async () => {
    const [one, other] = await Promise.all([createApproverKeys(), createApproverKeys()]);
    expect(one.publicKey).toMatch(/^ed25519:[A-Za-z0-9_-]{43}$/);
    expect(one.publicKey).not.toBe(other.publicKey);
    expect(one.privateKey).toMatch(/^-----BEGIN PRIVATE KEY-----\n[A-Za-z0-9+/=]{64}\n-----END PRIVATE KEY-----\n$/);
  });
});
