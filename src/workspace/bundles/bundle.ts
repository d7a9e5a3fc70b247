/**
 * Reads a bundle.yaml, which describes agents and their workflows, and finds all bundles below a folder. Paths in a
 * bundle may not lead out of its folder; a broken bundle does not hide the others.
 */
import { posix } from "node:path";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { openSandbox } from "../../sandbox/sandbox.js";
import type { ParsedSource } from "../../workflow/diagnostic.js";
import { type Diagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { isJsonObject } from "../../workflow/json.js";
import { keptBack, shown } from "../../workflow/names.js";
import { createReport, ObjectReader, type Report } from "../../workflow/object-reader.js";
import { readYaml } from "../../workflow/yaml.js";
import { checkedPath } from "../roots/paths.js";

/** An agent of a bundle. */
export interface BundleAgent {
  /** Its id, unique in the bundle. */
  readonly id: string;
  /** Its name. Default: its id. */
  readonly name: string;
  /** Its title, such as a job title. */
  readonly title?: string;
  /** A short description. */
  readonly description?: string;
  /** The file with its text, relative to the bundle's folder. */
  readonly file: string;
  /** True if users start with this agent. Other agents are called by agents. */
  readonly entryPoint: boolean;
}

/** A workflow of a bundle. */
export interface BundleWorkflow {
  /** Its name, unique in the bundle. Default: the last name of its path. */
  readonly name: string;
  /** Its folder or first file, relative to the bundle's folder. */
  readonly path: string;
}

/** The content of a bundle.yaml. */
export interface Bundle {
  /** `bundle` has several agents, `standalone` has one. */
  readonly type: "bundle" | "standalone";
  /** Its name, such as `office`. */
  readonly name: string;
  /** Its version, as it is written. */
  readonly version?: string;
  /** A short description. */
  readonly description?: string;
  /** Its agents; at least one is an entry point. */
  readonly agents: readonly BundleAgent[];
  /** Its workflows. */
  readonly workflows: readonly BundleWorkflow[];
  /** Folders and files by purpose, such as `templates` or `config`, relative to the bundle's folder. */
  readonly resources: Readonly<Record<string, string>>;
  /** The paths that it needs, relative to the core root. */
  readonly coreDependencies: readonly string[];
}

/** The result of reading a bundle.yaml. */
export interface ReadBundle {
  /** The bundle; missing if there is an error. */
  readonly bundle?: Bundle;
  /** Errors and warnings, sorted by line. */
  readonly diagnostics: readonly Diagnostic[];
}

/** A bundle that was found below a folder. */
export interface FoundBundle extends Bundle {
  /** Its folder, relative to the searched one. */
  readonly folder: string;
}

/** The bundles below a folder. */
export interface DiscoveredBundles {
  /** The bundles without errors, sorted by folder. */
  readonly bundles: readonly FoundBundle[];
  /** Errors of the bundles that are left out, an error if the folder was too large to search completely, and warnings. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads a bundle.yaml. Does not check whether the named files exist.
 *
 * @param file The path of the file, for diagnostics.
 * @param text Its content.
 */
export async function readBundle(file: string, text: string): Promise<ReadBundle> {
  const report = createReport();
  const source = await readYaml(file, text, report);
  const bundle = source === undefined ? undefined : bundleOf(source, report);
  const diagnostics = report.sorted();
  return bundle === undefined || hasErrors(diagnostics) ? { diagnostics } : { bundle, diagnostics };
}

/** The largest bundle.yaml, in bytes. */
const FILE_MAX = 1_048_576;

/**
 * Finds all bundles below a folder: each `bundle.yaml`. A broken one is left out, with diagnostics. At most 16 levels and
 * 10,000 files and folders are searched; if there are more, the diagnostics have an error with the code
 * `FOLDER_TOO_LARGE`.
 *
 * @param folder Path of the folder, absolute or relative to the process's working folder.
 * @throws {PhasegateError} `FILE_NOT_FOUND` when there is no such folder.
 * @throws {PhasegateError} `PATH_REFUSED` when it is not a folder.
 * @throws {PhasegateError} `STORAGE_FAILED` when the file system cannot read it.
 */
export async function discoverBundles(folder: string): Promise<DiscoveredBundles> {
  const sandbox = await openSandbox(folder, { refuse: keptBack });
  const { entries, truncated } = await sandbox.walk(".");
  const files = entries.map(({ path }) => path).filter((path) => posix.basename(path) === "bundle.yaml");
  const read = await Promise.all(files.map((file) => readOne(sandbox, file)));
  const names = new Map<string, string>();
  const report = createReport(read.flatMap(({ diagnostics }) => diagnostics));
  if (truncated) tooLarge(report);
  const bundles: FoundBundle[] = [];
  for (const [index, { bundle }] of read.entries()) {
    const file = files[index];
    if (bundle === undefined || file === undefined) continue;
    const before = names.get(bundle.name);
    if (before === undefined) bundles.push({ ...bundle, folder: posix.dirname(file) });
    else twin(report, file, bundle, before);
    names.set(bundle.name, before ?? file);
  }
  return { bundles, diagnostics: report.sorted() };
}

function bundleOf(source: ParsedSource, report: Report): Bundle | undefined {
  if (!isJsonObject(source.value)) {
    report.error("VALUE_WRONG", source.place([]), "a bundle.yaml must be a mapping", "Write type, name and agents.");
    return undefined;
  }
  const reader = new ObjectReader(source, source.value, [], report);
  const type = typeOf(reader);
  const name = reader.required("name", reader.text("name"), "the bundle's name, such as office");
  const [version, description] = [reader.label("version"), reader.text("description")];
  // Known keys that only people and editors read.
  for (const key of ["author", "created", "config", "title"]) reader.value(key);
  reader.text("$schema");
  const agents = agentsOf(type, reader, report);
  const workflows = workflowsOf(reader, report);
  const resources = resourcesOf(reader, report);
  const coreDependencies = pathsOf(reader, "core_dependencies", report);
  reader.rest();
  if (type === undefined || name === undefined) return undefined;
  return {
    type,
    name,
    ...(version === undefined ? {} : { version }),
    ...(description === undefined ? {} : { description }),
    agents,
    workflows,
    resources,
    coreDependencies,
  };
}

function typeOf(reader: ObjectReader): Bundle["type"] | undefined {
  const type = reader.required("type", reader.text("type"), "bundle or standalone");
  if (type === "bundle" || type === "standalone") return type;
  if (type !== undefined) reader.wrong(["type"], type, "bundle or standalone", "Write bundle for several agents.");
  return undefined;
}

/**
 * Reads the agents. A standalone bundle has one agent, its entry point; others have a list with at least one entry
 * point.
 */
function agentsOf(type: Bundle["type"] | undefined, reader: ObjectReader, report: Report): readonly BundleAgent[] {
  const single = reader.object("agent");
  const listed = reader.objects("agents");
  if (type === "standalone") {
    reader.required("agent", single, "the agent: id, name, file");
    if (single === undefined) return [];
    return agentOf(single, true, report).map(({ agent }) => ({ ...agent, entryPoint: true }));
  }
  if (type === "bundle") reader.required("agents", listed, "a list of agents, each with id, name, file");
  const found = (listed ?? []).flatMap((one) => agentOf(one, false, report));
  refuseTwins(
    found.map(({ agent, place }) => ({ name: agent.id, place })),
    "agent",
    report,
  );
  const agents = found.map(({ agent }) => agent);
  if (agents.length > 0 && !agents.some(({ entryPoint }) => entryPoint)) {
    const hint = "Write 'entry_point: true' for the agent that users start with.";
    report.error("BUNDLE_ENTRY_MISSING", reader.place("agents"), "no agent is an entry point", hint);
  }
  return agents;
}

/** An agent, and where it is in the file. */
interface FoundAgent {
  readonly agent: BundleAgent;
  readonly place: SourcePosition;
}

function agentOf(reader: ObjectReader, alone: boolean, report: Report): readonly FoundAgent[] {
  const id = reader.required("id", reader.text("id"), "the agent's id, such as clerk");
  const name = reader.text("name") ?? id;
  const [title, description] = [reader.text("title"), reader.text("description")];
  const file = pathOf(reader, "file", reader.required("file", reader.text("file"), "the path of its text"), report);
  const entry = reader.flag("entry_point");
  if (!alone) reader.required("entry_point", entry, "true if users start with it, else false");
  reader.rest();
  if (id === undefined || name === undefined || file === undefined) return [];
  const texts = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
  return [{ agent: { id, name, ...texts, file, entryPoint: entry ?? false }, place: reader.place("id") }];
}

/** Reads the workflows: a list of paths, or of objects with `path` and `name`. */
function workflowsOf(reader: ObjectReader, report: Report): readonly BundleWorkflow[] {
  const value = reader.value("workflows");
  if (value === undefined) return [];
  const isPaths = Array.isArray(value) && value.every((item) => typeof item === "string");
  const found = isPaths
    ? pathsOf(reader, "workflows", report).map((path, index) => ({
        workflow: { name: path.slice(path.lastIndexOf("/") + 1), path },
        place: reader.place("workflows", index),
      }))
    : (reader.objects("workflows") ?? []).flatMap((one) => {
        const given = one.required("path", one.text("path"), "the path of its folder");
        const path = pathOf(one, "path", given, report);
        const id = one.text("id");
        const name = one.text("name") ?? id ?? path?.slice(path.lastIndexOf("/") + 1);
        one.text("description");
        one.rest();
        return path === undefined || name === undefined ? [] : [{ workflow: { name, path }, place: one.place() }];
      });
  refuseTwins(
    found.map(({ workflow, place }) => ({ name: workflow.name, place })),
    "workflow",
    report,
  );
  return found.map(({ workflow }) => workflow);
}

/** Reads the resources. */
function resourcesOf(reader: ObjectReader, report: Report): Readonly<Record<string, string>> {
  const given = reader.object("resources");
  const names = Object.keys(reader.fields("resources") ?? {});
  const paths = names.flatMap((name) => {
    const path = given === undefined ? undefined : pathOf(given, name, given.text(name), report);
    return path === undefined ? [] : [[name, path] as const];
  });
  return Object.fromEntries(paths);
}

/** Reads a list of paths. Paths that lead out are errors and left out. */
function pathsOf(reader: ObjectReader, key: string, report: Report): string[] {
  return (reader.texts(key) ?? []).flatMap((text, index) => {
    const path = checked(text, reader.place(key, index), report);
    return path === undefined ? [] : [path];
  });
}

/** Reads one path. Reports an error and returns undefined if it leads out. */
function pathOf(reader: ObjectReader, key: string, text: string | undefined, report: Report): string | undefined {
  return text === undefined ? undefined : checked(text, reader.place(key), report);
}

/** Checks a path without its leading `{bundle-root}/` or `{core-root}/`. */
function checked(text: string, place: SourcePosition, report: Report): string | undefined {
  try {
    return checkedPath(text.replace(/^\{(?:bundle|core)-root\}\//, ""));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    report.error("PATH_REFUSED", place, error.message, "Write a path relative to the bundle's folder, without '..'.");
    return undefined;
  }
}

/** Reports names that occur twice, ignoring case. */
function refuseTwins(
  found: readonly { readonly name: string; readonly place: SourcePosition }[],
  what: string,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const { name, place } of found) {
    const key = name.toLowerCase();
    const hint = "Give one of the two another name.";
    if (seen.has(key))
      report.error("BUNDLE_PART_DUPLICATE", place, `a second ${what} has the name ${shown(name)}`, hint);
    seen.add(key);
  }
}

async function readOne(sandbox: Sandbox, file: string) {
  try {
    const { text } = await sandbox.read(file, { maxBytes: FILE_MAX });
    const { bundle, diagnostics } = await readBundle(file, text);
    if (bundle === undefined) return { diagnostics };
    const report = createReport(diagnostics);
    await checkParts(sandbox, file, bundle, report);
    const found = report.sorted();
    return hasErrors(found) ? { diagnostics: found } : { bundle, diagnostics: found };
  } catch (error) {
    const report = createReport();
    if (isPhasegateError(error)) report.error("FILE_UNREADABLE", { file }, error.message, error.remedy);
    else report.failed({ file }, error);
    return { diagnostics: report.sorted() };
  }
}

/** Checks that the named files exist. A missing agent is an error; anything else may be added later. */
async function checkParts(sandbox: Sandbox, file: string, { agents, workflows, resources }: Bundle, report: Report) {
  const folder = posix.dirname(file);
  const missing = async (path: string) => !(await isThere(sandbox, posix.join(folder, path)));
  for (const agent of agents) {
    if (!(await missing(agent.file))) continue;
    const message = `the agent ${shown(agent.id)} has no file ${shown(agent.file)}`;
    report.error("BUNDLE_PART_MISSING", { file }, message, "Write the path of its text, relative to this file.");
  }
  for (const path of [...workflows.map((workflow) => workflow.path), ...Object.values(resources)]) {
    if (!(await missing(path))) continue;
    report.warn("BUNDLE_PART_MISSING", { file }, `there is no ${shown(path)}`, "Create it, or remove it here.");
  }
}

async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  const entries = await sandbox.list(posix.dirname(path)).catch((error: unknown) => {
    if (isPhasegateError(error)) return [];
    throw error;
  });
  return path === "." || entries.some((entry) => entry.path === path && entry.kind !== "refused");
}

function tooLarge(report: Report): void {
  const message = "the folder has more than 10,000 files and folders, or more than 16 levels: bundles may be missing";
  report.error("FOLDER_TOO_LARGE", { file: "." }, message, "Give a folder that contains only bundles.");
}

function twin(report: Report, file: string, { name }: Bundle, before: string): void {
  const message = `the bundle ${shown(name)} is already defined in ${before}, so this one is left out`;
  report.error("BUNDLE_NAME_DUPLICATE", { file }, message, "Give one of the two another name.");
}
