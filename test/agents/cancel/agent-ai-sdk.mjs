import { generateText, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { aiSdkTools } from "phasegate/agents";
import { checkCancelled, signal, slow } from "./slow.mjs";

const model = new MockLanguageModelV3({
  doGenerate: async () => ({
    content: [{ type: "tool-call", toolCallId: "1", toolName: "slow", input: "{}" }],
    finishReason: { unified: "tool-calls" },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: [],
  }),
});
const tools = aiSdkTools([slow]);
await checkCancelled(generateText({ model, prompt: "Go.", tools, stopWhen: stepCountIs(3), abortSignal: signal }));
