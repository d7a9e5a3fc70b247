/**
 * Registers the tools of phased workflows, routed workflows and workspaces with a host's MCP server. Each kind has its own
 * file: a server loads the ones that it serves. This is the entry file of the folder:
 *
 * - tools.ts: the tool of phased workflows, with its annotations; routed-tools.ts: those of routed workflows;
 *   workspace-tools.ts: those of a workspace, and the prompt `run_workflow`; search-tool.ts: the search tool
 * - register-tool.ts: how a tool answers
 * - host.ts: what is used of a host's server and of a call; sdks.ts, sdk-1.ts, sdk-2.ts: how each SDK has that
 * - resources.ts: workflows, sessions and documents as resources, in pages; completions
 * - prompts.ts: workflows as prompts; handlers.ts: how they are added to those that an SDK lists
 * - session-view.ts: what clients show of a session (MCP Apps); session-view-file.js: the page for it, as it is built
 * - changes.ts: changes of lists, and subscriptions to sessions
 * - http.ts, http-request.ts, connections.ts: serves many clients over Streamable HTTP
 * - calls.ts: how calls are measured; progress, log messages and cancellation during a call
 * - elicit-approval.ts: asks the client's user for an approval or a waiver
 * - stdio.ts, stdio-messages.ts: serves one client over a pair of streams
 */
import type { Engine } from "../phased/engine.js";
import { type Action, entryOf, WORKFLOW_READING } from "../tools/phased/actions.js";
import {
  createWorkflowTool,
  engineFor,
  toolChecks,
  type WorkflowTool,
  type WorkflowToolOptions,
} from "../tools/phased/workflow-tool.js";
import { maxCharsFor } from "../tools/schemas.js";
import { passThroughSchema } from "../tools/wire.js";
import { checkOptions, flag, group, having, optionally } from "../workflow/host-options.js";
import { followCalls, type WatchedTools } from "./calls.js";
import {
  pollChecks,
  pollWorkflows,
  type Registration,
  registerSubscriptions,
  tellSessions,
  type WorkflowPoll,
} from "./changes.js";
import type { Host, HostServer, ToolHints } from "./host.js";
import { canPrompt, registerPrompts } from "./prompts.js";
import { registerTool } from "./register-tool.js";
import { registerDocumentResources, registerSessionResources, registerWorkflowResources } from "./resources.js";
import { hostOf } from "./sdks.js";
import { registerSessionView, sessionForView, VIEW_OF_TOOL } from "./session-view.js";

/** Options of {@link registerWorkflowTool}. */
export interface RegisterWorkflowToolOptions extends WorkflowToolOptions, WatchedTools {
  /** Registers workflows and sessions as resources, too. Default true. */
  readonly resources?: boolean;
  /**
   * Registers workflows as prompts, too, and `continue` and `status`: clients show them as slash commands. Default true, if the
   * actions include `start`, `list_sessions` and `get_state`. A server has them once: of a second tool, give false.
   */
  readonly prompts?: boolean;
  /** Lets clients that show MCP Apps show a small view of the session. Default: as `resources`, since it is one. */
  readonly view?: boolean;
  /** Polls for changed workflows, and notifies the client. Default: no polling. */
  readonly poll?: WorkflowPoll;
}

/** A registered workflow tool. */
export interface WorkflowRegistration extends Registration {
  /** The tool: its name, its schemas and its `dispatch`. */
  readonly tool: WorkflowTool;
}

/**
 * Registers the workflow tool with a host's own MCP server, of either SDK, with structured output, workflows and sessions
 * as resources, and workflows as prompts. Resources show no more than the actions that the host allows: workflows need
 * `list_workflows`, sessions `get_session`. Like answers, they come in pages of `maxTokens`.
 *
 * @throws {PhasegateError} `INVALID_INPUT` when `actions` is empty or contains an unknown action, and when the server is no
 * `McpServer`.
 */
export function registerWorkflowTool(
  server: HostServer,
  engineOfHost: Engine,
  options: RegisterWorkflowToolOptions = {},
): WorkflowRegistration {
  checkOptions("registerWorkflowTool", options, {
    ...toolChecks,
    resources: optionally(flag),
    prompts: optionally(flag),
    view: optionally(flag),
    poll: optionally(group("{ content, everyMs }", pollChecks)),
    telemetry: optionally(having("what createTelemetry returns", "measure")),
  });
  const { resources = true, prompts = true, view = resources, poll, telemetry, ...others } = options;
  const { actor: _, authorize: __, ...toolOptions } = others;
  const engine = engineFor("registerWorkflowTool", engineOfHost, options);
  const tool = createWorkflowTool(engine, toolOptions);
  const host = hostOf("registerWorkflowTool", server);
  const followers = followCalls(engine);
  registerTool(host, {
    name: tool.name,
    description: tool.description,
    inputSchema: passThroughSchema(tool.inputSchema),
    outputSchema: passThroughSchema(tool.outputSchema),
    annotations: toolAnnotations(tool.actions),
    _meta: view ? VIEW_OF_TOOL : undefined,
    telemetry,
    actions: tool.actions,
    async run(input, call, ask) {
      const { end, ...followed } = followers.follow(call, Object(input).session_id);
      try {
        const body = await tool.dispatch(input, {
          ...followed,
          askPerson: async ({ sessionId, workflowType, phase, ...request }) => {
            // Loaded here: a server starts 2 ms sooner.
            const { elicitApproval } = await import("./elicit-approval.js");
            const about = `Phase ${phase} of ${workflowType}, session ${sessionId}`;
            return ask(await elicitApproval(call, { ...request, about }));
          },
          askWaiver: async (request) => {
            const { elicitWaiver } = await import("./elicit-approval.js");
            return ask(await elicitWaiver(call, request));
          },
        });
        const meta = view ? await sessionForView(engine, call, Object(input), body) : undefined;
        return { body, isError: body.status === "error", meta };
      } finally {
        end();
      }
    },
  });
  host.messages();
  const maxChars = maxCharsFor(options.maxTokens);
  const shown = (action: Action) => resources && tool.actions.includes(action);
  const subscriptions = resources ? registerResources(host, engine, shown, maxChars) : undefined;
  const hasPrompts = prompts && canPrompt(tool.actions);
  if (hasPrompts) registerPrompts(host, engine, tool.name);
  const listed = shown("list_workflows");
  if (view) registerSessionView(host);
  const stops = [
    listed || shown("get_session") ? tellSessions(host, engine) : undefined,
    poll && (listed || hasPrompts)
      ? pollWorkflows(poll, () => {
          if (listed) void host.tellResourcesChanged();
          if (hasPrompts) void host.tellPromptsChanged();
        })
      : undefined,
  ];
  const dispose = () => {
    followers.dispose();
    for (const stop of stops) stop?.();
    subscriptions?.dispose();
  };
  return { tool, ...subscriptions, dispose };
}

/** Registers what the actions show. Returns the subscriptions, which are to sessions. */
function registerResources(
  host: Host,
  engine: Engine,
  shown: (action: Action) => boolean,
  maxChars: number,
): Registration | undefined {
  const shared = { list: shown("list_sessions"), maxChars };
  if (shown("list_workflows")) registerWorkflowResources(host, engine, maxChars);
  if (shown("get_session")) registerSessionResources(host, engine, shared);
  if (shown("get_document")) registerDocumentResources(host, engine, shared);
  return shown("get_session") ? registerSubscriptions(host, engine) : undefined;
}

/** Returns the hints from which a client decides whether to ask its user before it calls the tool. */
function toolAnnotations(actions: readonly Action[]): ToolHints {
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
