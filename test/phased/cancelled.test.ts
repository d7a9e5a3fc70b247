import { defineWorkflow, type EngineOptions } from "phasegate";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { endless } from "../support/endless.js";
import { failure } from "../support/failure.js";
import { makeEngine } from "../support/make-engine.js";
import { submitTo } from "../support/submit.js";

const EVIDENCE = { summary: "done" };

/** A workflow whose first gate runs two verifiers, and an engine whose verifiers are given. */
async function verified(verifiers: EngineOptions["verifiers"]) {
  const workflow = defineWorkflow({
    ...{ type: "checked", revision: "1", name: "Checked", description: "Two checks" },
    phases: [
      {
        number: 1,
        name: "One",
        content: "# One",
        gate: {
          evidence: z.object({ summary: z.string() }),
          verify: [{ verifier: "quick", field: "summary" }, { verifier: "slow" }],
        },
      },
    ],
  });
  const made = makeEngine({ verifiers: verifiers ?? {} }, [workflow]);
  const { sessionId } = await made.engine.start({ workflowType: "checked", target: "a" });
  return { ...made, sessionId };
}

const quick = { verify: async () => ({ ok: true, message: "fine" }) };

describe("a call that its caller follows", () => {
  it("tells when each check begins and ends", async () => {
    const slow = { verify: async () => ({ ok: false, message: "not yet" }) };
    const { engine, sessionId } = await verified({ quick, slow });
    const seen: object[] = [];
    await engine.session(sessionId).completePhase(1, EVIDENCE, { onCheck: (check) => seen.push(check) });
    expect(seen).toHaveLength(4);
    expect(seen).toContainEqual({ verifier: "quick", field: "summary", done: 0, total: 2, elapsedMs: 0 });
    expect(seen).toContainEqual(expect.objectContaining({ verifier: "quick", field: "summary", ok: true, total: 2 }));
    expect(seen.at(-1)).toMatchObject({ done: 2, total: 2 });
    expect(seen).toContainEqual(expect.objectContaining({ verifier: "slow", ok: false }));
  });

  it("is ended by its signal: its verifiers are stopped, and nothing is written", async () => {
    const caller = new AbortController();
    const { seen, verify } = endless(() => caller.abort());
    const { engine, sessionId } = await verified({ quick, slow: { verify } });
    const errors: unknown[] = [];
    engine.on("internalError", (error) => errors.push(error));
    const request = { phase: 1, evidence: EVIDENCE, idempotencyKey: "once", signal: caller.signal };
    expect(await failure(submitTo(engine.session(sessionId), request))).toMatchObject({
      code: "CANCELLED",
    });
    expect(seen).toEqual({ begun: 1, stopped: 1 });
    expect(errors).toEqual([]);
    expect(await engine.session(sessionId).commits()).toHaveLength(1);
    expect(await engine.session(sessionId).audit()).toMatchObject({ intact: true, versions: 1 });
  });

  it("can be made again with the same key", async () => {
    const { engine, sessionId } = await verified({ quick, slow: quick });
    const request = { phase: 1, evidence: EVIDENCE, idempotencyKey: "once" };
    const signal = AbortSignal.abort();
    expect(await failure(submitTo(engine.session(sessionId), { ...request, signal }))).toMatchObject({
      code: "CANCELLED",
    });
    expect(await submitTo(engine.session(sessionId), request)).toMatchObject({
      passed: true,
      replayed: false,
    });
    // Once it is written, the signal has no effect.
    expect(await submitTo(engine.session(sessionId), { ...request, signal })).toMatchObject({
      passed: true,
      replayed: true,
    });
  });
});
