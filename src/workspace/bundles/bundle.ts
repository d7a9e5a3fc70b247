import { posix } from "node:path";
import { isPhasegateError, type SourcePosition } from "../../errors.js";
import type { Sandbox } from "../../sandbox/sandbox.js";
import { openSandbox } from "../../sandbox/sandbox.js";
import type { ParsedSource } from "../../workflow/diagnostic.js";
import { type Diagnostic, hasErrors } from "../../workflow/diagnostic.js";
import { isJsonObject } from "../../workflow/json.js";
import { keptBack } from "../../workflow/kept-back.js";
import { shown } from "../../workflow/names.js";
import { ObjectReader } from "../../workflow/object-reader.js";
import { createReport, type Report } from "../../workflow/report.js";
import { readYaml } from "../../workflow/yaml.js";
import { checkedPath } from "../roots/paths.js";
/** Reads a bundle.yaml. Whether the files that it names are there is not looked at. */
export async function readBundle(file: string, text: string): Promise<ReadBundle> {
  const report = createReport();
  const source = await readYaml(file, text, report);
  const bundle = source === undefined ? undefined : bundleOf(source, report);
  const diagnostics = report.sorted();
  return bundle === undefined || hasErrors(diagnostics) ? { diagnostics } : { bundle, diagnostics };
}

function bundleOf(source: ParsedSource, report: Report): Bundle | undefined {
  if (!isJsonObject(source.value)) {
    report.error("VALUE_WRONG", source.place([]), "a bundle.yaml must have keys", "Write type, name and agents.");
    return undefined;
  }
  const reader = new ObjectReader(source, source.value, [], report);
  const type = typeOf(reader);
  const name = reader.required("name", reader.text("name"), "the bundle's name, such as office");
  const [version, description] = [reader.label("version"), reader.text("description")];
  // Said for people alone.
  for (const key of ["author", "created", "config", "title"]) reader.value(key);
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

/** A standalone bundle has one agent, with which users begin; another one a list, of which at least one is such. */
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
    const hint = "Write 'entry_point: true' for the agent that users begin with.";
    report.error("BUNDLE_ENTRY_MISSING", reader.place("agents"), "no agent is an entry point", hint);
  }
  return agents;
}

interface Found<T> {
  readonly agent: T;
  readonly place: SourcePosition;
}

function agentOf(reader: ObjectReader, alone: boolean, report: Report): readonly Found<BundleAgent>[] {
  const id = reader.required("id", reader.text("id"), "the agent's id, such as clerk");
  const name = reader.text("name") ?? id;
  const [title, description] = [reader.text("title"), reader.text("description")];
  const file = pathOf(reader, "file", reader.required("file", reader.text("file"), "the path of its text"), report);
  const entry = reader.flag("entry_point");
  if (!alone) reader.required("entry_point", entry, "whether users begin with it: true or false");
  reader.rest();
  if (id === undefined || name === undefined || file === undefined) return [];
  const texts = { ...(title === undefined ? {} : { title }), ...(description === undefined ? {} : { description }) };
  return [{ agent: { id, name, ...texts, file, entryPoint: entry ?? false }, place: reader.place("id") }];
}

/** An agent of a bundle. */
export interface BundleAgent {
  readonly id: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Its text, relative to the bundle's folder. */
  readonly file: string;
  /** Whether users begin with it; other agents are called by these. */
  readonly entryPoint: boolean;
}

/** A workflow of a bundle. */
export interface BundleWorkflow {
  readonly name: string;
  /** Its folder or first file, relative to the bundle's folder. */
  readonly path: string;
}

/** What a bundle.yaml says. */
export interface Bundle {
  /** `bundle`: several agents. `standalone`: one. */
  readonly type: "bundle" | "standalone";
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly agents: readonly BundleAgent[];
  readonly workflows: readonly BundleWorkflow[];
  /** Folders and files with a meaning of their own: `workflows`, `templates`, `config`. Relative to the bundle's folder. */
  readonly resources: Readonly<Record<string, string>>;
  /** What it needs below the core root. */
  readonly coreDependencies: readonly string[];
}

/** A bundle that was read, or what is wrong with it. */
export interface ReadBundle {
  /** Missing where there is an error. */
  readonly bundle?: Bundle;
  /** By line. */
  readonly diagnostics: readonly Diagnostic[];
}

