/**
 * What `serve` can serve: phased workflows, routed workflows and a workspace. Each of them is prepared from the options,
 * opened on the storage that they share, and registered with an MCP server; {@link PRODUCTS} lists them. Each loads what it needs
 * once it is asked for: a client waits for the server to start.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import type { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import type { SamplingDeciderOptions } from "../deciders/sampling.js";
import type { WatchedTools } from "../mcp/calls.js";
import { pollWorkflows, type Registration } from "../mcp/changes.js";
import type { CallingClient } from "../mcp/host.js";
import { registerWorkflowTool } from "../mcp/tools.js";
import { createEngine, type Engine, submissionsOf } from "../phased/engine.js";
import type { EngineOptions } from "../phased/options.js";
import { type Actor, actorKey } from "../ports/actor.js";
import type { ContentProvider } from "../ports/content-provider.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { RoutedEngine } from "../routed/engine.js";
import { createProjectRoot } from "../sandbox/sandbox.js";
import type { OramaRetriever, OramaRetrieverOptions } from "../search/retriever.js";
import { beginning } from "../setup/beginning.js";
import { ACTION_NAMES, type Action } from "../tools/phased/actions.js";
import { SEARCH_TOOL } from "../workflow/asks-for-search.js";
import { RecentMap } from "../workflow/cache.js";
import type { ActorWorkspace, Workspace, WorkspaceConnection } from "../workspace/workspace.js";
import { contentIn } from "./content-in.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import type { HttpServed } from "./http-server.js";
import { type LogFiles, type Logs, logPhased, logRouted, logWorkspace } from "./log.js";
import type { OpenedPacks } from "./open-packs.js";
import { requireFolder } from "./options.js";
import type { GivenOptions } from "./serve-options.js";
import { requireNoLink } from "./state.js";
import { userName } from "./terminal.js";
import { type CurrentTrust, openVerifiers, readCurrentTrust, readHashKey } from "./trust.js";

export type ServeOptions = Omit<GivenOptions, "workflows" | "standards"> & {
  /** The folders of phased workflows; empty if none are served. */
  readonly workflows: readonly string[];
  /** The packs that are served; their workflows are among the folders. */
  readonly packs: Pick<OpenedPacks, "verifiers">;
  /** The folders that agents may search; empty if there are none. */
  readonly standards: readonly string[];
  /** Missing if the log goes to stderr only. */
  readonly logFiles?: LogFiles;
  /** Missing if no workspace is served. */
  readonly workspace?: WorkspaceFolders;
  /** The project that init has set up, if something that no option names was taken from it. */
  readonly ownProject?: string;
};

export interface WorkspaceFolders {
  readonly bundle: string;
  readonly output: string;
  readonly core?: string;
  /** More folders that may be read, by the names of their variables. */
  readonly readRoots: Readonly<Record<string, string>>;
}

/** The decider that picks the next step of a routed workflow. */
type DeciderName = NonNullable<GivenOptions["decider"]>;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The options that phased and routed engines have in common. */
type EngineBasis = CurrentTrust &
  Pick<
    EngineOptions,
    | "storage"
    | "enforcement"
    | "verifiers"
    | "allowUnsignedApprovals"
    | "inspectorUrl"
    | "limits"
    | "owner"
    | "quotas"
    | "telemetry"
  >;

export interface Client extends WatchedTools {
  /** Who the client is; missing if clients don't log in. */
  readonly actor?: Actor | undefined;
  /** True if the server answers one request, and the client's next one gets another server. */
  readonly forOneRequest?: boolean;
  /** The connection that the client has, or believes to have. */
  readonly connectionId?: string | undefined;
}

export interface Served {
  /** Adds the product's tools to a server, for one client. What it returns is disposed of when the server is no longer used. */
  register(server: McpServer, client: Client): Registration | undefined;
  /** How an agent begins, for clients whose project has no file that says it. */
  readonly instructions?: string | undefined;
  readonly engine?: Engine;
  readonly routed?: RoutedEngine;
  readonly workspace?: Pick<Workspace, "on">;
  /** What can be served over plain HTTP. */
  readonly http?: HttpServed;
  /** Reads the workflows, and logs which there are and what is wrong with them: once clients are served. */
  announce?(): Promise<void>;
  /** Ends what the product does by itself, before the storage is closed. */
  readonly close?: () => Promise<void>;
}

