import { hasErrors } from "../../definition/diagnostic.js";
import { ObjectReader } from "../../definition/folder/object-reader.js";
import type { ParsedSource } from "../../definition/folder/positions.js";
import { readYaml } from "../../definition/folder/read-yaml.js";
import { createReport, type Report } from "../../definition/folder/report.js";
import { isJsonObject } from "../../definition/json.js";
import type { SourcePosition } from "../../errors.js";
import type { Bundle, BundleAgent, ReadBundle } from "./bundle.js";
import { pathOf, pathsOf, refuseTwins, resourcesOf, workflowsOf } from "./bundle-parts.js";

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
