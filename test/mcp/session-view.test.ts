/** What a client that shows MCP Apps gets of the view, and what other clients get. */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { type Engine, MemoryStorage } from "phasegate";
import { type RegisterWorkflowToolOptions, registerWorkflowTool } from "phasegate/mcp";
import { describe, expect, it, onTestFinished } from "vitest";
import { makeAsking } from "../support/approvals.js";
import { endless } from "../support/endless.js";
import { makeEngine } from "../support/make-engine.js";
import { startVerified } from "../support/verified.js";
import { built } from "../support/workflows.js";
import { answerOf } from "./connect-in-memory.js";
import { createHostServer } from "./host-servers.js";

const URI = "ui://phasegate/session";
const MIME_TYPE = "text/html;profile=mcp-app";
const UI = "io.modelcontextprotocol/ui";
const APPS = { extensions: { [UI]: { mimeTypes: [MIME_TYPE] } } };

async function connect(engine: Engine, options: RegisterWorkflowToolOptions = {}, capabilities: object = APPS) {
  const server = await createHostServer();
  const { dispose } = registerWorkflowTool(server, engine, options);
  const client = new Client({ name: "agent", version: "1.0.0" }, { capabilities });
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(other), client.connect(one)]);
  const [tool] = (await client.listTools()).tools;
  onTestFinished(async () => {
    dispose();
    await client.close();
  });
  const call = async (input: Record<string, unknown>) => {
    const result = await client.callTool({ name: "pos_workflow", arguments: input });
    return { answer: answerOf(result), session: result._meta?.["phasegate/session"] };
  };
  const start = async (workflow_type: string) => {
    const { answer, session } = await call({ action: "start", workflow_type, target_file: "src/a.ts" });
    return { session, id: String(answer.session_id) };
  };
  return { client, tool, call, start };
}

