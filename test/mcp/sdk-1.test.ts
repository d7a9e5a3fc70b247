/** What tests say of a host's server holds for those of the older SDK, too. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it, onTestFinished } from "vitest";
import * as z from "zod";
import { systemClock } from "../../src/ports/clock.js";
import { makeEngine } from "../support/make-engine.js";
import { startVerified } from "../support/verified.js";
import { testsWith } from "./host-servers.js";

await testsWith("@modelcontextprotocol/sdk");

describe("a client of the older SDK", () => {
  it("checks the answers of a host's server by their schemas, and finds the host's own tools beside", async () => {
    const server = new McpServer({ name: "host", version: "1.0.0" });
    server.registerTool("add", { inputSchema: { one: z.number() }, outputSchema: { sum: z.number() } }, ({ one }) => {
      return { content: [], structuredContent: { sum: one + 1 } };
    });
    const { engine } = makeEngine();
    const { tool } = registerWorkflowTool(server, engine);
    registerWorkflowTool(server, engine, { name: "other", actions: ["list_workflows"], resources: false });
    const client = new Client({ name: "agent", version: "1.0.0" });
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(other), client.connect(one)]);
    onTestFinished(() => client.close());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["add", "pos_workflow", "other"]);
    expect(tools[0]).toMatchObject({ inputSchema: { properties: { one: { type: "number" } } } });
    expect(tools[1]).toMatchObject({ inputSchema: tool.inputSchema, outputSchema: tool.outputSchema });
    expect(tools[2]).toMatchObject({ inputSchema: { properties: { action: { enum: ["list_workflows"] } } } });
    const start = { action: "start", workflow_type: "two_phases", target_file: "src/a.ts" };
    const { structuredContent } = await client.callTool({ name: "pos_workflow", arguments: start });
    expect(structuredContent).toMatchObject({ status: "success", current_phase: 1 });
    expect(await client.callTool({ name: "add", arguments: { one: 1 } })).toMatchObject({
      structuredContent: { sum: 2 },
    });
  });

  it.each([
    ["has no handler for it", undefined],
    ["never answers", () => new Promise<never>(() => {})],
    ["has a handler that throws", () => Promise.reject(new Error("no window"))],
    ["answers what is no answer", async () => ({ action: "accept" as const, content: { decision: 5 } })],
  ])("gets no error if its user is asked and it %s: the gate waits", async (_, answer) => {
    const clock = {
      now: Date.now,
      after: (milliseconds: number, callback: () => void) =>
        systemClock.after(milliseconds === 20_000 ? 20 : milliseconds, callback),
    };
    const options = { allowUnsignedApprovals: true, clock };
    const { engine, sessionId } = await startVerified(["approval: {prompt: Well?}\n"], options);
    const server = new McpServer({ name: "host", version: "1.0.0" });
    registerWorkflowTool(server, engine);
    const client = new Client({ name: "agent", version: "1.0.0" }, { capabilities: { elicitation: {} } });
    if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, answer);
    const [one, other] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(other), client.connect(one)]);
    onTestFinished(() => client.close());
    const submit = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: true } };
    const { structuredContent } = await client.callTool({ name: "pos_workflow", arguments: submit });
    expect(structuredContent).toMatchObject({ status: "success", checkpoint_passed: false, awaiting_approval: true });
  });
});

it("of a version that is not known is refused when a tool is registered", () => {
  const server = new McpServer({ name: "host", version: "1.0.0" });
  Reflect.set(server.server, "_requestHandlers", undefined);
  Object.assign(server.server, { assertCanSetRequestHandler: () => {}, setRequestHandler: () => {} });
  expect(() => registerWorkflowTool(server, makeEngine().engine)).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED", remedy: expect.stringContaining("from 1.20 to 1.32") }),
  );
});

it("is no McpServer: an object of another kind is refused with what to pass", () => {
  const { engine } = makeEngine();
  const { server } = new McpServer({ name: "host", version: "1.0.0" });
  for (const wrong of [server, {}, null, "server"]) {
    expect(() => Reflect.apply(registerWorkflowTool, undefined, [wrong, engine])).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT", message: expect.stringContaining("no McpServer") }),
    );
  }
});