/** Returns what an MCP server says of itself. */
export function aboutServer(served: readonly Served[]): { readonly instructions?: string } {
  const [instructions] = served.flatMap((one) => one.instructions ?? []);
  return instructions === undefined ? {} : { instructions };
}

/** Opens a product on the shared storage; without a storage, only a workspace can be opened. */
export type Open = (basis: EngineBasis | undefined) => Promise<Served | undefined>;

/** Checks everything that the options name, before any state is created. Returns undefined if it is not served. */
type Prepare = (options: ServeOptions, logs: Logs) => Promise<Open | undefined>;

/** The products, in the order in which they are prepared, opened and registered. */
export const PRODUCTS: readonly Prepare[] = [preparePhased, prepareRouted, prepareWorkspace, prepareSearch];

/** Reads the options that phased and routed engines have in common. */
export async function engineBasis(
  options: ServeOptions,
  { log }: Pick<Logs, "log">,
): Promise<Omit<EngineBasis, "storage">> {
  const { enforcement, maxAttempts, maxAttemptsTotal, maxCheckTime, maxSessions, maxEvidence } = options;
  return {
    enforcement,
    owner: { name: userName() },
    ...(await readCurrentTrust(options, (error) => log.error({ err: error }, "approvers"))),
    verifiers: { ...(await openVerifiers(options, process.env)), ...options.packs.verifiers },
    allowUnsignedApprovals: options.allowUnsignedApprovals === true,
    inspectorUrl: options.inspectorUrl,
    limits: {
      maxAttempts,
      maxAttemptsTotal,
      verifyDeadlineMs: maxCheckTime * 1000,
      maxEvidenceBytes: maxEvidence,
      maxActiveSessions: maxSessions === 0 ? Number.POSITIVE_INFINITY : maxSessions,
    },
  };
}

/** Returns how an agent begins with the tool; undefined if it may not make the calls for that. */
function instructionsFor(tool: string, actions: readonly Action[] = ACTION_NAMES): string | undefined {
  if (!actions.includes("list_sessions") || !actions.includes("list_workflows")) return undefined;
  const kinds = "Some work, such as to fix a bug or carry out a plan, goes through a workflow, whose gates check it.";
  return `${kinds} ${beginning(tool).join(" ")}`;
}

async function preparePhased(options: ServeOptions, { log }: Logs): Promise<Open | undefined> {
  const {
    workflows,
    rag,
    project,
    agentSync,
    claims,
    toolName: name,
    maxTokens,
    actions,
    poll,
    cleanupAfter,
    answerWithin,
  } = options;
  if (workflows.length === 0) return undefined;
  const roots = await Promise.all(workflows.map((path) => requireFolder(path, "the workflows folder")));
  const files = contentIn(roots);
  const content = rag === undefined ? files : await searchedContent(files, roots, rag, options, log);
  return async (basis) => {
    if (basis === undefined) return undefined;
    const engine = createEngine({
      ...basis,
      content,
      agentSync,
      claims,
      retention: cleanupAfter,
      // Plans are read from the project folder. Without one, workflows whose phases come from a plan cannot be started.
      targets: project === undefined ? undefined : await createProjectRoot(project),
      plans:
        project === undefined ? undefined : new (await import("../content/file-plans.js")).FilePlans({ root: project }),
    });
    logPhased(engine, log);
    const canSearch = options.standards.length > 0;
    let endPolling: (() => void) | undefined;
    const announce = async () => {
      const canApprove = Object.keys(basis.approvers()).length > 0 || basis.allowUnsignedApprovals === true;
      // Loaded here: clients have the list of tools 10 ms sooner.
      const { logOlder, logWorkflows, warnMissing } = await import("./announce.js");
      warnMissing(await logWorkflows(content, basis.verifiers ?? {}, log), { canApprove, canSearch }, log);
      await logOlder(engine, log);
      if (poll === 0) return;
      endPolling = pollWorkflows({ content, everyMs: poll * 1000 }, () => void logOlder(engine, log));
    };
    const answerWithinMs = answerWithin === 0 ? Number.POSITIVE_INFINITY : answerWithin * 1000;
    const tool = { maxTokens, actions, answerWithinMs, absentTools: canSearch ? undefined : [SEARCH_TOOL] };
    const endCleanup =
      cleanupAfter === undefined ? undefined : (await import("./operate.js")).cleanUpRegularly(engine, log);
    const shared = { name, ...tool, poll: poll === 0 ? undefined : { content, everyMs: poll * 1000 } };
    return {
      engine,
      instructions: instructionsFor(name, actions),
      http: { engine, tool },
      announce,
      close: async () => {
        endPolling?.();
        await submissionsOf(engine).end();
        await endCleanup?.();
      },
      register: (server, { actor, telemetry }) =>
        registerWorkflowTool(server, actor === undefined ? engine : engine.as(actor), { ...shared, telemetry }),
    };
  };
}

