import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "phasegate/workspace";
import { temporaryFolder } from "../sandbox/temporary-folder.js";
import { writeFiles } from "../support/write-files.js";

/** A workspace in its own folder: a project with a bundle and a core, and an output folder next to it. */
export interface MadeWorkspace {
  readonly base: string;
  readonly bundle: string;
  readonly output: string;
  readonly workspace: Workspace;
  /** Opens another workspace on the same folders, as another process would. */
  again(options?: Partial<WorkspaceOptions>): Promise<Workspace>;
}

/** The time at which workspaces of tests start. */
export const BEGUN = Date.UTC(2026, 0, 2, 3, 4, 5);

export async function makeWorkspace(options: Partial<WorkspaceOptions> = {}): Promise<MadeWorkspace> {
  const base = await temporaryFolder();
  const folders = {
    bundleRoot: join(base, "project/bundle"),
    coreRoot: join(base, "project/core"),
    projectRoot: join(base, "project"),
    outputRoot: join(base, "out"),
  };
  await writeFiles(base, {
    "project/bundle/workflows/intake/workflow.yaml": "name: intake\n",
    "project/bundle/workflows/intake/instructions.md": "# Intake\n",
    "project/core/tasks/workflow.md": "Follow the steps.\n",
    "project/src/index.ts": "export {};\n",
    "secret.md": "secret",
    "out-fake/secret.md": "secret",
  });
  await mkdir(folders.outputRoot);
  const again = (more: Partial<WorkspaceOptions> = {}) => createWorkspace({ ...folders, ...options, ...more });
  return { base, bundle: folders.bundleRoot, output: folders.outputRoot, workspace: await again(), again };
}
