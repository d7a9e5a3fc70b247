import { mkdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { McpServer } from "@modelcontextprotocol/server";
import type { Logger } from "pino";
import { registerWorkflowPrompt } from "../mcp/register-workflow-prompt.js";
import { registerWorkspaceTools } from "../mcp/register-workspace-tools.js";
import type { StorageAdapter } from "../ports/storage-adapter.js";
import { createWorkspace } from "../workspace/create-workspace.js";
import { readHashKey } from "./approval-options.js";
import { logWorkspace } from "./log-workspace.js";
import { requireFolder } from "./require-folder.js";
import type { ServeOptions } from "./serve-options.js";
import { workspaceFoldersOf } from "./workspace-options.js";

/** A workspace on a server: what is to be done for each server that is made. */
export interface ServedWorkspace {
  register(server: McpServer): void;
}

/** Opens a workspace, recorded where there is a storage. */
export type OpenWorkspace = (storage: StorageAdapter | undefined) => Promise<ServedWorkspace>;

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
