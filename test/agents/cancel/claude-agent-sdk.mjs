import assert from "node:assert/strict";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createSdkMcpServer, query } from "@anthropic-ai/claude-agent-sdk";
import { createEngine, defineWorkflow, MemoryContent, MemoryStorage } from "phasegate";
import { registerWorkflowTool } from "phasegate/mcp";
import { startModelServer } from "phasegate/testing";

const seen = { begun: 0, cancelled: 0 };
let interrupted;
const slow = {
  verify: (_, { signal }) =>
    new Promise((_resolve, reject) => {
      seen.begun += 1;
      signal.addEventListener("abort", () => {
        seen.cancelled += 1;
        reject(new Error("cancelled"));
      });
      interrupted = run.interrupt();
    }),
};
const gate = { fields: { url: { type: "string" } }, verify: [{ verifier: "slow" }] };
const phases = [{ number: 1, name: "Wait", content: "Wait.", gate }];
const waits = defineWorkflow({ type: "waits", revision: "1", name: "Waits", description: "Waits", phases });
const content = new MemoryContent({ workflows: [waits] });
const engine = createEngine({ storage: new MemoryStorage(), content, verifiers: { slow } });
const { sessionId: session_id } = await engine.start({ workflowType: "waits", target: "a" });

const name = "mcp__work__pos_workflow";
const submit = { action: "complete_phase", session_id, phase: 1, evidence: { url: "u" } };
const server = await startModelServer(({ body }) =>
  JSON.stringify(body).includes(name) ? { toolCalls: [{ name, arguments: submit }] } : { text: "A title" },
);
const home = await mkdtemp(join(tmpdir(), "phasegate-claude-"));
const work = createSdkMcpServer({ name: "work" });
registerWorkflowTool(work.instance, engine);
const own = { PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: "not-a-key", ANTHROPIC_BASE_URL: server.url };
const env = { ...own, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
const options = { mcpServers: { work }, allowedTools: [name], env, cwd: home, settingSources: [], tools: [] };
const run = query({ prompt: "Go.", options });
try {
  for await (const _ of run);
} catch (error) {
  // The SDK says that an interrupted run has failed.
  assert.ok(interrupted !== undefined, error);
}
await interrupted;
assert.deepEqual(seen, { begun: 1, cancelled: 1 });
assert.equal((await engine.session(session_id).state()).version, 1);
await server.close();
