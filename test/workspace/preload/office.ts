import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "phasegate/workspace";
import { temporaryFolder } from "../../sandbox/temporary-folder.js";
import { writeFiles } from "../../support/write-files.js";

/** A copy of the office bundle and its core, in its own project. */
export interface Office {
  readonly project: string;
  readonly bundle: string;
  readonly core: string;
  readonly output: string;
  open(options?: Partial<WorkspaceOptions>): Promise<Workspace>;
}

const FIXTURES = fileURLToPath(new URL("../", import.meta.url));

/** Creates an office, with more files below the project. */
export async function makeOffice(files: Readonly<Record<string, string>> = {}): Promise<Office> {
  const base = await temporaryFolder();
  const project = join(base, "project");
  const [bundle, core, output] = [join(project, "bundle"), join(project, "core"), join(base, "out")];
  await cp(join(FIXTURES, "bundle"), bundle, { recursive: true });
  await cp(join(FIXTURES, "core"), core, { recursive: true });
  await mkdir(output);
  await writeFiles(project, files);
  const folders = { bundleRoot: bundle, coreRoot: core, projectRoot: project, outputRoot: output };
  return { project, bundle, core, output, open: (options = {}) => createWorkspace({ ...folders, ...options }) };
}

/** Returns the answer of a call, which must be a success. */
export function done<T extends { readonly success: boolean }>(answer: T): Extract<T, { readonly success: true }> {
  if (!isDone(answer)) throw new Error(`the call failed: ${JSON.stringify(answer)}`);
  return answer;
}

function isDone<T extends { readonly success: boolean }>(answer: T): answer is Extract<T, { readonly success: true }> {
  return answer.success;
}
