import { AsyncLocalStorage } from "node:async_hooks";
import type { Client } from "@modelcontextprotocol/client";
import { SamplingDecider } from "phasegate/ai";
import { type CallingClient, registerRoutedTools, registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it } from "vitest";
import { decision } from "../deciders/model-servers.js";
import { routed } from "../routed/engine/garden.js";
import { makeAsking } from "../support/approvals.js";
import { answerOf } from "./connect-in-memory.js";
import { connectTo, GENERATIONS, serveMcp } from "./http-server.js";

describe("over HTTP, a server", () => {
  it.each(GENERATIONS)("asks the user of a client of protocol %s for an approval", async (generation) => {
    const made = await makeAsking({ allowUnsignedApprovals: true });
    const { sessionId } = await made.waiting();
    await made.engine.session(sessionId).approve(await made.signed(sessionId));
    const { url } = await serveMcp({ register: (server) => registerWorkflowTool(server, made.engine) });
    const asked: unknown[] = [];
    const prepare = (client: Client) => {
      client.registerCapabilities({ elicitation: {} });
      client.setRequestHandler("elicitation/create", ({ params }) => {
        asked.push(params.message);
        return { action: "accept", content: { decision: "approve" } };
      });
    };
    const { ask } = await connectTo(url, generation, { prepare });
    const submit = { action: "complete_phase", session_id: sessionId, phase: 2, evidence: { tests_pass: true } };
    expect(await ask(submit)).toMatchObject({ checkpoint_passed: true, next_phase: { phase_number: 3 } });
    expect(asked).toHaveLength(1);
  });

  it.each(GENERATIONS)(
    "asks a client of protocol %s once if it can't ask its user, and then says what waits",
    async (generation) => {
      const made = await makeAsking({ allowUnsignedApprovals: true });
      const { sessionId } = await made.waiting();
      await made.engine.session(sessionId).approve(await made.signed(sessionId));
      const { url } = await serveMcp({ register: (server) => registerWorkflowTool(server, made.engine) });
      const prepare = (client: Client) => client.registerCapabilities({ elicitation: {} });
      const { ask } = await connectTo(url, generation, { prepare });
      const submit = { action: "complete_phase", session_id: sessionId, phase: 2, evidence: { tests_pass: true } };
      // The newer protocol has the client itself ask and call again: its own SDK gives up on the first call.
      const first = ask(submit);
      if (generation === "2026") await expect(first).rejects.toThrow();
      else expect(await first).toMatchObject({ awaiting_approval: true });
      expect(await ask(submit)).toMatchObject({ awaiting_approval: true, next: { action: "get_state" } });
    },
  );

  it("asks the model of the client that is calling, of several that call at once", async () => {
    const clients = new AsyncLocalStorage<CallingClient>();
    const { engine } = routed(new SamplingDecider({ server: () => clients.getStore() }));
    const { url } = await serveMcp({
      register: (server) => {
        registerRoutedTools(server, engine, { during: (client, call) => clients.run(client, call) });
        return undefined;
      },
    });
    const choosing = (step: string) => (client: Client) => {
      client.registerCapabilities({ sampling: {} });
      client.setRequestHandler("sampling/createMessage", () => ({
        ...{ role: "assistant", model: step, content: { type: "text", text: decision(step).text ?? "" } },
      }));
    };
    const agents = await Promise.all(
      ["Sow", "Water"].map(async (step) => {
        const { client } = await connectTo(url, "2025", { prepare: choosing(step) });
        const call = async (name: string, input: Record<string, unknown>) =>
          answerOf(await client.callTool({ name, arguments: input }));
        const { instance_id } = await call("start_workflow", { workflow_name: "GARDEN" });
        return () => call("advance_workflow", { instance_id, report: { status: "success" } });
      }),
    );
    const [one, other] = await Promise.all(agents.map((advance) => advance()));
    expect([one, other]).toMatchObject([{ next_step: { step_name: "Sow" } }, { next_step: { step_name: "Water" } }]);
  });

  it("does not wait for the model of a client without a connection", async () => {
    const clients = new AsyncLocalStorage<CallingClient>();
    const { engine } = routed(new SamplingDecider({ server: () => clients.getStore() }));
    const { url } = await serveMcp({
      stateful: false,
      register: (server) => {
        registerRoutedTools(server, engine, { during: (client, call) => clients.run(client, call) });
        return undefined;
      },
    });
    const { client } = await connectTo(url, "2025", { prepare: (made) => made.registerCapabilities({ sampling: {} }) });
    const call = async (name: string, input: Record<string, unknown>) =>
      answerOf(await client.callTool({ name, arguments: input }));
    const { instance_id } = await call("start_workflow", { workflow_name: "GARDEN" });
    const advanced = await call("advance_workflow", { instance_id, report: { status: "success" } });
    expect(advanced).toMatchObject({ error_code: "AI_SERVICE_ERROR" });
  });
});
