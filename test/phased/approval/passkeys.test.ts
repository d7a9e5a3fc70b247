import { MemoryStorage } from "phasegate";
import { type Approvers, createApproverKeys, type Passkey } from "phasegate/approval";
import { copySessions } from "phasegate/storage";
import { describe, expect, it } from "vitest";
import { signatureSchema } from "../../../src/approval/message.js";
import { makeAsking } from "../../support/approvals.js";
import { Authenticator } from "../../support/authenticator.js";
import { failure } from "../../support/failure.js";

/** Creates an engine on which Ann has a passkey, and what signs with it. */
async function withPasskey(storage = new MemoryStorage()) {
  const device = await Authenticator.make();
  const made = await makeAsking({ storage, approvers: { ann: device.passkey() } });
  const approve = async (sessionId: string) => {
    const question = await made.question(sessionId);
    const signature = await device.sign(question, { decision: "approve", by: "ann", note: "fine" });
    return made.engine
      .session(sessionId)
      .approve({ by: "ann", note: "fine", evidenceHash: question.evidenceHash, signature });
  };
  return { ...made, device, approve, storage };
}

describe("a session with approvals by passkey", () => {
  it("is read by an engine that knows the passkey, in a copy too, and by no other behind the gate", async () => {
    const { engine, device, waiting, approve, storage } = await withPasskey();
    const { sessionId } = await waiting();
    expect(await approve(sessionId)).toMatchObject({ passed: true, by: "ann", authenticated: true });
    const copy = new MemoryStorage();
    await copySessions(storage, copy);
    for (const place of [storage, copy]) {
      const same = await makeAsking({ storage: place, approvers: { ann: device.passkey() } });
      expect(await same.engine.session(sessionId).phase()).toMatchObject({ currentPhase: 2 });
      expect(await same.engine.session(sessionId).audit()).toMatchObject({ intact: true, approvals: [{ by: "ann" }] });
      const other = await makeAsking({ storage: place, approvers: { ann: (await Authenticator.make()).passkey() } });
      expect(await failure(other.engine.session(sessionId).phase())).toMatchObject({
        details: { reason: "signature" },
      });
      const strict: Passkey = device.passkey({ origins: ["https://other.gates.example.com"] });
      const elsewhere = await makeAsking({ storage: place, approvers: { ann: strict } });
      expect(await failure(elsewhere.engine.session(sessionId).phase())).toMatchObject({
        details: { reason: "signature" },
      });
    }
    expect(await engine.session(sessionId).history()).toBeDefined();
  });

  it("takes a passkey's denial and its waiver, too", async () => {
    const { engine, device, waiting, submit, start } = await withPasskey();
    const { sessionId, question } = await waiting();
    const denial = { decision: "deny", by: "ann", note: "no rollback plan" } as const;
    const denied = await engine.session(sessionId).deny({
      ...{ by: "ann", note: denial.note, evidenceHash: question.evidenceHash },
      signature: await device.sign(question, denial),
    });
    expect(denied).toMatchObject({ passed: false, by: "ann", authenticated: true });

    const other = await start();
    const asked = await engine.session(other).requestWaiver(1, { fields: ["tests_pass"], reason: "there are none" });
    const grant = { decision: "approve", by: "ann" } as const;
    const word = { by: "ann", request: asked.request };
    const unsigned = await failure(engine.session(other).waive(word));
    expect(unsigned).toMatchObject({ details: { reason: "unsigned" } });
    const foreign = await (await Authenticator.make()).sign(asked, grant);
    expect(await failure(engine.session(other).waive({ ...word, signature: foreign }))).toMatchObject({
      details: { reason: "signature" },
    });
    const waived = await engine
      .session(other)
      .waive({ ...word, signature: await device.sign(asked, grant, { counter: 9 }) });
    expect(waived).toMatchObject({ granted: true, authenticated: true });
    expect(await submit(other)).toMatchObject({ awaiting: { phase: 1 } });
    const awaited = await engine.session(other).approval();
    if (awaited === undefined) throw new Error("nothing waits");
    const signature = await device.sign(awaited, grant, { counter: 4 });
    await engine.session(other).approve({ by: "ann", evidenceHash: awaited.evidenceHash, signature });
    const { warnings, approvals } = await engine.session(other).audit();
    expect(approvals).toMatchObject([{ on: "approval", key: { kind: "passkey", counter: 4 } }]);
    expect(warnings).toMatchObject([{ by: "ann", counter: 4, before: { counter: 9 } }]);
  });

  it("needs the passkey of an approver whom the gate names", async () => {
    const device = await Authenticator.make();
    const made = await makeAsking({ approvers: { cat: device.passkey() } });
    const { sessionId, question } = await made.waiting();
    const signature = await device.sign(question, { decision: "approve", by: "cat" });
    const word = { by: "cat", evidenceHash: question.evidenceHash, signature };
    expect(await failure(made.engine.session(sessionId).approve(word))).toMatchObject({
      details: { reason: "not_an_approver" },
    });
  });
});

