import { createApproverKeys, type Passkey, signApproval } from "phasegate/approval";
import { describe, expect, it } from "vitest";
import type { Verifier } from "../../../src/ports/verifier.js";
import type { RoutedEngineOptions } from "../../../src/routed/options.js";
import { defineRoutedWorkflow, routedWorkflows } from "../../../src/workflow/files/define-routed-workflow.js";
import type { FieldGate } from "../../../src/workflow/structure.js";
import { Authenticator } from "../../support/authenticator.js";
import { failure } from "../../support/failure.js";
import { DONE, type Move, routed, Script } from "./garden.js";

const GATE: FieldGate = {
  kind: "fields",
  strict: true,
  allowOverride: false,
  source: "gate-file",
  fields: [{ name: "depth", type: "integer", required: true, rules: [{ source: "greater_than_0", cel: "value > 0" }] }],
};

/** A garden whose digging has a gate on its depth. */
function gated(gate: FieldGate, moves: Move[], options: Partial<RoutedEngineOptions> = {}, next: FieldGate[] = []) {
  const garden = defineRoutedWorkflow({
    name: "GARDEN",
    steps: [
      { name: "Dig", guidance: "Then sow.", instructions: "Dig.", gate, next: ["Sow"] },
      { name: "Sow", guidance: "Then finish.", instructions: "Sow.", ...next.map((gate) => ({ gate }))[0] },
    ],
  });
  const decider = new Script(...moves);
  return { ...routed(decider, { workflows: routedWorkflows(garden), ...options }), decider };
}

const dug = (depth: number) => ({ report: { status: "success", details: { depth } } }) as const;

/** Returns a verifier that compares the bed with its state at the start of the step. */
function bed(state: { depth: number }): Verifier {
  return {
    snapshot: async () => state.depth,
    verify: async ({ snapshot }) =>
      snapshot === state.depth
        ? { ok: false, message: "nothing was dug" }
        : { ok: true, message: `dug to ${state.depth}` },
  };
}

