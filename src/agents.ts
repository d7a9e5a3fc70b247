/**
 * phasegate for agents that are written in code: its tools as tools of the AI SDK, Mastra, the OpenAI Agents SDK and LangChain,
 * or of a loop of your own, and what an agent has left unfinished before it ends. Imports no framework. Needs nothing of
 * Node's, except for `stopHook`.
 *
 * @packageDocumentation
 */

export {
  type AiSdkTool,
  aiSdkTools,
  type LangChainTool,
  langChainTool,
  type MastraTool,
  mastraTools,
  type OpenAiTool,
  openAiTool,
} from "./agents/frameworks.js";
export { type StopHookAnswer, type StopHookInput, type StopHookOptions, stopHook } from "./agents/stop-hook.js";
export {
  type AgentAnswer,
  type AgentTool,
  type RoutedAgentOptions,
  routedTools,
  searchTools,
  type WorkflowAgentOptions,
  workflowTools,
  workspaceTools,
} from "./agents/tools.js";
export { type Unfinished, type UnfinishedOptions, unfinished, type WorkedOn } from "./agents/unfinished.js";
export type { Progress } from "./tools/progress.js";
