/** An agent of the Claude Agent SDK that works behind gates. A server on this machine answers as its model. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createSdkMcpServer, query } from "@anthropic-ai/claude-agent-sdk";
import { stopHook } from "phasegate/agents";
import { registerWorkflowTool } from "phasegate/mcp";
import { startModelServer } from "phasegate/testing";
import { checkRun, engine, scriptedModel, task } from "./release.ts";

const next = scriptedModel();
const name = "mcp__work__pos_workflow";
const server = await startModelServer(({ body }) => {
  const asked = JSON.stringify(body);
  if (!asked.includes(name)) return { text: "A release" }; // Claude Code asks for a title, too
  const move = next(asked);
  return "input" in move ? { toolCalls: [{ name, arguments: move.input }] } : move;
});
// Nothing of the user's own Claude Code is read, and nothing but the server is called.
const home = await mkdtemp(join(tmpdir(), "phasegate-claude-"));
const own = { PATH: process.env.PATH, HOME: home, ANTHROPIC_API_KEY: "not-a-key", ANTHROPIC_BASE_URL: server.url };
const env = { ...own, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" };
const closed = { env, cwd: home, settingSources: [], tools: [] };

const answers: string[] = [];
let reminders = 0;

// #region loop
const work = createSdkMcpServer({ name: "work" });
registerWorkflowTool(work.instance, engine);
const tool = "mcp__work__pos_workflow"; // as the agent knows it
const run = query({
  prompt: task,
  options: {
    mcpServers: { work },
    allowedTools: [tool],
    hooks: { Stop: [{ hooks: [stopHook(engine, { tool })] }] },
    ...closed,
  },
});
for await (const message of run) {
  // #endregion loop
  if (message.type !== "user" || typeof message.message.content === "string") continue;
  for (const part of message.message.content) {
    if (part.type === "tool_result") answers.push(JSON.stringify(part.content));
    if (part.type === "text" && part.text.includes("is not completed")) reminders += 1;
  }
}

await checkRun(answers, server.requests, reminders);
await server.close();
await rm(home, { recursive: true });
