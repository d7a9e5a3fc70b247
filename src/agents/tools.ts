/**
 * The tools for an agent that is written in code, without MCP between them. The entry file of this folder:
 *
 * - tools.ts: a tool as a plain value, of each kind of tools
 * - frameworks.ts: the same as the tools of a framework
 * - unfinished.ts: which session an agent has left open, and its next call; also for the command line's hook
 * - stop-hook.ts, transcript.ts: the same for a client that asks before its agent ends
 */
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { DispatchOptions } from "../tools/phased/actions.js";
import { createWorkflowTool, toolChecks, type WorkflowToolOptions } from "../tools/phased/workflow-tool.js";
import { type Progress, reportProgress } from "../tools/progress.js";
import type { RoutedCallOptions } from "../tools/routed/calls.js";
import { createRoutedTools, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import { type ObjectSchema, publishedInput, publishedSchema } from "../tools/schemas.js";
import type { SearchTool } from "../tools/search-tool.js";
import { callable, checkOptions, having, optionally } from "../workflow/host-options.js";
import type { WorkspaceConnection } from "../workspace/workspace.js";

/** A tool for an agent, as a plain value: for a loop of your own, or for what makes a framework's tools of it. */
export interface AgentTool<Name extends string = string> {
  /** The name that the model calls. */
  readonly name: Name;
  /** The description for the model. */
  readonly description: string;
  /** The JSON Schema of the input. The tool checks its input itself, and its answer says what is wrong. */
  readonly inputSchema: ObjectSchema;
  /**
   * Executes a call. Never throws and never rejects: every error is an answer. Aborting `signal` ends the checks and the
   * question to a decider that the call waits for; then nothing was written, or all of it.
   */
  call(input: unknown, options?: { readonly signal?: AbortSignal | undefined }): Promise<AgentAnswer>;
}

/** The answer to a call of a tool. */
export interface AgentAnswer {
  /** True if the answer is a refusal. */
  readonly isError: boolean;
  /** The answer for the model: a plain object of JSON. */
  readonly body: { readonly [key: string]: unknown };
}

/** How the host follows calls. */
interface Following {
  /** Is told of a gate's checks, and that a decider is asked. Must not throw. Default: nobody is told. */
  readonly onProgress?: (progress: Progress) => void;
}

/** Options of {@link workflowTools}. */
export interface WorkflowAgentOptions
  extends WorkflowToolOptions,
    Following,
    Pick<DispatchOptions, "askPerson" | "askWaiver"> {}

/** Options of {@link routedTools}. */
export interface RoutedAgentOptions extends RoutedToolsOptions, Following, Pick<RoutedCallOptions, "askPerson"> {}

/**
 * Returns the tool of phased workflows, in a list. Give each agent an engine or an `actor` of its own if several share a storage.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when an option is unknown or invalid, or `actor` is given and undefined.
 */
export function workflowTools<const Name extends string = "pos_workflow">(
  engine: Engine,
  options?: WorkflowAgentOptions & { readonly name?: Name },
): readonly [AgentTool<Name>];
export function workflowTools(engine: Engine, options: WorkflowAgentOptions = {}): readonly [AgentTool] {
  checkOptions("workflowTools", options, {
    ...toolChecks,
    onProgress: optionally(callable),
    askPerson: optionally(callable),
    askWaiver: optionally(callable),
  });
  const { onProgress, askPerson, askWaiver, ...toolOptions } = options;
  const { name, description, inputSchema, dispatch } = createWorkflowTool(engine, toolOptions);
  const call = following(onProgress, async (input, followed) => {
    const body = await dispatch(input, { ...followed, askPerson, askWaiver });
    return { isError: body.status === "error", body };
  });
  return [{ name, description, inputSchema, call }];
}

/**
 * Returns the tools of routed workflows: one for each call, or a single one for all.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function routedTools(engine: RoutedEngine, options: RoutedAgentOptions = {}): readonly AgentTool[] {
  checkOptions("routedTools", { engine }, { engine: having("an engine, as createRoutedEngine() returns it", "as") });
  const { onProgress, askPerson, ...toolsOptions } = options;
  return createRoutedTools(engine, toolsOptions).map(({ name, description, inputSchema, dispatch }) => {
    const call = following(onProgress, (input, followed) => dispatch(input, { ...followed, askPerson }));
    return { name, description, inputSchema, call };
  });
}

/**
 * Returns the tools of a workspace. Open a connection for each conversation: it may write the sessions that it has created
 * or reopened, and no others.
 */
export function workspaceTools(connection: WorkspaceConnection): readonly AgentTool[] {
  return connection.tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    inputSchema: publishedInput(tool),
    async call(input) {
      const body = await connection.call(tool.name, input);
      return { isError: !body.success, body: { ...body } };
    },
  }));
}

/** Returns a search tool, as `createSearchTool` makes it, in a list. */
export function searchTools({ name, description, inputSchema, handler }: SearchTool): readonly AgentTool[] {
  async function call(input: unknown): Promise<AgentAnswer> {
    const body = await handler(input);
    return { isError: body.status === "error", body };
  }
  return [{ name, description, inputSchema: publishedSchema(inputSchema), call }];
}

/** Returns a call that its caller can end, and whose progress the host is told. */
function following(
  onProgress: Following["onProgress"],
  run: (input: unknown, followed: Pick<RoutedCallOptions, "signal" | "onCheck" | "onAsk">) => Promise<AgentAnswer>,
): AgentTool["call"] {
  return async (input, { signal } = {}) => {
    if (onProgress === undefined) return run(input, { signal });
    const { end, ...told } = reportProgress(onProgress);
    return run(input, { signal, ...told }).finally(end);
  };
}
