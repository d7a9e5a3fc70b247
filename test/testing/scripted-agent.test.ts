import { describe, expect, it } from "vitest";
import * as z from "zod";
import { MemoryContent } from "../../src/content/memory.js";
import { createEngine } from "../../src/phased/engine.js";
import { MemoryStorage } from "../../src/storage/memory/storage.js";
import { type AgentTurn, ScriptedAgent } from "../../src/testing/scripted-agent.js";
import { createWorkflowTool } from "../../src/tools/phased/workflow-tool.js";
import { defineWorkflow } from "../../src/workflow/files/define-workflow.js";

const workflow = defineWorkflow({
  type: "careful",
  revision: "1",
  name: "Careful",
  description: "Three phases",
  phases: [1, 2, 3].map((number) => ({
    number,
    name: `Phase ${number}`,
    content: "# A phase",
    gate: { evidence: z.object({ done: z.literal(`phase ${number} is done`) }) },
  })),
});

function agent() {
  const engine = createEngine({ storage: new MemoryStorage(), content: new MemoryContent({ workflows: [workflow] }) });
  return new ScriptedAgent(createWorkflowTool(engine), {
    workflowType: "careful",
    target: "a.md",
    evidence: { 1: { done: "phase 1 is done" }, 2: { done: "phase 2 is done" }, 3: { done: "phase 3 is done" } },
  });
}

function shown(turns: readonly AgentTurn[]): string[] {
  return turns.map(({ move, passed, refused }) => `${move} ${passed ? "passed" : (refused ?? "ok")}`);
}

describe("ScriptedAgent", () => {
  it("completes a workflow honestly", async () => {
    const honest = agent();
    expect(shown(await honest.play("start", "look", "honest"))).toEqual(["start ok", "look ok", "honest passed"]);
    expect([honest.phase, honest.isDone]).toEqual([2, false]);
    expect(shown(await honest.play("finish"))).toEqual(["finish passed", "finish passed"]);
    expect(honest.isDone).toBe(true);
    expect(await honest.play("finish")).toEqual([]);
    expect(honest.transcript).toHaveLength(5);
  });

  it("is refused for false evidence, no evidence and evidence of the next phase, and can repeat its last call", async () => {
    const liar = agent();
    const turns = await liar.play("start", "skip", "empty", { lie: { done: true } }, "repeat");
    expect(shown(turns)).toEqual([
      "start ok",
      "skip PHASE_LOCKED",
      "empty GATE_FAILED",
      "lie GATE_FAILED",
      "repeat GATE_FAILED",
    ]);
    expect(turns[4]?.call).toEqual(turns[3]?.call);
    expect([liar.phase, liar.isDone]).toEqual([1, false]);
  });

  it("submits the example that the phase shows, and evidence of a completed phase", async () => {
    const lazy = agent();
    const turns = await lazy.play("start", "example");
    expect(turns.map(({ move }) => move)).toEqual(["start", "look", "example"]);
    expect(turns[2]?.call).toMatchObject({ action: "complete_phase", evidence: { done: expect.anything() } });
    const hasty = agent();
    expect(shown(await hasty.play("start", "honest", "again"))).toEqual([
      "start ok",
      "honest passed",
      "again PHASE_ALREADY_COMPLETED",
    ]);
  });

  it("continues its session, and makes any call", async () => {
    const one = agent();
    await one.play("start", "honest", "start", { call: { action: "get_state" } });
    expect(one.transcript[2]?.answer.session_id).toBe(one.sessionId);
    expect(one.transcript[3]?.answer).toMatchObject({ status: "success", completed_phases: [1] });
    expect((await one.play({ call: { action: "no_such_action" } }))[0]?.refused).toBeDefined();
  });

  it("can't do anything before it starts", async () => {
    for (const move of ["look", "honest", "repeat"] as const) {
      await expect(agent().play(move)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(() => agent().sessionId).toThrow("no session yet");
  });
});
