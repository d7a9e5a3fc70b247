/**
 * Registers the tools of phased workflows, routed workflows and workspaces with a host's MCP server.
 * This is the entry file of the folder:
 *
 * - tools.ts: tools, their annotations and answers; the prompt `run_workflow`
 * - resources.ts: workflows and sessions as resources, in pages
 * - elicit-approval.ts: asks the client's user for an approval or a waiver
 * - stdio.ts, stdio-messages.ts: serves one client over a pair of streams
 */
import type {
  CallToolResult,
  InputRequiredResult,
  McpServer,
  ServerContext,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Engine } from "../phased/engine.js";
import type { MeasuredCall, MeasuredOutcome, Telemetry } from "../ports/telemetry.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedQuestion } from "../routed/types.js";
import type { Action, DispatchOptions } from "../tools/phased/actions.js";
import { createWorkflowTool, type WorkflowTool, type WorkflowToolOptions } from "../tools/phased/workflow-tool.js";
import { ALL_CALLS, namedCalls, READING, type RoutedCallOptions } from "../tools/routed/calls.js";
import { createRoutedTools, type RoutedTool, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import type { SearchTool } from "../tools/search-tool.js";
import { maxCharsFor, passThroughSchema } from "../tools/wire.js";
import { isJsonObject } from "../workflow/json.js";
import { isSessionId } from "../workflow/names.js";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions.js";
import { publishedInput } from "../workspace/tools/tool.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import { elicitApproval, elicitWaiver } from "./elicit-approval.js";
import {
  notifyListChanged,
  registerSessionResources,
  registerWorkflowResources,
  type WorkflowPoll,
} from "./resources.js";

/** The option of all tools to be watched. */
export interface WatchedTools {
  /** Watches the calls: `createTelemetry` of `phasegate/otel` makes one. Default: none. */
  readonly telemetry?: Pick<Telemetry, "measure"> | undefined;
}

/** Options of {@link registerWorkflowTool}. */
export interface RegisterWorkflowToolOptions extends WorkflowToolOptions, WatchedTools {
  /** Registers workflows and sessions as resources, too. Default true. */
  readonly resources?: boolean;
  /** Polls for changed workflows, and notifies the client. Default: no polling. */
  readonly poll?: WorkflowPoll;
}

/** A registered workflow tool. */
export interface WorkflowRegistration {
  /** The tool: its name, its schemas and its `dispatch`. */
  readonly tool: WorkflowTool;
  /**
   * Stops the notifications. Call it when the server is no longer used: a host that creates a server for each connection
   * or request would otherwise leak a listener on the engine.
   */
  dispose(): void;
}

/**
 * Registers the workflow tool with a host's own MCP server (`@modelcontextprotocol/server` 2.x), with structured output, and
 * workflows and sessions as resources. Resources show no more than the actions that the host allows: workflows need
 * `list_workflows`, sessions `get_session`. Like answers, they come in pages of `maxTokens`.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when `actions` is empty or contains an unknown action.
 */
export function registerWorkflowTool(
  server: McpServer,
  engine: Engine,
  options: RegisterWorkflowToolOptions = {},
): WorkflowRegistration {
  const { resources = true, poll, telemetry, ...toolOptions } = options;
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
      const open: OpenForm = {};
      const people: DispatchOptions = {
        askPerson: async ({ sessionId, workflowType, phase, ...request }) => {
          const about = `Phase ${phase} of ${workflowType}, session ${sessionId}`;
          const { answer, form } = elicitApproval(server, ctx, { ...request, about });
          open.form = form;
          return answer;
        },
        askWaiver: async (request) => {
          const { answer, form } = elicitWaiver(server, ctx, request);
          open.form = form;
          return answer;
        },
      };
      const response = await (telemetry === undefined
        ? tool.dispatch(input, people)
        : telemetry.measure(
            callOf(tool.name, tool.actions, input, ctx),
            () => tool.dispatch(input, people),
            (answer) => outcomeOf(answer, answer.status === "error"),
          ));
      return open.form ?? callResult(response, response.status === "error");
    },
  );
  const maxChars = maxCharsFor(options.maxTokens);
  const dispose = resources ? registerResources(server, engine, { ...tool, maxChars }, poll) : () => {};
  return { tool, dispose };
}

