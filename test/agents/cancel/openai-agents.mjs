import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents";
import { openAiTool } from "phasegate/agents";
import { checkCancelled, server, signal, slow } from "./slow.mjs";

const modelProvider = new OpenAIProvider({ apiKey: "not-a-key", baseURL: `${server.url}/v1`, useResponses: true });
const runner = new Runner({ modelProvider, tracingDisabled: true });
const agent = new Agent({ name: "waits", tools: [tool(openAiTool(slow))] });
await checkCancelled(runner.run(agent, "Go.", { signal, maxTurns: 3 }));
