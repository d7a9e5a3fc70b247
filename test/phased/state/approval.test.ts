import { describe, expect, it } from "vitest";
import { approvalMessage, hashEvidence } from "../../../src/approval/message.js";
import type { SessionCommand } from "../../../src/phased/state/commands.js";
import { isRefused, sessionHeadSchema } from "../../../src/phased/state/head.js";
import { phaseHistory } from "../../../src/phased/state/history.js";
import { HASH } from "./model.js";
import { asking, phaseOf, Run, structureOf, submit, word } from "./run.js";

const asks = structureOf([phaseOf(1, { gate: asking(true), skippable: true }), 2]);
const OTHER = "cd".repeat(32);

/** Creates a session that waits for an approval in its first phase. */
function waiting(limits = {}): Run {
  return Run.started(asks, limits).do(submit(1));
}

describe("a gate that requires an approval", () => {
  it("waits on complete evidence instead of passing", () => {
    const run = waiting();
    expect(run.types(1)).toEqual(["approval_requested"]);
    expect(run.log.at(-1)?.event).toMatchObject({ attempt: 1, prompt: "Is it good?", approvers: ["ann"] });
    expect(run.state).toMatchObject({
      status: "active",
      phase: 1,
      attempts: 0,
      completed: [],
      awaiting: { version: 2, evidenceHash: HASH },
      submission: { version: 2, merge: false },
    });
  });

  it("passes on an approval, with the evidence that was shown", () => {
    const run = waiting();
    run.do(word(run, "approve"));
    expect(run.types(3)).toEqual(["approved", "gate_passed", "phase_entered"]);
    const [approved, passed] = run.log.slice(-3).map(({ event }) => event);
    expect(approved).toEqual({
      ...{ type: "approved", phase: 1, by: "ann", evidenceHash: HASH, asked: 2, authenticated: true },
    });
    expect(passed).toEqual({
      type: "gate_passed",
      phase: 1,
      position: 0,
      attempt: 1,
      evidence: { inline: { phase: 1 } },
    });
    expect(run.state).toMatchObject({ phase: 2, completed: [[0, 0]] });
    expect(run.state.awaiting).toBeUndefined();
  });

  it("records the approver, the note and the signature", () => {
    const run = waiting();
    const signature = { signedAt: "2026-01-01T00:00:00.000Z", value: "x" };
    const command = word(run, "approve");
    if (command.type !== "approve") throw new Error("no approval");
    run.do({ ...command, note: "fine", signature, keyId: "k" });
    expect(run.log.at(-3)?.event).toMatchObject({ note: "fine", signature, keyId: "k" });
  });

  it("counts a denial as a failed attempt, with the note as its problem", () => {
    const run = waiting();
    run.do(word(run, "deny"));
    expect(run.types(2)).toEqual(["denied", "gate_failed"]);
    expect(run.log.at(-1)?.event).toMatchObject({
      problems: [{ field: "", problem: "denied", message: "ann denied the approval: not yet" }],
    });
    expect(run.state).toMatchObject({ status: "active", phase: 1, attempts: 1, spent: [[0, 1]] });
    expect(phaseHistory(run.log).map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, "failed"],
      [2, "active"],
    ]);
    expect(run.refused(word(run, "approve"))).toMatchObject({
      code: "APPROVAL_REFUSED",
      details: { reason: "not_waiting" },
    });
  });

  it("fails the session if the last attempt is denied, and records if the denial is not authenticated", () => {
    const run = waiting({ maxAttempts: 1 });
    const command = word(run, "deny");
    if (command.type !== "deny") throw new Error("no denial");
    run.do({ ...command, authenticated: false });
    expect(run.types(3)).toEqual(["denied", "gate_failed", "failed"]);
    expect(run.log.at(-2)?.event).toMatchObject({
      problems: [{ message: "ann (not authenticated) denied the approval: not yet" }],
    });
    expect(run.state.status).toBe("failed");
  });

  it("keeps the schema's output and warnings until the approval", () => {
    const run = Run.started(asks);
    const warning = { field: "a", problem: "invalid", message: "hm" } as const;
    const [output, verdict] = [{ inline: 7 }, { passed: true, warnings: [warning] } as const];
    run.do({ type: "completePhase", phase: 1, evidence: { inline: {} }, verdict, output, evidenceHash: HASH });
    run.do(word(run, "approve"));
    expect(run.log.at(-2)?.event).toMatchObject({ type: "gate_passed", output, warnings: [warning] });
  });

  it("may be a gate with fields", () => {
    const gate = { kind: "fields", strict: true, allowOverride: false, fields: [], source: "gate-file" } as const;
    const approval = { prompt: "Sure?" };
    const run = Run.started(structureOf([phaseOf(1, { gate: { ...gate, fields: [], approval } })])).do(submit(1));
    expect(run.log.at(-1)?.event).toMatchObject({ type: "approval_requested", prompt: "Sure?" });
    run.do(word(run, "approve"));
    expect(run.state.status).toBe("completed");
  });

  it("requires the hash that an approval is bound to", () => {
    const { evidenceHash: _, ...unbound } = { evidenceHash: "", ...submit(1) };
    expect(() => Run.started(asks).ask(unbound)).toThrow("bound to the hash");
  });
});