/** The form that the client must show before the call has an answer. */
interface OpenForm {
  form?: InputRequiredResult | undefined;
}

function registerResources(
  server: McpServer,
  engine: Engine,
  { actions, maxChars }: Pick<WorkflowTool, "actions"> & { readonly maxChars: number },
  poll: WorkflowPoll | undefined,
): () => void {
  const workflows = actions.includes("list_workflows");
  const sessions = actions.includes("get_session");
  if (workflows) registerWorkflowResources(server, engine, maxChars);
  if (sessions) registerSessionResources(server, engine, { list: actions.includes("list_sessions"), maxChars });
  return workflows || sessions ? notifyListChanged(server, engine, workflows ? poll : undefined) : () => {};
}

/** Returns a call as it is measured. What the client chooses freely is in it only if it is one of ours. */
function callOf(tool: string, actions: readonly string[], input: unknown, ctx: ServerContext): MeasuredCall {
  const { action, session_id: session, instance_id: instance } = isJsonObject(input) ? input : {};
  const sessionId = session ?? instance;
  const { mcpReq } = ctx;
  return {
    kind: "call",
    method: mcpReq.method,
    tool,
    action: actions.find((name) => name === action),
    sessionId: isSessionId(sessionId) ? sessionId : undefined,
    requestId: String(mcpReq.id),
    connectionId: ctx.sessionId,
    meta: mcpReq._meta,
  };
}

/** Reads the outcome of a call out of its answer. */
function outcomeOf(answer: object, isError: boolean): MeasuredOutcome {
  const body: { readonly [name: string]: unknown } = { ...answer };
  const sessionId = body.session_id ?? body.instance_id;
  const code = body.code ?? body.error_code;
  return {
    error: isError ? (typeof code === "string" ? code : "INTERNAL") : undefined,
    sessionId: isSessionId(sessionId) ? sessionId : undefined,
  };
}

/** Returns an answer as MCP has it: structured, and as text for clients without structured output. */
function callResult(answer: object, isError: boolean): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: { ...answer }, isError };
}

/** The actions that change no session. */
const WORKFLOW_READING: ReadonlySet<Action> = new Set([
  "list_workflows",
  "get_phase",
  "get_task",
  "get_document",
  "get_state",
  "list_sessions",
  "get_session",
  "get_errors",
  "get_history",
  "get_metrics",
]);

