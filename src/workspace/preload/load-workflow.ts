/**
 * Loads a workflow with all that it invokes, within limits. A classic one, as BMAD wrote them before version 6, has a
 * workflow.yaml, its configuration, and the files that it names; they share the texts of the engine and of elicitation.
 */
import { isPhasegateError, PhasegateError } from "../../errors.js";
import type { JsonObject } from "../../workflow/json.js";
import { type Location, showLocation } from "../roots/paths.js";
import { componentsOf } from "./components.js";
import { loadCustomization } from "./customization.js";
import { findWorkflow, workflowRoots } from "./find.js";
import {
  type FileSource,
  type FoundWorkflow,
  folderOf,
  type Loading,
  nameOf,
  type PreloadedFile,
  type PreloadRole,
  type Wanted,
} from "./loading.js";
import { createVariables, readMapping, replaceTexts, type Variables } from "./mapping.js";
import { DEPTH_MAX, type OpenedSkill, openSkill } from "./skills.js";
import { invokedWorkflows, usesElicitation } from "./tags.js";

/** The most invocations of workflows in one call. Each invocation of the same workflow counts. */
const INVOKED_MAX = 100;
const NAMED_MAX = 200;

type LoadedWorkflow = Pick<FoundWorkflow, "shape"> & { readonly skill?: OpenedSkill };

/** Leaves out a skill's steps. `trail` are the files that lead to the workflow. Throws `DEFINITION_INVALID`. */
export async function loadWorkflow(
  loading: Loading,
  { shape, file }: FoundWorkflow,
  trail: readonly string[] = [],
): Promise<LoadedWorkflow> {
  const path = showLocation(file);
  const way = [...trail, path];
  if (trail.includes(path)) {
    loading.warn(`workflows refer to each other in a cycle: ${way.join(" → ")}`);
  } else if (trail.length > DEPTH_MAX) {
    loading.warn(`not loaded: it is ${trail.length} workflows deep: ${way.join(" → ")}`);
  } else if (shape === "classic") {
    await loadClassic(loading, file, way);
  } else {
    return loadSkill(loading, file, way);
  }
  return { shape };
}

async function loadSkill(loading: Loading, file: Location, way: readonly string[]): Promise<LoadedWorkflow> {
  const opened = await openSkill(loading.source, file);
  for (const skill of opened) {
    const customized = await loadCustomization(loading.source, skill.file);
    loading.add(...skill.files);
    if (customized.file !== undefined) loading.add(customized.file);
    loading.warn(...skill.warnings, ...customized.warnings);
  }
  const last = opened.at(-1) ?? opened[0];
  if (last.leadsTo?.shape !== "classic") return { shape: "skill", skill: last.index.length === 0 ? undefined : last };
  await loadWorkflow(loading, last.leadsTo, way);
  return { shape: "classic" };
}

async function invoke(loading: Loading, path: string, from: Location, trail: readonly string[]): Promise<void> {
  loading.invoked.count += 1;
  if (loading.invoked.count > INVOKED_MAX) {
    return loading.warn(`more than ${INVOKED_MAX} workflows are invoked: the others are not loaded`);
  }
  const part = loading.part();
  let location: Location | undefined;
  try {
    const found = await findWorkflow(loading.source, path, from);
    location = found.file;
    const { skill } = await loadWorkflow(part, found, trail);
    if (skill !== undefined) part.warn(`${skill.name} has steps: call preload_workflow for it when you get to it`);
    loading.join(part);
  } catch (error) {
    await loading.miss(path, { role: "workflow" }, { location, error });
  }
}

interface Classic {
  readonly file: Location;
  /** The files that lead to it, and its own. */
  readonly trail: readonly string[];
  readonly own: JsonObject;
  readonly variables: Variables;
  /** Makes what is wanted of a file: its name too, if the workflow is an invoked one. */
  readonly as: (role: PreloadRole) => Wanted;
}

/** Loads a workflow's configuration, then all files that it names, with what its instructions invoke. */
async function loadClassic(loading: Loading, file: Location, trail: readonly string[]): Promise<void> {
  const { source } = loading;
  const path = showLocation(file);
  const folder = showLocation(folderOf(file));
  const name = nameOf(folderOf(file));
  const as = (role: PreloadRole) => (trail.length > 1 ? { role, workflow: name } : { role });
  const { text, size } = await source.read(file);
  const mapping = await readMapping(path, text);
  if (mapping.value === undefined) throw definitionInvalid(name, mapping.diagnostics);
  const lost = await lostFolder(loading, file, mapping.value);
  const own = { installed_path: folder, ...mapping.value, ...(lost === undefined ? {} : { installed_path: folder }) };
  const self = { path, ...as("workflow"), size, content: text };
  loading.add(self);
  const config = await loadConfig(loading, file, own, as("config"));
  const variables = createVariables(own, config, source.known);
  self.content = await replaceTexts(text, (value) =>
    value === lost ? folder : source.expand(variables.resolve(value)),
  );
  await loadNamed(loading, { file, trail, own, variables, as });
  loading.warn(...variables.faults);
}

/** Returns an `installed_path` that is not there, with a warning: the workflow.yaml's folder takes its place. */
async function lostFolder(loading: Loading, file: Location, written: JsonObject) {
  const { source } = loading;
  const given = written.installed_path;
  if (typeof given !== "string" || given.trim() === "") return undefined;
  const path = createVariables(written, undefined, source.known).resolve(given.trim());
  // The configuration is not loaded yet; it may be in this folder.
  if (path.includes("{config_source}")) return undefined;
  const folder = showLocation(folderOf(file));
  try {
    const place = source.resolve(path, file);
    if (showLocation(place) !== folder) await source.list(place);
    return undefined;
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    loading.warn(`installed_path is ${path}, which can't be read: ${folder} is used instead`);
    return given;
  }
}

