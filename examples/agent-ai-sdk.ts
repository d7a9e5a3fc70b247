/** An agent of the AI SDK that works behind gates. Its model is scripted, so that the example needs no key and no network. */
import { type ModelMessage, ToolLoopAgent } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { aiSdkTools, type Unfinished, unfinished, workflowTools } from "phasegate/agents";
import { checkRun, engine, scriptedModel, task } from "./agents/release.ts";

const next = scriptedModel();
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  async doGenerate({ prompt }) {
    const move = next(JSON.stringify(prompt));
    const call = { type: "tool-call", toolCallId: `call-${prompt.length}`, toolName: "pos_workflow" } as const;
    const isCall = "input" in move;
    return {
      content: [isCall ? { ...call, input: JSON.stringify(move.input) } : { type: "text", text: move.text }],
      finishReason: { unified: isCall ? "tool-calls" : "stop", raw: undefined },
      usage,
      warnings: [],
    };
  },
});

// #region loop
const agent = new ToolLoopAgent({ model, tools: aiSdkTools(workflowTools(engine)) });
const messages: ModelMessage[] = [{ role: "user", content: task }];
let open: Unfinished | undefined;
do {
  const result = await agent.generate({ messages });
  messages.push(...result.responseMessages); // with ai 6: result.response.messages
  open = await unfinished(engine, { conversation: messages }, { told: open });
  if (open) messages.push({ role: "user", content: open.message });
} while (open);
// #endregion loop

const results = messages.filter(({ role }) => role === "tool");
const told = messages.filter(({ role }) => role === "user").length - 1;
await checkRun(
  results.map((message) => JSON.stringify(message)),
  model.doGenerateCalls,
  told,
);