async function prepareRouted(options: ServeOptions, { log, ai }: Logs): Promise<Open | undefined> {
  const { routed, includeRoot: includeRoots = [], firstStep, routedTools: tools, maxTokens } = options;
  if (routed === undefined) return undefined;
  const root = await requireFolder(routed, "the folder of routed workflows");
  // A sampling decider asks the client whose call it decides on.
  const clients = new AsyncLocalStorage<CallingClient>();
  const name = deciderName(options.decider, process.env);
  const onExchange = ai && ((exchange: object) => ai.info(exchange, "exchange"));
  const { FileTexts } = await import("../content/file-plans.js");
  const { createRoutedEngine } = await import("../routed/engine.js");
  const { RoutedFolders } = await import("../workflow/files/routed-workflow.js");
  const { registerRoutedTools } = await import("../mcp/routed-tools.js");
  const decider = await openDecider(name, options.http !== undefined, { server: () => clients.getStore(), onExchange });
  const workflows = new RoutedFolders({ source: new FileTexts({ root }), includeRoots });
  return async (basis) => {
    if (basis === undefined) return undefined;
    const engine = createRoutedEngine({ ...basis, workflows, decider, firstStep });
    logRouted(engine, log);
    log.info({ decider: name }, "decider");
    return {
      routed: engine,
      announce: async () => (await import("./announce.js")).logRoutedWorkflows(workflows, basis.verifiers ?? {}, log),
      http: { routed: engine },
      register: (server, { actor, telemetry }) => {
        registerRoutedTools(server, actor === undefined ? engine : engine.as(actor), {
          tools,
          maxTokens,
          telemetry,
          during: (client, call) => clients.run(client, call),
        });
        return undefined;
      },
    };
  };
}

/**
 * The most actors, and clients of each that name a connection, whose sessions are known between requests that are answered
 * alone. Others have to reopen theirs.
 */
const ACTORS_MAX = 1000;
const CLIENTS_MAX = 100;