/** What a bundle names beside its agents: workflows, resources, paths. */

/** Workflows may be listed by path, or with a name beside it. */
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
        const name = one.text("name") ?? one.text("id") ?? path?.slice(path.lastIndexOf("/") + 1);
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

/** Folders and files with a meaning of their own. */
function resourcesOf(reader: ObjectReader, report: Report): Readonly<Record<string, string>> {
  const given = reader.object("resources");
  const names = Object.keys(reader.fields("resources") ?? {});
  const paths = names.flatMap((name) => {
    const path = given === undefined ? undefined : pathOf(given, name, given.text(name), report);
    return path === undefined ? [] : [[name, path] as const];
  });
  return Object.fromEntries(paths);
}

/** A list of paths, those that lead out reported and left out. */
function pathsOf(reader: ObjectReader, key: string, report: Report): string[] {
  return (reader.texts(key) ?? []).flatMap((text, index) => {
    const path = checked(text, reader.place(key, index), report);
    return path === undefined ? [] : [path];
  });
}

/** One path; undefined, with an error, if it leads out. */
function pathOf(reader: ObjectReader, key: string, text: string | undefined, report: Report): string | undefined {
  return text === undefined ? undefined : checked(text, reader.place(key), report);
}

/** `{bundle-root}/` is where a bundle's paths begin anyhow. */
function checked(text: string, place: SourcePosition, report: Report): string | undefined {
  try {
    return checkedPath(text.replace(/^\{(?:bundle|core)-root\}\//, ""));
  } catch (error) {
    if (!isPhasegateError(error)) throw error;
    report.error("PATH_REFUSED", place, error.message, "Write a path relative to the bundle's folder, without '..'.");
    return undefined;
  }
}

/** Reports names that are there twice; case makes no other name. */
function refuseTwins(
  found: readonly { readonly name: string; readonly place: SourcePosition }[],
  what: string,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const { name, place } of found) {
    const key = name.toLowerCase();
    const hint = "Give one of the two another name.";
    if (seen.has(key)) report.error("BUNDLE_PART_DUPLICATE", place, `a second ${what} is called ${shown(name)}`, hint);
    seen.add(key);
  }
}

/** A bundle, and where it lies. */
export interface FoundBundle extends Bundle {
  /** Its folder, relative to the one that was looked through. */
  readonly folder: string;
}

/** The bundles below a folder, and what is wrong with those that are left out. */
export interface DiscoveredBundles {
  /** By folder. */
  readonly bundles: readonly FoundBundle[];
  readonly diagnostics: readonly Diagnostic[];
}

/** The largest bundle.yaml, in bytes. */
const FILE_MAX = 1_048_576;

/**
 * Finds the bundles below a folder: each `bundle.yaml`, at whatever depth. A broken one is left out with its diagnostics, and
 * keeps back no other. Throws `FILE_NOT_FOUND` and `PATH_REFUSED` for the folder itself.
 */
export async function discoverBundles(folder: string): Promise<DiscoveredBundles> {
  const sandbox = await openSandbox(folder, { refuse: keptBack });
  const { entries } = await sandbox.walk(".");
  const files = entries.map(({ path }) => path).filter((path) => posix.basename(path) === "bundle.yaml");
  const read = await Promise.all(files.map((file) => readOne(sandbox, file)));
  const names = new Map<string, string>();
  const report = createReport(read.flatMap(({ diagnostics }) => diagnostics));
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

/** An agent without its text is no agent. What else is missing may come later. */
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
    report.warn("BUNDLE_PART_MISSING", { file }, `there is no ${shown(path)}`, "Make it, or take it out.");
  }
}

async function isThere(sandbox: Sandbox, path: string): Promise<boolean> {
  const entries = await sandbox.list(posix.dirname(path)).catch((error: unknown) => {
    if (isPhasegateError(error)) return [];
    throw error;
  });
  return path === "." || entries.some((entry) => entry.path === path && entry.kind !== "refused");
}

function twin(report: Report, file: string, { name }: Bundle, before: string): void {
  const message = `${before} is a bundle called ${shown(name)} already, so this one is left out`;
  report.error("BUNDLE_NAME_DUPLICATE", { file }, message, "Give one of the two another name.");
}
