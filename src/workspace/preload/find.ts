/** Finds workflows by name or path, and lists all of them. A folder is a workflow if it contains a first file. */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { isJsonObject, type JsonValue } from "../../workflow/json.js";
import { nearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import { readYaml, splitFrontMatter } from "../../workflow/yaml.js";
import type { Location } from "../roots/paths.js";
import { type FileSource, type FoundWorkflow, folderOf, inFolder, nameOf, readWhole } from "./parts.js";

/** The files that make a folder a workflow, in order of precedence. */
const FIRST_FILES = ["SKILL.md", "workflow.md", "workflow.yaml", "workflow.yml"];
/** Folders with tasks. The engine's `tasks/workflow.md` is not a workflow. */
const TASKS = /(?:^|\/)tasks$/;
/** The deepest folder that is searched below a root. */
const DEPTH_MAX = 4;
/** The most folders that are searched below a root. */
const FOLDERS_MAX = 500;
/** The most names in an error. */
const NAMES_MAX = 20;

/**
 * Finds a workflow by the name of its folder, or by the path of its folder or first file. `from` is the file that
 * contains the path. If several roots have the name, the first root counts. Throws `WORKFLOW_NOT_FOUND`,
 * `INVALID_INPUT` for an ambiguous name, and as `resolve` and `list` do for a path.
 */
export async function findWorkflow(
  source: FileSource,
  name: string,
  roots: readonly string[],
  from?: Location,
): Promise<FoundWorkflow> {
  if (!/^[\w-][\w .-]*$/.test(name) || /\.(?:ya?ml|md)$/.test(name)) return byPath(source, name, from);
  const before = source.found.get(name);
  if (before !== undefined && (await isStillFirst(source, before))) return before;
  const all = await allWorkflows(source, roots);
  const same = all.filter(({ file }) => nameOf(folderOf(file)) === name);
  const [first] = same;
  const inRoot = same.filter(({ file }) => file.root === first?.file.root);
  if (first !== undefined && inRoot.length === 1) {
    source.found.set(name, first);
    return first;
  }
  if (first === undefined) throw notFound(name, all);
  const paths = inRoot.map(({ file }) => source.show(folderOf(file)));
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

/** Lists all workflows below some roots with their descriptions, by root and path. */
export async function listWorkflows({
  source,
  roots,
}: {
  readonly source: FileSource;
  readonly roots: readonly string[];
}): Promise<readonly WorkflowSummary[]> {
  const found = await allWorkflows(source, roots);
  return Promise.all(
    found.map(async ({ shape, file }) => {
      const path = source.show(file);
      const description = await descriptionOf(shape, path, () => readWhole(source, file));
      return { name: nameOf(folderOf(file)), shape, path, ...(description === undefined ? {} : { description }) };
    }),
  );
}

/** Lists all workflows below some roots, by root and path. */
async function allWorkflows(source: FileSource, roots: readonly string[]): Promise<readonly FoundWorkflow[]> {
  const found = await Promise.all(
    roots.map((root) => workflowsBelow(source, [{ root, path: "." }], DEPTH_MAX, FOLDERS_MAX)),
  );
  return found.flat();
}

async function workflowsBelow(
  source: FileSource,
  folders: readonly Location[],
  depth: number,
  maxFolders: number,
): Promise<readonly FoundWorkflow[]> {
  if (folders.length === 0 || depth < 0) return [];
  const searched = folders.slice(0, maxFolders);
  const listed = await Promise.all(searched.map((folder) => listOrNone(source, folder)));
  const found = searched.map((folder, index) => firstFile(folder, namesOf(listed[index] ?? [])));
  const below = searched.flatMap((_, index) =>
    // The folders in a workflow's folder belong to the workflow.
    found[index] === undefined
      ? (listed[index] ?? [])
          .filter(({ path, kind }) => kind === "folder" && !TASKS.test(path))
          .map(({ path }) => ({ ...searched[index], path }))
      : [],
  );
  const inside = below.flatMap(({ root, path }) => (root === undefined ? [] : [{ root, path }]));
  const deeper = await workflowsBelow(source, inside, depth - 1, maxFolders - searched.length);
  return [...found.filter((one) => one !== undefined), ...deeper];
}

/** Returns true if the folder of a workflow still has the same first file. */
async function isStillFirst(source: FileSource, { file }: FoundWorkflow): Promise<boolean> {
  const entries = await listOrNone(source, folderOf(file));
  return firstFile(folderOf(file), namesOf(entries))?.file.path === file.path;
}

async function byPath(source: FileSource, path: string, from: Location | undefined): Promise<FoundWorkflow> {
  const location = source.resolve(path, from === undefined ? {} : { from });
  if (/\.ya?ml$/i.test(location.path)) return { shape: "classic", file: location };
  if (/\.(?:md|xml)$/i.test(location.path)) return { shape: "skill", file: location };
  const entries = await source.list(location);
  const found = firstFile(location, namesOf(entries));
  if (found !== undefined) return found;
  throw new PhasegateError("FILE_NOT_FOUND", `${source.show(location)} is not a workflow: it has no first file`, {
    remedy: `Give the path of a folder that contains ${FIRST_FILES.slice(0, 3).join(", ")}.`,
    details: { file: source.show(location) },
  });
}

function firstFile(folder: Location, names: ReadonlySet<string>): FoundWorkflow | undefined {
  const name = FIRST_FILES.find((one) => names.has(one));
  if (name === undefined) return undefined;
  return { shape: name.endsWith("ml") ? "classic" : "skill", file: inFolder(folder, name) };
}

function namesOf(entries: readonly { readonly path: string; readonly kind: string }[]): ReadonlySet<string> {
  return new Set(
    entries.filter(({ kind }) => kind === "file").map(({ path }) => path.slice(path.lastIndexOf("/") + 1)),
  );
}

async function listOrNone(source: FileSource, folder: Location) {
  try {
    return await source.list(folder);
  } catch (error) {
    if (isPhasegateError(error)) return [];
    throw error;
  }
}

function notFound(name: string, all: readonly FoundWorkflow[]): PhasegateError<"WORKFLOW_NOT_FOUND"> {
  const names = [...new Set(all.map(({ file }) => nameOf(folderOf(file))))].sort();
  const near = nearest(name, names);
  const meant = near === undefined ? "" : `; did you mean ${shown(near)}?`;
  const more = names.length > NAMES_MAX ? `, and ${names.length - NAMES_MAX} more` : "";
  const list =
    names.length === 0
      ? "There are no workflows."
      : `The workflows are ${names.slice(0, NAMES_MAX).join(", ")}${more}.`;
  return new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}${meant}`, {
    remedy: `${list} Give one of these names, or the path of a workflow's folder.`,
    details: { workflowType: name, ...(near === undefined ? {} : { nearest: near }) },
  });
}

async function descriptionOf(
  shape: FoundWorkflow["shape"],
  path: string,
  read: () => Promise<{ readonly text: string }>,
): Promise<string | undefined> {
  try {
    const { text } = await read();
    const report = createReport();
    const source =
      shape === "classic" ? await readYaml(path, text, report) : (await splitFrontMatter(path, text, report)).source;
    return textOf(source?.value);
  } catch {
    // Loading the workflow reports the error. The list must show the others.
    return undefined;
  }
}

function textOf(value: JsonValue | undefined): string | undefined {
  return isJsonObject(value) && typeof value.description === "string" ? value.description : undefined;
}
