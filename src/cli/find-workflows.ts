import { realpath } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { WorkflowFolder } from "../adapters/fs/content/workflow-folder.js";
import { workflowNames } from "../adapters/fs/content/workflow-names.js";
import { unreadable } from "../definition/diagnostic.js";
import { METADATA_FILE, type ReadWorkflow } from "../definition/folder/read-workflow.js";
import { FILE_MAX, withoutMark } from "../definition/folder/workflow-files.js";
import { secretIn } from "../definition/kept-back.js";
import { isPhasegateError } from "../errors.js";
import { openWall } from "../walls/open-wall.js";
import type { Wall } from "../walls/wall.js";
import { unknownVerifiers } from "./unknown-verifiers.js";
import { verifierRuleFaults } from "./verifier-rule-faults.js";

/** A workflow of either kind, with what its files say. */
export interface FoundFiles {
  readonly type: string;
  /** Its folder below the one that was asked for; `""` if that is the workflow itself. */
  readonly folder: string;
  readonly read: Pick<ReadWorkflow, "diagnostics" | "inferred">;
  /** A file of it as text; undefined where it can't be read. */
  source(file: string): Promise<string | undefined>;
}

/** A workflow's folder, read. */
export interface FoundWorkflow extends FoundFiles {
  readonly read: ReadWorkflow;
}

/** The workflow that a folder is, or all of those in it, by type. */
export async function findWorkflows(folder: string): Promise<FoundWorkflow[]> {
  const path = await realpath(folder);
  const inside = await openWall(path, { refuse: secretIn });
  // Also one that can't be read: it says that this folder is a workflow.
  if ((await inside.list(".")).some((entry) => entry.path === METADATA_FILE)) {
    const found = await readFolder(await openWall(dirname(path), { refuse: secretIn }), basename(path), "");
    return found === undefined ? [] : [found];
  }
  const workflows: FoundWorkflow[] = [];
  for (const type of await workflowNames(inside)) {
    const found = await readFolder(inside, type, type).catch((error: unknown) => failed(type, error));
    if (found !== undefined) workflows.push(found);
  }
  return workflows;
}

/** One whose reading has thrown: the others are checked all the same. */
export function failed(type: string, error: unknown): FoundWorkflow {
  const read = { diagnostics: [unreadable(error, METADATA_FILE)] };
  return { type, folder: type, read, source: () => Promise.resolve(undefined) };
}

/** Undefined for a folder that is no workflow. */
async function readFolder(wall: Wall, type: string, folder: string): Promise<FoundWorkflow | undefined> {
  const read = await new WorkflowFolder(wall, type).read();
  if (read === undefined) return undefined;
  const source = (file: string) => sourceOf(wall, `${type}/${file}`);
  const { structure } = read.definition ?? {};
  const ofVerifiers =
    structure === undefined ? [] : [...unknownVerifiers(structure), ...(await verifierRuleFaults(structure, source))];
  return { type, folder, read: { ...read, diagnostics: [...read.diagnostics, ...ofVerifiers] }, source };
}

async function sourceOf(wall: Wall, path: string): Promise<string | undefined> {
  try {
    return withoutMark((await wall.read(path, { maxBytes: FILE_MAX })).text);
  } catch (error) {
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}
