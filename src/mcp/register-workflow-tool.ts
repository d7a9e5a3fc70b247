import type { McpServer } from "@modelcontextprotocol/server";
import type { Engine } from "../engine/engine.js";
import {
  createWorkflowTool,
  DEFAULT_TOKENS,
  LEAST_TOKENS,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "../tool/create-workflow-tool.js";
import { charactersFor } from "../tool/paging.js";
import { callResult } from "./call-result.js";
import { ElicitedApproval } from "./elicit-approval.js";
import { notifyListChanged } from "./notify-list-changed.js";
import { passThroughSchema } from "./pass-through-schema.js";
import type { WorkflowPoll } from "./poll-workflows.js";
import { registerSessionResources } from "./session-resources.js";
import { toolAnnotations } from "./tool-annotations.js";
import { registerWorkflowResources } from "./workflow-resources.js";

/** How a host wants workflows on its MCP server. */
export interface RegisterWorkflowToolOptions extends WorkflowToolOptions {
  /** Whether workflows and sessions are resources too; true if not given. */
  readonly resources?: boolean;
  /** Looks for changed workflows from time to time, and says so to the client. */
  readonly poll?: WorkflowPoll;
}

/** What was registered. */
export interface WorkflowRegistration {
  readonly tool: WorkflowTool;
  /**
   * Stops the notifications: to be called when the server is done with. A host that makes a server for
   * each connection, or each request, leaks a listener on the engine without it.
   */
  dispose(): void;
}

/**
 * Registers the workflow tool with a host's own MCP server (`@modelcontextprotocol/server` 2.x), with
 * structured output, and workflows and sessions as resources. Resources show no more than the actions
 * that the host gives: workflows with `list_workflows`, sessions with `get_session`. They come in pages of `maxTokens`, as
 * answers do.
 */
export function registerWorkflowTool(
  server: McpServer,
  engine: Engine,
  options: RegisterWorkflowToolOptions = {},
): WorkflowRegistration {
  const { resources = true, poll, ...toolOptions } = options;
  const tool = createWorkflowTool(engine, toolOptions);
  server.registerTool(
    tool.name,
    {
      description: tool.description,
      inputSchema: passThroughSchema(tool.inputSchema),
      outputSchema: passThroughSchema(tool.outputSchema),
      annotations: toolAnnotations(tool.actions),
    },
    async (input, ctx) => {
      const person = new ElicitedApproval(server, ctx);
      const response = await tool.dispatch(input, {
        askPerson: ({ sessionId, workflowType, phase, ...request }) =>
          person.ask({ ...request, about: `Phase ${phase} of ${workflowType}, session ${sessionId}` }),
      });
      return person.question() ?? callResult(response);
    },
  );
  const tokens = Math.max(options.maxTokens ?? DEFAULT_TOKENS, LEAST_TOKENS);
  const dispose = resources
    ? registerResources(server, engine, { ...tool, room: charactersFor(tokens) }, poll)
    : () => {};
  return { tool, dispose };
}

function registerResources(
  server: McpServer,
  engine: Engine,
  { actions, room }: Pick<WorkflowTool, "actions"> & { readonly room: number },
  poll: WorkflowPoll | undefined,
): () => void {
  const workflows = actions.includes("list_workflows");
  const sessions = actions.includes("get_session");
  if (workflows) registerWorkflowResources(server, engine, room);
  if (sessions) registerSessionResources(server, engine, { list: actions.includes("list_sessions"), room });
  return workflows || sessions ? notifyListChanged(server, engine, workflows ? poll : undefined) : () => {};
}
