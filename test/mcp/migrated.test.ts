import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { describe, expect, it } from "vitest";
import { connectInMemory } from "./connect-in-memory.js";

function flow(revision: string, ...names: readonly string[]) {
  return defineWorkflow({
    ...{ type: "flow", revision, name: "Flow", description: "Changes", target: "none" },
    phases: names.map((name, index) => {
      const gate = { fields: { done: { type: "boolean" } } } as const;
      return { number: index + 1, name, content: `# ${name}`, gate };
    }),
  });
}

/** Serves a workflow that has changed, and a session that has passed its first phase. */
async function changed() {
  const storage = new MemoryStorage();
  const first = flow("1", "Model", "Write");
  const on = (...more: readonly ReturnType<typeof flow>[]) =>
    createEngine({ storage, content: new MemoryContent({ workflows: [first, ...more] }) });
  const { sessionId } = await on().start({ workflowType: "flow" });
  await on().session(sessionId).completePhase(1, { done: false });
  await on().session(sessionId).completePhase(1, { done: true });
  const engine = on(flow("2", "Survey", "Write"));
  return { engine, sessionId, ...(await connectInMemory(engine)) };
}

describe("an agent over MCP", () => {
  it("can't move its session to another definition", async () => {
    const { ask, client, engine, sessionId } = await changed();
    const { tools } = await client.listTools();
    expect(JSON.stringify(tools)).not.toMatch(/migrat/i);
    for (const action of ["migrate", "migration"]) {
      const answer = await ask({ action, session_id: sessionId, by: "ann", accept: { Model: "easier" } });
      expect(answer).toMatchObject({ status: "error", code: "INVALID_INPUT" });
    }
    expect((await engine.session(sessionId).state()).head.revision).toBe("1");
  });

  it("goes on in a session that the host has moved, and is shown what is gone", async () => {
    const { ask, engine, sessionId } = await changed();
    await engine.session(sessionId).migrate({ by: "ann", accept: { Model: "Survey has it" } });
    expect(await ask({ action: "get_state", session_id: sessionId, brief: true })).toMatchObject({ current_phase: 1 });
    const { history } = await ask({ action: "get_history", session_id: sessionId });
    expect(history).toMatchObject([
      { phase: 1, gone: "Model", status: "failed" },
      { phase: 1, gone: "Model", status: "rolled_back" },
      { phase: 2, status: "rolled_back" },
      { phase: 1, status: "active" },
    ]);
    const claim = (phase: number) =>
      ask({ action: "complete_phase", session_id: sessionId, phase, evidence: { done: true } });
    expect(await claim(2)).toMatchObject({ status: "error", code: "PHASE_LOCKED" });
    expect(await claim(1)).toMatchObject({ status: "success" });
    expect(await claim(2)).toMatchObject({ workflow_complete: true });
  });
});
