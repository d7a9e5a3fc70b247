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

/** What changes the list of sessions, or what it says of one. */
const CHANGES: readonly NotificationName[] = ["started", "completed", "failed", "deleted"];

/** Tells the server's client when the list of resources is another one; the function that comes back stops it. */
function notifyListChanged(server: McpServer, engine: Engine, poll: WorkflowPoll | undefined): () => void {
  const notify = () => void sendListChanged(server);
  const stops = CHANGES.map((name) => engine.on(name, notify));
  if (poll !== undefined) stops.push(pollWorkflows(poll, notify));
  return () => {
    for (const stop of stops) stop();
  };
}

/** The client may go away at any time, which is nobody's error. */
async function sendListChanged(server: McpServer): Promise<void> {
  if (!server.isConnected()) return;
  try {
    await server.server.sendResourceListChanged();
  } catch {
    // The news was for a client that is gone.
  }
}

/** Where changes are looked for, and how often. */
export interface WorkflowPoll {
  /** The engine's own provider. It is asked directly, so that the engine's figures stay those of its callers. */
  readonly content: ContentProvider;
  /** Milliseconds from one look to the next. */
  readonly everyMs: number;
}

/** Calls `onChange` when the workflows are others than at the last look; the function that comes back stops it. */
function pollWorkflows({ content, everyMs }: WorkflowPoll, onChange: () => void): () => void {
  let seen: string | undefined;
  let stopped = false;
  let looking = false;
  const look = async () => {
    // A look that takes longer than the time between two: more of them at once would make it slower still.
    if (looking) return;
    looking = true;
    const found = await fingerprint(content);
    looking = false;
    if (stopped || found === undefined) return;
    if (seen !== undefined && seen !== found) onChange();
    seen = found;
  };
  const timer = setInterval(() => void look(), everyMs);
  letProcessEnd(timer);
  void look();
  return () => {
    stopped = true;
    clearInterval(timer);
  };
}

/** Undefined if the provider fails: that is told to whoever asks it for something. */
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

/** In Node a timer keeps its process alive; elsewhere it is a number. */
function letProcessEnd(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}

/** What changes no session. */
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

/** What a client may show of a tool with these actions, or ask its user about, before it is called. */
function toolAnnotations(actions: readonly Action[]): ToolAnnotations {
  const readOnly = actions.every((action) => WORKFLOW_READING.has(action));
  return {
    title: "Phase-gated workflows",
    readOnlyHint: readOnly,
    // Only a deletion loses anything: a rollback stays in the log.
    destructiveHint: actions.includes("delete_session"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/**
 * Registers the tools of routed workflows with a host's own MCP server (`@modelcontextprotocol/server` 2.x): seed 003's
 * five, and suspend, cancel, retry and history beside them; or one for all. The tools that were registered come back.
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
    // Only what is cancelled can't be gone on with.
    destructiveHint: calls.includes("cancel"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/** What all answers share; short, since each tool says it. */
const ANSWER = { type: "object" as const, properties: { success: { type: "boolean" } }, required: ["success"] };

/**
 * Registers a workspace's tools with a host's own MCP server (`@modelcontextprotocol/server` 2.x): `preload_workflow`,
 * `read_file`, `list_files`, `create_session`, `next_step`, `save_output`, `complete_session`. A server serves one
 * connection, so its client may write the sessions that it has begun, and no others. The connection comes back.
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
          // An output that is saved again takes the place of the old one; the others only add. Of reading it is never asked.
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
 * Registers the prompt `run_workflow` with a host's own MCP server: what `workflowInstructions` says, with the workflows
 * that there are now, and the one that the user wants. Sections can be dropped or replaced.
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