describe("a step with a gate", () => {
  it("asks no decider until its gate passes", async () => {
    const { engine, decider } = gated(GATE, ["Sow"]);
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    const missing = await engine.session(sessionId).advance(DONE);
    expect(missing).toMatchObject({
      status: "active",
      currentStep: "Dig",
      nextStep: { name: "Dig" },
      gate: { attempt: 1, maxAttempts: 3, problems: [{ field: "depth", problem: "missing" }] },
    });
    expect((await engine.session(sessionId).advance(dug(0))).gate?.problems).toMatchObject([
      { field: "depth", problem: "invalid" },
    ]);
    expect(decider.requests).toEqual([]);
    const passed = await engine.session(sessionId).advance(dug(20));
    expect(passed).toMatchObject({ nextStep: { name: "Sow" } });
    expect(passed.gate).toBeUndefined();
    expect(decider.requests[0]?.allowed).toEqual(["Sow"]);
    const entries = await engine.session(sessionId).history();
    expect(entries.map(({ problems, determinedNextStep }) => [problems?.length, determinedNextStep])).toEqual([
      [1, undefined],
      [1, undefined],
      [undefined, "Sow"],
    ]);
  });

  it("keeps the gate that it was started with, even if the host changes its own objects", async () => {
    const gate = structuredClone(GATE);
    const { engine } = gated(gate, ["Sow", "Sow"]);
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    Object.assign(gate, { fields: [] });
    expect((await engine.session(sessionId).advance(DONE)).gate?.problems).toMatchObject([{ field: "depth" }]);
  });

  it("fails after too many attempts; a retry restores them, up to the total limit", async () => {
    const { engine } = gated(GATE, [], { limits: { maxAttempts: 2, maxAttemptsTotal: 3 } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    await engine.session(sessionId).advance(DONE);
    expect(await engine.session(sessionId).advance({ ...DONE, idempotencyKey: "k" })).toMatchObject({
      status: "failed",
      gate: { attempt: 2 },
      reason: "the gate of Dig was not passed in 2 attempts in a row",
    });
    expect(await engine.session(sessionId).retry()).toMatchObject({ status: "active", currentStep: "Dig" });
    expect(await engine.session(sessionId).advance(DONE)).toMatchObject({
      status: "failed",
      gate: { attempt: 1 },
      reason: "the gate of Dig was not passed in 3 attempts in total",
    });
    await expect(engine.session(sessionId).retry()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    expect(await engine.session(sessionId).advance({ ...DONE, idempotencyKey: "k" })).toMatchObject({
      replayed: true,
      gate: { attempt: 2 },
    });
  });

  it("runs its verifiers with the snapshot of the step's start", async () => {
    const state = { depth: 0 };
    const gate = { ...GATE, verify: [{ verifier: "bed", params: {} }] };
    const { engine } = gated(gate, ["Sow"], { verifiers: { bed: bed(state) } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    const refused = await engine.session(sessionId).advance(dug(20));
    expect(refused.gate).toMatchObject({
      problems: [{ problem: "unverified", message: expect.stringContaining("nothing was dug") }],
      verification: [{ verifier: "bed", ok: false }],
    });
    state.depth = 20;
    expect((await engine.session(sessionId).advance(dug(20))).nextStep.name).toBe("Sow");
    expect((await engine.session(sessionId).history())[1]?.verification).toMatchObject([
      { ok: true, message: "dug to 20" },
    ]);
  });

  it("takes a failed snapshot again on a retry", async () => {
    let failing = true;
    const verifier: Verifier = {
      snapshot: async () => {
        if (failing) throw new Error("no spade");
        return 1;
      },
      verify: async () => ({ ok: true, message: "dug" }),
    };
    const gate = { ...GATE, verify: [{ verifier: "bed", params: {} }] };
    const { engine } = gated(gate, ["Sow"], { verifiers: { bed: verifier }, limits: { maxAttempts: 1 } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    expect((await engine.session(sessionId).advance(dug(1))).gate?.problems[0]?.message).toContain(
      "could not be recorded",
    );
    failing = false;
    await engine.session(sessionId).retry();
    expect((await engine.session(sessionId).advance(dug(1))).nextStep.name).toBe("Sow");
  });

  it("is compared with all earlier snapshots of the step", async () => {
    const state = { depth: 10 };
    const seen: unknown[] = [];
    const verifier: Verifier = {
      snapshot: async () => state.depth,
      verify: async ({ snapshot, earlierSnapshots }) => {
        seen.push([snapshot, earlierSnapshots]);
        return { ok: true, message: "dug" };
      },
    };
    const gate = { ...GATE, verify: [{ verifier: "bed", params: {} }] };
    const { engine } = gated(gate, ["Sow", "Dig", "Sow"], { verifiers: { bed: verifier } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    for (const _ of ["Dig", "Sow", "Dig"]) {
      expect(await engine.session(sessionId).advance(dug(1))).toMatchObject({ status: "active" });
      state.depth += 10;
    }
    expect(seen).toEqual([
      [10, undefined],
      [20, [10]],
    ]);
  });

  it("is compared with the start of the latest visit, also by a verifier that keeps its snapshots elsewhere", async () => {
    const state = { depth: 10 };
    const same: Verifier = {
      keepsSnapshot: true,
      snapshot: async () => state.depth,
      verify: async ({ snapshot }) => ({ ok: snapshot === state.depth, message: `since ${snapshot}` }),
    };
    const gate = { ...GATE, verify: [{ verifier: "same", params: {} }] };
    const { engine } = gated(gate, ["Sow", "Dig", "Sow"], { verifiers: { same } });
    const { sessionId } = await engine.start({ workflow: "GARDEN" });
    expect((await engine.session(sessionId).advance(dug(1))).nextStep.name).toBe("Sow");
    state.depth = 20;
    expect((await engine.session(sessionId).advance(dug(1))).nextStep.name).toBe("Dig");
    expect((await engine.session(sessionId).advance(dug(1))).nextStep.name).toBe("Sow");
  });

  it("cannot be started without its verifier", async () => {
    const gate = { ...GATE, verify: [{ verifier: "bed", params: {} }] };
    const { engine, storage } = gated(gate, []);
    await expect(engine.start({ workflow: "GARDEN" })).rejects.toMatchObject({ code: "DEFINITION_INVALID" });
    expect((await storage.list({})).items).toEqual([]);
  });
});

describe("a step that requires an approval", () => {
  const gate: FieldGate = { ...GATE, approval: { prompt: "Deep enough?", approvers: ["ann"] } };

  async function waiting(passkey?: Passkey) {
    const keys = await createApproverKeys();
    const made = gated(gate, ["Sow"], { approvers: { ann: passkey ?? keys.publicKey } }, passkey && [gate]);
    const { sessionId } = await made.engine.start({ workflow: "GARDEN" });
    const asked = await made.engine.session(sessionId).advance(dug(20));
    const word = async (decision: "approve" | "deny", note?: string) => {
      const question = (await made.engine.session(sessionId).state()).awaiting;
      if (question === undefined) throw new Error("nobody is waited for");
      const noted = note === undefined ? {} : { note };
      const { privateKey } = keys;
      const signature = await signApproval(question, { decision, by: "ann", privateKey, ...noted });
      return { by: "ann", evidenceHash: question.evidenceHash, signature, ...noted };
    };
    return { ...made, id: sessionId, asked, word };
  }

  it("takes the approval of a passkey, and warns in an audit of one that counts back", async () => {
    const [device, other] = [await Authenticator.make(), await Authenticator.make()];
    const { engine, id } = await waiting(device.passkey());
    const approve = async (by: Authenticator, counter: number) => {
      const question = (await engine.session(id).state()).awaiting;
      if (question === undefined) throw new Error("nobody is waited for");
      const signature = await by.sign(question, { decision: "approve", by: "ann" }, { counter });
      return engine.session(id).approve({ by: "ann", evidenceHash: question.evidenceHash, signature });
    };
    expect(await failure(approve(other, 1))).toMatchObject({ details: { reason: "signature" } });
    await approve(device, 5);
    await engine.session(id).advance(dug(20));
    await engine.session(id).advance(dug(30));
    await approve(device, 2);
    expect(await engine.session(id).audit()).toMatchObject({
      approvals: [
        { step: "Dig", key: { kind: "passkey", counter: 5 } },
        { step: "Sow", key: { kind: "passkey", counter: 2 } },
      ],
      warnings: [{ by: "ann", counter: 2, before: { counter: 5 } }],
    });
  });

  it("waits for it before the decider is asked, and continues after an approval", async () => {
    const { engine, decider, id, asked, word } = await waiting();
    expect(asked.awaiting).toMatchObject({
      step: "Dig",
      prompt: "Deep enough?",
      evidence: { depth: 20 },
      approvers: ["ann"],
    });
    expect(asked.nextStep.name).toBe("Dig");
    expect(await engine.session(id).advance(dug(20))).toMatchObject({ version: asked.version });
    expect(decider.requests).toEqual([]);
    const approved = await engine.session(id).approve(await word("approve"));
    expect(approved).toMatchObject({ status: "active", pending: { operation: "advance" } });
    expect(approved.awaiting).toBeUndefined();
    expect((await engine.session(id).advance(dug(20))).nextStep.name).toBe("Sow");
    expect((await engine.session(id).history())[0]?.reason).toBe("approved by ann");
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
  });

  it("keeps the key of the report, however often its client asks with other keys", async () => {
    const { engine, id, word } = await waiting();
    const report = { report: { status: "success", details: { depth: 21 } } };
    const first = { ...report, idempotencyKey: "first" };
    const { version } = await engine.session(id).advance(first);
    for (let ask = 1; ask <= 20; ask += 1) {
      expect(await engine.session(id).advance({ ...report, idempotencyKey: `ask ${ask}` })).toMatchObject({ version });
    }
    await engine.session(id).approve(await word("approve"));
    expect((await engine.session(id).advance({ ...report, idempotencyKey: "other" })).currentStep).toBe("Sow");
    for (const idempotencyKey of ["first", "other"]) {
      expect(await engine.session(id).advance({ ...report, idempotencyKey })).toMatchObject({
        currentStep: "Sow",
        replayed: true,
      });
    }
  });

  it("keeps an approval while the instance is suspended", async () => {
    const { engine, id, word, decider } = await waiting();
    const back = { assumedStep: "Dig", report: { status: "success", details: { depth: 21 } } };
    await engine.session(id).resume(back);
    await engine.session(id).approve(await word("approve"));
    await engine.session(id).suspend();
    expect(await engine.session(id).resume(back)).toMatchObject({ status: "active", currentStep: "Sow" });
    expect(decider.requests).toHaveLength(1);
  });

  it("counts a denial as a failed attempt", async () => {
    const { engine, id, word } = await waiting();
    const denied = await engine.session(id).deny({ ...(await word("deny", "deeper")), note: "deeper" });
    expect(denied).toMatchObject({ status: "active", currentStep: "Dig" });
    expect(denied.pending).toBeUndefined();
    expect((await engine.session(id).history())[0]?.reason).toBe("denied by ann: deeper");
    expect((await engine.session(id).advance(dug(30))).awaiting).toMatchObject({ attempt: 2, evidence: { depth: 30 } });
  });

  it("asks again for other evidence, and refuses an approval of the earlier evidence", async () => {
    const { engine, id, word } = await waiting();
    const before = await word("approve");
    expect((await engine.session(id).advance(dug(30))).awaiting?.evidence).toEqual({ depth: 30 });
    await expect(engine.session(id).approve(before)).rejects.toMatchObject({ details: { reason: "other_evidence" } });
  });

  it("refuses unsigned approvals, and those of others", async () => {
    const { engine, id, word } = await waiting();
    const security: string[] = [];
    engine.on("security", ({ code }) => security.push(code));
    const { signature, ...unsigned } = await word("approve");
    await expect(engine.session(id).approve(unsigned)).rejects.toMatchObject({ details: { reason: "unsigned" } });
    const other = engine.session(id).approve({ ...unsigned, signature, by: "eve" });
    await expect(other).rejects.toMatchObject({ details: { reason: "not_an_approver" } });
    expect(security).toEqual(["APPROVAL_REFUSED", "APPROVAL_REFUSED"]);
  });

  it("refuses an approval if it does not wait, and decisions without a name or a note", async () => {
    const { engine, id, word } = await waiting();
    const yes = await word("approve");
    await expect(engine.session(id).approve({ ...yes, by: " " })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await expect(engine.session(id).deny({ ...yes, note: "" })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    await engine.session(id).approve({ ...yes, idempotencyKey: "a" });
    expect(await engine.session(id).approve({ ...yes, idempotencyKey: "a" })).toMatchObject({ status: "active" });
    await expect(engine.session(id).approve(yes)).rejects.toMatchObject({ details: { reason: "not_waiting" } });
  });
});
