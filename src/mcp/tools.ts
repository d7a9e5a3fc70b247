/**
 * Registers the tools of phased workflows, routed workflows and workspaces with a host's MCP server.
 * This is the entry file of the folder:
 *
 * - tools.ts: the tools of phased and routed workflows and of a workspace, with their annotations and answers; the search
 *   tool, and the prompt `run_workflow`
 * - resources.ts: workflows, sessions and documents as resources, in pages; completions
 * - changes.ts: list changes, and subscriptions to sessions
 * - http.ts, http-request.ts, connections.ts: serves many clients over Streamable HTTP
 * - calls.ts: how calls are measured; progress, log messages and cancellation during a call
 * - elicit-approval.ts: asks the client's user for an approval or a waiver
 * - stdio.ts, stdio-messages.ts: serves one client over a pair of streams
 */
import {
  completable,
  type McpServer,
  type ServerContext,
  type StandardSchemaWithJSON,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Engine } from "../phased/engine.js";
import type { RoutedEngine } from "../routed/engine.js";
import { type Action, entryOf, WORKFLOW_READING } from "../tools/phased/actions.js";
import {
  createWorkflowTool,
  engineFor,
  toolChecks,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "../tools/phased/workflow-tool.js";
import { ALL_CALLS, namedCalls, READING } from "../tools/routed/calls.js";
import { createRoutedTools, type RoutedTool, type RoutedToolsOptions } from "../tools/routed/routed-tools.js";
import { maxCharsFor } from "../tools/schemas.js";
import type { SearchTool } from "../tools/search-tool.js";
import { passThroughSchema } from "../tools/wire.js";
import { checkOptions, flag, group, having, optionally } from "../workflow/host-options.js";
import { type InstructionsContext, workflowInstructions } from "../workspace/instructions.js";
import { publishedInput } from "../workspace/tools/tool.js";
import type { ConnectOptions, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import { followCall, followCalls, measured, outcomeOf, type ToolAnswer, type WatchedTools } from "./calls.js";
import {
  notifyListChanged,
  pollChecks,
  type Registration,
  registerSubscriptions,
  type WorkflowPoll,
} from "./changes.js";
import { type Elicited, elicitApproval, elicitWaiver } from "./elicit-approval.js";
import { registerDocumentResources, registerSessionResources, registerWorkflowResources } from "./resources.js";

/** A tool as it is registered: what is published, and what runs. */
interface Registered extends WatchedTools {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: StandardSchemaWithJSON;
  readonly outputSchema?: StandardSchemaWithJSON;
  readonly annotations: ToolAnnotations;
  /** The values of `action` that the tool knows. */
  readonly actions?: readonly string[];
  /** Answers a call. `ask` takes what a person was asked, and returns the answer if there is one already. */
  run(input: unknown, ctx: ServerContext, ask: (asked: Elicited) => Elicited["answer"]): Promise<ToolAnswer>;
}

function register(server: McpServer, { name, telemetry, actions = [], run, ...config }: Registered): void {
  server.registerTool(name, config, async (input: unknown, ctx: ServerContext) => {
    let open: Elicited = {};
    const work = () =>
      run(input, ctx, (asked) => {
        open = asked;
        return asked.answer;
      });
    const call = measured(name, actions, input, ctx);
    const { body, isError } = await (telemetry === undefined ? work() : telemetry.measure(call, work, outcomeOf));
    // As a text, too, for clients without structured output.
    const content = [{ type: "text" as const, text: JSON.stringify(body) }];
    return open.form ?? { content, structuredContent: { ...body }, isError };
  });
}

/** Options of {@link registerWorkflowTool}. */
export interface RegisterWorkflowToolOptions extends WorkflowToolOptions, WatchedTools {
  /** Registers workflows and sessions as resources, too. Default true. */
  readonly resources?: boolean;
  /** Polls for changed workflows, and notifies the client. Default: no polling. */
  readonly poll?: WorkflowPoll;
}

/** A registered workflow tool. */
export interface WorkflowRegistration extends Registration {
  /** The tool: its name, its schemas and its `dispatch`. */
  readonly tool: WorkflowTool;
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
  host: Engine,
  options: RegisterWorkflowToolOptions = {},
): WorkflowRegistration {
  checkOptions("registerWorkflowTool", options, {
    ...toolChecks,
    resources: optionally(flag),
    poll: optionally(group("{ content, everyMs }", pollChecks)),
    telemetry: optionally(having("what createTelemetry returns", "measure")),
  });
  const { resources = true, poll, telemetry, actor: _, authorize: __, ...toolOptions } = options;
  const engine = engineFor("registerWorkflowTool", host, options);
  const tool = createWorkflowTool(engine, toolOptions);
  const followers = followCalls(engine);
  register(server, {
    name: tool.name,
    description: tool.description,
    inputSchema: passThroughSchema(tool.inputSchema),
    outputSchema: passThroughSchema(tool.outputSchema),
    annotations: toolAnnotations(tool.actions),
    telemetry,
    actions: tool.actions,
    async run(input, ctx, ask) {
      const { end, ...followed } = followers.follow(ctx, Object(input).session_id);
      try {
        const body = await tool.dispatch(input, {
          ...followed,
          askPerson: async ({ sessionId, workflowType, phase, ...request }) => {
            const about = `Phase ${phase} of ${workflowType}, session ${sessionId}`;
            return ask(elicitApproval(server, ctx, { ...request, about }));
          },
          askWaiver: async (request) => ask(elicitWaiver(server, ctx, request)),
        });
        return { body, isError: body.status === "error" };
      } finally {
        end();
      }
    },
  });
  server.server.registerCapabilities({ logging: {} });
  const maxChars = maxCharsFor(options.maxTokens);
  const registered = resources ? registerResources(server, engine, { ...tool, maxChars }, poll) : undefined;
  const dispose = () => {
    followers.dispose();
    registered?.dispose();
  };
  return { tool, ...registered, dispose };
}

function registerResources(
  server: McpServer,
  engine: Engine,
  { actions, maxChars }: Pick<WorkflowTool, "actions"> & { readonly maxChars: number },
  poll: WorkflowPoll | undefined,
): Registration {
  const workflows = actions.includes("list_workflows");
  const sessions = actions.includes("get_session");
  const shared = { list: actions.includes("list_sessions"), maxChars };
  if (workflows) registerWorkflowResources(server, engine, maxChars);
  if (sessions) registerSessionResources(server, engine, shared);
  if (actions.includes("get_document")) registerDocumentResources(server, engine, shared);
  const subscriptions = sessions ? registerSubscriptions(server, engine) : undefined;
  const stop = workflows || sessions ? notifyListChanged(server, engine, workflows ? poll : undefined) : undefined;
  const dispose = () => {
    stop?.();
    subscriptions?.dispose();
  };
  return { ...subscriptions, dispose };
}

/** Returns the hints from which a client decides whether to ask its user before it calls the tool. */
function toolAnnotations(actions: readonly Action[]): ToolAnnotations {
  const readOnly = actions.every((action) => WORKFLOW_READING.has(action));
  return {
    title: "Phase-gated workflows",
    readOnlyHint: readOnly,
    // Only a deletion loses data: a rollback stays in the log.
    destructiveHint: actions.some((action) => entryOf(action).effect === "deletes"),
    idempotentHint: readOnly,
    openWorldHint: false,
  };
}

/** A client during a call, whose model a `SamplingDecider` can ask. */
export interface CallingClient {
  /** Returns what the client can do; undefined if it has not said so. */
  getClientCapabilities(): { readonly sampling?: object | undefined } | undefined;
  /** Asks the client's model. */
  createMessage(
    params: {
      messages: { role: "user"; content: { type: "text"; text: string } }[];
      systemPrompt: string;
      maxTokens: number;
    },
    options: { signal: AbortSignal; timeout: number },
  ): Promise<unknown>;
}

/** Options of {@link registerRoutedTools}. */
export interface RegisterRoutedToolsOptions extends RoutedToolsOptions, WatchedTools {
  /**
   * Runs each call of a client. With `AsyncLocalStorage` a `SamplingDecider` finds the client that is calling:
   * `during: (client, call) => clients.run(client, call)` and `new SamplingDecider({ server: () => clients.getStore() })`.
   * Default: just runs it.
   */
  readonly during?: <T>(client: CallingClient, call: () => Promise<T>) => Promise<T>;
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
  options: RegisterRoutedToolsOptions = {},
): readonly RoutedTool[] {
  const { during = (_, call) => call(), telemetry, ...toolsOptions } = options;
  const tools = createRoutedTools(engine, toolsOptions);
  const actions = [...namedCalls(options.calls ?? ALL_CALLS, options.names ?? {}).values()];
  for (const { name, title, description, inputSchema, outputSchema, calls, dispatch } of tools) {
    const readOnlyHint = calls.every((call) => READING.has(call));
    // Only a cancelled instance cannot be continued.
    const hints = { readOnlyHint, destructiveHint: calls.includes("cancel"), idempotentHint: readOnlyHint };
    register(server, {
      name,
      title,
      description,
      inputSchema: passThroughSchema(inputSchema),
      outputSchema: passThroughSchema(outputSchema),
      annotations: { title, ...hints, openWorldHint: false },
      telemetry,
      actions,
      async run(input, ctx, ask) {
        const client: CallingClient = {
          getClientCapabilities: () => server.server.getClientCapabilities(),
          createMessage: (params, options) => ctx.mcpReq.requestSampling(params, options),
        };
        const { end, ...followed } = followCall(ctx);
        const call = () =>
          dispatch(input, {
            ...followed,
            askPerson: async (question) => {
              const about = `The step ${question.step} of ${question.workflowType}, instance ${question.sessionId}`;
              return ask(elicitApproval(server, ctx, { ...question, warnings: [], about }));
            },
          });
        return during(client, call).finally(end);
      },
    });
  }
  return tools;
}

/**
 * Registers a search tool, as `createSearchTool` makes it, with a host's own MCP server
 * (`@modelcontextprotocol/server` 2.x).
 */
export function registerSearchTool(server: McpServer, tool: SearchTool, watched: WatchedTools = {}): void {
  const { name, description, inputSchema } = tool;
  register(server, {
    name,
    title: "Search standards",
    description,
    inputSchema,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    ...watched,
    async run(input) {
      const body = await tool.handler(input);
      return { body, isError: body.status === "error" };
    },
  });
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
    register(server, {
      name,
      title,
      description,
      inputSchema: passThroughSchema(publishedInput(tool)),
      outputSchema: passThroughSchema(ANSWER),
      annotations: {
        readOnlyHint: readOnly,
        // Saving an output again replaces it; the other tools only add. The hint is not defined for tools that only read.
        destructiveHint: readOnly ? undefined : name === "save_output",
        openWorldHint: false,
      },
      telemetry,
      async run(input) {
        const body = await connection.call(name, input);
        return { body, isError: !body.success };
      },
    });
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
  const names = async (prefix: string) =>
    (await workspace.workflows()).map(({ name }) => name).filter((name) => name.startsWith(prefix));
  const workflow = completable(z.string().describe("The workflow's name"), names).optional();
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
