import type { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { FileContent } from "../adapters/fs/content/file-content.js";
import { FilePlans } from "../adapters/fs/plans/file-plans.js";
import { createEngine, type Engine } from "../engine/engine.js";
import { registerWorkflowTool, type WorkflowRegistration } from "../mcp/register-workflow-tool.js";
import { createProjectRoot } from "../walls/project-root.js";
import { logEngine, logWorkflows } from "./log-engine.js";
import { requireFolder } from "./require-folder.js";
import type { ServeOptions } from "./serve-options.js";
import type { SharedEngineOptions } from "./serve-shared.js";

/** Phased workflows on a server: what is to be done for each server that is made. */
export interface ServedPhased {
  register(server: McpServer): WorkflowRegistration;
}

/** Opens an engine on the storage that is shared. */
export type OpenPhased = (shared: SharedEngineOptions) => Promise<ServedPhased>;

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
