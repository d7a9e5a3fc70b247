import { Agent } from "@mastra/core/agent";
import { mastraTools } from "phasegate/agents";
import { checkCancelled, server, signal, slow } from "./slow.mjs";

const model = { providerId: "mine", modelId: "m", url: `${server.url}/v1`, apiKey: "not-a-key" };
const tools = mastraTools([slow]);
const agent = new Agent({ id: "waits", name: "waits", instructions: "Wait.", model, tools });
await checkCancelled(agent.generate("Go.", { maxSteps: 3, abortSignal: signal }));
