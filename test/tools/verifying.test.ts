/** Gates whose checks take longer than a client waits for an answer. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createEngine,
  createWorkflowTool,
  defineWorkflow,
  type Engine,
  MemoryContent,
  type WorkflowToolOptions,
} from "phasegate";
import { FileStorage } from "phasegate/fs";
import type { VerifyResult } from "phasegate/verify";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import * as z from "zod";
import { systemClock } from "../../src/ports/clock.js";
import { parseSessionId } from "../../src/workflow/names.js";
import { workflowTool } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";
import { startVerified } from "../support/verified.js";

const GATE = `evidence_schema:
  report: {type: string, required: true}
  note: {type: string, required: false}
verify: [slow]
`;
/** May be passed without evidence by the host. */
const SKIPPED = `${GATE}checkpoint: {allow_override: true}\n`;
const OPEN = "evidence_schema: {done: {type: boolean}}\n";

/** A clock whose timers above ten seconds are moved on by the test. */
function movedClock() {
  const timers = new Set<{ readonly milliseconds: number; readonly callback: () => void }>();
  return {
    now: () => Date.UTC(2026, 2, 4, 5, 6, 7),
    after(milliseconds: number, callback: () => void) {
      if (milliseconds < 10_000) return systemClock.after(milliseconds, callback);
      const timer = { milliseconds, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    /** Lets every timer of this length end. */
    pass(milliseconds: number) {
      const due = [...timers].filter((timer) => timer.milliseconds === milliseconds);
      for (const timer of due) {
        timers.delete(timer);
        timer.callback();
      }
      return due.length;
    },
  };
}

/** A check that ends when the test says so. */
function held() {
  const waiting: ((result: VerifyResult) => void)[] = [];
  const seen = { begun: 0, stopped: 0 };
  let begin = () => {};
  return {
    seen,
    /** Resolves when so many have begun. */
    begun: async (count: number) => {
      while (seen.begun < count)
        await new Promise<void>((resolve) => {
          begin = resolve;
        });
    },
    end(ok = true) {
      for (const resolve of waiting.splice(0)) resolve({ ok, message: ok ? "all is well" : "3 tests fail" });
    },
    verify: (_: unknown, { signal }: { readonly signal: AbortSignal }) =>
      new Promise<VerifyResult>((resolve, reject) => {
        seen.begun += 1;
        waiting.push(resolve);
        signal.addEventListener("abort", () => {
          seen.stopped += 1;
          reject(new Error("stopped"));
        });
        begin();
      }),
  };
}

const WITHIN = 20_000;
const quick = { verify: async () => ({ ok: true, message: "fine" }) };

/** Starts a session at a gate with a slow check; `tool` makes another tool of the engine. */
async function atSlowGate({
  gate = GATE,
  next = OPEN,
  ...options
}: Parameters<typeof startVerified>[1] & { gate?: string; next?: string } = {}) {
  const clock = movedClock();
  const slow = held();
  const made = await startVerified([gate, next], { clock, verifiers: { slow, quick }, ...options });
  const toolOf = (engine: Engine, more: WorkflowToolOptions = {}) => {
    const tool = workflowTool(engine, { answerWithinMs: WITHIN, ...more });
    const call = (action: string, given: Record<string, unknown> = {}, options = {}) =>
      tool.dispatch({ action, session_id: made.sessionId, ...given }, options);
    return { call, follow: tool.dispatch };
  };
  const { call, follow } = toolOf(made.engine);
  const submission = { phase: 1, evidence: { report: "r.md" } };
  /** Submits evidence, and lets the time pass until the answer. */
  const submitSlowly = async (more: Record<string, unknown> = {}, options = {}) => {
    const count = slow.seen.begun + 1;
    const answer = call("complete_phase", { ...submission, ...more }, options);
    await slow.begun(count);
    expect(clock.pass(WITHIN)).toBe(1);
    return answer;
  };
  const versions = async () => (await made.engine.session(made.sessionId).commits()).length;
  return { ...made, clock, slow, call, follow, toolOf, submission, submitSlowly, versions };
}

describe("a submission whose checks take longer than the answer may", () => {
  it("is answered in time, goes on, and the proposed call waits for its result without the evidence", async () => {
    const { follow, slow, submitSlowly, versions, sessionId } = await atSlowGate();
    const answer = await submitSlowly();
    expect(answer).toMatchObject({
      status: "verifying",
      verifying: { phase: 1, since: "2026-03-04T05:06:07.000Z", running: ["slow"], checks: "0 of 1 have ended" },
      next: { action: "complete_phase", session_id: sessionId, phase: 1, idempotency_key: expect.any(String) },
    });
    expect(answer.next).not.toHaveProperty("evidence");
    // It is not known yet.
    expect(answer).not.toHaveProperty("checkpoint_passed");
    expect(await versions()).toBe(1);
    const { next } = answer;
    const waits = follow(next);
    slow.end();
    expect(await waits).toMatchObject({ status: "success", checkpoint_passed: true, next_phase: { phase_number: 2 } });
    expect(slow.seen).toEqual({ begun: 1, stopped: 0 });
    // Asked again, and in another process, the log has it.
    expect(await follow(next)).toMatchObject({ checkpoint_passed: true, replayed: true });
    expect(await versions()).toBe(2);
  });

  it("is recorded when nobody asks again, with its refusal", async () => {
    const { follow, slow, submitSlowly, engine, sessionId } = await atSlowGate();
    const answer = await submitSlowly({ evidence: { report: "r.md", note: "see there" } });
    const failed = new Promise((resolve) => engine.on("gateFailed", resolve));
    slow.end(false);
    await failed;
    expect(await engine.session(sessionId).state()).toMatchObject({ head: { attempts: 1 } });
    const { next } = answer;
    expect(await follow(next)).toMatchObject({
      status: "error",
      code: "GATE_FAILED",
      replayed: true,
      attempts_left: 2,
      validation_errors: [expect.stringContaining("3 tests fail")],
      next: { action: "complete_phase", evidence: expect.objectContaining({ "<all fields>": expect.any(String) }) },
    });
  });

  it("shows in the state, whose next call waits for it", async () => {
    const { call, slow, submitSlowly } = await atSlowGate();
    const { next } = await submitSlowly({ idempotency_key: "mine" });
    expect(next).toMatchObject({ idempotency_key: "mine" });
    const verifying = { phase: 1, running: ["slow"], checks: "0 of 1 have ended" };
    expect(await call("get_state", { brief: true })).toMatchObject({ status: "success", verifying, next });
    expect(await call("get_state")).toMatchObject({ verifying, next });
    expect(await call("get_session")).toMatchObject({ next });
    slow.end();
    await call("complete_phase", { phase: 1, idempotency_key: "mine" });
    const state = await call("get_state", { brief: true });
    expect(state).toMatchObject({ current_phase: 2, next: { action: "get_phase" } });
    expect(state).not.toHaveProperty("verifying");
  });

  it("hides the names of checks at a gate that hides its requirements", async () => {
    const { submitSlowly, slow } = await atSlowGate({ gate: `${GATE}reveal: names\n` });
    const { verifying } = await submitSlowly();
    expect(verifying).toEqual({ phase: 1, since: "2026-03-04T05:06:07.000Z", checks: "0 of 1 have ended" });
    slow.end();
  });

  it("refuses other evidence for the phase meanwhile, with the call that waits", async () => {
    const { call, follow, slow, submitSlowly, versions } = await atSlowGate();
    const { next } = await submitSlowly();
    const others = [{ evidence: { report: "other.md" } }, { evidence: { report: "r.md" }, idempotency_key: "another" }];
    for (const other of others) {
      expect(await call("complete_phase", { phase: 1, ...other })).toMatchObject({
        status: "error",
        code: "INVALID_TRANSITION",
        error: expect.stringMatching(/^complete_phase is not possible: other evidence for phase 1 is being verified/),
        next,
      });
    }
    expect(slow.seen.begun).toBe(1);
    slow.end();
    expect(await follow(next)).toMatchObject({ status: "success" });
    expect(await versions()).toBe(2);
  });

  it("is one submission with the same call made again, by any agent", async () => {
    const { call, toolOf, engine, slow, submission, submitSlowly, clock, versions } = await atSlowGate();
    await submitSlowly({ idempotency_key: "mine" });
    const again = [
      call("complete_phase", submission),
      toolOf(engine).call("complete_phase", { ...submission, idempotency_key: "mine" }),
    ];
    // Both wait for the checks that run, as long as an answer may take.
    await expect.poll(() => clock.pass(WITHIN)).toBe(2);
    expect(await Promise.all(again)).toMatchObject([{ status: "verifying" }, { status: "verifying" }]);
    const waits = call("complete_phase", submission);
    slow.end();
    expect(await waits).toMatchObject({ checkpoint_passed: true });
    expect(slow.seen.begun).toBe(1);
    expect(await versions()).toBe(2);
  });

  it("is the one whose checks begin first, of two that come at the same time", async () => {
    const { call, slow, submission, clock, versions } = await atSlowGate();
    const same = [call("complete_phase", submission), call("complete_phase", submission)];
    const other = call("complete_phase", { phase: 1, evidence: { report: "other.md" } });
    expect(await other).toMatchObject({ code: "INVALID_TRANSITION", next: { action: "complete_phase" } });
    await expect.poll(() => clock.pass(WITHIN)).toBeGreaterThan(0);
    await expect.poll(() => clock.pass(WITHIN)).toBe(0);
    slow.end();
    const answers = await Promise.all(same);
    for (const answer of answers) expect(answer.status === "verifying" || answer.checkpoint_passed === true).toBe(true);
    await expect.poll(versions).toBe(2);
  });

  it("is stopped by its caller before, and by no caller after that answer", async () => {
    const { call, follow, slow, submission, submitSlowly, versions } = await atSlowGate();
    const early = new AbortController();
    const stopped = call("complete_phase", submission, { signal: early.signal });
    await slow.begun(1);
    early.abort();
    expect(await stopped).toMatchObject({ status: "error", code: "CANCELLED" });
    expect(slow.seen).toEqual({ begun: 1, stopped: 1 });
    const late = new AbortController();
    const { next } = await submitSlowly({}, { signal: late.signal });
    late.abort();
    const waiting = new AbortController();
    const left = follow(next, { signal: waiting.signal });
    waiting.abort();
    await left;
    const waits = follow(next);
    slow.end();
    expect(await waits).toMatchObject({ checkpoint_passed: true });
    expect(slow.seen).toEqual({ begun: 2, stopped: 1 });
    expect(await versions()).toBe(2);
  });

  it("is not said to be verified once its caller has ended it, and is made anew by the same call", async () => {
    const { call, slow, submission, clock, versions } = await atSlowGate();
    const early = new AbortController();
    const stopped = call("complete_phase", submission, { signal: early.signal });
    await slow.begun(1);
    early.abort();
    clock.pass(WITHIN);
    const again = call("complete_phase", submission);
    expect(await stopped).toMatchObject({ status: "error", code: "CANCELLED" });
    await slow.begun(2);
    slow.end();
    expect(await again).toMatchObject({ checkpoint_passed: true });
    expect(slow.seen).toEqual({ begun: 2, stopped: 1 });
    expect(await versions()).toBe(2);
  });

  it("tells who waits of the checks that run, and nobody after the answer", async () => {
    const { follow, slow, submitSlowly } = await atSlowGate();
    const [first, second]: [object[], object[]] = [[], []];
    const { next } = await submitSlowly({}, { onCheck: (check: object) => first.push(check) });
    expect(first).toHaveLength(1);
    const waits = follow(next, { onCheck: (check: object) => second.push(check) });
    await expect.poll(() => second).toMatchObject([{ verifier: "slow", total: 1 }]);
    slow.end();
    await waits;
    expect(first).toHaveLength(1);
    expect(second).toMatchObject([{ verifier: "slow" }, { verifier: "slow", ok: true, done: 1 }]);
  });

  it("ends with the engine: nothing of it is written, and the same evidence is verified anew", async () => {
    const folder = await mkdtemp(join(tmpdir(), "phasegate-verifying-"));
    const { engine, slow, submitSlowly, submission, sessionId, content } = await atSlowGate({
      storage: await FileStorage.open(folder),
    });
    const { next } = await submitSlowly();
    await engine.close();
    expect(slow.seen).toEqual({ begun: 1, stopped: 1 });
    const storage = await FileStorage.open(folder);
    const slow2 = { verify: async () => ({ ok: true, message: "well" }) };
    const reopened = createEngine({ storage, content, verifiers: { slow: slow2, quick } });
    onTestFinished(() => reopened.close());
    const tool = createWorkflowTool(reopened);
    expect(await reopened.session(sessionId).commits()).toHaveLength(1);
    const unknown = await tool.dispatch(next);
    expect(unknown).toMatchObject({
      status: "error",
      code: "INVALID_INPUT",
      error: expect.stringContaining("no result of it is recorded"),
      next: { ...Object(next), evidence: { "<all fields>": "<as before>" } },
    });
    // What is copied from an answer is no evidence.
    expect(await tool.dispatch(unknown.next)).toMatchObject({ code: "EVIDENCE_UNSAFE" });
    const key = Object(next).idempotency_key;
    const again = { action: "complete_phase", session_id: sessionId, ...submission, idempotency_key: key };
    expect(await tool.dispatch(again)).toMatchObject({ checkpoint_passed: true });
    expect(await tool.dispatch(next)).toMatchObject({ checkpoint_passed: true, replayed: true });
  });

  it("counts once if two processes verify it", async () => {
    const one = await atSlowGate();
    const { next } = await one.submitSlowly();
    const other = createEngine({ storage: one.storage, content: one.content, verifiers: { slow: quick, quick } });
    const elsewhere = one.toolOf(other).call;
    const key = Object(next).idempotency_key;
    expect(await elsewhere("complete_phase", { phase: 1, idempotency_key: key })).toMatchObject({
      code: "INVALID_INPUT",
    });
    expect(await elsewhere("complete_phase", { ...one.submission, idempotency_key: key })).toMatchObject({
      checkpoint_passed: true,
    });
    const waits = one.call("complete_phase", { phase: 1, idempotency_key: key });
    one.slow.end(false);
    // Its own checks came too late: the recorded result counts.
    expect(await waits).toMatchObject({ checkpoint_passed: true });
    expect(await one.versions()).toBe(2);
  });

  it("does not exist for those who may not see the session", async () => {
    const { engine, toolOf, slow, submission, submitSlowly } = await atSlowGate();
    const { next } = await submitSlowly();
    const stranger = toolOf(engine, { actor: { name: "eve" } });
    const code = "SESSION_NOT_FOUND";
    expect(await stranger.follow(next)).toMatchObject({ code });
    expect(await stranger.call("get_state")).toMatchObject({ code });
    for (const given of [submission, { phase: 1, evidence: {} }])
      expect(await stranger.call("complete_phase", given)).toMatchObject({ code });
    slow.end();
  });

  it("is joined only by those who may work on the session", async () => {
    const { engine, toolOf, slow, submission, submitSlowly } = await atSlowGate();
    await submitSlowly();
    const viewer = toolOf(engine, { actor: { name: "eve", roles: ["viewer"] } });
    expect(await viewer.call("get_state")).toMatchObject({ verifying: { phase: 1 } });
    for (const given of [submission, { phase: 1, evidence: {} }])
      expect(await viewer.call("complete_phase", given)).toMatchObject({ code: "NOT_ALLOWED" });
    slow.end();
  });

  it("is refused if the session has moved on meanwhile, with what to call now", async () => {
    const { follow, slow, submitSlowly, engine, sessionId } = await atSlowGate();
    const { next } = await submitSlowly();
    await engine.session(sessionId).pause();
    const waits = follow(next);
    slow.end();
    expect(await waits).toMatchObject({ status: "error", code: "INVALID_TRANSITION", next: { action: "resume" } });
    expect(await follow(next)).toMatchObject({ code: "INVALID_TRANSITION", next: { action: "resume" } });
  });
});

describe("a phase that is entered while evidence for another one is being verified", () => {
  it("takes its own evidence: after a skip, and after a return", async () => {
    const { call, follow, slow, submitSlowly, submission, clock, engine, sessionId } = await atSlowGate({
      gate: SKIPPED,
      next: GATE,
    });
    const { next: first } = await submitSlowly();
    await engine.session(sessionId).overrideGate(1, { by: "host", note: "go on" });
    expect(await call("get_state")).not.toHaveProperty("verifying");
    const second = call("complete_phase", { ...submission, phase: 2 });
    await slow.begun(2);
    expect(clock.pass(WITHIN)).toBe(1);
    expect(await second).toMatchObject({ status: "verifying", verifying: { phase: 2 } });
    await engine.session(sessionId).rollback(1);
    const both = [follow(first), follow((await second).next)];
    slow.end();
    // The first phase has begun again: its evidence is verified once more.
    await slow.begun(3);
    slow.end();
    expect(await Promise.all(both)).toMatchObject([{ checkpoint_passed: true }, { code: "PHASE_LOCKED" }]);
    expect(await engine.session(sessionId).state()).toMatchObject({ head: { phase: 2 } });
  });
});

describe("a session that is paused while checks run", () => {
  const REASON =
    "complete_phase is not possible: the session was paused by ana while the checks ran, so the submission was not counted";
  const refusal = {
    status: "error",
    code: "INVALID_TRANSITION",
    error: REASON,
    remediation: "Submit the same evidence again once the session is resumed.",
  };

  it("does not count the submission: who waits is told so, and how to go on", async () => {
    const { call, follow, slow, submitSlowly, submission, engine, sessionId, versions } = await atSlowGate();
    const lost = vi.fn();
    engine.on("submissionLost", lost);
    const { next } = await submitSlowly({ idempotency_key: "mine" });
    const waits = follow(next);
    await engine.session(sessionId).pause({ by: "ana" });
    slow.end();
    expect(await waits).toMatchObject({
      ...refusal,
      session_status: "paused",
      valid_actions: ["resume"],
      next: { action: "resume", session_id: sessionId },
    });
    expect(lost.mock.calls).toEqual([
      [
        {
          sessionId,
          phase: 1,
          idempotencyKey: "mine",
          code: "INVALID_TRANSITION",
          message: expect.stringContaining("paused by ana"),
        },
      ],
    ]);
    await call("resume");
    const again = call("complete_phase", { ...submission, idempotency_key: "mine" });
    await slow.begun(2);
    slow.end();
    expect(await again).toMatchObject({ checkpoint_passed: true });
    expect(await versions()).toBe(4);
  });

  it("tells it to who asks later, with what is possible then", async () => {
    const { follow, slow, submitSlowly, submission, engine, sessionId } = await atSlowGate();
    const session = engine.session(sessionId);
    const lost = new Promise((resolve) => engine.on("submissionLost", resolve));
    const { next } = await submitSlowly({ idempotency_key: "mine" });
    await session.pause({ by: "ana" });
    slow.end();
    await lost;
    expect(await follow(next)).toMatchObject({ ...refusal, session_status: "paused", next: { action: "resume" } });
    await session.resume();
    const later = await follow(next);
    expect(later).toMatchObject({
      ...refusal,
      session_status: "active",
      valid_actions: expect.arrayContaining(["complete_phase", "pause"]),
      next: { ...Object(next), evidence: { "<all fields>": "<as before>" } },
    });
    const again = follow({ ...Object(later.next), evidence: submission.evidence });
    await slow.begun(2);
    slow.end();
    expect(await again).toMatchObject({ checkpoint_passed: true });
    expect(await follow(next)).toMatchObject({ checkpoint_passed: true, replayed: true });
  });

  it("counts the submission if it is resumed before they end", async () => {
    const { call, follow, slow, submitSlowly } = await atSlowGate();
    const { next } = await submitSlowly();
    await call("pause");
    expect(await call("get_state")).toMatchObject({ verifying: { phase: 1 }, next: { action: "resume" } });
    await call("resume");
    const waits = follow(next);
    slow.end();
    expect(await waits).toMatchObject({ checkpoint_passed: true });
    expect(slow.seen.begun).toBe(1);
  });

  it("says so in the answer that the checks still run", async () => {
    const { call, follow, clock, slow, submitSlowly, sessionId } = await atSlowGate();
    const { next } = await submitSlowly();
    await call("pause");
    const waits = follow(next);
    await expect.poll(() => clock.pass(WITHIN)).toBe(1);
    expect(await waits).toMatchObject({
      status: "verifying",
      remediation: expect.stringContaining("The session is paused"),
      next: { action: "resume", session_id: sessionId },
    });
    slow.end();
  });

  it("refuses other evidence since it is paused", async () => {
    const { call, slow, submitSlowly } = await atSlowGate();
    const { next } = await submitSlowly();
    const other = { phase: 1, evidence: { report: "other.md" } };
    expect(await call("complete_phase", other)).toMatchObject({
      code: "INVALID_TRANSITION",
      remediation: expect.stringMatching(/^Wait for its result/),
      session_status: "active",
      valid_actions: ["request_waiver", "pause"],
      next,
    });
    await call("pause");
    expect(await call("complete_phase", other)).toMatchObject({
      code: "INVALID_TRANSITION",
      error: "complete_phase is not possible: the session is paused",
      valid_actions: ["resume"],
      next: { action: "resume" },
    });
    slow.end();
  });
});

describe("a call that waits", () => {
  it("needs a key of a submission for this phase", async () => {
    const { call, slow, submission } = await atSlowGate();
    expect(await call("complete_phase", { phase: 1 })).toMatchObject({
      error: "complete_phase: 'evidence' is missing",
    });
    const done = call("complete_phase", { ...submission, idempotency_key: "one" });
    await slow.begun(1);
    slow.end();
    await done;
    expect(await call("complete_phase", { phase: 2, idempotency_key: "one" })).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    await call("pause", { idempotency_key: "two" });
    expect(await call("complete_phase", { phase: 1, idempotency_key: "two" })).toMatchObject({
      code: "IDEMPOTENCY_KEY_REUSED",
    });
    expect(await call("complete_phase", { phase: 2, idempotency_key: "three" })).toMatchObject({
      code: "INVALID_INPUT",
      next: { action: "resume" },
    });
  });
});

it("is answered after its checks have ended, for a host that sets no limit", async () => {
  const { toolOf, engine, slow, submission, clock } = await atSlowGate();
  const answer = toolOf(engine, { answerWithinMs: Number.POSITIVE_INFINITY }).call("complete_phase", submission);
  await slow.begun(1);
  expect(clock.pass(WITHIN)).toBe(0);
  slow.end();
  expect(await answer).toMatchObject({ checkpoint_passed: true });
});

/** A session whose gate waits for a schema, and has answered that it does. */
async function atSlowSchema() {
  const clock = movedClock();
  let answer: (isMet: boolean) => void = () => {};
  const answered = new Promise<boolean>((resolve) => {
    answer = resolve;
  });
  const asked = vi.fn(() => answered);
  const evidence = z.object({ report: z.string() }).refine(asked);
  const phases = [{ number: 1, name: "Test", content: "Run.", gate: { evidence } }];
  const workflow = defineWorkflow({ type: "release", revision: "1", name: "Release", description: "", phases });
  const { engine } = makeEngine({ clock, content: new MemoryContent({ workflows: [workflow] }) });
  const { sessionId } = await engine.start({ workflowType: "release", target: "src/a.ts" });
  const { dispatch } = workflowTool(engine, { answerWithinMs: WITHIN });
  const submission = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { report: "r.md" } };
  const answering = dispatch(submission);
  await vi.waitFor(() => expect(asked).toHaveBeenCalled());
  expect(clock.pass(WITHIN)).toBe(1);
  const { status, next } = await answering;
  expect(status).toBe("verifying");
  return { engine, session: engine.session(sessionId), dispatch, next, answer };
}

it("is found by the key that its caller was told, also if only a schema took long", async () => {
  const { session, dispatch, next, answer } = await atSlowSchema();
  answer(false);
  await expect.poll(async () => (await session.state()).head.attempts).toBe(1);
  expect(await dispatch(next)).toMatchObject({ code: "GATE_FAILED", replayed: true, attempts_left: 2 });
});

it("is not counted if the session is paused while a schema is asked", async () => {
  const { engine, session, dispatch, next, answer } = await atSlowSchema();
  await session.pause({ by: "ana" });
  const lost = new Promise((resolve) => engine.on("submissionLost", resolve));
  answer(false);
  expect(await lost).toMatchObject({ message: expect.stringContaining("paused by ana while the checks ran") });
  await session.resume();
  expect(await dispatch(next)).toMatchObject({ code: "INVALID_TRANSITION", next: { action: "complete_phase" } });
});

it.each([{ answerWithinMs: Number.NaN }, { answerWithinMs: -1 }, { answerWithinMs: 50, signal: "now" }])(
  "refuses to wait as %j says",
  async (waiting) => {
    const { engine, sessionId, slow } = await atSlowGate();
    const session = engine.session(sessionId);
    const how: { answerWithinMs: number } = waiting;
    const refusal = { code: "INVALID_INPUT" };
    await expect(session.submit(1, { report: "r.md" }, how)).rejects.toMatchObject(refusal);
    await expect(session.submission(1, "key", how)).rejects.toMatchObject(refusal);
    expect(slow.seen.begun).toBe(0);
  },
);

it("keeps the key that it made only if something was run", async () => {
  const { call, slow, storage, sessionId, submission } = await atSlowGate();
  const keys = async () => JSON.parse((await storage.read(parseSessionId(sessionId)))?.body ?? "").keys;
  await call("complete_phase", { phase: 1, evidence: {} });
  expect(await keys()).toBeUndefined();
  const done = call("complete_phase", submission);
  await slow.begun(1);
  slow.end();
  await done;
  expect(await keys()).toHaveLength(1);
});