describe("while a session waits for an approval", () => {
  it("new evidence replaces the waiting one: an approval of the old one is refused", () => {
    const run = waiting();
    const old = word(run, "approve");
    run.do({ ...submit(1), evidenceHash: OTHER });
    expect(run.state.awaiting).toEqual({ version: 3, evidenceHash: OTHER });
    const refused = run.refused(old);
    expect(refused).toMatchObject({ code: "APPROVAL_REFUSED", details: { phase: 1, reason: "other_evidence" } });
    run.do(word(run, "approve", OTHER));
    expect(run.state.phase).toBe(2);
  });

  const takesBack: readonly (readonly [string, SessionCommand])[] = [
    ["evidence that fails", submit(1, false)],
    ["a migration", { type: "migrate", structure: { ...asks, revision: "r2" }, by: "ann" }],
    ["an override", { type: "overrideGate", phase: 1, by: "ann", reason: "seen" }],
    ["a skip", { type: "skipPhase", phase: 1, by: "ann", reason: "not needed" }],
    ["a deletion", { type: "delete" }],
  ];
  for (const [name, command] of takesBack) {
    it(`${name} withdraws the question`, () => {
      const run = waiting();
      const yes = word(run, "approve");
      run.do(command);
      expect(run.state.awaiting).toBeUndefined();
      run.refused(yes);
    });
  }

  it("a retry withdraws the question, if an attempt had failed", () => {
    const run = Run.started(asks).do(submit(1, false), submit(1));
    run.do({ type: "retryPhase", phase: 1, resetEvidence: false, by: "agent" });
    expect(run.state.awaiting).toBeUndefined();
    expect(run.state.submission).toEqual({ version: 3, merge: true, asked: true });
    expect(waiting().refused({ type: "retryPhase", phase: 1, resetEvidence: false, by: "agent" }).code).toBe(
      "INVALID_TRANSITION",
    );
  });

  it("a question that is withdrawn leaves no refusal", () => {
    const migrated = waiting();
    expect(isRefused(migrated.state)).toBe(false);
    migrated.do({ type: "migrate", structure: { ...asks, revision: "r2" }, by: "ann" });
    expect(isRefused(migrated.state)).toBe(false);
    const again = Run.started(asks).do(submit(1, false));
    expect(isRefused(again.state)).toBe(true);
    again.do(submit(1), { type: "retryPhase", phase: 1, resetEvidence: false, by: "agent" });
    expect(isRefused(again.state)).toBe(false);
    expect(isRefused(again.do(submit(1, false)).state)).toBe(true);
    again.do(submit(1)).do(word(again, "deny"));
    expect(isRefused(again.state)).toBe(true);
  });

  it("a rollback withdraws the question, and the next one is another question", () => {
    const run = Run.started(structureOf([1, phaseOf(2, { gate: asking() })])).do(submit(1), submit(2));
    run.do({ type: "rollback", to: 1, by: "agent" });
    expect(run.state.awaiting).toBeUndefined();
    run.do(submit(1), submit(2));
    expect(run.state.awaiting?.version).toBe(6);
  });

  it("a pause keeps the question, which can be answered only after a resume", () => {
    const run = waiting().do({ type: "pause", note: "lunch" });
    expect(run.state.awaiting).toEqual({ version: 2, evidenceHash: HASH });
    expect(run.refused(word(run, "approve"))).toMatchObject({
      code: "INVALID_TRANSITION",
      details: { command: "approve", status: "paused", allowed: ["resume", "delete"] },
    });
    run.do({ type: "resume" });
    run.do(word(run, "approve"));
    expect(run.state.phase).toBe(2);
  });

  it("a note that is too long is refused", () => {
    const run = waiting();
    const command = word(run, "deny");
    if (command.type !== "deny") throw new Error("no denial");
    expect(run.refused({ ...command, note: "n".repeat(2001) }).code).toBe("INVALID_INPUT");
  });

  it("heads from before approvals can still be read", () => {
    const { awaiting: _, ...before } = waiting().state;
    expect(sessionHeadSchema.parse(JSON.parse(JSON.stringify(before)))).toEqual(before);
  });
});

describe("the text that an approver signs", () => {
  const question = {
    ...{ sessionId: "s", workflowType: "w", revision: "1", phase: 2, evidenceHash: HASH, request: OTHER },
  };
  const answer = { decision: "approve", by: "ann", signedAt: "2026-01-01T00:00:00.000Z" } as const;

  it("never changes", () => {
    expect(approvalMessage(question, answer)).toBe(
      `phasegate approval v1\n{"by":"ann","decision":"approve","evidenceHash":"${HASH}",` +
        `"noteDigest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","phase":2,` +
        `"request":"${OTHER}","revision":"1","sessionId":"s","signedAt":"2026-01-01T00:00:00.000Z","workflowType":"w"}`,
    );
  });

  it("differs if any of its parts differs", () => {
    const texts = [
      approvalMessage(question, answer),
      approvalMessage(question, { ...answer, decision: "deny" }),
      approvalMessage(question, { ...answer, by: "bob" }),
      approvalMessage(question, { ...answer, note: "but" }),
      approvalMessage(question, { ...answer, signedAt: "2026-01-01T00:00:00.001Z" }),
      ...Object.keys(question).map((key) => approvalMessage({ ...question, [key]: key === "phase" ? 3 : "x" }, answer)),
    ];
    expect(new Set(texts).size).toBe(11);
  });

  it("depends on the evidence, but not on the order of its keys", () => {
    expect(hashEvidence({ a: 1, b: { c: [1, 2], d: null } })).toBe(hashEvidence({ b: { d: null, c: [1, 2] }, a: 1 }));
    expect(hashEvidence({ a: 1 })).not.toBe(hashEvidence({ a: "1" }));
  });
});
