/** An agent of Mastra that works behind gates. A server on this machine answers as its model. */
import { Agent } from "@mastra/core/agent";
import type { MessageInput } from "@mastra/core/agent/message-list";
import { mastraTools, type Unfinished, unfinished, workflowTools } from "phasegate/agents";
import { startModelServer } from "phasegate/testing";
import { checkRun, engine, scriptedModel, task } from "./release.ts";

const next = scriptedModel();
const server = await startModelServer(({ body }) => {
  const move = next(JSON.stringify(body));
  return "input" in move ? { toolCalls: [{ name: "pos_workflow", arguments: move.input }] } : move;
});
const model = { providerId: "mine", modelId: "m", url: `${server.url}/v1`, apiKey: "not-a-key" };

// #region loop
const tools = mastraTools(workflowTools(engine));
const agent = new Agent({ id: "releaser", name: "releaser", instructions: "Release with care.", model, tools });
const messages: MessageInput[] = [{ role: "user", content: task }];
let open: Unfinished | undefined;
do {
  const { response } = await agent.generate(messages, { maxSteps: 50 });
  messages.push(...(response.messages ?? []));
  open = await unfinished(engine, { conversation: messages }, { told: open });
  if (open) messages.push({ role: "user", content: open.message });
} while (open);
// #endregion loop

const results = messages.filter((message) => "role" in message && message.role === "tool");
await checkRun(
  results.map((message) => JSON.stringify(message)),
  server.requests,
  messages.filter(({ role }) => role === "user").length - 1,
);
await server.close();
