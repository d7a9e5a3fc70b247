/** Code that the compiler must accept or refuse, as in typed-sessions.ts: the tools for agents in code. */
import { generateText, type LanguageModel, streamText, ToolLoopAgent, tool } from "ai";
import type { Engine } from "phasegate";
import { type AgentTool, aiSdkTools, routedTools, unfinished, workflowTools, workspaceTools } from "phasegate/agents";
import type { RoutedEngine } from "phasegate/routed";
import type { Workspace } from "phasegate/workspace";
import * as z from "zod";

export async function tools(model: LanguageModel, engine: Engine, routed: RoutedEngine, workspace: Workspace) {
  const all: readonly AgentTool[] = [
    ...workflowTools(engine, { actor: { name: "ann" }, onProgress: ({ message }) => console.log(message.trim()) }),
    ...routedTools(routed, { tools: "single" }),
    ...workspaceTools(workspace.connect()),
  ];
  const weather = tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => city.trim() });
  await generateText({ model, prompt: "", tools: aiSdkTools(all) });
  streamText({ model, prompt: "", tools: { ...aiSdkTools(all), weather } });
  const agent = new ToolLoopAgent({ model, tools: { ...aiSdkTools(all), weather } });
  // The names of the tools are known to the compiler.
  const own = { ...aiSdkTools(workflowTools(engine)), ...aiSdkTools(workflowTools(engine, { name: "work" })), weather };
  await generateText({ model, prompt: "", tools: own, activeTools: ["pos_workflow", "work", "weather"] });
  // @ts-expect-error there is no such tool
  await generateText({ model, prompt: "", tools: own, activeTools: ["plan"] });
  const { steps } = await agent.generate({ prompt: "" });
  for (const { toolName } of steps.flatMap(({ toolCalls }) => toolCalls)) toolName.trim();
  const open = await unfinished(engine, { target: "src/a.ts" });
  open?.message.trim();

  // @ts-expect-error an engine is not a list of tools
  aiSdkTools(engine);
  // @ts-expect-error the tools of phased workflows are of a phased engine
  workflowTools(routed);
  // @ts-expect-error a workspace has no tools without a connection of its own
  workspaceTools(workspace.as({ name: "ann" }));
  // @ts-expect-error both name a session
  await unfinished(engine, { target: "src/a.ts", session_id: "x" });
}
