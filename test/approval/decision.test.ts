import { createApproverKeys, signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { type AskedApproval, requireDecision } from "../../src/approval/decision.js";
import { keyIdOf } from "../../src/approval/keys.js";
import { approvalMessage, hashEvidence, signatureSchema } from "../../src/approval/message.js";
import { failure } from "../support/failure.js";

const place = { sessionId: "s1", workflowType: "garden", revision: "r1", phase: 2, request: "c0ffee" };
const question = { ...place, evidenceHash: "e1" };
const waiver = { ...place, fields: ["report", "photos"] };
const answer = { decision: "approve", by: "ann", signedAt: "2026-03-04T05:06:07.000Z" } as const;

const keys = await createApproverKeys();
const host = { approvers: new Map([["ann", [keys.publicKey]]]), unsigned: false };
const nobody = { approvers: new Map<string, string[]>(), unsigned: false };

/** Returns the outcome in one word: the reason of a refusal, or whether the decision is authenticated. */
async function outcome(options: typeof host, asked: AskedApproval, by: string, isSigned: boolean) {
  const word = { decision: "approve", by } as const;
  const signature = isSigned ? await signApproval(asked, { ...word, privateKey: keys.privateKey }) : undefined;
  return requireDecision(options, asked, { ...word, signature }).then(
    ({ authenticated }) => (authenticated ? "authenticated" : "accepted"),
    ({ details }) => details.reason,
  );
}

describe("the text that is signed", () => {
  it("names what an approval is about", () => {
    expect(approvalMessage(question, answer)).toBe(`phasegate approval v1
{"by":"ann","decision":"approve","evidenceHash":"e1","noteDigest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","phase":2,"request":"c0ffee","revision":"r1","sessionId":"s1","signedAt":"2026-03-04T05:06:07.000Z","workflowType":"garden"}`);
  });

  it("names the fields of a waiver", () => {
    expect(approvalMessage(waiver, { ...answer, note: "no camera" })).toBe(`phasegate waiver v1
{"by":"ann","decision":"approve","fields":["report","photos"],"noteDigest":"bb69a7384d6eafc6fb27caa0407c1c933f334597946265178b6745972632b7ce","phase":2,"request":"c0ffee","revision":"r1","sessionId":"s1","signedAt":"2026-03-04T05:06:07.000Z","workflowType":"garden"}`);
  });
});

it("evidence has one hash, in whatever order its keys are", () => {
  const hash = hashEvidence({ done: true, report: { pages: 3, title: "Roses" } });
  expect(hashEvidence({ report: { title: "Roses", pages: 3 }, done: true })).toBe(hash);
  expect(hash).toBe("111be95b0521acc4f540c49ff4fdb9136626f1709412ff9d6878df8bbdcf98d2");
  expect(hashEvidence({ done: true })).not.toBe(hash);
});

it("a stored signature has a time and a value", () => {
  const signature = { signedAt: "2026-03-04T05:06:07.000Z", value: "c2lnbmVk" };
  expect(signatureSchema.parse(signature)).toEqual(signature);
  for (const other of [{}, { signedAt: 1, value: "c2lnbmVk" }, { signedAt: "" }]) {
    expect(signatureSchema.safeParse(other).success).toBe(false);
  }
});

describe("a decision", () => {
  it("that is signed counts, with the key that it was signed with", async () => {
    const signature = await signApproval(question, { decision: "approve", by: "ann", privateKey: keys.privateKey });
    expect(await requireDecision(host, question, { decision: "approve", by: "ann", signature })).toEqual({
      authenticated: true,
      signature,
      keyId: keyIdOf(keys.publicKey),
    });
  });

  it("that was signed with another key, or for another question, does not count", async () => {
    const { privateKey } = await createApproverKeys();
    const word = { decision: "approve", by: "ann" } as const;
    const signatures = [
      await signApproval(question, { ...word, privateKey }),
      await signApproval({ ...question, evidenceHash: "e2" }, { ...word, privateKey: keys.privateKey }),
      await signApproval(question, { ...word, note: "but", privateKey: keys.privateKey }),
    ];
    for (const signature of signatures) {
      const refused = await failure(requireDecision(host, question, { ...word, signature }));
      expect(refused.details).toEqual({ phase: 2, reason: "signature" });
    }
  });

  it("that does not count says what to do", async () => {
    const refused = (asked: AskedApproval, by: string) =>
      failure(requireDecision(host, asked, { decision: "approve", by }));
    expect((await refused({ ...question, approvers: ["ann", "bob"] }, "eve")).remedy).toBe(
      "Ask an approver that the gate names: ann, bob.",
    );
    expect((await refused(question, "ann")).remedy).toContain("`phasegate approve --key`");
    expect((await refused(waiver, "ann")).remedy).toContain("`phasegate waive --key`");
  });

  it("on an approval must be signed with a key of the host, also where it has none", async () => {
    expect(await outcome(nobody, question, "ann", false)).toBe("unsigned");
    expect(await outcome(nobody, question, "ann", true)).toBe("unknown_approver");
  });

  it("need not be signed where the host allows that; one that is signed must be by the approver's key", async () => {
    const open = { ...host, unsigned: true };
    const word = { decision: "approve", by: "ann" } as const;
    expect(await requireDecision(open, question, word)).toEqual({ authenticated: false });
    expect(await outcome(open, question, "ann", true)).toBe("authenticated");
    const signature = { signedAt: answer.signedAt, value: "c2lnbmVk" };
    const refused = await failure(requireDecision(open, question, { ...word, signature }));
    expect(refused.details).toEqual({ phase: 2, reason: "signature" });
  });

  it("on a waiver is the host's own where neither the gate nor the host names approvers", async () => {
    expect(await outcome(nobody, waiver, "ann", false)).toBe("accepted");
    const word = { decision: "approve", by: "ann" } as const;
    const signature = await signApproval(waiver, { ...word, privateKey: keys.privateKey });
    expect(await requireDecision(nobody, waiver, { ...word, signature })).toEqual({ authenticated: false, signature });
  });

  it("on a waiver must be signed where the gate or the host names approvers", async () => {
    const named = { ...waiver, approvers: ["ann"] };
    expect(await outcome(nobody, named, "ann", false)).toBe("unsigned");
    expect(await outcome(nobody, named, "ann", true)).toBe("unknown_approver");
    expect(await outcome(host, waiver, "ann", false)).toBe("unsigned");
    expect(await outcome(host, waiver, "bob", true)).toBe("unknown_approver");
    expect(await outcome(host, named, "ann", true)).toBe("authenticated");
  });
});
