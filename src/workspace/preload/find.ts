/** Finds workflows by name or path, and lists all of them. A folder is a workflow if it contains a first file. */
import { posix } from "node:path";
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { SandboxEntry } from "../../sandbox/list.js";
import { isJsonObject, type JsonValue } from "../../workflow/json.js";
import { firstFew, nearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import { readYaml, splitFrontMatter } from "../../workflow/yaml.js";
import { type Location, ROOT_NAMES, showLocation } from "../roots/paths.js";
import { type FileSource, type FoundWorkflow, folderOf, inFolder, nameOf } from "./loading.js";

/** The files that make a folder a workflow, in order of precedence. */
const FIRST_FILES = ["SKILL.md", "workflow.md", "workflow.yaml", "workflow.yml"];
/** Folders with tasks. The engine's `tasks/workflow.md` is not a workflow. */
const TASKS = /(?:^|\/)tasks$/;
const DEPTH_MAX = 6;
const FOLDERS_MAX = 500;
const NAMES_MAX = 20;
/** Only a path has separators, variables, the ending of a first file, or nothing but dots. */
const PATH = /[\\/{}]|\.(?:ya?ml|md|xml)$|^\.*$/i;

/**
 * Finds a workflow by the name of its folder, the end of its path such as `planning/brief`, the `name` in its first
 * file, or a path that the file `from` contains. The first root with the name counts. Throws `WORKFLOW_NOT_FOUND`,
 * `INVALID_INPUT` for an ambiguous name, and as `resolve` and `list` do for a path.
 */
export async function findWorkflow(source: FileSource, name: string, from?: Location): Promise<FoundWorkflow> {
  if (!PATH.test(name)) return byName(source, name);
  const end = /^[^{}.\\/][^{}\\]*[^{}\\/]$/.test(name) ? `/${name}` : undefined;
  try {
    return await byPath(source, name, from);
  } catch (error) {
    // `planning/brief` may be the end of a path.
    if (end === undefined || !isPhasegateError(error, "FILE_NOT_FOUND")) throw error;
    const found = await searched(source, ({ file }) => `/${folderOf(file).path}`.endsWith(end));
    if (found.same.length === 0) throw error;
    return onlyOne(name, found.same);
  }
}

/** Returns the roots that contain workflows: all except the output root. */
export function workflowRoots({ folders }: Pick<FileSource, "folders">): readonly string[] {
  return folders.filter((name) => name !== ROOT_NAMES.output);
}

async function byName(source: FileSource, name: string): Promise<FoundWorkflow> {
  const search = await searched(source, ({ file }) => nameOf(folderOf(file)) === name);
  if (search.same.length > 0) return onlyOne(name, search.same);
  const given = await Promise.all(search.all.map(async (one) => (await factsOf(source, one)).name));
  const found = inFirstRoot(search.all.filter((_, index) => given[index] === name));
  if (found.length > 0) return onlyOne(name, found);
  const names = [...new Set(search.all.map(({ file }) => nameOf(folderOf(file))))].sort();
  const near = nearest(name, names);
  const meant = near === undefined ? "" : `; did you mean ${shown(near)}?`;
  const list = names.length === 0 ? "There are no workflows." : `The workflows are ${firstFew(names, NAMES_MAX)}.`;
  throw new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}${meant}`, {
    remedy: [list, ...search.cuts, "Give one of these names, or the path of a workflow's folder."].join(" "),
    details: { workflowType: name, nearest: near },
  });
}

interface Searched {
  /** All workflows, in the order of the roots. */
  readonly all: readonly FoundWorkflow[];
  /** Those that were searched for, in the first root that has one. */
  readonly same: readonly FoundWorkflow[];
  /** The limits that ended the search early, as sentences. */
  readonly cuts: readonly string[];
}

/** Folders in a workflow's folder belong to it: they are searched last, for a workflow that is nowhere else. */
async function searched(
  source: FileSource,
  isWanted: (found: FoundWorkflow) => boolean,
  inside = false,
): Promise<Searched> {
  const { all, cuts } = await searchRoots(source, inside);
  const same = inFirstRoot(all.filter(isWanted));
  return same.length > 0 || inside ? { all, same, cuts } : searched(source, isWanted, true);
}

function inFirstRoot(found: readonly FoundWorkflow[]): readonly FoundWorkflow[] {
  return found.filter(({ file }) => file.root === found[0]?.file.root);
}

function onlyOne(name: string, found: readonly FoundWorkflow[]): FoundWorkflow {
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  const paths = found.map(({ file }) => showLocation(folderOf(file)));
  throw new PhasegateError("INVALID_INPUT", `several workflows are named ${shown(name)}: ${paths.join(", ")}`, {
    remedy: "Give the path of one of them instead of the name.",
    details: { field: "workflow", expected: "an unambiguous name, or a path" },
  });
}

/** A workflow in a list. */
export interface WorkflowSummary {
  /** The name of its folder, which `preload_workflow` accepts. */
  readonly name: string;
  /** Its form: `classic` has a workflow.yaml, `skill` a SKILL.md or workflow.md. */
  readonly shape: "classic" | "skill";
  /** Its first file, as `read_file` accepts it. */
  readonly path: string;
  /** The description in its first file. Missing if there is none, or the file cannot be read. */
  readonly description?: string;
}

/** Lists all workflows with their descriptions, by root and path. */
export async function listWorkflows(source: FileSource): Promise<readonly WorkflowSummary[]> {
  const { all } = await searchRoots(source, false);
  return Promise.all(
    all.map(async ({ shape, file }) => {
      const { description } = await factsOf(source, { shape, file });
      return { name: nameOf(folderOf(file)), shape, path: showLocation(file), description };
    }),
  );
}

async function searchRoots(source: FileSource, inside: boolean): Promise<Pick<Searched, "all" | "cuts">> {
  const found = await Promise.all(workflowRoots(source).map((root) => searchRoot(source, root, inside)));
  return {
    all: found.flatMap(({ workflows }) => workflows),
    cuts: [...new Set(found.flatMap(({ cut }) => cut ?? []))],
  };
}

/** Searches a root level by level, with `inside` also the folders of workflows. `cut` is the limit that ended it early. */
async function searchRoot(
  source: FileSource,
  root: string,
  inside: boolean,
): Promise<{ readonly workflows: readonly FoundWorkflow[]; readonly cut?: string }> {
  const workflows: FoundWorkflow[] = [];
  const place = showLocation({ root, path: "." });
  let level: readonly Location[] = [{ root, path: "." }];
  let budget = FOLDERS_MAX;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > DEPTH_MAX)
      return { workflows, cut: `In ${place}, folders below level ${DEPTH_MAX} were not searched.` };
    const now = level.slice(0, budget);
    budget -= now.length;
    const listed = await Promise.all(now.map((folder) => source.list(folder).catch(noneIfKnown)));
    const found = now.map((folder, index) => firstFile(folder, listed[index] ?? []));
    workflows.push(...found.filter((one) => one !== undefined));
    if (now.length < level.length) return { workflows, cut: `In ${place}, only ${FOLDERS_MAX} folders were searched.` };
    level = listed
      .filter((_, index) => inside || found[index] === undefined)
      .flatMap((entries) => entries.filter(({ path, kind }) => kind === "folder" && !TASKS.test(path)))
      .map(({ path }) => ({ root, path }));
  }
  return { workflows };
}

async function byPath(source: FileSource, path: string, from: Location | undefined): Promise<FoundWorkflow> {
  const location = source.resolve(path, from);
  if (/\.ya?ml$/i.test(location.path)) return { shape: "classic", file: location };
  if (/\.(?:md|xml)$/i.test(location.path)) return { shape: "skill", file: location };
  const found = firstFile(location, await source.list(location));
  if (found !== undefined) return found;
  throw new PhasegateError("FILE_NOT_FOUND", `${showLocation(location)} is not a workflow: it has no first file`, {
    remedy: `Give the path of a folder that contains ${FIRST_FILES.slice(0, 3).join(", ")}.`,
    details: { file: showLocation(location) },
  });
}

function firstFile(folder: Location, entries: readonly SandboxEntry[]): FoundWorkflow | undefined {
  const names = new Set(entries.filter(({ kind }) => kind === "file").map(({ path }) => posix.basename(path)));
  const name = FIRST_FILES.find((one) => names.has(one));
  if (name === undefined) return undefined;
  return { shape: name.endsWith("ml") ? "classic" : "skill", file: inFolder(folder, name) };
}

function noneIfKnown(error: unknown): readonly SandboxEntry[] {
  if (isPhasegateError(error)) return [];
  throw error;
}

/** Returns the name and the description in a workflow's first file; nothing if the file cannot be read. */
async function factsOf(source: FileSource, { shape, file }: FoundWorkflow) {
  const path = showLocation(file);
  try {
    const { text } = await source.read(file);
    const report = createReport();
    const read =
      shape === "classic" ? await readYaml(path, text, report) : (await splitFrontMatter(path, text, report)).source;
    return { name: textOf(read?.value, "name"), description: textOf(read?.value, "description") };
  } catch {
    // Loading the workflow reports the error. The list must show the others.
    return {};
  }
}

function textOf(value: JsonValue | undefined, key: "name" | "description"): string | undefined {
  const text = isJsonObject(value) ? value[key] : undefined;
  return typeof text === "string" ? text : undefined;
}
