import { describe, expect, it } from "vitest";
import { ACTION_NAMES } from "../../src/tools/phased/actions.js";
import { expectFits } from "../support/fits-schema.js";
import { makeEngine } from "../support/make-engine.js";
import { built } from "../support/workflows.js";
import { answerOf, connectInMemory } from "./connect-in-memory.js";

/** The maximum for the whole listing, at four characters a token. */
const LISTING_TOKENS = 900;

describe("the workflow tool on a host's own server", () => {
  it("is listed with its schemas, in less than the maximum of tokens", async () => {
    const { client, registration } = await connectInMemory(makeEngine().engine);
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(1);
    const { name, description, inputSchema, outputSchema } = tools[0] ?? {};
    const { tool } = registration;
    expect({ name, description }).toEqual({ name: "pos_workflow", description: tool.description });
    expect({ inputSchema, outputSchema }).toEqual({ inputSchema: tool.inputSchema, outputSchema: tool.outputSchema });
    const { length } = JSON.stringify({ name, description, inputSchema, outputSchema });
    console.log(`the tool listing over MCP: ${length} characters, ${Math.ceil(length / 4)} tokens`);
    expect(length).toBeLessThanOrEqual(LISTING_TOKENS * 4);
  });

  it("answers every call of a session, as structured content and as text", async () => {
    const { client, ask } = await connectInMemory(makeEngine().engine);
    // Listed first, so that the client has the output schema and checks every answer by it.
    await client.listTools();
    const { session_id } = await ask({ action: "start", workflow_type: "two_phases", target_file: "src/a.ts" });
    const skip = await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} });
    expect(skip).toMatchObject({ status: "error", violation_type: "attempted_skip", next: { action: "get_phase" } });
    const short = await ask({ action: "complete_phase", session_id, phase: 1, evidence: { summary: "done" } });
    expect(short).toMatchObject({ status: "error", checkpoint_passed: false, missing_evidence: ["tests_pass"] });
    expect(await ask({ action: "complete_phase", session_id, phase: 1, evidence: built })).toMatchObject({
      checkpoint_passed: true,
    });
    expect(await ask({ action: "complete_phase", session_id, phase: 2, evidence: {} })).toMatchObject({
      workflow_complete: true,
      next_phase: null,
    });
  });

  it("answers a session whose attempts are used up, to a client that checks every answer", async () => {
    const { engine } = makeEngine({ limits: { maxAttempts: 1, maxAttemptsTotal: 2 } });
    const { ask, registration } = await connectInMemory(engine);
    const { session_id } = await ask({ action: "start", workflow_type: "two_phases", target_file: "src/a.ts" });
    const fail = { action: "complete_phase", session_id, phase: 1, evidence: {}, idempotency_key: "k" };
    await ask({ ...fail, idempotency_key: "first" });
    await ask({ action: "retry_phase", session_id, phase: 1 });
    const calls = [
      fail,
      { action: "get_phase", session_id },
      { action: "get_task", session_id, phase: 1, task_number: 1 },
      { action: "get_state", session_id },
      { action: "get_state", session_id, brief: true },
      { action: "get_session", session_id },
      fail,
    ];
    for (const call of calls) {
      const answer = await ask(call);
      expect(answer).toMatchObject({ action: call.action, next: null });
      expectFits(registration.tool.outputSchema, answer);
    }
    const others = [
      "pause",
      "resume",
      "rollback",
      "retry_phase",
      "sync_plan",
      "get_errors",
      "get_history",
      "delete_session",
    ];
    for (const action of others) {
      const more = { rollback: { to_phase: 1 }, retry_phase: { phase: 1 } }[action];
      expectFits(registration.tool.outputSchema, await ask({ action, session_id, ...more }));
    }
  });

  it("marks refusals as errors, with their structure", async () => {
    const { call } = await connectInMemory(makeEngine().engine);
    const refused = await call({ action: "get_phase", session_id: "nobody" });
    expect(refused.isError).toBe(true);
    expect(answerOf(refused)).toMatchObject({ error_type: "NotFoundError", code: "SESSION_NOT_FOUND" });
    const listed = await call({ action: "list_workflows" });
    expect(listed.isError).toBe(false);
  });

  it("answers wrong calls itself, instead of the server", async () => {
    const { client, ask } = await connectInMemory(makeEngine().engine);
    expect(await ask({ action: "complete_phse" })).toMatchObject({
      status: "error",
      valid_actions: expect.arrayContaining(["complete_phase"]),
      remediation: "Did you mean 'complete_phase'?",
    });
    expect(await ask({ action: "start", workflow_typ: "two_phases" })).toMatchObject({
      error: expect.stringContaining("did you mean 'workflow_type'?"),
      example: { action: "start" },
    });
    expect(await ask({ action: "get_phase", session_id: 7 })).toMatchObject({ error_type: "ValueError" });
    const bare = answerOf(await client.callTool({ name: "pos_workflow" }));
    expect(bare).toMatchObject({ status: "error", error: "'action' is missing" });
  });

  it("has the annotations of the actions that the host allows", async () => {
    const all = await connectInMemory(makeEngine().engine, { actions: ACTION_NAMES });
    expect((await all.client.listTools()).tools[0]?.annotations).toMatchObject({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: false,
    });
    const some = await connectInMemory(makeEngine().engine, { actions: ["start", "get_phase", "complete_phase"] });
    expect((await some.client.listTools()).tools[0]?.annotations).toMatchObject({ destructiveHint: false });
    const looking = await connectInMemory(makeEngine().engine, { name: "look", actions: ["get_state"] });
    const { tools } = await looking.client.listTools();
    expect(tools[0]).toMatchObject({ name: "look", annotations: { readOnlyHint: true, idempotentHint: true } });
    expect(await looking.ask({ action: "start" })).toMatchObject({ status: "error", valid_actions: ["get_state"] });
  });

  it("can be registered next to the host's own tools, and without resources", async () => {
    const { client, server } = await connectInMemory(makeEngine().engine, { resources: false });
    server.registerTool("ping", {}, () => ({ content: [{ type: "text", text: "pong" }] }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["pos_workflow", "ping"]);
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
  });

  it("never shows the message of an error of the host's content provider", async () => {
    const secret = "/srv/private/workflows is not readable";
    const fail = async () => {
      throw new Error(secret);
    };
    const { engine } = makeEngine({ content: { list: fail, definition: fail, text: fail } });
    const { client, call } = await connectInMemory(engine);
    expect(JSON.stringify(await call({ action: "list_workflows" }))).not.toContain("/srv");
    await expect(client.listResources()).rejects.toThrow(/internal error/);
    await expect(client.listResources()).rejects.not.toThrow(/srv/);
  });
});
