import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import process from "node:process";
import type { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { FilePlans, FileTexts } from "../content/file-plans.js";
import { FileContent } from "../content/files.js";
import type { OnExchange } from "../deciders/exchange.js";
import { GeminiDecider } from "../deciders/gemini.js";
import { LinearDecider } from "../deciders/linear.js";
import { SamplingDecider, type SamplingServer } from "../deciders/sampling.js";
import {
  registerRoutedTools,
  registerWorkflowPrompt,
  registerWorkflowTool,
  registerWorkspaceTools,
  type WorkflowRegistration,
} from "../mcp/tools.js";
import { createEngine, type Engine } from "../phased/engine.js";
import type { EngineOptions } from "../phased/options.js";
import type { StepDecider } from "../ports/step-decider.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine.js";
import { createProjectRoot } from "../sandbox/sandbox.js";
import { RoutedFolders } from "../workflow/files/routed-workflow.js";
import { createWorkspace } from "../workspace/create-workspace.js";
import { CommandFailure, EXIT } from "./exit-codes.js";
import { type Logs, logEngine, logRouted, logRoutedWorkflows, logWorkflows, logWorkspace } from "./log.js";
import { requireFolder } from "./options.js";
import {
  type DeciderName,
  type Environment,
  type RoutedOptions,
  type ServeOptions,
  workspaceFoldersOf,
} from "./serve-options.js";
import { openVerifiers, readHashKey, readTrust } from "./trust.js";

/** What phased and routed engines are given alike. */
type SharedEngineOptions = Pick<
  EngineOptions,
  "storage" | "enforcement" | "approvers" | "hashKey" | "verifiers" | "allowUnsignedApprovals" | "limits"
>;

/** Reads what both engines are given out of the options of `serve`. */
export async function sharedOptions(options: ServeOptions): Promise<Omit<SharedEngineOptions, "storage">> {
  const { enforcement, maxAttempts, maxAttemptsTotal, maxSessions, maxEvidence } = options;
  return {
    enforcement,
    ...(await readTrust(options)),
    verifiers: await openVerifiers(options, process.env),
    allowUnsignedApprovals: options.allowUnsignedApprovals === true,
    limits: {
      maxAttempts,
      maxAttemptsTotal,
      maxEvidenceBytes: maxEvidence,
      maxActiveSessions: maxSessions === 0 ? Number.POSITIVE_INFINITY : maxSessions,
    },
  };
}

/** Phased workflows on a server: what is to be done for each server that is made. */
export interface ServedPhased {
  register(server: McpServer): WorkflowRegistration;
}

/** Opens an engine on the storage that is shared. */
type OpenPhased = (shared: SharedEngineOptions) => Promise<ServedPhased>;

/** Finds the workflows that `--workflows` names, and the project: whatever is missing is said before there is any state. */
export async function preparePhased(options: ServeOptions, log: Logger): Promise<OpenPhased> {
  const roots = await Promise.all(options.workflows.map((path) => requireFolder(path, "the workflows folder")));
  const content = new FileContent({ roots });
  return async (shared) => {
    const engine = await openEngine(options, shared, content);
    logEngine(engine, log);
    await logWorkflows(content, log);
    return {
      register: (server) =>
        registerWorkflowTool(server, engine, {
          name: options.toolName,
          maxTokens: options.maxTokens,
          ...(options.actions === undefined ? {} : { actions: options.actions }),
          ...(options.poll === 0 ? {} : { poll: { content, everyMs: options.poll * 1000 } }),
        }),
    };
  };
}

async function openEngine(
  { project, agentSync }: ServeOptions,
  shared: SharedEngineOptions,
  content: FileContent,
): Promise<Engine> {
  const targets = project === undefined ? undefined : await createProjectRoot(project);
  return createEngine({
    ...shared,
    content,
    agentSync,
    // Plans lie where targets do: without a project folder, workflows whose phases come out of one can't be started.
    ...(targets === undefined || project === undefined ? {} : { targets, plans: new FilePlans({ root: project }) }),
  });
}

/** Routed workflows that are served. */
export interface ServedRouted {
  readonly engine: RoutedEngine;
  /** Puts the tools on a server; the client of the newest one is whose model a sampling decider asks. */
  register(server: McpServer): void;
}

/** Opens an engine on the storage that is shared. */
type OpenRouted = (shared: SharedEngineOptions) => Promise<ServedRouted>;

/** Finds the workflows that `--routed` names, and who decides: whatever is wrong is said before there is any state. */
export async function prepareRouted(options: ServeOptions, folder: string, { log, ai }: Logs): Promise<OpenRouted> {
  const root = await requireFolder(folder, "the folder of routed workflows");
  const { includeRoot: includeRoots = [], firstStep, routedTools: tools, maxTokens } = options;
  let current: McpServer | undefined;
  const { name, decider } = openDecider(options, {
    env: process.env,
    server: () => current?.server,
    ...(ai === undefined ? {} : { onExchange: (exchange) => ai.info(exchange, "exchange") }),
  });
  const workflows = new RoutedFolders({ source: new FileTexts({ root }), includeRoots });
  return async (shared) => {
    const engine = createRoutedEngine({ ...shared, workflows, decider, firstStep });
    logRouted(engine, log);
    log.info({ decider: name }, "decider");
    await logRoutedWorkflows(engine, log);
    return {
      engine,
      register: (server) => {
        current = server;
        registerRoutedTools(server, engine, { tools, maxTokens });
      },
    };
  };
}

/** A workspace on a server: what is to be done for each server that is made. */
export interface ServedWorkspace {
  register(server: McpServer): void;
}

/** Opens a workspace, recorded where there is a storage. */
type OpenWorkspace = (storage: StorageAdapter | undefined) => Promise<ServedWorkspace>;

/**
 * Finds the folders that `--bundle`, `--core` and `--output` name, if they do: whatever is missing is said before there is
 * any state.
 */
export async function prepareWorkspace(options: ServeOptions, log: Logger): Promise<OpenWorkspace | undefined> {
  const folders = workspaceFoldersOf(options);
  if (folders === undefined) return undefined;
  const { bundle, core, output } = folders;
  const bundleRoot = await requireFolder(bundle, "the bundle");
  const coreRoot = core === undefined ? undefined : await requireFolder(core, "the core folder");
  return async (storage) => {
    const outputRoot = resolve(output);
    // As the state's folder is made when it isn't there.
    await mkdir(outputRoot, { recursive: true, mode: 0o700 });
    const workspace = await createWorkspace({
      bundleRoot,
      outputRoot: await requireFolder(outputRoot, "the output folder"),
      ...(coreRoot === undefined ? {} : { coreRoot }),
      ...(options.project === undefined ? {} : { projectRoot: options.project }),
      ...(storage === undefined ? {} : { storage }),
      ...(await readHashKey(options)),
    });
    logWorkspace(workspace, log);
    log.info({ variables: workspace.variables, recorded: storage !== undefined }, "workspace");
    return {
      register(server) {
        registerWorkspaceTools(server, workspace);
        registerWorkflowPrompt(server, workspace);
      },
    };
  };
}

/** What a decider may need of its surroundings. */
interface DeciderSurroundings {
  readonly env: Environment;
  /** The server whose client is asked; undefined while there is none. */
  readonly server: () => SamplingServer | undefined;
  readonly onExchange?: OnExchange;
}

/** Makes the decider that was asked for, and says which one it is. Throws where it can't work here. */
function openDecider(
  options: RoutedOptions,
  { env, server, onExchange }: DeciderSurroundings,
): { readonly name: DeciderName; readonly decider: StepDecider } {
  const name = deciderName(options, env);
  const told = onExchange === undefined ? {} : { onExchange };
  switch (name) {
    case "linear":
      return { name, decider: new LinearDecider() };
    case "gemini":
      return { name, decider: GeminiDecider.fromEnv(env, told) };
    case "sampling":
      if (options.http !== undefined) throw noClient();
      return { name, decider: new SamplingDecider({ server, ...told }) };
  }
}

function deciderName({ decider }: RoutedOptions, env: Environment): DeciderName {
  if (decider !== undefined) return decider;
  if (env.USE_STUB_AI_CLIENT?.trim().toLowerCase() === "true") return "linear";
  return env.GEMINI_API_KEY?.trim() ? "gemini" : "sampling";
}

function noClient(): CommandFailure {
  const hint = "Set GEMINI_API_KEY, or give --decider linear.";
  return new CommandFailure("over HTTP there is no client whose model could be asked", EXIT.usage, hint);
}
