import { createWorkflowTool, type Engine } from "phasegate";
import { describe, expect, it } from "vitest";
import { endless } from "../support/endless.js";
import { aGate } from "./a-gate.js";

const GATE = `
evidence_schema:
  report: {type: string, verify: read}
`;
const TRUTH = { report: "report.md" };
const LIE = { report: "nothing.md" };

/** A gate whose check waits for the file `go` of the project, and then reads the evidence's file. */
async function atSlowGate() {
  const waiting: (() => void)[] = [];
  /** Resolves once so many checks wait. */
  const begun = (count: number) => expect.poll(() => waiting.length, { timeout: 20_000 }).toBe(count);
  const read = {
    verify: async ({ value }: { readonly value?: unknown }, { signal }: { readonly signal: AbortSignal }) => {
      await new Promise<void>((resolve, reject) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
      return { ok: value === "report.md", message: "it is read" };
    },
  };
  const more = { "phases/2/gate-definition.yaml": GATE };
  const made = await aGate({ gate: GATE, more, engine: { verifiers: { read } } });
  const toolOf = (engine: Engine) => createWorkflowTool(engine, { answerWithinMs: 50 });
  const submit = (evidence: object, of = toolOf(made.engine), more = {}) =>
    of.dispatch({ action: "complete_phase", session_id: made.id, phase: 1, evidence, ...more });
  const go = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  const versions = async () => (await made.engine.session(made.id).commits()).length;
  return { ...made, begun, toolOf, submit, go, versions, tool: toolOf(made.engine), read };
}

/** Waits for the result as an agent does, which makes the proposed call while the checks run. */
async function judged(tool: ReturnType<typeof createWorkflowTool>, answering: ReturnType<typeof tool.dispatch>) {
  let answer = await answering;
  while (answer.status === "verifying") answer = await tool.dispatch(answer.next);
  return answer;
}

describe("evidence that is being verified", () => {
  it("is not replaced by other evidence, with its key or without", async () => {
    const { submit, begun, go, tool, phase } = await atSlowGate();
    const verifying = await submit(LIE);
    await begun(1);
    expect(verifying).toMatchObject({ status: "verifying" });
    const { idempotency_key } = Object(verifying.next);
    expect(await submit(TRUTH)).toMatchObject({ code: "INVALID_TRANSITION" });
    expect(await submit(TRUTH, tool, { idempotency_key })).toMatchObject({ code: "INVALID_TRANSITION" });
    const waits = judged(tool, tool.dispatch(verifying.next));
    go();
    expect(await waits).toMatchObject({ code: "GATE_FAILED" });
    // The key stays that of the lie.
    expect(await submit(TRUTH, tool, { idempotency_key })).toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
    expect(await phase()).toBe(1);
  });

  it("does not pass because an agent waits for it with a key of its own choice", async () => {
    const { submit, go, tool, phase, id, begun } = await atSlowGate();
    await submit(LIE);
    await begun(1);
    for (const idempotency_key of ["", "any", "undefined", "null"]) {
      const wait = { action: "complete_phase", session_id: id, phase: 1, idempotency_key };
      expect(await tool.dispatch(wait)).toMatchObject({ status: "error", code: "INVALID_INPUT" });
    }
    for (const evidence of [{}, null, [], ""]) expect((await submit(Object(evidence))).status).toBe("error");
    go();
    expect(await phase()).toBe(1);
  });

  it("counts as one attempt, however many agents and processes ask for it", async () => {
    const { submit, go, open, toolOf, tool, engine, id, read, versions, begun } = await atSlowGate();
    const one = { idempotency_key: "once" };
    const other = toolOf(await open({ verifiers: { read } }));
    const answers = await Promise.all([
      submit(LIE, undefined, one),
      submit(LIE, undefined, one),
      submit(LIE, other, one),
    ]);
    for (const answer of answers) expect(answer).toMatchObject({ status: "verifying" });
    await begun(2);
    const ended = Promise.all([judged(tool, submit(LIE, tool, one)), judged(other, submit(LIE, other, one))]);
    go();
    for (const answer of await ended) expect(answer).toMatchObject({ code: "GATE_FAILED", attempts_left: 2 });
    expect(await versions()).toBe(2);
    expect(await engine.session(id).audit()).toMatchObject({ intact: true });
  });

  it("is not passed by a process that has ended meanwhile", async () => {
    const { seen, verify } = endless();
    const { engine, id, open } = await aGate({ gate: GATE, engine: { verifiers: { read: { verify } } } });
    const submit = { action: "complete_phase", session_id: id, phase: 1, evidence: TRUTH };
    const { next } = await createWorkflowTool(engine, { answerWithinMs: 50 }).dispatch(submit);
    expect(seen).toEqual({ begun: 1, stopped: 0 });
    await engine.close();
    expect(seen).toEqual({ begun: 1, stopped: 1 });
    const tool = createWorkflowTool(await open());
    expect(await tool.dispatch(next)).toMatchObject({ code: "INVALID_INPUT" });
    expect(await tool.dispatch({ action: "get_state", session_id: id })).toMatchObject({
      current_phase: 1,
      attempts: 0,
    });
  });

  it("for a phase that its agent then leaves keeps nobody from other work", async () => {
    const { submit, begun, go, tool, id, phase } = await atSlowGate();
    const passes = judged(tool, submit(TRUTH));
    await begun(1);
    go();
    await passes;
    expect(await submit(TRUTH, tool, { phase: 2 })).toMatchObject({ status: "verifying" });
    expect(await tool.dispatch({ action: "rollback", session_id: id, to_phase: 1 })).toMatchObject({
      status: "success",
    });
    expect(await submit(TRUTH)).toMatchObject({ status: "verifying", verifying: { phase: 1 } });
    await begun(2);
    go();
    await expect.poll(phase).toBe(2);
  });

  it("is verified and recorded once nobody waits any more", async () => {
    const { submit, go, engine, phase, begun } = await atSlowGate();
    const passed = new Promise((resolve) => engine.on("gatePassed", resolve));
    expect(await submit(TRUTH)).toMatchObject({ status: "verifying" });
    await begun(1);
    go();
    await passed;
    expect(await phase()).toBe(2);
  });
});