describe("the view of a session", () => {
  it("is named by the tool, and read as one page without a network, below 40 kB", async () => {
    const { client, tool } = await connect(makeEngine().engine);
    expect(tool?._meta).toEqual({ ui: { resourceUri: URI }, "ui/resourceUri": URI });
    expect(client.getServerCapabilities()).toMatchObject({ extensions: { [UI]: { mimeTypes: [MIME_TYPE] } } });
    const [page, ...others] = (await client.readResource({ uri: URI })).contents;
    expect(others).toEqual([]);
    expect(page).toMatchObject({ uri: URI, mimeType: MIME_TYPE, _meta: { ui: { prefersBorder: true } } });
    const html = page !== undefined && "text" in page ? page.text : "";
    const bytes = Buffer.byteLength(html);
    console.log(`the view: ${bytes} bytes`);
    expect(bytes).toBeLessThan(40_000);
    expect(html).toMatch(/^<!doctype html>/);
    expect(html).toContain(`content="default-src 'none'; script-src 'sha256-`);
    expect(html).not.toMatch(/\b(?:src|href)="/);
    const listed = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(listed).not.toContain(URI);
  });

  it("gets the session with its answers: the phases so far, and what was refused", async () => {
    const { call, start } = await connect(makeEngine().engine);
    const { session, id } = await start("two_phases");
    expect(session).toMatchObject({
      sessionId: id,
      workflow: "Two phases",
      status: "active",
      phases: [{ number: 1, state: "working" }],
      ahead: 1,
    });
    expect(JSON.stringify(session)).not.toContain("Ship");
    const submit = (evidence: object) => call({ action: "complete_phase", session_id: id, phase: 1, evidence });
    const { answer, session: refused } = await submit({ summary: "done" });
    expect(refused).toMatchObject({
      phases: [{ number: 1, state: "refused" }],
      refused: { phase: 1, attempt: 1, problems: answer.validation_errors, more: 0 },
    });
    expect((await call({ action: "get_state", session_id: id, brief: true })).session).toEqual(refused);
    const { session: passed } = await submit(built);
    expect(passed).toMatchObject({ phases: [{ state: "done" }, { state: "working" }], ahead: 0 });
    expect(passed).not.toHaveProperty("refused");
    // Reading a text, and a call that is no session's, bring nothing.
    expect((await call({ action: "get_phase", session_id: id })).session).toBeUndefined();
    expect((await call({ action: "get_state", session_id: "nobody" })).session).toBeUndefined();
    expect((await call({ action: "list_workflows" })).session).toBeUndefined();
  });

  it("gets the question that waits, with the link to it, which the answer for the agent does not have", async () => {
    const { engine, evidence } = await makeAsking({ inspectorUrl: "https://gates.example.com/" });
    const { call, start } = await connect(engine);
    const { id } = await start("asking");
    const { answer, session } = await call({ action: "complete_phase", session_id: id, phase: 1, evidence });
    const asked = await engine.session(id).approval();
    expect(asked?.link).toBe(`https://gates.example.com/sessions/${id}?answer=${asked?.request}`);
    expect(session).toMatchObject({
      phases: [{ number: 1, state: "waiting" }],
      asked: { what: "approval", phase: 1, question: asked?.prompt, approvers: ["ann", "bob"], link: asked?.link },
    });
    expect(JSON.stringify(answer)).not.toContain("gates.example.com");
  });

  it("gets that evidence is being verified, which is no refusal", async () => {
    const { engine, sessionId } = await startVerified(["verify: [slow]\n"], {
      verifiers: { slow: { verify: endless().verify } },
    });
    onTestFinished(() => engine.close());
    const { call } = await connect(engine, { answerWithinMs: 20 });
    const submit = { action: "complete_phase", session_id: sessionId, phase: 1, evidence: { done: true } };
    const { answer, session } = await call(submit);
    expect(answer).toMatchObject({ status: "verifying" });
    expect(session).toMatchObject({ status: "active", phases: [{ number: 1, state: "verifying" }] });
    expect(session).not.toHaveProperty("refused");
    expect((await call({ action: "get_state", session_id: sessionId })).session).toEqual(session);
  });

  it("gets a request for a waiver", async () => {
    const { call, start } = await connect(makeEngine().engine);
    const { id } = await start("two_phases");
    const more = { phase: 1, fields: ["tests_pass"], reason: "No GPU" };
    const { session } = await call({ action: "request_waiver", session_id: id, ...more });
    expect(session).toMatchObject({ asked: { what: "waiver", phase: 1, question: "No GPU", fields: ["tests_pass"] } });
  });

  it("is nothing to clients that show none, or where the host wants none", async () => {
    const other = await connect(makeEngine().engine, {}, {});
    expect((await other.start("two_phases")).session).toBeUndefined();
    const off = await connect(makeEngine().engine, { view: false });
    expect(off.tool?._meta).toBeUndefined();
    expect(off.client.getServerCapabilities()).not.toHaveProperty("extensions");
    expect((await off.start("two_phases")).session).toBeUndefined();
    await expect(off.client.readResource({ uri: URI })).rejects.toThrow(/not found/i);
    const alone = await connect(makeEngine().engine, { resources: false, view: true });
    expect((await alone.client.readResource({ uri: URI })).contents).toHaveLength(1);
    expect((await connect(makeEngine().engine, { resources: false })).tool?._meta).toBeUndefined();
  });

  it("is left out where the session can't be read for it: the call has succeeded, and the host is told", async () => {
    class Broken extends MemoryStorage {
      isDown = false;
      override async read(id: Parameters<MemoryStorage["read"]>[0]) {
        if (this.isDown) throw new Error("the disk is gone");
        return super.read(id);
      }
    }
    const storage = new Broken();
    const { engine } = makeEngine({ storage });
    const told: string[] = [];
    engine.on("internalError", ({ operation }) => void told.push(operation));
    const { call, start } = await connect(engine);
    const { id } = await start("two_phases");
    engine.on("gateFailed", () => {
      storage.isDown = true;
    });
    const { answer, session } = await call({ action: "complete_phase", session_id: id, phase: 1, evidence: {} });
    expect(answer).toMatchObject({ code: "GATE_FAILED", checkpoint_passed: false });
    expect(session).toBeUndefined();
    expect(told).toEqual(["getState"]);
  });
});