async function prepareWorkspace(options: ServeOptions, { log }: Logs): Promise<Open | undefined> {
  if (options.workspace === undefined) return undefined;
  const { bundle, core, output, readRoots } = options.workspace;
  const bundleRoot = await requireFolder(bundle, "the bundle");
  const coreRoot = core === undefined ? undefined : await requireFolder(core, "the core folder");
  for (const [name, folder] of Object.entries(readRoots)) await requireFolder(folder, `the folder of {${name}}`);
  return async (basis) => {
    const outputRoot = resolve(output);
    // Created if it does not exist, as the folder of the state is.
    await mkdir(outputRoot, { recursive: true, mode: 0o700 });
    const { createWorkspace } = await import("../workspace/create-workspace.js");
    const { registerWorkflowPrompt, registerWorkspaceTools } = await import("../mcp/workspace-tools.js");
    const workspace = await createWorkspace({
      bundleRoot,
      outputRoot: await requireFolder(outputRoot, "the output folder"),
      readRoots,
      coreRoot,
      projectRoot: options.project,
      storage: basis?.storage,
      owner: basis?.owner,
      telemetry: basis?.telemetry,
      ...(await readHashKey(options)),
    });
    logWorkspace(workspace, log);
    log.info({ variables: workspace.variables, recorded: basis !== undefined }, "workspace");
    // A client's next request must know the session that it has created. Clients of one actor that name no connection share one.
    const actors = new RecentMap<string, RecentMap<string, WorkspaceConnection>>(ACTORS_MAX);
    const kept = ({ actor, connectionId = "" }: Client, { connect }: ActorWorkspace) => {
      const key = actor === undefined ? "" : actorKey(actor);
      const clients = actors.get(key) ?? new RecentMap(CLIENTS_MAX);
      actors.set(key, clients);
      const known = clients.get(connectionId) ?? connect();
      clients.set(connectionId, known);
      return known;
    };
    return {
      workspace,
      register(server, client) {
        const { actor, telemetry, forOneRequest } = client;
        const own = actor === undefined ? workspace : workspace.as(actor);
        registerWorkspaceTools(server, forOneRequest ? { connect: () => kept(client, own) } : own, { telemetry });
        registerWorkflowPrompt(server, own);
        return undefined;
      },
    };
  };
}

async function searchedContent(
  definitions: ContentProvider,
  roots: readonly string[],
  rag: string,
  { project }: ServeOptions,
  log: Logger,
): Promise<ContentProvider> {
  const folder = resolve(rag);
  if (project !== undefined) requireNoLink(folder, project, "--rag");
  const { RagContent } = await import("../search/rag-content.js");
  return new RagContent({ definitions, retriever: await openRetriever({ roots, folder }, "rag", log) });
}

/** Opens an index of Markdown. It is made now: a missing package or folder is reported at the start. */
async function openRetriever(
  options: Pick<OramaRetrieverOptions, "roots" | "folder">,
  name: string,
  log: Logger,
): Promise<OramaRetriever> {
  // Orama is an optional peer, which all else does without.
  const { OramaRetriever } = await import("../search/retriever.js");
  const retriever = new OramaRetriever({ ...options, onProblem: (problem: object) => log.warn(problem, name) });
  const { problems: _, ...found } = await retriever.refresh();
  log.info(found, name);
  return retriever;
}

async function prepareSearch({ standards, maxTokens }: ServeOptions, { log }: Logs): Promise<Open | undefined> {
  if (standards.length === 0) return undefined;
  const roots = await Promise.all(standards.map((path) => requireFolder(path, "the folder of standards")));
  const retriever = await openRetriever({ roots }, "standards", log);
  const { createSearchTool } = await import("../tools/search-tool.js");
  const { registerSearchTool } = await import("../mcp/search-tool.js");
  const tool = createSearchTool(retriever, { maxTokens, onError: (err) => log.error({ err }, "search") });
  return async () => ({
    register(server, { telemetry }) {
      registerSearchTool(server, tool, { telemetry });
      return undefined;
    },
  });
}

function deciderName(decider: DeciderName | undefined, env: Environment): DeciderName {
  if (decider !== undefined) return decider;
  if (env.USE_STUB_AI_CLIENT?.trim().toLowerCase() === "true") return "linear";
  return env.GEMINI_API_KEY?.trim() ? "gemini" : "sampling";
}

/** Creates a decider. Throws if it cannot work here. */
async function openDecider(name: DeciderName, isHttp: boolean, options: SamplingDeciderOptions): Promise<StepDecider> {
  switch (name) {
    case "linear":
      return new (await import("../deciders/linear.js")).LinearDecider();
    case "gemini":
      return (await import("../deciders/gemini.js")).GeminiDecider.fromEnv(process.env, {
        onExchange: options.onExchange,
      });
    case "sampling": {
      if (!isHttp) return new (await import("../deciders/sampling.js")).SamplingDecider(options);
      const hint = "Set GEMINI_API_KEY, or give --decider linear.";
      throw new CommandFailure("HTTP clients have no model that a sampling decider could ask", EXIT.usage, hint);
    }
  }
}