describe("approvers that a host changes while it runs", () => {
  it("count from the next check, and no longer when they are taken out", async () => {
    const device = await Authenticator.make();
    const { publicKey } = await createApproverKeys();
    let approvers: Approvers = { cat: publicKey };
    const made = await makeAsking({ approvers: () => approvers });
    const { engine } = made;
    const { sessionId, question } = await made.waiting();
    const word = async () => ({
      ...{ by: "ann", evidenceHash: question.evidenceHash },
      signature: await device.sign(question, { decision: "approve", by: "ann" }),
    });
    expect(await failure(engine.session(sessionId).approve(await word()))).toMatchObject({
      details: { reason: "unknown_approver" },
    });
    approvers = { ...approvers, ann: [publicKey, device.passkey()] };
    expect(await engine.session(sessionId).approve(await word())).toMatchObject({ passed: true });
    expect((await engine.session(sessionId).state()).head.phase).toBe(2);
    approvers = { cat: publicKey };
    expect(await engine.session(sessionId).state()).toMatchObject({
      head: { phase: 1 },
      unapproved: { phase: 1, by: "ann" },
    });
    approvers = {};
    expect((await engine.session(sessionId).state()).head.phase).toBe(2);
    approvers = { ann: device.passkey() };
    expect((await engine.session(sessionId).state()).unapproved).toBeUndefined();
  });

  it("are checked when they change, and refused if a key is wrong", async () => {
    let approvers: Approvers = {};
    const made = await makeAsking({ approvers: () => approvers });
    const { sessionId } = await made.waiting();
    approvers = { ann: "nonsense" };
    const refused = await failure(made.engine.session(sessionId).state());
    expect(refused).toMatchObject({ code: "INVALID_INPUT", details: { field: "approvers.ann" } });
    await expect(makeAsking({ approvers: () => approvers })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    for (const keys of [[], Array.from({ length: 21 }, () => made.keys.ann.publicKey)]) {
      await expect(makeAsking({ approvers: { ann: keys } })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
  });
});

it("a stored signature is read with the members of an assertion, or without", () => {
  const plain = { signedAt: "2026-03-04T05:06:07.000Z", value: "c2lnbmVk" };
  const assertion = { ...plain, authenticatorData: "AAAA", clientData: "AAAA" };
  expect(signatureSchema.parse(plain)).toStrictEqual(plain);
  expect(signatureSchema.parse(assertion)).toStrictEqual(assertion);
  for (const change of [
    { authenticatorData: "A".repeat(2049) },
    { clientData: "A".repeat(4097) },
    { clientData: "" },
    { clientData: "a b" },
    { value: "A".repeat(1025) },
    { signedAt: "2".repeat(101) },
  ]) {
    expect(signatureSchema.safeParse({ ...assertion, ...change }).success, JSON.stringify(change)).toBe(false);
  }
});