/** Loads the configuration. Without one, the references to it stay as they are. */
async function loadConfig(
  loading: Loading,
  file: Location,
  own: JsonObject,
  wanted: Wanted,
): Promise<JsonObject | undefined> {
  const given = own.config_source;
  if (typeof given !== "string" || given.trim() === "") return undefined;
  const path = createVariables(own, undefined, loading.source.known).resolve(given);
  const config = await loading.load(path, wanted, file);
  if (config === undefined) return undefined;
  const mapping = await readMapping(config.path, config.content);
  if (mapping.value === undefined) loading.warn(...mapping.diagnostics);
  return mapping.value;
}

async function loadNamed(loading: Loading, { file, trail, own, variables, as }: Classic): Promise<void> {
  const { source } = loading;
  const resolved = Object.fromEntries(Object.entries(own).map(([key, value]) => [key, variables.resolveAll(value)]));
  const dataRoots = workflowRoots(source);
  const rootOf = (path: string) => rootOfPath(source, path, file);
  const { files, onDemand } = componentsOf({ written: own, resolved, dataRoots, rootOf });
  const installed = `${variables.resolve("{installed_path}")}/`;
  const laterOn: string[] = [];
  for (const { path, role, needed } of files.slice(0, NAMED_MAX)) {
    let read = await loading.read(path, as(role), file);
    if ("error" in read && isLost(read.error) && path.startsWith(installed)) {
      // It may be next to the workflow.yaml.
      const beside = await loading.read(`./${path.slice(installed.length)}`, as(role), file);
      if (!("error" in beside)) {
        loading.warn(`${path} can't be read: ${beside.path} is read instead`);
        read = beside;
      }
    }
    if ("error" in read) {
      if (needed) await loading.miss(path, as(role), read);
      else laterOn.push(path);
      continue;
    }
    loading.add(read);
    if (role !== "instructions") continue;
    if (usesElicitation(read.content)) await loadElicitation(loading);
    for (const invoked of invokedWorkflows(read.content)) {
      await invoke(loading, variables.resolve(invoked), file, trail);
    }
  }
  await loadShared(loading, "engine");
  if (files.length > NAMED_MAX) {
    loading.warn(`${files.length - NAMED_MAX} more named files are not loaded: the limit is ${NAMED_MAX}`);
  }
  for (const path of onDemand.slice(0, NAMED_MAX)) {
    loading.warn(`not loaded: ${path} (read it if the instructions choose it)`);
  }
  if (laterOn.length > 0) loading.warn(`not there yet: ${laterOn.sort().join(", ")} (needed later, or written)`);
}

function isLost(error: unknown): boolean {
  return isPhasegateError(error, "FILE_NOT_FOUND") || isPhasegateError(error, "PATH_REFUSED");
}

function rootOfPath(source: FileSource, path: string, from: Location): string | undefined {
  try {
    return source.resolve(path, from).root;
  } catch (error) {
    // Elsewhere in the project, or a path with a name that the model fills in: not a file of the workflow.
    if (isPhasegateError(error)) return undefined;
    throw error;
  }
}

/** Paths below the core root of the texts that classic workflows share. The first one is the current name. */
const PLACES = {
  engine: ["tasks/workflow.md", "tasks/workflow.xml"],
  elicitation: [
    "tasks/adv-elicit.md",
    "tasks/adv-elicit.xml",
    "tasks/advanced-elicitation.md",
    "tasks/advanced-elicitation.xml",
    "workflows/advanced-elicitation/workflow.md",
    "workflows/advanced-elicitation/workflow.xml",
  ],
} as const;
/** The name of a table of methods next to a task. */
const TABLE = /(?<![\w-])[\w-]+\.csv\b/;

/** Loads the elicitation task, and the table of methods that it names. */
export async function loadElicitation(loading: Loading): Promise<void> {
  const task = await loadShared(loading, "elicitation");
  const table = task === undefined ? undefined : TABLE.exec(task.content)?.[0];
  if (task !== undefined && table !== undefined) {
    await loading.load(table, { role: "data" }, loading.source.resolve(task.path));
  }
}

/** Loads the first text that exists; nothing if the workspace has no core root. */
async function loadShared(loading: Loading, role: keyof typeof PLACES): Promise<PreloadedFile | undefined> {
  if (!loading.source.known.includes("core-root")) return undefined;
  for (const path of PLACES[role]) {
    const read = await loading.read(`{core-root}/${path}`, { role });
    if (!("error" in read)) {
      loading.add(read);
      return read;
    }
    if (!isPhasegateError(read.error, "FILE_NOT_FOUND")) throw read.error;
  }
  return loading.load(`{core-root}/${PLACES[role][0]}`, { role });
}

/** Builds the error for a workflow that is not valid, with the lines of its errors. */
export function definitionInvalid(
  workflow: string,
  diagnostics: readonly string[],
): PhasegateError<"DEFINITION_INVALID"> {
  return new PhasegateError("DEFINITION_INVALID", `the workflow is not valid: ${diagnostics.join("; ")}`, {
    remedy: "Ask the user to correct the file at these lines, then call again.",
    details: { workflowType: workflow, diagnostics },
  });
}
