import { createApproverKeys, signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import { failure } from "../support/failure.js";
import { aGate } from "./a-gate.js";

const GATE = `
evidence_schema:
  report: {type: string, description: path of the report, verify: file_exists}
approval: {prompt: Is the report good?, approvers: [ann]}
`;
const TRUTH = { report: "report.md" };
const files = { "report.md": "# Report\n\nAll is well.\n", "other.md": "# Other\n" };

/** Starts a session at a gate that asks Ann, whose key the host knows. The agent has made a key of its own. */
async function asking() {
  const [ann, agent] = await Promise.all([createApproverKeys(), createApproverKeys()]);
  const made = await aGate({ gate: GATE, files, engine: { approvers: { ann: ann.publicKey } } });
  const { engine, id } = made;
  const question = async () => {
    const found = await engine.session(id).approval();
    if (found === undefined) throw new Error("nothing waits");
    return found;
  };
  /** Returns an approval of the waiting evidence in Ann's name, signed with the given key. */
  const yes = async (privateKey: string) => {
    const asked = await question();
    const signature = await signApproval(asked, { decision: "approve", by: "ann", privateKey });
    return { by: "ann", evidenceHash: asked.evidenceHash, signature };
  };
  return { ...made, ann, agent, question, yes };
}

describe("a gate with an approval", () => {
  it("lets an honest agent through after the approval", async () => {
    const { claim, engine, id, yes, ann, phase } = await asking();
    expect(await claim(TRUTH)).toMatchObject({ awaiting_approval: true, checkpoint_passed: false });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({
      passed: true,
      authenticated: true,
    });
    expect(await phase()).toBe(2);
  });

  it("asks for no approval of false evidence", async () => {
    const { refuses, engine, id } = await asking();
    await refuses({ report: "nowhere.md" }, /there is no file nowhere\.md/);
    expect(await engine.session(id).approval()).toBeUndefined();
  });

  it("refuses an approval of other evidence", async () => {
    const { claim, engine, id, yes, ann, phase } = await asking();
    await claim(TRUTH);
    const word = await yes(ann.privateKey);
    await claim({ report: "other.md" });
    const refused = await failure(engine.session(id).approve(word));
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "other_evidence" } });
    expect(refused.remedy).not.toBe("");
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({ passed: true });
  });

  it("refuses an approval that the agent has signed in an approver's name", async () => {
    const { claim, engine, id, yes, ann, agent, phase } = await asking();
    await claim(TRUTH);
    const refused = await failure(engine.session(id).approve(await yes(agent.privateKey)));
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "signature" } });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({ passed: true });
  });

  it("refuses an unsigned approval", async () => {
    const { claim, engine, id, question, yes, ann, phase } = await asking();
    await claim(TRUTH);
    const { evidenceHash } = await question();
    const refused = await failure(engine.session(id).approve({ by: "ann", evidenceHash }));
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { reason: "unsigned" } });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({ passed: true });
  });

  it("refuses an approval from before a rollback", async () => {
    const { claim, engine, id, yes, ann, phase } = await asking();
    await claim(TRUTH);
    const word = await yes(ann.privateKey);
    await engine.session(id).approve(word);
    await engine.session(id).rollback(1);
    await claim(TRUTH);
    expect(await failure(engine.session(id).approve(word))).toMatchObject({ code: "APPROVAL_REFUSED" });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({ passed: true });
  });

  it("cannot be passed by any parameter of the agent's tool", async () => {
    const { claim, tool, engine, id, yes, ann, phase } = await asking();
    await claim(TRUTH);
    for (const action of ["approve", "override_gate", "skip_phase"]) {
      const answer = await tool.dispatch({ action, session_id: id, phase: 1, by: "ann", note: "looks good" });
      expect(answer).toMatchObject({ status: "error", code: "INVALID_INPUT" });
    }
    await claim({ ...TRUTH, approved: true, approved_by: "ann" });
    expect(await phase()).toBe(1);
    expect(await engine.session(id).approve(await yes(ann.privateKey))).toMatchObject({ passed: true });
  });
});
