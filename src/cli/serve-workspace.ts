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

/** Opens the workspace that `--bundle`, `--core` and `--output` name, if they do; recorded where there is a state. */
export async function openWorkspace(
  options: ServeOptions,
  storage: StorageAdapter | undefined,
  log: Logger,
): Promise<ServedWorkspace | undefined> {
  const folders = workspaceFoldersOf(options);
  if (folders === undefined) return undefined;
  const { bundle, core, output } = folders;
  const outputRoot = resolve(output);
  // As the state's folder is made when it isn't there.
  await mkdir(outputRoot, { recursive: true, mode: 0o700 });
  const workspace = await createWorkspace({
    bundleRoot: await requireFolder(bundle, "the bundle"),
    outputRoot: await requireFolder(outputRoot, "the output folder"),
    ...(core === undefined ? {} : { coreRoot: await requireFolder(core, "the core folder") }),
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
}
