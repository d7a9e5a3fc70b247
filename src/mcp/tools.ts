/**
 * Registers the tools of phased workflows, routed workflows and workspaces with a host's own MCP server, and tells its
 * client when workflows or sessions change.
 */

import type { CallToolResult, McpServer, ToolAnnotations } from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Engine } from "../phased/engine.js";
import type { NotificationName } from "../phased/notifications.js";
import type { ContentProvider, WorkflowListing } from "../ports/content-provider.js";
import type { RoutedEngine } from "../routed/engine.js";
import type { RoutedQuestion } from "../routed/types.js";
import { maxCharsFor } from "../tools/budget.js";
import type { Action } from "../tools/phased/actions.js";
import { createWorkflowTool, type WorkflowTool, type WorkflowToolOptions } from "../tools/phased/workflow-tool.js";
import { READING } from "../tools/routed/calls.js";
import { createRoutedTools, type RoutedTool, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import { passThroughSchema } from "../tools/wire.js";
import { formatDiagnostic } from "../workflow/diagnostic.js";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions.js";
import { publishedInput } from "../workspace/tools/tool.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import { ElicitedApproval } from "./elicit-approval.js";
import { registerSessionResources, registerWorkflowResources } from "./resources.js";

/** The options of `registerWorkflowTool`. */
export interface RegisterWorkflowToolOptions extends WorkflowToolOptions {
  /** Registers workflows and sessions as resources too. Default: true. */
  readonly resources?: boolean;
  /** Checks for changed workflows at intervals, and notifies the client. Default: no checks. */
  readonly poll?: WorkflowPoll;
}

/** The registered tool. */
export interface WorkflowRegistration {
  /** The tool. */
  readonly tool: WorkflowTool;
  /**
   * Stops the notifications. Call it when the server is closed: a host that creates a server for each connection, or
   * each request, otherwise leaks a listener on the engine.
   */
  dispose(): void;
}

/**
 * Registers the workflow tool with a host's own MCP server (`@modelcontextprotocol/server` 2.x), with
 * structured output, and workflows and sessions as resources. Resources show no more than the actions that the host
 * allows: workflows with `list_workflows`, sessions with `get_session`. Like answers, they come in pages of `maxTokens`.
 * @throws {PhasegateError} `INVALID_INPUT` when `actions` contains an unknown action.
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
      return person.question() ?? callResult(response, response.status === "error");
    },
  );
  const room = maxCharsFor(options.maxTokens);
  const dispose = resources ? registerResources(server, engine, { ...tool, room }, poll) : () => {};
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

/** Returns an answer as MCP carries it: structured, and as text for clients that know nothing else. */
function callResult(answer: object, isError: boolean): CallToolResult {
  return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: { ...answer }, isError };
}

/** The notifications after which the list of sessions is a different one. */
const CHANGES: readonly NotificationName[] = ["started", "completed", "failed", "deleted"];

/** Notifies the client when the list of resources changes. Returns a function that stops it. */
function notifyListChanged(server: McpServer, engine: Engine, poll: WorkflowPoll | undefined): () => void {
  const notify = () => void sendListChanged(server);
  const stops = CHANGES.map((name) => engine.on(name, notify));
  if (poll !== undefined) stops.push(pollWorkflows(poll, notify));
  return () => {
    for (const stop of stops) stop();
  };
}

/** Sends the notification, if the client is still connected. A client may disconnect at any time: that is no error. */
async function sendListChanged(server: McpServer): Promise<void> {
  if (!server.isConnected()) return;
  try {
    await server.server.sendResourceListChanged();
  } catch {
    // The client has disconnected.
  }
}

/** The source of changes, and the interval between two checks. */
export interface WorkflowPoll {
  /** The engine's content provider. It is called directly, so that these calls do not count in the engine's metrics. */
  readonly content: ContentProvider;
  /** The interval between two checks, in milliseconds. */
  readonly everyMs: number;
}

/** Calls `onChange` when the workflows have changed since the last check. Returns a function that stops it. */
function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  let seen: string | undefined;
  let stopped = false;
  let checking = false;
  const check = async () => {
    // A check may take longer than the interval: several at once would slow it down further.
    if (checking) return;
    checking = true;
    const found = await fingerprint(content);
    checking = false;
    if (stopped || found === undefined) return;
    if (seen !== undefined && seen !== found) onChange();
    seen = found;
  };
  const timer = setInterval(() => void check(), everyMs);
  letProcessEnd(timer);
  void check();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Returns the state of all workflows; undefined if the provider fails, which its other callers report. */
async function fingerprint(content: ContentProvider): Promise<string | undefined> {
  try {
    return JSON.stringify((await content.list()).map(stateOf));
  } catch {
    return undefined;
  }
}

function stateOf(listing: WorkflowListing): readonly unknown[] {
  const revision = listing.status === "ready" ? listing.definition.structure.revision : undefined;
  return [listing.type, revision, listing.diagnostics.map(formatDiagnostic)];
}

/** Lets the process end while the timer runs: in Node a timer keeps it alive; elsewhere it is a number. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

/** The actions that change no session. */
const WORKFLOW_READING: ReadonlySet<Action> = new Set([
  "list_workflows",
  "get_phase",
  "get_task",
  "get_state",
  "list_sessions",
  "get_session",
  "get_errors",
  "get_history",
  "get_metrics",
]);

/** Returns what a client may show or confirm before it calls a tool with these actions. */
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
 * call, or one for all calls. Returns the registered tools.
 * @throws {PhasegateError} `INVALID_INPUT` when a call is unknown, or a name is invalid.
 */
export function registerRoutedTools(
  server: McpServer,
  engine: RoutedEngine,
  options: RoutedToolsOptions = {},
): readonly RoutedTool[] {
  const tools = createRoutedTools(engine, options);
  for (const tool of tools) registerTool(server, tool);
  return tools;
}

function registerTool(server: McpServer, tool: RoutedTool): void {
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
      const person = new ElicitedApproval(server, ctx);
      const answered = await tool.dispatch(input, {
        askPerson: (question) => person.ask({ ...question, warnings: [], about: aboutOf(question) }),
      });
      return person.question() ?? callResult(answered.body, answered.isError);
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
    // Only a cancelled instance can't be continued.
    destructiveHint: calls.includes("cancel"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/** The schema that all answers share; short, since each tool publishes it. */
const ANSWER = { type: "object" as const, properties: { success: { type: "boolean" } }, required: ["success"] };

/**
 * Registers a workspace's tools with a host's own MCP server (`@modelcontextprotocol/server` 2.x): `preload_workflow`,
 * `read_file`, `list_files`, `create_session`, `next_step`, `save_output`, `complete_session`. A server has one connection,
 * so its client may write the sessions that it has created or reopened, and no others. Returns the connection.
 */
export function registerWorkspaceTools(
  server: McpServer,
  workspace: Pick<Workspace, "connect">,
  options: ConnectOptions = {},
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
          // An output that is saved again replaces the old one; the other tools only add. It has no meaning for reading.
          ...(readOnly ? {} : { destructiveHint: name === "save_output" }),
          openWorldHint: false,
        },
      },
      async (input) => {
        const result = await connection.call(name, input);
        return callResult(result, !result.success);
      },
    );
  }
  return connection;
}

/**
 * Registers the prompt `run_workflow` with a host's own MCP server: the text of `workflowInstructions` with the current
 * workflows, and the one that the user wants. Sections can be dropped or replaced.
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
      description: "How a workflow is run with the tools of this server",
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
