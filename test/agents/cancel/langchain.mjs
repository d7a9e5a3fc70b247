import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { langChainTool } from "phasegate/agents";
import { checkCancelled, server, signal, slow } from "./slow.mjs";

const model = new ChatOpenAI({ model: "m", apiKey: "not-a-key", configuration: { baseURL: `${server.url}/v1` } });
const agent = createAgent({ model, tools: [tool(...langChainTool(slow))] });
const messages = [{ role: "user", content: "Go." }];
await checkCancelled(agent.invoke({ messages }, { signal, recursionLimit: 5 }));
