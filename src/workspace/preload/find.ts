import { isPhasegateError, PhasegateError } from "../../errors.js";
import { nearest, shown } from "../../workflow/names.js";
import type { Location } from "../roots/paths.js";
import { type FileSource, type FoundWorkflow, folderOf, inFolder, nameOf } from "./parts.js";

/** The files that make a folder a workflow, the newest shape first. */
const FIRST_FILES = ["SKILL.md", "workflow.md", "workflow.yaml", "workflow.yml"];
/** Where tasks lie, the engine's workflow.md among them, which is no workflow itself. */
const TASKS = /(?:^|\/)tasks$/;
/** How deep workflows are looked for below a root: they are kept in groups. */
const DEPTH_MAX = 4;
/** How many folders are looked into, in all. */
const FOLDERS_MAX = 500;
/** How many names a refusal lists. */
const NAMES_MAX = 20;

/**
 * Finds a workflow by its folder's name below the given roots, or by the path of its folder or first file. Throws
 * `WORKFLOW_NOT_FOUND` with those that there are, `INVALID_INPUT` for a name that several have, and what a path throws.
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
  // Where one root has it once, that is the one meant: the bundle's own before the core's.
  const inRoot = same.filter(({ file }) => file.root === first?.file.root);
  if (first !== undefined && inRoot.length === 1) {
    source.found.set(name, first);
    return first;
  }
  if (first === undefined) throw notFound(name, all);
  const paths = inRoot.map(({ file }) => source.show(folderOf(file)));
  throw new PhasegateError("INVALID_INPUT", `several workflows are called ${shown(name)}: ${paths.join(", ")}`, {
    remedy: "Give the path of the one that is meant in place of the name.",
    details: { field: "workflow", expected: "a name that one workflow has, or a path" },
  });
}

/** All workflows below some roots: by root, then by path. */
export async function allWorkflows(source: FileSource, roots: readonly string[]): Promise<readonly FoundWorkflow[]> {
  const found = await Promise.all(
    roots.map((root) => workflowsBelow(source, [{ root, path: "." }], DEPTH_MAX, FOLDERS_MAX)),
  );
  return found.flat();
}

async function workflowsBelow(
  source: FileSource,
  folders: readonly Location[],
  depth: number,
  room: number,
): Promise<readonly FoundWorkflow[]> {
  if (folders.length === 0 || depth < 0) return [];
  const looked = folders.slice(0, room);
  const listed = await Promise.all(looked.map((folder) => listOrNone(source, folder)));
  const found = looked.map((folder, index) => firstFile(folder, namesOf(listed[index] ?? [])));
  const below = looked.flatMap((_, index) =>
    // What lies in a workflow's folder is the workflow's own.
    found[index] === undefined
      ? (listed[index] ?? [])
          .filter(({ path, kind }) => kind === "folder" && !TASKS.test(path))
          .map(({ path }) => ({ ...looked[index], path }))
      : [],
  );
  const inside = below.flatMap(({ root, path }) => (root === undefined ? [] : [{ root, path }]));
  const deeper = await workflowsBelow(source, inside, depth - 1, room - looked.length);
  return [...found.filter((one) => one !== undefined), ...deeper];
}

/** Whether a workflow's first file is still what its folder begins with. */
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
  throw new PhasegateError("FILE_NOT_FOUND", `${source.show(location)} is no workflow: it has no first file`, {
    remedy: `A workflow's folder has one of ${FIRST_FILES.slice(0, 3).join(", ")}. Give the path of one that has.`,
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
  const list = names.length === 0 ? "There are none." : `There are ${names.slice(0, NAMES_MAX).join(", ")}${more}.`;
  return new PhasegateError("WORKFLOW_NOT_FOUND", `there is no workflow ${shown(name)}${meant}`, {
    remedy: `${list} Give one of these names, or the path of a workflow's folder.`,
    details: { workflowType: name, ...(near === undefined ? {} : { nearest: near }) },
  });
}
