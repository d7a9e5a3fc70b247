/**
 * A gate that waits for a person: complete evidence is held back until an approver whom the host knows has signed it.
 * Host, agent and approver are in one file here. In production, keep the private key where no agent can read it.
 */
import assert from "node:assert/strict";
import { createEngine, isPhasegateError, MemoryContent, MemoryStorage } from "phasegate";
import { createApproverKeys, signApproval } from "phasegate/approval";

const gate = `checkpoint: {strict: true}
evidence_schema:
  tests_pass: {type: boolean, required: true, description: "The whole suite passes"}
approval: {prompt: "May this be released?", approvers: [ann]}
`;
const release = {
  "metadata.json": JSON.stringify({
    workflow_type: "release",
    name: "Release",
    description: "Test, ask, ship",
    version: "1.0.0",
    phases: [
      { phase_number: 1, phase_name: "Test" },
      { phase_number: 2, phase_name: "Ship" },
    ],
  }),
  "phases/1/phase.md": "# Test\n\nRun the tests.\n",
  "phases/1/gate-definition.yaml": gate,
  "phases/2/phase.md": "# Ship\n\nTag and publish.\n",
};

const keys = await createApproverKeys();
// #region host
const engine = createEngine({
  storage: new MemoryStorage(),
  content: new MemoryContent({ sources: { release } }),
  approvers: { ann: keys.publicKey }, // ed25519:…, as phasegate keygen prints it
});
engine.on("approvalRequested", ({ sessionId, prompt, approvers }) => {
  console.log(`to ${approvers?.join(", ") ?? "any approver"}: ${prompt} (${sessionId})`);
});
engine.on("security", ({ message }) => console.log(`security: ${message}`));
// #endregion host

// The agent: its evidence is correct, and the phase does not pass yet.
const { sessionId } = await engine.start({ workflowType: "release", target: "package.json" });
// #region agent
const answer = await engine.session(sessionId).completePhase(1, { tests_pass: true });
assert.ok(!answer.passed && answer.awaiting !== undefined);
// #endregion agent
assert.equal(answer.problems.length, 0);

// Without the key nobody can approve under that name.
const { evidenceHash } = answer.awaiting;
const forged = await engine
  .session(sessionId)
  .approve({ by: "ann", evidenceHash })
  .catch((error) => error);
assert.ok(isPhasegateError(forged, "APPROVAL_REFUSED"));

// #region approver
const request = await engine.session(sessionId).approval();
assert.ok(request !== undefined);
console.log(request.prompt, request.evidence);
const signature = await signApproval(request, { decision: "approve", by: "ann", privateKey: keys.privateKey });
const approved = await engine.session(sessionId).approve({ by: "ann", evidenceHash: request.evidenceHash, signature });
// #endregion approver
assert.ok(approved.passed && approved.authenticated);

// After a rollback the gate asks again, and the old signature does not count.
await engine.session(sessionId).rollback(1);
await engine.session(sessionId).completePhase(1, { tests_pass: true });
const replayed = await engine
  .session(sessionId)
  .approve({ by: "ann", evidenceHash, signature })
  .catch((error) => error);
assert.ok(isPhasegateError(replayed, "APPROVAL_REFUSED"));
const again = await engine.session(sessionId).approval();
assert.ok(again !== undefined);
const note = "the changelog is missing";
const no = await signApproval(again, { decision: "deny", by: "ann", note, privateKey: keys.privateKey });
const denied = await engine.session(sessionId).deny({ by: "ann", note, evidenceHash, signature: no });
assert.ok(!denied.passed);
for (const { message } of denied.problems) console.log(`to be fixed: ${message}`);
