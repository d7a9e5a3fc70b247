/** An agent of LangChain, on LangGraph, that works behind gates. A server on this machine answers as its model. */
import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { langChainTool, type Unfinished, unfinished, workflowTools } from "phasegate/agents";
import { startModelServer } from "phasegate/testing";
import { checkRun, engine, scriptedModel, task } from "./release.ts";

const next = scriptedModel();
const server = await startModelServer(({ body }) => {
  const move = next(JSON.stringify(body));
  return "input" in move ? { toolCalls: [{ name: "pos_workflow", arguments: move.input }] } : move;
});
const model = new ChatOpenAI({ model: "m", apiKey: "not-a-key", configuration: { baseURL: `${server.url}/v1` } });

// #region loop
const tools = workflowTools(engine).map((one) => tool(...langChainTool(one)));
const agent = createAgent({ model, tools });
let messages: BaseMessage[] = [new HumanMessage(task)];
let open: Unfinished | undefined;
do {
  ({ messages } = await agent.invoke({ messages }));
  open = await unfinished(engine, { conversation: messages }, { told: open });
  if (open) messages = [...messages, new HumanMessage(open.message)];
} while (open);
// #endregion loop

const results = messages.filter((message) => ToolMessage.isInstance(message));
const told = messages.filter((message) => HumanMessage.isInstance(message)).length - 1;
await checkRun(
  results.map(({ content }) => JSON.stringify(content)),
  server.requests,
  told,
);
await server.close();
