import process from "node:process";
import type { McpServer } from "@modelcontextprotocol/server";
import { FileTexts } from "../adapters/fs/content/file-texts.js";
import { registerRoutedTools } from "../mcp/register-routed-tools.js";
import { RoutedFolders } from "../routed/definition/routed-folders.js";
import { createRoutedEngine, type RoutedEngine } from "../routed/engine/routed-engine.js";
import type { Logs } from "./create-logger.js";
import { logRouted, logRoutedWorkflows } from "./log-routed.js";
import { openDecider } from "./open-decider.js";
import { requireFolder } from "./require-folder.js";
import type { ServeOptions } from "./serve-options.js";
import type { SharedEngineOptions } from "./serve-shared.js";

/** Routed workflows that are served. */
export interface ServedRouted {
  readonly engine: RoutedEngine;
  /** Puts the tools on a server; the client of the newest one is whose model a sampling decider asks. */
  register(server: McpServer): void;
}

/** Opens an engine on the storage that is shared. */
export type OpenRouted = (shared: SharedEngineOptions) => Promise<ServedRouted>;

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
