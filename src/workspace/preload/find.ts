/** Finds workflows by name or path, and lists all of them. A folder is a workflow if it contains a first file. */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import { isJsonObject, type JsonValue } from "../../workflow/json.js";
import { firstFew, nearest, shown } from "../../workflow/names.js";
import { createReport } from "../../workflow/report.js";
import { readYaml, splitFrontMatter } from "../../workflow/yaml.js";
import type { Location } from "../roots/paths.js";
import { type FileSource, type FoundWorkflow, folderOf, inFolder, nameOf, readWhole } from "./parts.js";

/** The files that make a folder a workflow, in order of precedence. */
const FIRST_FILES = ["SKILL.md", "workflow.md", "workflow.yaml", "workflow.yml"];
/** Folders with tasks. The engine's `tasks/workflow.md` is not a workflow. */
const TASKS = /(?:^|\/)tasks$/;
/** The deepest folder that is searched below a root. */
const DEPTH_MAX = 6;
/** The most folders that are searched below a root. */
const FOLDERS_MAX = 500;
/** The most names in an error. */
const NAMES_MAX = 20;
/** What only a path has: separators, variables, the ending of a first file, or nothing but dots. */
const PATH = /[\\/{}]|\.(?:ya?ml|md|xml)$|^\.*$/i;

/**
 * Finds a workflow by the name of its folder, by the end of its path such as `planning/brief`, by the `name` in its first
 * file, or by the path of its folder or first file. `from` is the file that contains the path. If several roots have the
 * name, the first root counts. Throws `WORKFLOW_NOT_FOUND`, `INVALID_INPUT` for an ambiguous name, and as `resolve` and
 * `list` do for a path.
 */
export async function findWorkflow(
  source: FileSource,
  name: string,
  roots: readonly string[],
  from?: Location,
): Promise<FoundWorkflow> {
  if (!PATH.test(name)) return byName(source, name, roots);
  const end = /^[^{}.\\/][^{}\\]*[^{}\\/]$/.test(name) ? `/${name}` : undefined;
  try {
    return await byPath(source, name, from);
  } catch (error) {
    // `planning/brief` may be the end of a path.
    if (end === undefined || !isPhasegateError(error, "FILE_NOT_FOUND")) throw error;
    const found = await searched(source, roots, ({ file }) => `/${folderOf(file).path}`.endsWith(end));
    if (found.first === undefined) throw error;
    return onlyOne(source, name, found.same);
  }
}

async function byName(source: FileSource, name: string, roots: readonly string[]): Promise<FoundWorkflow> {
  const before = source.found.get(name);
  if (before !== undefined && (await isStillFirst(source, before, name))) return before;
  const byFolder = await searched(source, roots, ({ file }) => nameOf(folderOf(file)) === name);
  const found = byFolder.first === undefined ? await withGivenName(source, name, byFolder.all) : byFolder.same;
  if (found.length === 0) throw notFound(name, byFolder);
  const only = onlyOne(source, name, found);
  source.found.set(name, only);
  return only;
}

/** The result of a search in all roots. */
interface Searched {
  /** All workflows, in the order of the roots. */
  readonly all: readonly FoundWorkflow[];
  /** The first one that was searched for. */
  readonly first?: FoundWorkflow | undefined;
  /** Those in the first root that has one. */
  readonly same: readonly FoundWorkflow[];
  /** The limits that ended the search early, as sentences. */
  readonly cuts: readonly string[];
}

/**
 * Searches all roots. The folders in a workflow's folder belong to the workflow, so they are searched last, and only for
 * a workflow that is nowhere else.
 */
async function searched(
  source: FileSource,
  roots: readonly string[],
  isWanted: (found: FoundWorkflow) => boolean,
): Promise<Searched> {
  const outer = await Promise.all(roots.map((root) => workflowsBelow(source, root, { inside: false })));
  const found = chosen(outer, isWanted);
  if (found.first !== undefined) return found;
  return chosen(await Promise.all(roots.map((root) => workflowsBelow(source, root, { inside: true }))), isWanted);
}

function chosen(found: readonly RootSearch[], isWanted: (one: FoundWorkflow) => boolean): Searched {
  const all = found.flatMap((one) => one.workflows);
  const wanted = all.filter(isWanted);
  const [first] = wanted;
  const same = wanted.filter(({ file }) => file.root === first?.file.root);
  return { all, first, same, cuts: [...new Set(found.flatMap(({ cut }) => (cut === undefined ? [] : [cut])))] };
}

