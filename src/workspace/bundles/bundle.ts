/** Reads bundle.yaml files, with their agents and workflows. A broken bundle does not hide the others. */
import { posix } from "node:path";
import * as z from "zod/mini";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { openSandbox } from "../../sandbox/sandbox.js";
import { type Diagnostic, hasErrors, type ParsedSource } from "../../workflow/diagnostic.js";
import {
  anything,
  described,
  filled,
  flag,
  isMissing,
  label,
  listOf,
  object,
  optional,
  type Read,
  readBy,
  required,
  type Spot,
  said,
  schemaKey,
  spotIn,
  text,
  texts,
  WORDS,
} from "../../workflow/file-schema.js";
import { isJsonObject, type JsonObject } from "../../workflow/json.js";
import { keptBack, shown } from "../../workflow/names.js";
import { createReport, type Report } from "../../workflow/report.js";
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
  return { bundle: hasErrors(diagnostics) ? undefined : bundle, diagnostics };
}

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
  if (truncated) {
    const message = "the folder has more than 10,000 files and folders, or more than 16 levels: bundles may be missing";
    report.error("FOLDER_TOO_LARGE", { file: "." }, message, "Give a folder that contains only bundles.");
  }
  const bundles: FoundBundle[] = [];
  for (const { file, bundle } of read) {
    if (bundle === undefined) continue;
    const before = names.get(bundle.name);
    names.set(bundle.name, before ?? file);
    if (before === undefined) bundles.push({ ...bundle, folder: posix.dirname(file) });
    else {
      const message = `the bundle ${shown(bundle.name)} is already defined in ${before}, so this one is left out`;
      report.error("BUNDLE_NAME_DUPLICATE", { file }, message, "Give one of the two another name.");
    }
  }
  return { bundles, diagnostics: report.sorted() };
}

const agentShape = {
  id: required(filled, "The agent's id, unique in the bundle.", "the agent's id, such as clerk"),
  name: optional(text, "Its name. Default: its id."),
  title: optional(text, "Its title, such as a job title. Default: none."),
  description: optional(text, "What it does, in short. Default: none."),
  file: required(filled, "The file with its text, relative to this file.", "the path of its text"),
};

const ENTRY = "True if users start with this agent. Others are called by agents.";

const listedAgent = described(
  object({ ...agentShape, entry_point: required(flag, ENTRY, "true if users start with it, else false") }),
  { id: "agent", description: "An agent of the bundle." },
);

const agents = described(listOf(listedAgent), {
  anyOf: [{ maxItems: 0 }, { contains: { properties: { entry_point: { const: true } }, required: ["entry_point"] } }],
});

const workflows = listOf(
  object({
    path: required(filled, "Its folder or first file, relative to this file.", "the path of its folder"),
    name: optional(text, "Its name, unique in the bundle. Default: its id, or else the last name of its path."),
    id: optional(text, "Its name, if `name` is not given."),
    description: optional(text, "For people: what it is for."),
  }),
);

/** bundle.yaml. */
export const bundleFile = object({
  ...schemaKey,
  type: required(
    said(z.enum(["bundle", "standalone"]), {
      words: (value, name) =>
        typeof value === "string"
          ? { expected: "bundle or standalone", hint: "Write bundle for several agents." }
          : WORDS.TEXT(value, name),
    }),
    "`bundle` has several agents, `standalone` has one.",
    "bundle or standalone",
  ),
  name: required(filled, "The name of the bundle, such as `office`.", "the bundle's name, such as office"),
  version: optional(label, "Its version, as it is written. Default: none."),
  description: optional(text, "What it is for, in short. Default: none."),
  title: optional(anything, "For people: its title."),
  author: optional(anything, "For people: who wrote it."),
  created: optional(anything, "For people: when it was written."),
  config: optional(anything, "For people, and for other programs."),
  agents: optional(agents, "The agents of a `bundle`. At least one is an entry point."),
  agent: optional(
    object({ ...agentShape, entry_point: optional(flag, `${ENTRY} Default: true.`, true) }),
    "The agent of a `standalone` bundle.",
  ),
  workflows: optional(
    said(z.union([texts, workflows]), {
      choose: (value) => (z.safeParse(texts, value).success ? texts : workflows),
    }),
    "Its workflows: paths relative to this file, or objects with a path. Default: none.",
  ),
  resources: optional(
    z.record(z.string(), said(z.union([z.string(), z.null()]), { words: WORDS.TEXT })),
    "Folders and files by purpose, such as `templates`, relative to this file. Default: none.",
  ),
  core_dependencies: optional(texts, "The paths that it needs, relative to the core root. Default: none."),
});

type Written = Read<z.infer<typeof bundleFile>>;

