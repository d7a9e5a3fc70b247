/** An agent of the OpenAI Agents SDK that works behind gates. A server on this machine answers as its model. */
import { Agent, type AgentInputItem, OpenAIProvider, Runner, tool } from "@openai/agents";
import { openAiTool, type Unfinished, unfinished, workflowTools } from "phasegate/agents";
import { startModelServer } from "phasegate/testing";
import { checkRun, engine, scriptedModel, task } from "./release.ts";

const next = scriptedModel();
const server = await startModelServer(({ body }) => {
  const move = next(JSON.stringify(body));
  return "input" in move ? { toolCalls: [{ name: "pos_workflow", arguments: move.input }] } : move;
});
const modelProvider = new OpenAIProvider({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, useResponses: true });
const runner = new Runner({ modelProvider, tracingDisabled: true });

// #region loop
const tools = workflowTools(engine).map((one) => tool(openAiTool(one)));
const agent = new Agent({ name: "releaser", tools });
let history: AgentInputItem[] = [{ role: "user", content: task }];
let open: Unfinished | undefined;
do {
  ({ history } = await runner.run(agent, history));
  open = await unfinished(engine, { conversation: history }, { told: open });
  if (open) history.push({ role: "user", content: open.message });
} while (open);
// #endregion loop

const results = history.filter(({ type }) => type === "function_call_result");
const told = history.filter((item) => "role" in item && item.role === "user").length - 1;
await checkRun(
  results.map((item) => JSON.stringify(item)),
  server.requests,
  told,
);
await server.close();