/** Returns the workflows whose first file gives them this name, of the first root that has one. */
async function withGivenName(source: FileSource, name: string, all: readonly FoundWorkflow[]) {
  const names = await Promise.all(all.map(async (one) => (await factsOf(source, one)).name));
  const same = all.filter((_, index) => names[index] === name);
  return same.filter(({ file }) => file.root === same[0]?.file.root);
}

function onlyOne(source: FileSource, name: string, found: readonly FoundWorkflow[]): FoundWorkflow {
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  const paths = found.map(({ file }) => source.show(folderOf(file)));
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
  const found = (await Promise.all(roots.map((root) => workflowsBelow(source, root, { inside: false })))).flatMap(
    ({ workflows }) => workflows,
  );
  return Promise.all(
    found.map(async (one) => {
      const { description } = await factsOf(source, one);
      const { shape, file } = one;
      return {
        name: nameOf(folderOf(file)),
        shape,
        path: source.show(file),
        ...(description === undefined ? {} : { description }),
      };
    }),
  );
}

/** The workflows below one root. */
interface RootSearch {
  readonly workflows: readonly FoundWorkflow[];
  /** The limit that ended the search early, as a sentence. */
  readonly cut?: string;
}

/** Searches a root level by level; with `inside` also the folders of workflows. */
async function workflowsBelow(
  source: FileSource,
  root: string,
  { inside }: { readonly inside: boolean },
): Promise<RootSearch> {
  const workflows: FoundWorkflow[] = [];
  let level: readonly Location[] = [{ root, path: "." }];
  let budget = FOLDERS_MAX;
  for (let depth = 0; level.length > 0; depth += 1) {
    const place = source.show({ root, path: "." });
    if (depth > DEPTH_MAX)
      return { workflows, cut: `In ${place}, folders below level ${DEPTH_MAX} were not searched.` };
    const now = level.slice(0, budget);
    budget -= now.length;
    const listed = await Promise.all(now.map((folder) => listOrNone(source, folder)));
    const found = now.map((folder, index) => firstFile(folder, namesOf(listed[index] ?? [])));
    workflows.push(...found.filter((one) => one !== undefined));
    if (now.length < level.length) return { workflows, cut: `In ${place}, only ${FOLDERS_MAX} folders were searched.` };
    level = listed
      .filter((_, index) => inside || found[index] === undefined)
      .flatMap((entries) => entries.filter(({ path, kind }) => kind === "folder" && !TASKS.test(path)))
      .map(({ path }) => ({ root, path }));
  }
  return { workflows };
}

/** Returns true if a workflow that was found before is still in its folder, and still has the name. */
async function isStillFirst(source: FileSource, found: FoundWorkflow, name: string): Promise<boolean> {
  const folder = folderOf(found.file);
  const entries = await listOrNone(source, folder);
  if (firstFile(folder, namesOf(entries))?.file.path !== found.file.path) return false;
  return nameOf(folder) === name || (await factsOf(source, found)).name === name;
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

function notFound(name: string, { all, cuts }: Searched): PhasegateError<"WORKFLOW_NOT_FOUND"> {
  const names = [...new Set(all.map(({ file }) => nameOf(folderOf(file))))].sort();
  const near = nearest(name, names);
  const meant = near === undefined ? "" : `; did you mean ${shown(near)}?`;
  const list = names.length === 0 ? "There are no workflows." : `The workflows are ${firstFew(names, NAMES_MAX)}.`;
  return new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}${meant}`, {
    remedy: [list, ...cuts, "Give one of these names, or the path of a workflow's folder."].join(" "),
    details: { workflowType: name, ...(near === undefined ? {} : { nearest: near }) },
  });
}

/** The name and the description in a workflow's first file. Missing if there are none, or the file cannot be read. */
interface WorkflowFacts {
  readonly name?: string;
  readonly description?: string;
}

async function factsOf(source: FileSource, { shape, file }: FoundWorkflow): Promise<WorkflowFacts> {
  const path = source.show(file);
  try {
    const { text } = await readWhole(source, file);
    const report = createReport();
    const read =
      shape === "classic" ? await readYaml(path, text, report) : (await splitFrontMatter(path, text, report)).source;
    const [name, description] = [textOf(read?.value, "name"), textOf(read?.value, "description")];
    return { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) };
  } catch {
    // Loading the workflow reports the error. The list must show the others.
    return {};
  }
}

function textOf(value: JsonValue | undefined, key: "name" | "description"): string | undefined {
  const text = isJsonObject(value) ? value[key] : undefined;
  return typeof text === "string" ? text : undefined;
}