/** Returns the hints from which a client decides whether to ask its user before it calls the tool. */
function toolAnnotations(actions: readonly Action[]): ToolAnnotations {
  const readOnly = actions.every((action) => WORKFLOW_READING.has(action));
  return {
    title: "Phase-gated workflows",
    readOnlyHint: readOnly,
    // Only a deletion loses data: a rollback stays in the log.
    destructiveHint: actions.includes("delete_session"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/**
 * Registers the tools of routed workflows with a host's own MCP server (`@modelcontextprotocol/server` 2.x): one for each
 * call (list, start, advance, resume, status, suspend, cancel, retry, history), or a single one for all. Returns them.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function registerRoutedTools(
  server: McpServer,
  engine: RoutedEngine,
  { telemetry, ...options }: RoutedToolsOptions & WatchedTools = {},
): readonly RoutedTool[] {
  const tools = createRoutedTools(engine, options);
  const actions = [...namedCalls(options.calls ?? ALL_CALLS, options.names ?? {}).values()];
  for (const tool of tools) registerTool(server, tool, actions, telemetry);
  return tools;
}

function registerTool(
  server: McpServer,
  tool: RoutedTool,
  actions: readonly string[],
  telemetry: WatchedTools["telemetry"],
): void {
  const { name, title, description, inputSchema, outputSchema } = tool;
  server.registerTool(
    name,
    {
      title,
      description,
      inputSchema: passThroughSchema(inputSchema),
      outputSchema: passThroughSchema(outputSchema),
      annotations: annotations(tool),
    },
    async (input, ctx) => {
      const open: OpenForm = {};
      const people: RoutedCallOptions = {
        askPerson: async (question) => {
          const { answer, form } = elicitApproval(server, ctx, { ...question, warnings: [], about: aboutOf(question) });
          open.form = form;
          return answer;
        },
      };
      const answered = await (telemetry === undefined
        ? tool.dispatch(input, people)
        : telemetry.measure(
            callOf(name, actions, input, ctx),
            () => tool.dispatch(input, people),
            ({ body, isError }) => outcomeOf(body, isError),
          ));
      return open.form ?? callResult(answered.body, answered.isError);
    },
  );
}

function aboutOf({ step, workflowType, sessionId }: RoutedQuestion): string {
  return `The step ${step} of ${workflowType}, instance ${sessionId}`;
}

function annotations({ title, calls }: RoutedTool): ToolAnnotations {
  const readOnly = calls.every((call) => READING.has(call));
  return {
    title,
    readOnlyHint: readOnly,
    // Only a cancelled instance cannot be continued.
    destructiveHint: calls.includes("cancel"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/**
 * Registers a search tool, as `createSearchTool` makes it, with a host's own MCP server
 * (`@modelcontextprotocol/server` 2.x).
 */
export function registerSearchTool(server: McpServer, tool: SearchTool, { telemetry }: WatchedTools = {}): void {
  server.registerTool(
    tool.name,
    {
      title: "Search standards",
      description: tool.description,
      inputSchema: tool.inputSchema,
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    },
    async (input, ctx) => {
      const answer = await (telemetry === undefined
        ? tool.handler(input)
        : telemetry.measure(
            callOf(tool.name, [], input, ctx),
            () => tool.handler(input),
            (found) => outcomeOf(found, found.status === "error"),
          ));
      return callResult(answer, answer.status === "error");
    },
  );
}

/** The output schema of all workspace tools. It is short because each tool publishes it. */
const ANSWER = { type: "object" as const, properties: { success: { type: "boolean" } }, required: ["success"] };

/**
 * Registers a workspace's tools with a host's own MCP server (`@modelcontextprotocol/server` 2.x): `preload_workflow`,
 * `read_file`, `list_files`, `create_session`, `next_step`, `save_output`, `complete_session`. A server serves one
 * connection, so its client may write only to the sessions that it has created or reopened. Returns the connection.
 */
export function registerWorkspaceTools(
  server: McpServer,
  workspace: Pick<Workspace, "connect">,
  { telemetry, ...options }: ConnectOptions & WatchedTools = {},
): WorkspaceConnection {
  const connection = workspace.connect(options);
  for (const tool of connection.tools) {
    const { name, title, description, readOnly } = tool;
    server.registerTool(
      name,
      {
        title,
        description,
        inputSchema: passThroughSchema(publishedInput(tool)),
        outputSchema: passThroughSchema(ANSWER),
        annotations: {
          readOnlyHint: readOnly,
          // Saving an output again replaces it; the other tools only add. The hint is not defined for tools that only read.
          ...(readOnly ? {} : { destructiveHint: name === "save_output" }),
          openWorldHint: false,
        },
      },
      async (input, ctx) => {
        const result = await (telemetry === undefined
          ? connection.call(name, input)
          : telemetry.measure(
              callOf(name, [], input, ctx),
              () => connection.call(name, input),
              (answer) => outcomeOf(answer, !answer.success),
            ));
        return callResult(result, !result.success);
      },
    );
  }
  return connection;
}

/**
 * Registers the prompt `run_workflow` with a host's own MCP server: the text of `workflowInstructions` with the current
 * workflows, and the one that the user chose. Sections can be removed or replaced.
 */
export function registerWorkflowPrompt(
  server: McpServer,
  workspace: Pick<Workspace, "workflows" | "variables">,
  options: Pick<InstructionsContext, "sections"> = {},
): void {
  const workflow = z.string().optional().describe("The workflow's name");
  server.registerPrompt(
    "run_workflow",
    {
      title: "Run a workflow",
      description: "How to run a workflow with the tools of this server",
      argsSchema: z.object({ workflow }),
    },
    async ({ workflow: wanted }) => {
      const { variables } = workspace;
      const text = workflowInstructions({ ...options, variables, workflows: await workspace.workflows() });
      const task = wanted === undefined ? "Ask me which workflow to run." : `Run the workflow ${wanted} now.`;
      return { messages: [{ role: "user", content: { type: "text", text: `${text}\n\n${task}` } }] };
    },
  );
}