function bundleOf(source: ParsedSource, report: Report): Bundle | undefined {
  const { value } = source;
  const spot = spotIn(source, report);
  if (!isJsonObject(value)) {
    report.error("VALUE_WRONG", spot.place(), "a bundle.yaml must be a mapping", "Write type, name and agents.");
    return undefined;
  }
  const written: Written = readBy(bundleFile, value, spot) ?? {};
  const { type, name, version, description, core_dependencies: needed = [] } = written;
  const agents = agentsOf(written, value, spot);
  const workflows = workflowsOf(written, spot.at("workflows"));
  const resources = resourcesOf(written, spot.at("resources"));
  const needs = spot.at("core_dependencies");
  const coreDependencies = needed.flatMap((path, index) => pathOf(path, needs.at(index)) ?? []);
  if (type === undefined || name === undefined) return undefined;
  const about = { version: version === undefined ? undefined : String(version), description };
  return { type, name, ...about, agents, workflows, resources, coreDependencies };
}

/** A standalone bundle has one agent, its entry point; others have a list with at least one entry point. */
function agentsOf({ type, agent, agents = [] }: Written, given: JsonObject, spot: Spot): readonly BundleAgent[] {
  const { report } = spot;
  const key = type === "standalone" ? "agent" : "agents";
  if (type !== undefined && isMissing(given[key])) {
    const write = type === "standalone" ? "the agent: id, name, file" : "a list of agents, each with id, name, file";
    report.error("KEY_MISSING", spot.place(), `the key ${shown(key)} is missing`, `Write ${write}.`);
  }
  if (type === "standalone") {
    const found = agent && agentOf({ ...agent, entry_point: true }, spot.at("agent"));
    return found === undefined ? [] : [found];
  }
  const found = agents.flatMap((one, index) => {
    const at = spot.at("agents", index);
    const agent = one && agentOf(one, at);
    return agent === undefined ? [] : [{ agent, name: agent.id, place: at.place("id") }];
  });
  refuseTwins(found, "agent", report);
  if (found.length > 0 && !found.some(({ agent }) => agent.entryPoint)) {
    const hint = "Write 'entry_point: true' for the agent that users start with.";
    report.error("BUNDLE_ENTRY_MISSING", spot.place("agents"), "no agent is an entry point", hint);
  }
  return found.map(({ agent }) => agent);
}

function agentOf(written: NonNullable<Written["agent"]>, spot: Spot): BundleAgent | undefined {
  const { id, name = id, title, description, entry_point: entryPoint = false } = written;
  const file = pathOf(written.file, spot.at("file"));
  if (id === undefined || name === undefined || file === undefined) return undefined;
  return { id, name, title, description, file, entryPoint };
}

/** Returns the workflows: a list of paths, or of objects with `path` and `name`. */
function workflowsOf({ workflows = [] }: Written, spot: Spot): readonly BundleWorkflow[] {
  const found = workflows.flatMap((one, index) => {
    if (one === undefined) return [];
    const at = spot.at(index);
    const path = typeof one === "string" ? pathOf(one, at) : pathOf(one.path, at.at("path"));
    const { name, id } = typeof one === "string" ? {} : one;
    if (path === undefined) return [];
    const workflow = { name: name ?? id ?? path.slice(path.lastIndexOf("/") + 1), path };
    return [{ workflow, name: workflow.name, place: at.place() }];
  });
  refuseTwins(found, "workflow", spot.report);
  return found.map(({ workflow }) => workflow);
}

function resourcesOf({ resources = {} }: Written, spot: Spot): Readonly<Record<string, string>> {
  const paths = Object.entries(resources).flatMap(([name, given]) => {
    const path = isMissing(given) ? undefined : pathOf(given, spot.at(name));
    return path === undefined ? [] : [[name, path] as const];
  });
  return Object.fromEntries(paths);
}

/** Checks a path without its leading `{bundle-root}/` or `{core-root}/`. */
function pathOf(text: string | undefined, { report, place }: Spot): string | undefined {
  if (text === undefined) return undefined;
  try {
    return checkedPath(text.replace(/^\{(?:bundle|core)-root\}\//, ""));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    report.error("PATH_REFUSED", place(), error.message, "Write a path relative to the bundle's folder, without '..'.");
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

async function readOne(sandbox: Sandbox, file: string): Promise<ReadBundle & { readonly file: string }> {
  try {
    const { text } = await sandbox.read(file, { maxBytes: FILE_MAX });
    const { bundle, diagnostics } = await readBundle(file, text);
    if (bundle === undefined) return { file, diagnostics };
    const report = createReport(diagnostics);
    await checkParts(sandbox, file, bundle, report);
    const found = report.sorted();
    return { file, diagnostics: found, bundle: hasErrors(found) ? undefined : bundle };
  } catch (error) {
    const report = createReport();
    if (isPhasegateError(error)) report.error("FILE_UNREADABLE", { file }, error.message, error.remedy);
    else report.failed({ file }, error);
    return { file, diagnostics: report.sorted() };
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
