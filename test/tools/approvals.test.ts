import { describe, expect, it } from "vitest";
import { ACTION_NAMES, PARAMETERS } from "../../src/tools/phased/actions.js";
import { makeAsking } from "../support/approvals.js";
import { workflowTool } from "../support/fits-schema.js";
import { idOn } from "../support/make-engine.js";

const ID = idOn("asking_src_a_ts");

/** Creates the tool on an engine whose first gate requires an approval. */
async function makeTool(options: Parameters<typeof makeAsking>[0] = {}) {
  const made = await makeAsking(options);
  const tool = workflowTool(made.engine);
  const submit = { action: "complete_phase", session_id: ID, phase: 1, evidence: { tests_pass: true } };
  await tool.dispatch({ action: "start", workflow_type: "asking", target_file: "src/a.ts" });
  return { ...made, tool, submit };
}

const WAITING = {
  awaiting_approval: true,
  approval: {
    phase: 1,
    prompt: "Is the plan good enough to build?",
    approvers: ["ann", "bob"],
    asked_at: "2026-03-04T05:06:07.000Z",
    how: expect.stringMatching(/ann or bob must approve session .* you can't approve it yourself/),
  },
};
const POLL = { action: "get_state", session_id: ID, brief: true };

describe("an agent at a gate that requires an approval", () => {
  it("is told to wait, with the reason and the approvers", async () => {
    const { tool, submit, engine } = await makeTool();
    const answer = await tool.dispatch(submit);
    expect(answer).toEqual({
      status: "success",
      action: "complete_phase",
      phase: 1,
      checkpoint_passed: false,
      ...WAITING,
      evidence_hash: (await engine.session(ID).approval())?.evidenceHash,
      attempt: 1,
      next: POLL,
    });
    expect(await tool.dispatch(submit)).toEqual(answer);
  });

  it("gets the same state from every action, and no other next call", async () => {
    const { tool, submit } = await makeTool();
    await tool.dispatch(submit);
    for (const action of ["get_state", "get_phase"]) {
      const answer = await tool.dispatch({ action, session_id: ID });
      expect(answer, action).toMatchObject({ status: "success", ...WAITING, next: POLL });
    }
    expect(await tool.dispatch(POLL)).toMatchObject({ session_status: "active", ...WAITING, next: POLL });
    expect(await tool.dispatch({ action: "get_session", session_id: ID })).toMatchObject({
      session: { status: "active", ...WAITING },
      next: POLL,
    });
    expect(await tool.dispatch({ action: "get_task", session_id: ID, phase: 1, task_number: 1 })).toMatchObject({
      code: "TASK_NOT_FOUND",
    });
  });

  it("continues once the phase is approved", async () => {
    const { tool, submit, engine, signed } = await makeTool();
    await tool.dispatch(submit);
    await engine.session(ID).approve(await signed(ID));
    const state = await tool.dispatch(POLL);
    expect(state).toMatchObject({ current_phase: 2, next: { action: "get_phase" } });
    expect(state).not.toHaveProperty("awaiting_approval");
  });

  it("gets the note of a denial", async () => {
    const { tool, submit, engine, signed } = await makeTool();
    await tool.dispatch(submit);
    const note = "no rollback plan";
    await engine.session(ID).deny({ ...(await signed(ID, { decision: "deny", note })), note });
    const denied = { approval_denied: { by: "ann", note, at: "2026-03-04T05:06:07.000Z" } };
    expect(await tool.dispatch(POLL)).toMatchObject({ attempts: 1, ...denied, next: { action: "get_phase" } });
    expect(await tool.dispatch({ action: "get_state", session_id: ID })).toMatchObject(denied);
    expect(await tool.dispatch({ action: "get_errors", session_id: ID })).toMatchObject({
      errors: [{ details: { validation_errors: ["ann denied the approval: no rollback plan"] } }],
    });
  });

  it("is told that an unsigned denial is not authenticated", async () => {
    const { tool, submit, engine, question } = await makeTool({ allowUnsignedApprovals: true });
    await tool.dispatch(submit);
    const { evidenceHash } = await question(ID);
    await engine.session(ID).deny({ by: "bob", note: "no", evidenceHash });
    expect(await tool.dispatch(POLL)).toMatchObject({ approval_denied: { by: "bob", authenticated: false } });
  });

  it("gets a short answer, even for a long gate", async () => {
    const { tool, submit } = await makeTool();
    expect(JSON.stringify(await tool.dispatch(submit)).length).toBeLessThan(900);
  });

  it("is told to ask any approver if the gate names none", async () => {
    const { tool, submit, engine, signed } = await makeTool();
    await tool.dispatch(submit);
    await engine.session(ID).approve(await signed(ID));
    const answer = await tool.dispatch({ ...submit, phase: 2 });
    expect(answer).toMatchObject({ approval: { how: expect.stringContaining("that an approver must approve") } });
    expect(Object(answer.approval).approvers).toBeUndefined();
  });
});

describe("the agent's tool has no way to approve", () => {
  it("has no action and no parameter with a name of an approval", () => {
    const words = [...ACTION_NAMES, ...Object.keys(PARAMETERS)];
    expect(words.filter((word) => /approv|deny|denied|sign|confirm|accept|grant|allow|by\b/i.test(word))).toEqual([]);
  });

  it("with any action, known or unknown, and any parameter of an approval", async () => {
    const { tool, submit, engine, question, signed } = await makeTool({ allowUnsignedApprovals: true });
    await tool.dispatch(submit);
    const { evidenceHash, request } = await question(ID);
    const { version } = await engine.session(ID).state();
    const word = await signed(ID);
    const odd = {
      ...{
        by: "ann",
        note: "yes",
        approved: true,
        approve: true,
        approval: true,
        approver: "ann",
        decision: "approve",
      },
      ...{ evidenceHash, evidence_hash: evidenceHash, request, signature: word.signature, authenticated: true },
      ...{
        askPerson: "approve",
        awaiting_approval: false,
        checkpoint_passed: true,
        allow_override: true,
        reason: "ok",
      },
      ...{ __proto__: { approved: true }, constructor: { approved: true } },
    };
    const invented = [
      "approve",
      "deny",
      "approve_phase",
      "override_gate",
      "skip_phase",
      "decide",
      "sign",
      "getApproval",
    ];
    const actions = [...ACTION_NAMES.filter((action) => action !== "delete_session"), ...invented];
    for (const action of actions) {
      for (const [key, value] of [
        ...Object.entries(odd),
        ["idempotency_key", "approve"],
        ["none", undefined],
      ] as const) {
        const ids = {
          session_id: ID,
          phase: 1,
          to_phase: 1,
          task_number: 1,
          workflow_type: "asking",
          target_file: "b",
        };
        await tool.dispatch({ action, ...ids, evidence: { tests_pass: true }, [String(key)]: value });
        await tool.dispatch({ action, session_id: ID, [String(key)]: value });
        // Changes of the agent's own session are undone, so that each call meets a waiting session.
        if ((await engine.session(ID).state()).head.status === "paused") await engine.session(ID).resume();
        const state = await engine.session(ID).state();
        expect(state, `${action} ${String(key)}`).toMatchObject({ awaitingApproval: true, completedPhases: [] });
      }
    }
    const events = (await engine.session(ID).audit()).approvals;
    expect(events).toEqual([]);
    expect(version).toBe(2);
    expect(await engine.session(ID).approve(word)).toMatchObject({ passed: true });
  });

  it("with evidence that claims to be approved", async () => {
    const { tool, submit, engine } = await makeTool({ allowUnsignedApprovals: true });
    const claims = [
      { tests_pass: true, approved: true, approved_by: "ann" },
      { tests_pass: true, approval: { by: "ann", authenticated: true, signature: { signedAt: "", value: "" } } },
      { tests_pass: true, type: "approved", awaiting: null, head: { completed: [[0, 0]] } },
    ];
    for (const evidence of claims) {
      expect(await tool.dispatch({ ...submit, evidence })).toMatchObject({ awaiting_approval: true });
    }
    expect((await engine.session(ID).state()).completedPhases).toEqual([]);
  });
});
